"""The room of the secrets store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.secrets.binding import SecretsStoreSecret
from pyflare.engines.secrets.config import Secret, parse
from pyflare.engines.secrets.panel import panel
from pyflare.engines.secrets.store import SecretStore
from pyflare.errors import EngineError
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
        self._stores: dict[str, SecretStore] = {}

    def store(self, store_id: str) -> SecretStore:
        store = self._stores.get(store_id)
        if store is None:
            layout = self._ctx.storage
            path = layout.simulator("secrets-store", UNIQUE_KEY, store_id)
            kept = KeyValueStore(path, layout.blobs("secrets-store", store_id), layout.durability)
            store = self._stores[store_id] = SecretStore(kept, self._ctx.clock.now, self._ctx.new_id)
        return store

    def store_ids(self) -> Sequence[str]:
        """The stores that bindings name, and others that were asked for."""
        return list(dict.fromkeys([*(secret.store for secret in self._bound()), *self._stores]))

    def assign(self, binding: str, value: str) -> None:
        """Create the secret that a binding of some worker names."""
        found = [secret for secret in self._bound() if secret.binding == binding]
        if not found:
            there = ", ".join(secret.binding for secret in self._bound()) or "none"
            raise EngineError(f"No secret of the secrets store is bound to {binding!r}; there are: {there}")
        for secret in found:
            self.store(secret.store).create(secret.name, value)

    def bound_names(self, store_id: str) -> set[str]:
        return {secret.name for secret in self._bound() if secret.store == store_id}

    def _bound(self) -> list[Secret]:
        return [secret for config in self._configs.values() for secret in config]

    def _value(self, secret: Secret) -> str | None:
        value = self.store(secret.store).value(secret.name)
        if value is None:
            self._ctx.log.once("warn", f"secret {secret.store}/{secret.name}", _advice(secret))
        return value

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {secret.binding: SecretsStoreSecret.make(secret, self._value) for secret in self._configs[worker]}

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(
                secret.binding,
                "Secrets Store Secret",
                f"{secret.store}/{secret.name}",
                "not set" if self.store(secret.store).value(secret.name) is None else "local",
            )
            for secret in self._configs[worker]
        ]

    def panel(self) -> Panel:
        return panel(self)

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
        self._stores.clear()


def _advice(secret: Secret) -> str:
    return (
        f'The secret "{secret.name}" has no value here. Set it with:\n'
        f"    pyflare secrets-store secret create {secret.store} --name {secret.name} --scopes workers"
    )
