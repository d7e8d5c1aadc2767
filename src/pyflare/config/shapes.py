"""What a value of the configuration may look like. Each shape tells `Diagnostics` what does not fit, and where."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyflare.config.diagnostics import Diagnostics

Shape = Callable[[Any, str, Diagnostics], None]

_SHOWN_CHARACTERS = 60
_WORKER_NAME = r"[a-z0-9_][a-z0-9_-]*"


def anything(value: Any, path: str, diagnostics: Diagnostics) -> None:
    """No rule; what has no effect here, or what an engine knows better."""


def text(value: Any, path: str, diagnostics: Diagnostics) -> None:
    if not isinstance(value, str):
        _fault(diagnostics, path, "a string", value)


def flag(value: Any, path: str, diagnostics: Diagnostics) -> None:
    if not isinstance(value, bool):
        _fault(diagnostics, path, "true or false", value)


def number(value: Any, path: str, diagnostics: Diagnostics) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _fault(diagnostics, path, "a number", value)


def port(value: Any, path: str, diagnostics: Diagnostics) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 65535:
        _fault(diagnostics, path, "a port number (0 to 65535)", value)


def worker_name(value: Any, path: str, diagnostics: Diagnostics) -> None:
    if not isinstance(value, str) or not re.fullmatch(_WORKER_NAME, value):
        _fault(diagnostics, path, "a string, alphanumeric and lowercase with dashes only", value)


def mapping(value: Any, path: str, diagnostics: Diagnostics) -> None:
    if not isinstance(value, dict):
        _fault(diagnostics, path, "an object", value)


def one_of(*choices: str) -> Shape:
    def check(value: Any, path: str, diagnostics: Diagnostics) -> None:
        if value not in choices:
            _fault(diagnostics, path, f"one of {', '.join(map(shown, choices))}", value)

    return check


def list_of(shape: Shape) -> Shape:
    def check(value: Any, path: str, diagnostics: Diagnostics) -> None:
        if not isinstance(value, list):
            _fault(diagnostics, path, "an array", value)
            return
        for index, item in enumerate(value):
            shape(item, f"{path}[{index}]", diagnostics)

    return check


def each(shape: Shape) -> Shape:
    """An object of free names."""

    def check(value: Any, path: str, diagnostics: Diagnostics) -> None:
        mapping(value, path, diagnostics)
        for name, item in value.items() if isinstance(value, dict) else ():
            shape(item, f"{path}.{name}", diagnostics)

    return check


def either(expected: str, *types: type, otherwise: Shape) -> Shape:
    """A value of one of `types`, or what `otherwise` takes when it is an array or an object."""

    def check(value: Any, path: str, diagnostics: Diagnostics) -> None:
        if isinstance(value, list | dict):
            otherwise(value, path, diagnostics)
        elif not isinstance(value, types):
            _fault(diagnostics, path, expected, value)

    return check


def record(fields: Mapping[str, Shape], required: Sequence[str] = ()) -> Shape:
    """An object of these fields; others are a warning, as in wrangler."""

    def check(value: Any, path: str, diagnostics: Diagnostics) -> None:
        if not isinstance(value, dict):
            _fault(diagnostics, path, "an object", value)
            return
        for name in required:
            if name not in value:
                diagnostics.fault(f"{path}.{name}", "is a required field")
        check_fields(value, fields, path, f"{path} field", diagnostics)

    return check


# Where fields belong that are often written one level too high.
_PLACES = {
    "crons": "triggers.crons",
    "producers": "queues.producers",
    "consumers": "queues.consumers",
    "directory": "assets.directory",
    "html_handling": "assets.html_handling",
    "not_found_handling": "assets.not_found_handling",
    "run_worker_first": "assets.run_worker_first",
}


def check_fields(
    value: Mapping[str, Any], fields: Mapping[str, Shape], path: str, where: str, diagnostics: Diagnostics
) -> None:
    """Check what is known and warn of the rest in wrangler's words; `path` is empty at the top level."""
    unexpected = [name for name in value if name not in fields]
    if unexpected:
        names = ",".join(f'"{name}"' for name in unexpected)
        diagnostics.warn(f"Unexpected fields found in {where}: {names}{_hints(unexpected, fields)}")
    for name, item in value.items():
        if name in fields:
            fields[name](item, f"{path}.{name}" if path else name, diagnostics)


def shown(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= _SHOWN_CHARACTERS else written[: _SHOWN_CHARACTERS - 1] + "…"


def _fault(diagnostics: Diagnostics, path: str, expected: str, value: Any) -> None:
    got = f"the TOML date {value}; put it in quotes" if hasattr(value, "isoformat") else shown(value)
    diagnostics.fault(path, f"expected {expected}, got {got}")


def _hints(unexpected: Sequence[str], fields: Mapping[str, Shape]) -> str:
    import difflib  # noqa: PLC0415  (slow to import, and a typing error is rare)

    near = {
        name: [_PLACES[name]] if name in _PLACES else difflib.get_close_matches(name, fields, n=1)
        for name in unexpected
    }
    hints = [f'"{found[0]}" instead of "{name}"' for name, found in near.items() if found]
    return f" (did you mean {', '.join(hints)}?)" if hints else ""
