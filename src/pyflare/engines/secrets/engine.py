"""The room of the secrets store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import Action, BindingRow, Engine, EngineContext, Panel, Table
from pyflare.engines.secrets.binding import SecretsStoreSecret
from pyflare.engines.secrets.config import Secret, parse
from pyflare.storage.keyvalue import KeyValueStore

UNIQUE_KEY = "miniflare-secrets-store-KVNamespaceObject"


class SecretsStore(Engine):
    keys: ClassVar[Sequence[str]] = ("secrets_store_secrets",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[Secret]:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, Sequence[Secret]], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx
        self._stores: dict[str, KeyValueStore] = {}

    def store(self, store_id: str) -> KeyValueStore:
        store = self._stores.get(store_id)
        if store is None:
            layout = self._ctx.storage
            path = layout.simulator("secrets-store", UNIQUE_KEY, store_id)
            store = KeyValueStore(path, layout.blobs("secrets-store", store_id), layout.durability)
            self._stores[store_id] = store
        return store

    def read(self, secret: Secret) -> str | None:
        store = self.store(secret.store)
        entry = store.get(secret.name, self._ctx.clock.now())
        data = None if entry is None else store.blobs.read(entry.blob_id)
        return None if data is None else data.decode("utf-8", "replace")

    def write(self, store_id: str, name: str, value: str) -> None:
        """Create or replace a secret."""
        metadata = f'{{"uuid":"{self._ctx.new_id()}"}}'
        self.store(store_id).put(name, value.encode(), self._ctx.clock.now(), metadata=metadata)

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {secret.binding: SecretsStoreSecret.make(secret, self.read) for secret in self._configs[worker]}

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(secret.binding, "Secrets Store Secret", f"{secret.store}/{secret.name}")
            for secret in self._configs[worker]
        ]

    def panel(self) -> Panel:
        stores = dict.fromkeys(secret.store for config in self._configs.values() for secret in config)
        tables = []
        for store_id in stores:
            entries_, _ = self.store(store_id).list(self._ctx.clock.now())
            tables.append(Table(store_id, ("name", "value"), [[entry.key, "(hidden)"] for entry in entries_]))
        return Panel("Secrets Store", tables, {"put": Action("put", self.write, ("store", "name", "value"))})

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
        self._stores.clear()
