"""Where everything lies: `.wrangler/state/v3`, the folder that wrangler's local mode uses too.

v3/kv|r2|d1|cache|…/<unique key>/<id>.sqlite    shared with wrangler (see `object_id`)
v3/kv|r2|cache/<namespace, cleaned>/blobs/…      values as plain files
v3/do/<worker>-<Class>/<id>.sqlite               Durable Objects, and their alarms in metadata.sqlite
v3/pyflare/<room>.sqlite                         what only pyflare keeps: queues, workflows, …
v3/pyflare/server.json, lock                     who holds the folder
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from pyflare.storage.object_id import Namespace

MAX_NAME_BYTES = 255  # of a file, on the usual file systems


class Layout:
    """Paths below one state folder (`…/v3`); folders are made when asked for."""

    def __init__(self, root: Path, durability: str = "normal") -> None:
        self.root = root
        self.durability = durability  # "normal" or "full", for `Database`

    def own(self, room: str) -> Path:
        """The database file of a room of pyflare's own."""
        return self._folder("pyflare") / f"{room}.sqlite"

    def simulator(self, plugin: str, unique_key: str, name: str) -> Path:
        """The database file of a simulated resource, as miniflare names it."""
        return self._folder(plugin, unique_key) / f"{Namespace(unique_key).from_name(name)}.sqlite"

    def blobs(self, plugin: str, resource: str) -> Path:
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", resource)
        if len(name) > MAX_NAME_BYTES:
            name = name[: MAX_NAME_BYTES - 64] + hashlib.sha256(resource.encode()).hexdigest()
        return self._folder(plugin, name, "blobs")

    def objects(self, unique_key: str) -> Path:
        """The folder of a Durable Object class."""
        return self._folder("do", unique_key)

    def folder(self, *parts: str) -> Path:
        return self._folder(*parts)

    def _folder(self, *parts: str) -> Path:
        folder = self.root.joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
