"""The secrets of one store, kept as miniflare does: a namespace of values, each with the id of its secret."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyflare.errors import EngineError
from pyflare.storage.keyvalue import Entry, KeyValueStore

PAGE = 1000  # names that are read at once


@dataclass(frozen=True)
class Kept:
    """A secret without its value."""

    id: str
    name: str


class NoSuchSecret(EngineError):
    def __init__(self) -> None:
        super().__init__("Secret not found")  # as wrangler says


class SecretStore:
    """`now` in seconds since the epoch."""

    def __init__(self, kept: KeyValueStore, now: Callable[[], float], new_id: Callable[[], str]) -> None:
        self._kept, self._now, self._new_id = kept, now, new_id

    def value(self, name: str) -> str | None:
        entry = self._kept.get(name, self._now())
        data = None if entry is None else self._kept.blobs.read(entry.blob_id)
        return None if data is None else data.decode("utf-8", "replace")

    def secrets(self) -> Iterator[Kept]:
        """All of them, by name."""
        after, more = "", True
        while more:
            entries, more = self._kept.list(self._now(), after=after, limit=PAGE)
            yield from (Kept(_id(entry), entry.key) for entry in entries)
            after = entries[-1].key if entries else ""

    def find(self, id: str) -> Kept:
        """Raises `NoSuchSecret`."""
        found = next((secret for secret in self.secrets() if secret.id == id), None)
        if found is None:
            raise NoSuchSecret
        return found

    def create(self, name: str, value: str) -> Kept:
        """Replaces one of that name, which gets a new id."""
        return self._put(Kept(self._new_id(), name), value)

    def update(self, id: str, value: str | None) -> Kept:
        """None: the value stays."""
        secret = self.find(id)
        return secret if value is None else self._put(secret, value)

    def duplicate(self, id: str, name: str) -> Kept:
        value = self.value(self.find(id).name)
        assert value is not None
        return self.create(name, value)

    def delete(self, id: str) -> None:
        self._kept.delete(self.find(id).name, self._now())

    def close(self) -> None:
        self._kept.close()

    def _put(self, secret: Kept, value: str) -> Kept:
        metadata = json.dumps({"uuid": secret.id}, separators=(",", ":"))
        self._kept.put(secret.name, value.encode(), self._now(), metadata=metadata)
        return secret


def _id(entry: Entry) -> str:
    return str(json.loads(entry.metadata or "{}").get("uuid", ""))
