"""URLPattern: urlpattern.spec.whatwg.org, as Cloudflare's runtime has it since 2025-05-01 (`urlpattern_standard`).

Before (`urlpattern_original`), text left no part to match anything, a base was inherited whole, a group that caught
nothing was the empty text, and `hasRegExpGroups` was missing. The texts of errors, the regular expressions without sets
and the laxer canonical forms of that time are not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import ada_url

from pyflare.interop import scope
from pyflare.interop.arguments import to_string
from pyflare.interop.containers import JsArray
from pyflare.interop.errors import error, type_error
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, jsnull
from pyflare.interop.web.url_pattern_class import PatternError
from pyflare.interop.web.url_pattern_init import (
    COMPONENTS,
    Init,
    base_parts,
    compile_all,
    parse_string,
    parts_of,
    process,
)
from pyflare.interop.web.url_pattern_parser import Component
from pyflare.interop.web.url_pattern_regexp import UnsupportedError

_INIT = (*COMPONENTS, "baseURL")
_PRIMITIVES = (str, int, float)


def _pattern(name: str) -> property:
    return property(lambda self: self._components[name].pattern)


class URLPattern(JsProxy):
    js_name: ClassVar[str] = "URLPattern"

    def __init__(self, components: dict[str, Component]) -> None:
        self._components = components

    @classmethod
    def construct(cls, source: Any = None, base: Any = None, options: Any = None, *_: Any) -> URLPattern:
        if isinstance(options, _PRIMITIVES):
            raise type_error(
                "Failed to construct 'URLPattern': constructor parameter 3 is not of type 'URLPatternOptions'."
            )
        given = _text_or_init(source)
        base_url = to_string(base) if isinstance(base, _PRIMITIVES) else None
        if base_url is None and base is not None:
            options = base
        try:
            init = process(_whole(given, base_url), is_pattern=True)
            return cls.make(compile_all(init, bool(get(options, "ignoreCase"))))
        except PatternError:
            raise type_error("Failed to construct URLPattern") from None
        except UnsupportedError as raised:
            raise error(str(raised)) from None

    def js_properties(self) -> dict[str, Any]:
        return {}

    protocol = _pattern("protocol")
    username = _pattern("username")
    password = _pattern("password")
    hostname = _pattern("hostname")
    port = _pattern("port")
    pathname = _pattern("pathname")
    search = _pattern("search")
    hash = _pattern("hash")

    @property
    def hasRegExpGroups(self) -> bool:
        if not scope.enabled("urlpattern_standard"):
            raise AttributeError("hasRegExpGroups")
        return any(component.has_regexp_groups for component in self._components.values())

    def test(self, source: Any = None, base: Any = None, *_: Any) -> bool:
        parts = _parts(*_asked(source, base, "test"))
        return parts is not None and all(
            component.regexp.match(parts[name]) for name, component in self._components.items()
        )

    def exec(self, source: Any = None, base: Any = None, *_: Any) -> Any:
        given, base_url = _asked(source, base, "exec")
        parts = _parts(given, base_url)
        if parts is None:
            return jsnull
        standard = scope.enabled("urlpattern_standard")
        inputs: list[Any] = [given]
        if not isinstance(given, str):
            inputs = [JsObject.make({name: given.get(name) for name in _INIT if standard or name in given})]
        if base_url is not None:
            inputs.append(base_url)
        result: dict[str, Any] = {"inputs": JsArray.make(inputs)}
        nothing = None if standard else ""
        for name, component in self._components.items():
            groups = component.match(parts[name])
            if groups is None:
                return jsnull
            caught = {group: nothing if text is None else text for group, text in groups.items()}
            result[name] = JsObject.make({"input": parts[name], "groups": JsObject.make(caught)})
        return JsObject.make(result)


def _text_or_init(value: Any) -> str | Init:
    if isinstance(value, _PRIMITIVES):
        return to_string(value)
    fields = {} if is_nullish(value) else {name: get(value, name) for name in _INIT}
    return {name: to_string(field) for name, field in fields.items() if field is not None}


def _asked(source: Any, base: Any, method: str) -> tuple[str | Init, str | None]:
    """The arguments of a method; an object holds its base itself."""
    given, base_url = _text_or_init(source), None if base is None else to_string(base)
    if base_url is not None and not isinstance(given, str):
        raise type_error(f"Failed to {method} URLPattern")
    return given, base_url


def _whole(given: str | Init, base: str | None) -> Init:
    """The patterns of the constructor's first argument; the second is for text that needs it."""
    if not isinstance(given, str):
        if not scope.enabled("urlpattern_standard"):
            return _as_before(given, COMPONENTS) if "baseURL" in given else given
        if base is not None:
            raise PatternError("an object holds its base itself")
        return given
    init = parse_string(given)
    if base is not None:
        init["baseURL"] = base
    elif "protocol" not in init:
        raise PatternError("a relative pattern without a base")
    if scope.enabled("urlpattern_standard"):
        return init
    return _as_before(init, COMPONENTS[: next(at for at, name in enumerate(COMPONENTS) if name in init)])


def _as_before(init: Init, inherited: Sequence[str]) -> Init:
    """What `urlpattern_original` makes of text, or of a base: nothing is left to match anything."""
    base = base_parts(init["baseURL"]) if "baseURL" in init else {}
    return {**dict.fromkeys(COMPONENTS, ""), **{name: base[name] for name in inherited}, **init}


def _parts(given: str | Init, base: str | None) -> Init | None:
    """The parts of the URL to look at; None when it is none."""
    standard = scope.enabled("urlpattern_standard")
    try:
        if not isinstance(given, str):
            if not standard and "baseURL" in given:
                given = {**parts_of(ada_url.URL(given["baseURL"])), **given}
            parts = process(given, is_pattern=False)
            return {**parts, "search": parts["search"].removeprefix("?")}  # a second one goes as well
        if base is not None or ada_url.URL.can_parse(given) or not standard:
            return parts_of(ada_url.URL(given, base))
        # The runtime resolves a relative URL that has no base, too: its scheme and host are empty then.
        return {**parts_of(ada_url.URL(given, "none://")), "protocol": ""}
    except ValueError:
        return None
