"""Namespaces, buckets and databases of a running server: what the data commands ask of one instead of opening files."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import HTTPResponse
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode

from pyflare.cli.local_api import LocalApi
from pyflare.engines.kv.namespace import Page, Value
from pyflare.engines.r2.bucket import PutOptions
from pyflare.engines.r2.objects import http_date
from pyflare.storage.blobs import CHUNK_BYTES
from pyflare.storage.keyvalue import Entry

PAIRS_AT_ONCE = 1_000
FORM_FIELD = '--{mark}\r\ncontent-disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'
HEADERS = {
    "contentType": "content-type",
    "contentDisposition": "content-disposition",
    "contentEncoding": "content-encoding",
    "contentLanguage": "content-language",
    "cacheControl": "cache-control",
}


class ServedNamespace:
    """The part of `kv.namespace.Namespace` that commands use."""

    def __init__(self, api: LocalApi, id: str) -> None:
        self._api, self._path = api, f"/storage/kv/namespaces/{quote(id, safe='')}"

    @classmethod
    def of(cls, api: LocalApi | None, id: str) -> ServedNamespace | None:
        """None: nobody serves the namespace."""
        found = api is not None and any(one["id"] == id for one in api.ask("/storage/kv/namespaces"))
        return cls(api, id) if api is not None and found else None

    def _value(self, key: str) -> str:
        return f"{self._path}/values/{quote(key, safe='')}"

    def get(self, key: str) -> Value | None:
        found = self._api.find(self._value(key))
        if found is None:
            return None
        with found as response:
            return Value(response.read())

    def write(self, key: str, value: bytes, expiration: int | None, ttl: int | None, metadata: str | None) -> None:
        fields = {"expiration": expiration, "expiration_ttl": ttl}
        query = urlencode({name: seconds for name, seconds in fields.items() if seconds is not None})
        kind, body = "application/octet-stream", value
        if metadata is not None:
            mark = secrets.token_hex(16)
            kind, body = f"multipart/form-data; boundary={mark}", _form(mark, {"value": value, "metadata": metadata})
        self._api.open("PUT", f"{self._value(key)}?{query}", body, {"content-type": kind}).close()

    def write_many(self, pairs: Sequence[Mapping[str, Any]]) -> None:
        """`pairs` as in the file of `kv bulk put`."""
        for at in range(0, len(pairs), PAIRS_AT_ONCE):
            self._api.ask(f"{self._path}/bulk", list(pairs[at : at + PAIRS_AT_ONCE]), "PUT")

    def remove(self, key: str) -> None:
        self._api.ask(self._value(key), method="DELETE")

    def list(self, prefix: str, cursor: str | None = None) -> Page:
        query = urlencode({"prefix": prefix, **({"cursor": cursor} if cursor else {})})
        with self._api.open("GET", f"{self._path}/keys?{query}") as response:
            answer = json.load(response)
        return Page([_entry(key) for key in answer["result"]], answer["result_info"]["cursor"] or None)


def _entry(key: Mapping[str, Any]) -> Entry:
    ends = key.get("expiration")
    metadata = json.dumps(key["metadata"]) if "metadata" in key else None
    return Entry(key["name"], "", None if ends is None else ends * 1000, metadata)


def _form(mark: str, fields: Mapping[str, str | bytes]) -> bytes:
    body = b""
    for name, value in fields.items():
        data = value.encode() if isinstance(value, str) else value
        body += FORM_FIELD.format(mark=mark, name=name).encode() + data + b"\r\n"
    return body + f"--{mark}--\r\n".encode()


class ServedBucket:
    """A bucket, as commands use it."""

    def __init__(self, api: LocalApi, name: str) -> None:
        self._api, self._path = api, f"/r2/buckets/{quote(name, safe='')}/objects"

    @classmethod
    def of(cls, api: LocalApi | None, name: str) -> ServedBucket | None:
        """None: nobody serves the bucket."""
        found = api is not None and any(one["name"] == name for one in api.ask("/r2/buckets")["buckets"])
        return cls(api, name) if api is not None and found else None

    def read(self, key: str) -> Iterator[bytes] | None:
        """The pieces of an object; None when there is none."""
        found = self._api.find(f"{self._path}/{quote(key, safe='')}")
        return None if found is None else _read(found)

    def write(self, key: str, source: BinaryIO, options: PutOptions) -> None:
        kept = options.http_metadata
        headers = {header: str(kept[name]) for name, header in HEADERS.items() if name in kept}
        if "cacheExpiry" in kept:
            headers["expires"] = http_date(int(kept["cacheExpiry"]))
        headers["cf-r2-storage-class"] = options.storage_class
        # `urllib` would put a form's type where none is given.
        headers.setdefault("content-type", "")
        self._api.open("PUT", f"{self._path}/{quote(key, safe='')}", _pieces(source), headers).close()

    def delete(self, keys: Sequence[str]) -> None:
        self._api.ask(self._path, list(keys), "DELETE")


def _read(response: HTTPResponse) -> Iterator[bytes]:
    with response:
        yield from _pieces(response)


def _pieces(source: BinaryIO) -> Iterable[bytes]:
    while piece := source.read(CHUNK_BYTES):
        yield piece
