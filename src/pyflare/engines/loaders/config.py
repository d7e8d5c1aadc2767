"""`worker_loaders[]`, and what a loader is given as code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import entries
from pyflare.config.model import Compat, WorkerConfig
from pyflare.interop.containers import JsArray
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import error, type_error
from pyflare.interop.proxy import JsObject, get, is_nullish

PYTHON = re.compile(r"([\w/]+)\.py")


@dataclass(frozen=True)
class Code:
    """A worker to be loaded; `modules` are sources by dotted name, `env` holds JavaScript values."""

    main: str
    modules: Mapping[str, str]
    compat: Compat
    env: Mapping[str, Any]
    outbound: Any = None  # where `fetch` goes: None as the parent's, null nowhere, else a Fetcher


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[str]:
    """The names of the bindings."""
    return [
        str(entry["binding"]) for _, entry in entries(config, "worker_loaders", diagnostics, required={"binding": str})
    ]


def code_of(value: Any) -> Code:
    """What `get` and `load` are given. Raises JsException."""
    if not is_nullish(get(value, "tails")):
        raise error("pyflare does not support tails of a loaded worker")
    date, main = get(value, "compatibilityDate"), get(value, "mainModule")
    for name, text in (("compatibilityDate", date), ("mainModule", main)):
        if not isinstance(text, str):
            raise type_error(f"Missing field '{name}' on 'WorkerCode'.")
    modules = {_dotted(name): _source(name, source) for name, source in _properties(get(value, "modules")).items()}
    if _dotted(main) not in modules:
        raise error(f"mainModule {main!r} is not one of the modules")
    flags = get(value, "compatibilityFlags")
    compat = Compat(date, frozenset(flags if isinstance(flags, (JsArray, list)) else ()) | {"python_workers"})
    env = {name: _unwrapped(item) for name, item in _properties(get(value, "env")).items()}
    return Code(_dotted(main), modules, compat, env, _unwrapped(get(value, "globalOutbound")))


def _unwrapped(value: Any) -> Any:
    """A binding without what the SDK puts around it."""
    return getattr(unwrap(value), "_binding", value)


def _properties(value: Any) -> dict[str, Any]:
    if is_nullish(value):
        return {}
    if isinstance(value, dict):
        return value
    if not isinstance(value, JsObject):
        raise type_error("modules and env must be objects: to_js(…, dict_converter=Object.fromEntries)")
    return dict(value.js_properties())


def _dotted(name: str) -> str:
    """`pkg/mod.py` is `pkg.mod`, `pkg/__init__.py` is `pkg`."""
    found = PYTHON.fullmatch(name)
    if found is None:
        raise error(f"pyflare loads Python modules only, not {name!r}")
    return found[1].replace("/", ".").removesuffix(".__init__")


def _source(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else get(value, "py")
    if not isinstance(text, str):
        raise error(f"pyflare loads Python modules only; {name!r} must be a string or {{py: string}}")
    return text
