"""What KV keeps: a `KeyValueStore` per namespace, in the files of wrangler's local mode."""

from __future__ import annotations

from pyflare.storage.keyvalue import KeyValueStore
from pyflare.storage.layout import Layout

UNIQUE_KEY = "miniflare-KVNamespaceObject"


def open_namespace(layout: Layout, namespace: str) -> KeyValueStore:
    return KeyValueStore(
        layout.simulator("kv", UNIQUE_KEY, namespace), layout.blobs("kv", namespace), layout.durability
    )
