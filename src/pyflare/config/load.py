"""From the command line to frozen configurations: find, read, choose the environment, check, collect every fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyflare.config.advice import Advice
from pyflare.config.compat import KNOWN_UNTIL, is_date, names
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entry import check_handlers, find_main
from pyflare.config.environment import Environment, select
from pyflare.config.find import Found, find, shown
from pyflare.config.model import Compat, WorkerConfig
from pyflare.config.names import check_names
from pyflare.config.options import DevOptions
from pyflare.config.project import read_project
from pyflare.config.read import read_config
from pyflare.config.schema import check_top_level
from pyflare.config.settings import build, dev_settings, rules
from pyflare.config.shapes import shown as shown_value
from pyflare.config.shapes import worker_name
from pyflare.config.vars import Surroundings, command_environ, load_vars
from pyflare.errors import ConfigError

PYTHON_FLAG = "python_workers"
_OLD_REQUIREMENTS = "cf-requirements.txt"
_NOT_IN_A_NAME = r"[^a-z0-9_-]+"


@dataclass(frozen=True)
class Loaded:
    """A worker's configuration and what is wrong with it; with faults, `config` is a best effort.

    Who parses the engines' sections next adds to `diagnostics`, so that one message lists everything.
    """

    config: WorkerConfig
    diagnostics: Diagnostics
    missing: str | None = None  # the warning that there is no such environment, for commands that show no others

    def warnings(self) -> tuple[str, ...]:
        """With those that came after `config` was made."""
        return tuple(self.diagnostics.located_warnings())


Examine = Callable[[WorkerConfig, Diagnostics], None]


def load_workers(options: DevOptions, environ: Mapping[str, str], examine: Examine | None = None) -> list[WorkerConfig]:
    """The workers that the command line names, the primary first. `ConfigError` holds every fault of every file."""
    loaded = read_workers(options, environ)
    check_loaded(loaded, examine)
    return [one.config for one in loaded]


def read_workers(options: DevOptions, environ: Mapping[str, str], strict: bool = False) -> list[Loaded]:
    """The same with the faults beside each worker. Raises only where a file cannot be found or read at all, or
    lacks the environment.

    `strict` refuses what Cloudflare would not take or not serve, as `[tool.pyflare] strict = true` does.
    """
    environ = command_environ(options, environ)
    wanted = options.env if options.env is not None else environ.get("CLOUDFLARE_ENV")
    environment = wanted or None  # `--env ""` asks for the top level
    auxiliary = DevOptions(cwd=options.cwd, env=options.env)  # as in wrangler, only --env reaches the others
    loaded: list[Loaded] = []
    unreadable: list[str] = []
    for index, found in enumerate(find(options)):
        own = options if index == 0 else auxiliary
        try:
            loaded.append(_Reader(found, own, environment, environ).worker(strict))
        except ConfigError as error:
            unreadable += error.faults
    if unreadable:
        raise ConfigError(*unreadable, *(fault for one in loaded for fault in one.diagnostics.located()))
    _check_distinct(loaded)
    return loaded


def check_loaded(loaded: Sequence[Loaded], examine: Examine | None = None) -> None:
    """Raise one `ConfigError` with the faults of all workers."""
    faults = faults_of(loaded, examine)
    if faults:
        raise ConfigError(*faults)


def faults_of(loaded: Sequence[Loaded], examine: Examine | None = None) -> list[str]:
    """The faults of all workers. `examine` is asked for more once there is one, to have the engines' beside it."""
    if examine is not None and any(one.diagnostics.faults for one in loaded):
        for one in loaded:
            examine(one.config, one.diagnostics)
    return [fault for one in loaded for fault in one.diagnostics.located()]


def state_folder(options: DevOptions, primary: WorkerConfig) -> Path:
    """`.wrangler/state/v3` beside the configuration, or `v3` in the folder that --persist-to names."""
    if options.persist_to is not None:
        return options.cwd / options.persist_to / "v3"
    return (primary.home or primary.root) / ".wrangler" / "state" / "v3"


def guest_folders(primary: WorkerConfig, *others: WorkerConfig) -> list[str]:
    """The state folders that the workers beside the primary one would have alone."""
    own = [str(state_folder(DevOptions(), config).resolve()) for config in (primary, *others)]
    return sorted(set(own) - {own[0]})


