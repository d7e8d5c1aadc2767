"""Options objects of the JavaScript API: what they hold, and what in them nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsObject, get, is_nullish

SEND = frozenset(("contentType", "delaySeconds"))
DELAY = frozenset(("delaySeconds",))  # of sendBatch, retry and retryAll


def fields(given: Any, refusal: str) -> Mapping[str, Any]:
    """The properties of an options object or of a message of `sendBatch`; TypeError with `refusal` for no object."""
    if type(given) is JsObject:
        return given.__dict__
    if isinstance(given, Mapping):
        return given
    if is_nullish(given):
        return {}
    if isinstance(given, (str, int, float)):
        raise type_error(refusal)
    found = {name: get(given, name) for name in ("body", "contentType", "delaySeconds")}
    return {name: value for name, value in found.items() if value is not None}


def not_of_type(call: str, of: str, at: int, kind: str) -> str:
    """What the runtime says of an argument of the wrong kind."""
    return f"Failed to execute '{call}' on '{of}': parameter {at} is not of type '{kind}'."


def ignored(call: str, given: Mapping[str, Any], known: frozenset[str], told: set[str]) -> Iterator[str]:
    """A sentence for each option that JavaScript drops because nobody knows it, once: it may be misspelt."""
    for name in given.keys() - known - told:
        told.add(name)
        near = difflib.get_close_matches(name, known, 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        yield f"{call}() ignores the option {name!r}{hint}"
