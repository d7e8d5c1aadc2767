"""What the dashboard and the command line may show and do here, as data; values are never shown."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table

if TYPE_CHECKING:
    from pyflare.engines.secrets.engine import SecretsStore

HIDDEN, NOT_SET = "(hidden)", "(not set)"


def panel(engine: SecretsStore) -> Panel:
    """The stores with their secrets, those too that a binding names and nobody has set."""
    return Panel("Secrets Store", [_table(engine, store) for store in engine.store_ids()], _actions(engine))


def _table(engine: SecretsStore, store: str) -> Table:
    kept = {secret.name: secret.id for secret in engine.store(store).secrets()}
    names = sorted({*kept, *engine.bound_names(store)})
    rows = [(name, HIDDEN if name in kept else NOT_SET, kept.get(name, "")) for name in names]
    return Table(store, ("name", "value", "id"), rows, ("name", "id"), {"store": store})


def _actions(engine: SecretsStore) -> dict[str, Action]:
    def list_(store: str) -> Any:
        return [asdict(secret) for secret in engine.store(store).secrets()]

    def get(store: str, id: str) -> Any:
        return asdict(engine.store(store).find(id))

    def create(store: str, name: str, value: str) -> Any:
        return asdict(engine.store(store).create(name, value))

    def update(store: str, id: str, value: str | None = None) -> Any:
        return asdict(engine.store(store).update(id, value))

    def duplicate(store: str, id: str, to: str) -> Any:
        return asdict(engine.store(store).duplicate(id, to))

    def delete(store: str, id: str) -> None:
        engine.store(store).delete(id)

    actions = (
        Action("list", list_, ("store",)),
        Action("get", get, ("store", "id")),
        Action("create", create, ("store", "name", "value")),
        Action("update", update, ("store", "id", "value")),
        Action("duplicate", duplicate, ("store", "id", "to")),
        Action("delete", delete, ("store", "id"), danger=True),
    )
    return {action.name: action for action in actions}
