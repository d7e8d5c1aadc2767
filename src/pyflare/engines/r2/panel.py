"""What the dashboard shows of R2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table
from pyflare.engines.r2.objects import http_date

if TYPE_CHECKING:
    from pyflare.engines.r2.engine import R2

SHOWN_OBJECTS = 100


def of(room: R2) -> Panel:
    tables = []
    for name in room.bucket_names:
        store = room.bucket(name).store
        count, size = store.totals()
        rows: list[list[Any]] = [
            [row.key, row.size, row.etag, http_date(row.uploaded), row.http_metadata, row.custom_metadata]
            for row in store.list(limit=SHOWN_OBJECTS).objects
        ]
        title = f"{name} ({count} objects, {size} bytes)"
        columns = ("key", "size", "etag", "uploaded", "httpMetadata", "customMetadata")
        tables.append(Table(title, columns, rows, ("key",), {"bucket": name}))
        uploads = store.uploads()
        if uploads:
            tables.append(Table(f"{name}: unfinished uploads", ("uploadId", "key"), [list(row) for row in uploads]))

    def delete(bucket: str, key: str) -> None:
        room.bucket(bucket).delete([key])

    return Panel("R2", tables, {"delete": Action("delete", delete, ("bucket", "key"), danger=True)})
