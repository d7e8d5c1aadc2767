"""XML documents of S3. docs.aws.amazon.com/AmazonS3/latest/API"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import quote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from pyflare.engines.r2.faults import R2Fault
from pyflare.engines.r2.http import Reply
from pyflare.engines.r2.objects import iso_date
from pyflare.engines.r2.s3_headers import S3_STORAGE_CLASSES
from pyflare.engines.r2.store import ObjectRow
from pyflare.engines.r2.traits import storage_class

NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'


def reply(root: str, content: str, status: int = 200) -> Reply:
    body = f"{DECLARATION}<{root} {NAMESPACE}>{content}</{root}>".encode()
    return Reply(status, [("content-type", "application/xml")], body)


def error(status: int, name: str, message: str) -> Reply:
    body = f"{DECLARATION}<Error><Code>{name}</Code><Message>{_text(message)}</Message></Error>"
    return Reply(status, [("content-type", "application/xml")], body.encode())


def fields(pairs: Iterable[tuple[str, object]]) -> str:
    """Elements of the pairs whose value is not None."""
    return "".join(f"<{name}>{_text(_shown(value))}</{name}>" for name, value in pairs if value is not None)


def element(name: str, pairs: Iterable[tuple[str, object]]) -> str:
    return f"<{name}>{fields(pairs)}</{name}>"


def _shown(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _text(text: str) -> str:
    return escape(text, {'"': "&quot;", "'": "&apos;"})


def contents(row: ObjectRow, encode: Callable[[str], str]) -> str:
    """One object of a listing."""
    return element(
        "Contents",
        (
            ("Key", encode(row.key)),
            ("Size", row.size),
            ("LastModified", iso_date(row.uploaded)),
            ("ETag", f'"{row.etag}"'),
            ("StorageClass", S3_STORAGE_CLASSES[storage_class(row.http_metadata)]),
        ),
    )


def encoder(encoding_type: str | None) -> Callable[[str], str]:
    """How keys are written: as they are, or as `encoding-type=url` asks for."""
    return (lambda key: quote(key, safe="/")) if encoding_type == "url" else (lambda key: key)


def parse(body: bytes, name: str) -> ElementTree.Element:
    """The root of a document, which must have this name, without its namespace."""
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        raise malformed() from None
    for found in root.iter():
        found.tag = found.tag.rpartition("}")[2]
    if root.tag != name:
        raise malformed()
    return root


def malformed() -> R2Fault:
    message = "The XML you provided was not well formed or did not validate against our published schema."
    return R2Fault(400, 10040, "MalformedXML", message)
