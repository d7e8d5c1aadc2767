"""What `migrations` and `exports` say of the classes of a worker, and the few that change data.

Migrations are replayed in order. A class keeps the unique key (its folder and its ids) of the first name it had, so a
rename moves nothing. A deletion takes the data, once: the applied tags are remembered beside the data.
(developers.cloudflare.com/durable-objects/reference/durable-objects-migrations/)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyflare.config.diagnostics import Diagnostics

STORAGES = {"sqlite": True, "legacy-kv": False}
STATES = ("created", "deleted", "renamed", "transferred", "expecting-transfer")


@dataclass(frozen=True)
class ObjectClass:
    """A class of a worker whose instances are Durable Objects."""

    name: str
    unique_key: str  # names its folder and seeds its ids
    sqlite: bool = True  # False: declared in new_classes, so without SQL


@dataclass(frozen=True)
class Renamed:
    old: str
    new: str
    unique_key: str


@dataclass(frozen=True)
class Step:
    """One tag: what has to be done, or said, the first time it is seen."""

    tag: str
    deleted: Sequence[ObjectClass] = ()
    renamed: Sequence[Renamed] = ()


@dataclass
class Replay:
    """The classes as they stand after the migrations read so far."""

    worker: str
    diagnostics: Diagnostics
    classes: dict[str, ObjectClass] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)
    _path: str = ""
    _tag: str = ""

    def migrations(self, entries: Any) -> None:
        """The `migrations` array of the configuration."""
        if not isinstance(entries, list):
            self.diagnostics.fault("migrations", f"must be an array of objects, not {_kind(entries)}")
            return
        seen: set[str] = set()
        for number, entry in enumerate(entries):
            self._path = f"migrations[{number}]"
            if not isinstance(entry, Mapping):
                self.diagnostics.fault(self._path, f"must be an object, not {_kind(entry)}")
                continue
            tag = entry.get("tag")
            if not isinstance(tag, str) or not tag:
                self.diagnostics.fault(f"{self._path}.tag", "must be a text that names the migration")
                continue
            if tag in seen:
                self.diagnostics.fault(f"{self._path}.tag", f'"{tag}" is used twice; each migration needs its own tag')
            seen.add(tag)
            self._entry(tag, entry)

    def _entry(self, tag: str, entry: Mapping[str, Any]) -> None:
        self._tag = tag
        for kind, sqlite in (("new_classes", False), ("new_sqlite_classes", True)):
            for name in self._names(entry, kind):
                self._create(kind, name, sqlite)
        renamed = [self._rename(old, new) for old, new in self._pairs(entry, "renamed_classes", ("from", "to"))]
        for old, script, new in self._pairs(entry, "transferred_classes", ("from", "from_script", "to")):
            self._transfer(old, script, new)
        deleted = [self._delete(name) for name in self._names(entry, "deleted_classes")]
        self.steps.append(Step(tag, [one for one in deleted if one], [one for one in renamed if one]))

    def exports(self, entries: Any) -> None:
        """The declarative `exports` object: class name -> what it is now."""
        if not isinstance(entries, Mapping):
            self.diagnostics.fault("exports", f"must be an object, not {_kind(entries)}")
            return
        objects = {
            name: entry
            for name, entry in entries.items()
            if isinstance(entry, Mapping) and entry.get("type") == "durable-object"
        }
        # What was there first gives its key to what it has become.
        for name, entry in sorted(objects.items(), key=lambda item: item[1].get("state", "created") == "created"):
            self._path, self._tag = f"exports.{name}", f"exports {name}"
            self._export(name, entry)

    def _export(self, name: str, entry: Mapping[str, Any]) -> None:
        state = entry.get("state", "created")
        if state not in STATES:
            self.diagnostics.fault(f"{self._path}.state", f"must be one of {', '.join(STATES)}, not {state!r}")
            return
        storage = entry.get("storage", "sqlite")
        if storage not in STORAGES:
            self.diagnostics.fault(f"{self._path}.storage", f"must be one of {', '.join(STORAGES)}, not {storage!r}")
            return
        former = ObjectClass(name, self._key(name), STORAGES[storage])
        if state == "deleted":
            self.steps.append(Step(f"{self._tag} deleted", [former]))
        elif state == "renamed":
            new = self._text(entry, "renamed_to")
            if new:
                self._add(ObjectClass(new, former.unique_key, former.sqlite))
                self.steps.append(Step(f"{self._tag} renamed", (), [Renamed(name, new, former.unique_key)]))
        elif state == "expecting-transfer":
            script = self._text(entry, "transfer_from")
            if script:
                self._add(ObjectClass(name, f"{script}-{name}", former.sqlite))
        elif state == "created" and name not in self.classes:
            self._add(former)

    def _text(self, entry: Mapping[str, Any], key: str) -> str:
        value = entry.get(key)
        if isinstance(value, str) and value:
            return value
        self.diagnostics.fault(f"{self._path}.{key}", "must be a text")
        return ""

    # --- the verbs ------------------------------------------------------------------------------------------------

    def _create(self, kind: str, name: str, sqlite: bool) -> None:
        if name in self.classes:
            self._refuse(f"Cannot apply {kind} migration to existing class {name}")
            return
        self._add(ObjectClass(name, self._key(name), sqlite))

    def _rename(self, old: str, new: str) -> Renamed | None:
        if old not in self.classes:
            self._refuse(f"Cannot apply renamed_classes migration to non-existent class {old}")
            return None
        if new in self.classes:
            self._refuse(f"Cannot apply renamed_classes migration from {old} to existing class {new}")
            return None
        former = self.classes.pop(old)
        self.classes[new] = ObjectClass(new, former.unique_key, former.sqlite)
        return Renamed(old, new, former.unique_key)

    def _transfer(self, old: str, script: str, new: str) -> None:
        if new in self.classes:
            self._refuse(f"Cannot apply transferred_classes migration to existing class {new}")
            return
        self._add(ObjectClass(new, f"{script}-{old}"))

    def _delete(self, name: str) -> ObjectClass | None:
        if name not in self.classes:
            self._refuse(f"Cannot apply deleted_classes migration to non-existent class {name}")
            return None
        former = self.classes.pop(name)
        self._keys.discard(former.unique_key)
        return former

    def _add(self, made: ObjectClass) -> None:
        self.classes[made.name] = made
        self._keys.add(made.unique_key)

    def _key(self, name: str) -> str:
        """The folder of a new class; another one when a renamed class still holds the obvious name."""
        plain = f"{self.worker}-{name}"
        return plain if plain not in self._keys else f"{plain}-{self._tag}"

    def _refuse(self, message: str) -> None:
        self.diagnostics.fault(f'{self._path} (tag "{self._tag}")', message)

    # --- shapes ---------------------------------------------------------------------------------------------------

    def _names(self, entry: Mapping[str, Any], key: str) -> Sequence[str]:
        names = entry.get(key, [])
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
        self.diagnostics.fault(f"{self._path}.{key}", "must be an array of class names")
        return ()

    def _pairs(self, entry: Mapping[str, Any], key: str, wanted: Sequence[str]) -> Sequence[tuple[str, ...]]:
        rows = entry.get(key, [])
        if isinstance(rows, list) and all(
            isinstance(row, Mapping) and all(isinstance(row.get(name), str) for name in wanted) for row in rows
        ):
            return [tuple(row[name] for name in wanted) for row in rows]
        shape = ", ".join(f'"{name}": "…"' for name in wanted)
        self.diagnostics.fault(f"{self._path}.{key}", f"must be an array of {{{shape}}}")
        return ()


def _kind(value: Any) -> str:
    return {dict: "an object", list: "an array", str: "a text", type(None): "null"}.get(type(value), repr(value))
