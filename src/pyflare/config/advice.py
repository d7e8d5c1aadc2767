"""What a worker may leave out here but not when it is deployed: one warning each, with the line to add."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyflare.config.diagnostics import Diagnostics


class Advice:
    """Warnings in the language of one file: `toml` or JSONC."""

    def __init__(self, diagnostics: Diagnostics, toml: bool = False) -> None:
        self._diagnostics = diagnostics
        self._toml = toml

    def name(self, used: str) -> None:
        self._warn(f'No name was specified. The worker is called "{used}" here.', self._line("name", used))

    def compatibility_date(self, used: str) -> None:
        sentence = f"No compatibility_date was specified. Using today's date: {used}."
        self._warn(sentence, self._line("compatibility_date", used))

    def python_workers(self, given: Sequence[str]) -> None:
        sentence = "The python_workers compatibility flag is required to use Python on Cloudflare."
        self._warn(sentence, self._line("compatibility_flags", [*given, "python_workers"]))

    def migrations(self, sections: Mapping[str, Any]) -> None:
        """Every Durable Object class that this worker binds has to be created by a migration or an export."""
        missing = list(_classes_without_migration(sections))
        if not missing:
            return
        migrations = _list(sections.get("migrations"))
        added = {"tag": _next_tag(migrations), "new_sqlite_classes": missing}
        sentence = f"No migration creates {', '.join(missing)}, which durable_objects names; a deploy needs one."
        if self._toml:
            self._warn(sentence, "\n".join(["[[migrations]]", *(_toml(key, value) for key, value in added.items())]))
        else:
            self._warn(sentence, f"{_json('migrations', [*migrations, added])},")

    def _line(self, key: str, value: Any) -> str:
        return _toml(key, value) if self._toml else f"{_json(key, value)},"

    def _warn(self, sentence: str, line: str) -> None:
        indented = line.replace("\n", "\n    ")
        self._diagnostics.warn(f"{sentence} Add:\n    {indented}")


def _classes_without_migration(sections: Mapping[str, Any]) -> Iterator[str]:
    bound = _list(_dict(sections.get("durable_objects")).get("bindings"))
    own = (item.get("class_name") for item in bound if isinstance(item, dict) and not item.get("script_name"))
    created = _created(_list(sections.get("migrations"))) | set(_dict(sections.get("exports")))
    return (name for name in dict.fromkeys(own) if isinstance(name, str) and name not in created)


def _created(migrations: Sequence[Any]) -> set[str]:
    """The classes that exist after all migrations."""
    classes: set[str] = set()
    for step in map(_dict, migrations):
        classes |= set(map(str, [*_list(step.get("new_classes")), *_list(step.get("new_sqlite_classes"))]))
        for move in map(_dict, [*_list(step.get("renamed_classes")), *_list(step.get("transferred_classes"))]):
            classes.discard(str(move.get("from")))
            classes.add(str(move.get("to")))
        classes -= set(map(str, _list(step.get("deleted_classes"))))
    return classes


def _next_tag(migrations: Sequence[Any]) -> str:
    used = {_dict(step).get("tag") for step in migrations}
    return next(tag for number in range(len(used) + 1, len(used) + 100) if (tag := f"v{number}") not in used)


def _toml(key: str, value: Any) -> str:
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _json(key: str, value: Any) -> str:
    return f'"{key}": {json.dumps(value, ensure_ascii=False)}'


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
