"""The parts of a configuration that pyflare itself obeys: `dev`, `rules`, `build`. Wrong types were told before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyflare.config.model import Build, DevSettings, Rule
from pyflare.config.options import DevOptions

_SCHEME = r"https?://"
_DEFAULT_WATCH_DIR = "./src"


def dev_settings(sections: Mapping[str, Any], options: DevOptions) -> DevSettings:
    """`dev`, with what the command line says instead."""
    dev = _dict(sections.get("dev"))
    local_protocol = options.local_protocol or _text(dev, "local_protocol") or "http"
    return DevSettings(
        ip=options.ip or _text(dev, "ip") or DevSettings.ip,
        port=options.port if options.port is not None else _port(dev.get("port")),
        local_protocol=local_protocol,
        upstream_protocol=options.upstream_protocol or _text(dev, "upstream_protocol") or local_protocol,
        host=options.host or _text(dev, "host") or _first_host(sections),
    )


def rules(sections: Mapping[str, Any]) -> Sequence[Rule]:
    return tuple(
        Rule(str(rule.get("type")), tuple(map(str, _list(rule.get("globs")))), rule.get("fallthrough") is not False)
        for rule in map(_dict, _list(sections.get("rules")))
    )


def build(sections: Mapping[str, Any], root: Path) -> Build:
    """An empty command is none. Paths are relative to the configuration."""
    section = _dict(sections.get("build"))
    command = _text(section, "command")
    if command is None:
        return Build()
    watched = section.get("watch_dir", _DEFAULT_WATCH_DIR)
    folders = watched if isinstance(watched, list) else [watched]
    return Build(command, root / (_text(section, "cwd") or ""), tuple(root / str(folder) for folder in folders))


def route_host(route: Any) -> str | None:
    """The host that a route pattern such as `https://*.example.com/api/*` names, without wildcards."""
    pattern = route.get("pattern") if isinstance(route, dict) else route
    if not isinstance(pattern, str):
        return None
    bare = re.sub(_SCHEME, "", pattern, count=1)
    host = bare.partition("/")[0].replace("*.", "").replace("*", "")
    zone = route.get("zone_name") if isinstance(route, dict) else None
    return host or (zone if isinstance(zone, str) else None)


def _first_host(sections: Mapping[str, Any]) -> str | None:
    routes = [sections["route"]] if sections.get("route") else _list(sections.get("routes"))
    return route_host(routes[0]) if routes else None


def _port(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(section: Mapping[str, Any], key: str) -> str | None:
    value = section.get(key)
    return value if isinstance(value, str) and value else None


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
