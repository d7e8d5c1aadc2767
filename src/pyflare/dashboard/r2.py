"""R2 over REST (developers.cloudflare.com/api/resources/r2). Of objects the bytes travel, in pieces both ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from pyflare.dashboard.answers import Refused, body_of, number, success
from pyflare.dashboard.source import Source
from pyflare.engines.r2.bucket import PutOptions
from pyflare.engines.r2.faults import R2Fault
from pyflare.engines.r2.objects import http_date, iso_date
from pyflare.engines.r2.options import metadata_of_headers
from pyflare.engines.r2.traits import STANDARD, http_metadata, key_md5, storage_class

if TYPE_CHECKING:
    from pyflare.engines.r2.bucket import Bucket
    from pyflare.engines.r2.engine import R2
    from pyflare.engines.r2.store import ObjectRow

NO_BUCKET, NO_OBJECT = 10006, 10007  # Cloudflare's codes
ONE = "/r2/buckets/{bucket_name}"


def routes(server: Source) -> list[Route]:
    api = Api(server.engines.get("r2"))
    return [
        Route("/r2/buckets", api.buckets, methods=["GET"]),
        Route(ONE, api.bucket, methods=["GET"]),
        Route(f"{ONE}/objects", api.objects, methods=["GET"]),
        Route(f"{ONE}/objects", api.remove, methods=["DELETE"]),
        Route(f"{ONE}/objects/{{key:path}}", api.read, methods=["GET"]),
        Route(f"{ONE}/objects/{{key:path}}", api.write, methods=["PUT"]),
        Route(f"{ONE}/objects/{{key:path}}", api.remove_one, methods=["DELETE"]),
    ]


class Api:
    def __init__(self, room: R2 | None) -> None:
        self._room = room

    async def buckets(self, request: Request) -> Response:
        """List buckets."""
        names = [] if self._room is None else sorted(self._room.bucket_names)
        return success({"buckets": [{"name": name} for name in names]}, {"count": len(names)})

    async def bucket(self, request: Request) -> Response:
        """One bucket."""
        self._bucket(request, "get")
        return success({"name": request.path_params["bucket_name"]})

    async def objects(self, request: Request) -> Response:
        """List objects by ?prefix, ?delimiter, ?start_after, ?cursor, ?per_page."""
        bucket, query = self._bucket(request, "list objects"), request.query_params
        with _told():
            found, cursor = bucket.list(
                query.get("prefix", ""),
                query.get("delimiter", ""),
                query.get("start_after"),
                cursor=query.get("cursor"),
                limit=number(request, "per_page", 1000, 1, 1000),
            )
        info: dict[str, Any] = {
            "delimited": list(found.prefixes),
            "is_truncated": "false" if cursor is None else "true",
        }
        return success(
            [_described(row) for row in found.objects], info if cursor is None else {**info, "cursor": cursor}
        )

    async def remove(self, request: Request) -> Response:
        """Delete the objects whose keys the body lists."""
        keys = await body_of(request)
        if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
            raise Refused(400, "Request body must be a non-empty array of keys")
        with _told():
            self._bucket(request, "delete").delete(keys)
        return success([{"key": key} for key in keys])

    async def remove_one(self, request: Request) -> Response:
        """Delete an object."""
        key = request.path_params["key"]
        with _told():
            self._bucket(request, "delete").delete([key])
        return success({"key": key})

    async def read(self, request: Request) -> Response:
        """Read an object; with the header `cf-metadata-only: true` what is known of it."""
        bucket, key = self._bucket(request, "get"), request.path_params["key"]
        only_metadata = request.headers.get("cf-metadata-only") == "true"
        with _told():
            row = bucket.head(key)
            if row is None:
                raise Refused(404, f"{'head' if only_metadata else 'get'}: 'object not found'", NO_OBJECT)
            if only_metadata:
                return success(_described(row))
            got = bucket.get(key)
        if got is None or got.body is None:
            raise Refused(404, "get: 'object not found'", NO_OBJECT)
        return StreamingResponse(got.body, headers=_headers(got.row))

    async def write(self, request: Request) -> Response:
        """Write an object, with the HTTP metadata of its headers, `cf-r2-custom-metadata` (a JSON object) and
        `cf-r2-storage-class`."""
        bucket, headers = self._bucket(request, "put"), request.headers
        options = PutOptions(
            metadata_of_headers(lambda name: headers.get(name) or None),
            _custom(headers.get("cf-r2-custom-metadata")),
            storage_class=headers.get("cf-r2-storage-class", STANDARD),
        )
        length = int(headers["content-length"]) if "content-length" in headers else None
        with _told():
            row = await bucket.put_stream(request.path_params["key"], request.stream(), length, options)
        return success(
            {
                "key": row.key,
                "etag": row.etag,
                "size": row.size,
                "version": row.version,
                "uploaded": iso_date(row.uploaded),
                "storage_class": storage_class(row.http_metadata),
            }
        )

    def _bucket(self, request: Request, doing: str) -> Bucket:
        name = request.path_params["bucket_name"]
        if self._room is None or name not in self._room.bucket_names:
            raise Refused(404, f"{doing}: 'bucket not found'", NO_BUCKET)
        return self._room.bucket(name)


@contextmanager
def _told() -> Iterator[None]:
    """R2's refusals, as refusals of the request."""
    try:
        yield
    except R2Fault as fault:
        raise Refused(fault.status, fault.message, fault.code) from None


def _custom(header: str | None) -> dict[str, str]:
    try:
        found = {} if header is None else json.loads(header)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise Refused(400, "Invalid custom metadata JSON")
    return found


def _described(row: ObjectRow) -> dict[str, Any]:
    http = http_metadata(row.http_metadata)
    if "cacheExpiry" in http:
        http["cacheExpiry"] = iso_date(int(http["cacheExpiry"]))
    return {
        "key": row.key,
        "etag": row.etag,
        "size": row.size,
        "last_modified": iso_date(row.uploaded),
        "http_metadata": http,
        "custom_metadata": json.loads(row.custom_metadata),
        "storage_class": storage_class(row.http_metadata),
        "ssec": key_md5(row.http_metadata) is not None,
    }


def _headers(row: ObjectRow) -> dict[str, str]:
    kind = json.loads(row.http_metadata).get("contentType")
    custom = {
        f"x-r2-custom-metadata-{name}": value
        for name, value in json.loads(row.custom_metadata).items()
        if f"{name}{value}".isprintable() and f"{name}{value}".isascii()
    }
    return {
        **custom,
        **({"content-type": kind} if kind else {}),
        "content-length": str(row.size),
        "etag": row.etag,
        "last-modified": http_date(row.uploaded),
    }
