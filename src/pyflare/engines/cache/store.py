"""What a cache keeps: a `KeyValueStore` per name, in the files of wrangler's local mode.

The key is the URL (or `cf.cacheKey`), the metadata are the status, the headers and the size.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.storage.keyvalue import Entry, KeyValueStore
from pyflare.storage.layout import Layout

UNIQUE_KEY = "miniflare-CacheObject"


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer in the cache; its body is the blob."""

    status: int
    headers: Sequence[tuple[str, str]]
    size: int
    blob_id: str


def open_cache(layout: Layout, name: str | None) -> KeyValueStore:
    """The cache of a name; None: the default one."""
    resource = "default" if name is None else f"named:{name}"
    return KeyValueStore(
        layout.simulator("cache", UNIQUE_KEY, resource), layout.blobs("cache", resource), layout.durability
    )


def to_metadata(status: int, headers: Sequence[tuple[str, str]], size: int) -> str:
    fields = {"headers": [list(pair) for pair in headers], "status": status, "size": size}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def from_entry(entry: Entry) -> Stored | None:
    """The answer of a row; None when it holds none."""
    if entry.metadata is None:
        return None
    fields = json.loads(entry.metadata)
    headers = [(name, value) for name, value in fields["headers"]]
    return Stored(fields["status"], headers, fields["size"], entry.blob_id)
