"""One environment of a configuration: what it inherits, what it must say itself, and wrangler's warnings about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.schema import INHERITABLE, NOT_INHERITABLE, TOP_LEVEL_ONLY, check_environment

Sections = dict[str, Any]


@dataclass(frozen=True)
class Environment:
    """The sections in force; `missing` says that the file has no such environment."""

    sections: Sections
    missing: str | None = None


def select(raw: Mapping[str, Any], name: str | None, diagnostics: Diagnostics) -> Environment:
    """Apply `--env`. An unknown name raises ConfigError when the file has environments, else it is a warning."""
    top = {key: value for key, value in raw.items() if key != "env"}
    if not name:
        return Environment(top)
    environments = raw.get("env")
    if not isinstance(environments, dict):
        environments = {}
    own = environments.get(name)
    if isinstance(own, dict):
        check_environment(own, name, diagnostics)
        _warn_of_gaps(raw, own, name, diagnostics)
        return Environment(_merged(top, own, name))
    return Environment({**top, **_renamed(top, name)}, _unknown(environments, name, diagnostics))


def _merged(top: Sections, own: Mapping[str, Any], name: str) -> Sections:
    inherited = {key: top[key] for key in top if key in INHERITABLE or key in TOP_LEVEL_ONLY or not _known(key)}
    given = {key: value for key, value in own.items() if value is not None or key in NOT_INHERITABLE}
    return {**inherited, **_renamed(top, name), **given}


def _renamed(top: Sections, name: str) -> Sections:
    """An environment is a worker of its own, called `<name>-<environment>` unless it has a name."""
    return {"name": f"{top['name']}-{name}"} if isinstance(top.get("name"), str) else {}


def _known(key: str) -> bool:
    return key in INHERITABLE or key in NOT_INHERITABLE or key in TOP_LEVEL_ONLY


def _warn_of_gaps(raw: Mapping[str, Any], own: Mapping[str, Any], name: str, diagnostics: Diagnostics) -> None:
    for key in NOT_INHERITABLE:
        if key in raw and key not in own:
            diagnostics.warn(
                f'"{key}" exists at the top level, but not on "env.{name}".\n'
                f'This is not what you probably want, since "{key}" is not inherited by environments.\n'
                f'Please add "{key}" to "env.{name}".'
            )
    _warn_of_missing_vars(raw.get("vars"), own.get("vars"), name, diagnostics)


def _warn_of_missing_vars(top: Any, own: Any, name: str, diagnostics: Diagnostics) -> None:
    if not isinstance(top, dict) or not isinstance(own, dict):
        return
    missing = [key for key in top if key not in own]
    if missing:
        listed = "\n".join(f"- {key}" for key in missing)
        diagnostics.warn(
            f'The following vars exist at the top level, but not on "env.{name}.vars".\n'
            'This is probably not what you want, since "vars" configuration is not inherited by environments.\n'
            f'Please add these vars to "env.{name}.vars":\n{listed}'
        )


def _unknown(environments: Mapping[str, Any], name: str, diagnostics: Diagnostics) -> str:
    message = (
        f'No environment found in configuration with name "{name}".\n'
        f"Before using `--env={name}` there should be an equivalent environment section in the configuration."
    )
    if environments:
        names = json.dumps(list(environments), ensure_ascii=False)
        diagnostics.fault("", f"{message}\nThe available configured environment names are: {names}")
        diagnostics.check()  # also the commands that overlook other faults must not take the top level's data
    diagnostics.warn(message)
    return message