class _Reader:
    """Reads one worker."""

    def __init__(self, found: Found, options: DevOptions, environment: str | None, environ: Mapping[str, str]) -> None:
        self._found = found
        self._options = options
        self._environment = environment
        self._environ = environ
        self._diagnostics = Diagnostics(shown(found.path, options.cwd) if found.path else None)
        self._advice = Advice(self._diagnostics, toml=found.path is not None and found.path.suffix == ".toml")

    def worker(self, strict: bool) -> Loaded:
        environment = self._selected()
        sections = self._overridden(environment.sections)
        root, diagnostics = self._found.root, self._diagnostics
        main = self._found.script or find_main(sections, root, diagnostics)
        compat = self._compat(sections, python=main is not None)
        home = self._found.home or root
        around = Surroundings(home, self._options.cwd, self._environment, self._options.env_files, self._environ)
        variables = load_vars(sections, self._options.vars, around, diagnostics)
        check_names(sections, diagnostics)
        project = read_project(root, diagnostics)
        module_root = _module_root(sections, root, main)
        self._check_requirements(module_root)
        strict = strict or project.tool.get("strict") is True
        if main is not None and strict:
            check_handlers(main, compat, diagnostics)
        config = WorkerConfig(
            name=self._name(sections),
            root=root,
            path=self._found.path,
            home=self._found.home,
            main=main,
            module_root=module_root,
            compat=compat,
            strict=strict,
            vars=variables.values,
            secrets=variables.secrets,
            environment=self._environment,
            sections=sections,
            dev=dev_settings(sections, self._options),
            rules=rules(sections),
            build=build(sections, root),
            project=project.path.parent if project.path else None,
            tool=project.tool,
            dependencies=project.dependencies,
            notes=[*self._redirection(), *variables.notes],
            watched=tuple(path for path in (self._found.path, *variables.watched, project.path) if path),
        )
        return Loaded(replace(config, warnings=tuple(diagnostics.located_warnings())), diagnostics, environment.missing)

    def _redirection(self) -> Sequence[str]:
        found = self._found
        if found.home is None or found.path is None:
            return ()
        return (f"Using redirected Wrangler configuration: {shown(found.path, self._options.cwd)}",)

    def _selected(self) -> Environment:
        if self._found.path is None:
            return Environment({})
        raw = read_config(self._found.path, self._diagnostics)
        check_top_level(raw, self._diagnostics)
        return select(raw, self._environment, self._diagnostics)

    def _overridden(self, sections: dict[str, Any]) -> dict[str, Any]:
        """What the command line says in place of the file."""
        options = self._options
        given: dict[str, Any] = {}
        if options.name is not None:
            worker_name(options.name, "--name", self._diagnostics)
            given["name"] = options.name
        if options.compatibility_date is not None:
            given["compatibility_date"] = options.compatibility_date
        if options.compatibility_flags:
            given["compatibility_flags"] = list(options.compatibility_flags)
        if options.assets is not None:
            configured = sections.get("assets")
            others = configured if isinstance(configured, dict) else {}
            given["assets"] = {**others, "directory": str(options.cwd / options.assets)}
        if self._found.script is not None:
            given["main"] = str(self._found.script)
        return {**sections, **given}

    def _name(self, sections: Mapping[str, Any]) -> str:
        name = sections.get("name")
        if isinstance(name, str) and name:
            return name
        if self._found.path is None and self._found.script is not None:
            return _slug(self._found.script.stem)
        used = _slug(self._found.root.name)
        if "name" not in sections:
            self._advice.name(used)
        return f"{used}-{self._environment}" if self._environment else used

    def _compat(self, sections: Mapping[str, Any], python: bool) -> Compat:
        flags = _texts(sections.get("compatibility_flags"))
        for flag in flags:
            if flag not in names():
                self._diagnostics.warn(f"No such compatibility flag: {flag}")
        told = self._diagnostics.faulty(["compatibility_flags"])
        if python and PYTHON_FLAG not in flags and not told and self._found.path is not None:
            self._advice.python_workers(flags)
        implied = {PYTHON_FLAG} if python else set()
        return Compat(self._date(sections), frozenset(flags) | implied)

    def _date(self, sections: Mapping[str, Any]) -> str:
        date = sections.get("compatibility_date")
        if date is None:
            today = _today()
            if self._found.path is not None and "compatibility_date" not in sections:
                self._advice.compatibility_date(today)
            return today
        if not isinstance(date, str):
            return _today()
        if not is_date(date):
            message = f"should be a valid ISO-8601 date (YYYY-MM-DD), but got {shown_value(date)}"
            self._diagnostics.fault("compatibility_date", message)
        elif date > KNOWN_UNTIL and date > _today():
            self._diagnostics.warn(f'Compatibility date "{date}" is in the future and unsupported by Cloudflare.')
        return date

    def _check_requirements(self, module_root: Path | None) -> None:
        folders = {self._found.root, module_root or self._found.root}
        if any((folder / _OLD_REQUIREMENTS).is_file() for folder in folders):
            self._diagnostics.warn(
                f"Found a `{_OLD_REQUIREMENTS}` file. {_OLD_REQUIREMENTS} is no longer used, instead put your "
                "dependencies in pyproject.toml and use pywrangler."
            )


def _module_root(sections: Mapping[str, Any], root: Path, main: Path | None) -> Path | None:
    base = sections.get("base_dir")
    if isinstance(base, str):
        return (root / base).resolve()
    return main.parent if main else None


def _check_distinct(loaded: Sequence[Loaded]) -> None:
    seen: dict[str, Loaded] = {}
    for one in loaded:
        other = seen.setdefault(one.config.name, one)
        if other is not one:
            first = other.diagnostics.file
            one.diagnostics.fault("name", f'"{one.config.name}" is also the name of the worker in {first}')


def _slug(text: str) -> str:
    return re.sub(_NOT_IN_A_NAME, "-", text.lower()).strip("-") or "worker"


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _today() -> str:
    import datetime  # noqa: PLC0415  (only for a configuration without a date)

    from pyflare.clock import SystemClock  # noqa: PLC0415  (imports asyncio, which the command line can do without)

    return datetime.datetime.fromtimestamp(SystemClock().now(), datetime.UTC).date().isoformat()
