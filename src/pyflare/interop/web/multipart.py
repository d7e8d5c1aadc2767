"""multipart/form-data, read and written as the runtime does: RFC 7578, and what was observed besides."""

from __future__ import annotations

import os
import re

from pyflare.interop.errors import type_error
from pyflare.interop.web.blob import File
from pyflare.interop.web.bytes import utf8

Entry = tuple[str, "str | File"]

NO_START = "No initial boundary string (or you have a truncated message)."
NO_END = "No subsequent boundary string after multipart message."
NO_LINE = "Boundary string was not succeeded by CRLF, LF, or '--'."
NO_HEADERS = "No multipart message header termination found."
BAD_HEADERS = "FormData part had invalid headers."
NO_DISPOSITION = "No valid Content-Disposition header found in FormData part."
NO_NAME = "Content-Disposition header in FormData part is missing a name."

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_KIND = re.compile(r'\s*([^\s;,="]*)')
_PARAMETER = re.compile(r'\s*;\s*([^\s=;"]+)\s*=\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)


def encode(entries: list[Entry]) -> tuple[bytes, str]:
    """(body, content type)."""
    boundary = os.urandom(16).hex()
    parts: list[bytes] = []
    for name, value in entries:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"'
        if isinstance(value, File):
            kind = value.type or "application/octet-stream"
            head += f'; filename="{_quoted(value.name)}"\r\nContent-Type: {kind}'
            data = value.data
        else:
            data = utf8(value)
        parts += [utf8(head), b"\r\n\r\n", data, b"\r\n"]
    parts.append(f"--{boundary}--".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "%0A").replace('"', "%22")


def parse(data: bytes, boundary: str) -> list[Entry]:
    """The entries of a body; TypeError when it is malformed."""
    mark = b"--" + utf8(boundary)
    at = data.find(mark) + len(mark)
    if at < len(mark) or at == len(data):
        raise type_error(NO_START)
    next_mark = re.compile(rb"\r?\n" + re.escape(mark))
    entries: list[Entry] = []
    while not data.startswith(b"--", at):
        at += 2 if data.startswith(b"\r\n", at) else 1
        if data[at - 1 : at] != b"\n":
            raise type_error(NO_LINE)
        head = _HEAD_END.search(data, at)
        if head is None:
            raise type_error(NO_HEADERS)
        end = next_mark.search(data, head.end())
        if end is None:
            raise type_error(NO_END)
        entries.append(_entry(_headers(data[at : head.start()]), data[head.end() : end.start()]))
        at = end.end()
    return entries


def _headers(head: bytes) -> dict[str, str]:
    """By name in lower case, equal ones joined; TypeError for a line that is none."""
    headers: dict[str, str] = {}
    for line in re.split(r"\r?\n(?![ \t])", head.decode(errors="replace")):
        name, colon, value = line.partition(":")
        if not colon or " " in name.strip():
            raise type_error(BAD_HEADERS)
        key = name.strip().lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return headers


def _entry(headers: dict[str, str], data: bytes) -> Entry:
    disposition = headers.get("content-disposition")
    kind = None if disposition is None else _KIND.match(disposition)
    if disposition is None or kind is None:
        raise type_error(NO_DISPOSITION)
    if kind[1] != "form-data":
        raise type_error(
            'Content-Disposition header for FormData part must have the value "form-data", possibly followed by '
            f'parameters. Got: "{kind[1]}"'
        )
    parameters: dict[str, str] = {}
    at = kind.end()
    while (parameter := _PARAMETER.match(disposition, at)) is not None:
        parameters[parameter[1]] = re.sub(r"\\(.)", r"\1", parameter[2], flags=re.DOTALL)
        at = parameter.end()
    if not parameters.get("name"):
        raise type_error(NO_NAME)
    if not parameters.get("filename"):  # also a file without a name is text, as recorded
        return parameters["name"], data.decode(errors="replace")
    return parameters["name"], File.make(data, parameters["filename"], headers.get("content-type", ""))
