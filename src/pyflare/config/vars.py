"""`vars` and secrets of a worker: the configuration, then `.dev.vars` or `.env` files, then `--var`.

Wrangler's rules: `.dev.vars` lies beside the configuration, and `.dev.vars.<env>` is read in its place, not merged.
Only without either are `.env`, `.env.local`, `.env.<env>`, `.env.<env>.local` merged, later ones winning, references
in them expanded. `--env-file` names the files instead of all these. A name that is another binding stays that binding.
https://developers.cloudflare.com/workers/configuration/secrets/#local-development-with-secrets
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyflare.config import dotenv
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.find import shown
from pyflare.config.names import KINDS, binding_names
from pyflare.config.options import DevOptions
from pyflare.config.read import read_text
from pyflare.errors import ConfigError


@dataclass(frozen=True)
class Surroundings:
    """What a worker's variables depend on besides its configuration."""

    root: Path  # the folder of the configuration
    cwd: Path
    environment: str | None
    env_files: Sequence[Path] = ()
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Variables:
    """`values` with `secrets` among them, the files that were read, and all files whose change matters."""

    values: Mapping[str, Any]
    secrets: frozenset[str] = frozenset()
    notes: Sequence[str] = ()
    watched: Sequence[Path] = ()


def command_environ(options: DevOptions, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment that pyflare itself obeys: wrangler adds the `.env` files of the working directory to it."""
    names = options.env_files or _default_files(options.env)
    files = [path for name in names if (path := options.cwd / name).is_file()]
    if not files:
        return environ
    values: dict[str, str] = {}
    for path in files:
        values |= dotenv.parse(read_text(path, shown(path, options.cwd))).values
    return dotenv.expand(values, environ)


def load_vars(
    sections: Mapping[str, Any], extra: Mapping[str, str], around: Surroundings, diagnostics: Diagnostics
) -> Variables:
    """All variables of a worker; `extra` is what `--var` gives, and wins."""
    given = sections.get("vars")
    values: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    _check_dates(values, diagnostics)
    required = _required(sections)
    loaded, notes, watched = _load(around, required is not None, diagnostics)
    if loaded is not None and required is not None:
        loaded = {name: value for name, value in loaded.items() if name in values or name in required}
    if required is not None:
        _warn_of_missing(required, {**(loaded or {}), **extra}, diagnostics)
    taken = {name for key in KINDS if key != "vars" for name in binding_names(key, sections.get(key))}
    secret = {name: value for name, value in (loaded or {}).items() if name not in taken} | dict(extra)
    return Variables({**values, **secret}, frozenset(secret), notes, watched)


def _load(
    around: Surroundings, with_process: bool, diagnostics: Diagnostics
) -> tuple[Mapping[str, str] | None, list[str], list[Path]]:
    """What the files hold (None: there is nothing to load), what to say about it, and which files to watch."""
    dev_vars = _dev_vars_files(around)
    watched = [*dev_vars, *_env_files(around)]
    path = next((path for path in dev_vars if path.is_file()), None)
    if path is not None:
        return _read(path, around, diagnostics), [_note(path, around)], watched
    if not _boolean(around.environ, "CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV", True, diagnostics):
        return None, [], watched
    files = [path for path in _env_files(around) if path.is_file()]
    values: dict[str, str] = {}
    for path in files:
        values |= _read(path, around, diagnostics)
    for path in around.env_files:
        if not (around.root / path).is_file():
            diagnostics.warn(f"--env-file {path}: there is no such file in {shown(around.root, around.cwd)}")
    notes = [_note(path, around) for path in files]
    with_process |= _boolean(around.environ, "CLOUDFLARE_INCLUDE_PROCESS_ENV", False, diagnostics)
    if with_process:
        notes.append("Using secrets defined in process.env")
    return dotenv.expand(values, around.environ if with_process else {}), notes, watched


def _dev_vars_files(around: Surroundings) -> list[Path]:
    if around.env_files:
        return []
    names = [f".dev.vars.{around.environment}"] if around.environment else []
    return [around.root / name for name in (*names, ".dev.vars")]


def _env_files(around: Surroundings) -> list[Path]:
    return [around.root / name for name in around.env_files or _default_files(around.environment)]


def _default_files(environment: str | None) -> list[Path]:
    names = [".env", ".env.local"]
    if environment:
        names += [f".env.{environment}", f".env.{environment}.local"]
    return [Path(name) for name in names]


def _read(path: Path, around: Surroundings, diagnostics: Diagnostics) -> Mapping[str, str]:
    name = shown(path, around.cwd)
    try:
        parsed = dotenv.parse(read_text(path, name))
    except ConfigError as error:
        diagnostics.fault("", str(error))
        return {}
    for cut in parsed.cut:
        diagnostics.warn(f"{name}: the value of {cut} ends at its first #; put it in quotes to keep the rest")
    return parsed.values


def _note(path: Path, around: Surroundings) -> str:
    return f"Using secrets defined in {shown(path, around.cwd)}"


def _boolean(environ: Mapping[str, str], name: str, default: bool, diagnostics: Diagnostics) -> bool:
    value = environ.get(name)
    if value is None:
        return default
    if value.lower() not in ("true", "false"):
        diagnostics.fault("", f'the environment variable {name} has to be "true" or "false", not "{value}"')
    return value.lower() == "true"


def _required(sections: Mapping[str, Any]) -> list[str] | None:
    """`secrets.required`; None without `secrets`."""
    secrets = sections.get("secrets")
    if not isinstance(secrets, dict):
        return None
    names = secrets.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _warn_of_missing(required: Sequence[str], found: Mapping[str, str], diagnostics: Diagnostics) -> None:
    missing = [name for name in required if name not in found]
    if missing:
        diagnostics.warn(
            f"Missing required secrets: {', '.join(missing)}. "
            "Add them to .dev.vars, .env, or set as environment variables."
        )


def _check_dates(values: Mapping[str, Any], diagnostics: Diagnostics) -> None:
    """TOML has dates; variables are text or JSON."""
    for name, value in values.items():
        if hasattr(value, "isoformat"):
            diagnostics.fault(f"vars.{name}", f'is a TOML date; write it as text: {name} = "{value.isoformat()}"')
