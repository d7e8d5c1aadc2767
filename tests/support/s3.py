"""A client of the S3 endpoint and of the public path of buckets."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl
from xml.etree import ElementTree

from pyflare.engines.r2.engine import R2, S3_PREFIX
from pyflare.engines.r2.sigv4 import ALGORITHM, signature
from tests.support.rooms import NOW, run

SCOPE = "20231114/auto/s3/aws4_request"
DATE = dt.datetime.fromtimestamp(NOW, dt.UTC).strftime("%Y%m%dT%H%M%SZ")


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str | None:
        return self.xml.findtext("Code")

    @property
    def xml(self) -> ElementTree.Element:
        root = ElementTree.fromstring(self.body)
        for found in root.iter():
            found.tag = found.tag.rpartition("}")[2]
        return root

    def texts(self, name: str) -> list[str]:
        return [found.text or "" for found in self.xml.iter(name)]


class Client:
    """Calls the room's ASGI apps."""

    def __init__(self, room: R2) -> None:
        self.apps = {prefix: load() for prefix, load in room.mounts().items()}

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        prefix: str = S3_PREFIX,
    ) -> Answer:
        pieces = [body[:3], body[3:]]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        target, _, query = path.partition("?")
        named = {"host": "localhost:8787", "content-length": str(len(body)), **(headers or {})}
        scope = {
            "type": "http",
            "method": method,
            "raw_path": (prefix + target).encode(),
            "query_string": query.encode(),
            "root_path": prefix,
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        }

        async def scenario() -> None:
            await self.apps[prefix](scope, receive, send)

        run(scenario())
        head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], head, b"".join(message["body"] for message in sent[1:]))

    def signed(self, method: str, path: str, body: bytes = b"", **changes: str) -> Answer:
        """With the credentials of the bucket `shut`; `changes` to what is signed with."""
        target, _, query = path.partition("?")
        payload = hashlib.sha256(body).hexdigest()
        headers = {"host": "localhost:8787", "x-amz-date": changes.get("date", DATE), "x-amz-content-sha256": payload}
        secret, key = changes.get("secret", "secret"), changes.get("key", "key")
        date = headers["x-amz-date"]
        made = signature(
            secret, method, S3_PREFIX + target, parse_qsl(query, keep_blank_values=True), headers, payload, date, SCOPE
        )
        names = ";".join(sorted(headers))
        headers["authorization"] = f"{ALGORITHM} Credential={key}/{SCOPE}, SignedHeaders={names}, Signature={made}"
        return self(method, path, changes.get("sent", "").encode() or body, headers)
