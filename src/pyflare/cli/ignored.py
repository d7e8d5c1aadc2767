"""Flags of `wrangler dev` that mean nothing here. They are accepted, each with one line that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from pyflare.cli.common import Command

_NO_JAVASCRIPT = "Python is not bundled"
_LOCAL = "pyflare never leaves this machine"
_NO_INSPECTOR = "use breakpoint(), or a debugger with --no-reload"


@dataclass(frozen=True)
class Ignored:
    """One flag: its spellings, why it has no effect, and whether it is a switch or takes a value."""

    names: Sequence[str]
    why: str
    switch: bool = False


IGNORED: Sequence[Ignored] = (
    Ignored(("--remote", "-r"), _LOCAL, switch=True),
    Ignored(("--local", "-l"), "pyflare is always local", switch=True),
    Ignored(("--latest",), "there is one runtime, pyflare's", switch=True),
    Ignored(("--bundle",), _NO_JAVASCRIPT, switch=True),
    Ignored(("--minify",), _NO_JAVASCRIPT, switch=True),
    Ignored(("--jsx-factory",), _NO_JAVASCRIPT),
    Ignored(("--jsx-fragment",), _NO_JAVASCRIPT),
    Ignored(("--tsconfig",), _NO_JAVASCRIPT),
    Ignored(("--define",), _NO_JAVASCRIPT),
    Ignored(("--alias",), _NO_JAVASCRIPT),
    Ignored(("--node-compat",), _NO_JAVASCRIPT, switch=True),
    Ignored(("--inspector-port",), _NO_INSPECTOR),
    Ignored(("--inspector-ip",), _NO_INSPECTOR),
    Ignored(("--routes", "--route"), "every request reaches the worker; --host sets what request.url shows"),
    Ignored(("--site",), "Workers Sites are deprecated; use --assets"),
    Ignored(("--site-include",), "Workers Sites are deprecated; use --assets"),
    Ignored(("--site-exclude",), "Workers Sites are deprecated; use --assets"),
    Ignored(("--enable-containers",), "containers are not emulated", switch=True),
    Ignored(("--show-interactive-dev-session",), "there are no hotkeys", switch=True),
    Ignored(("--types",), "no types are generated while serving", switch=True),
    Ignored(("--tunnel",), _LOCAL, switch=True),
    Ignored(("--tunnel-name",), _LOCAL),
    Ignored(("--experimental-new-config", "--x-new-config"), "the configuration is a wrangler file", switch=True),
    Ignored(("--experimental-provision", "--x-provision"), "nothing is provisioned", switch=True),
    Ignored(("--experimental-auto-create", "--x-auto-create"), "nothing is provisioned", switch=True),
    Ignored(("--install-skills",), "nothing is installed", switch=True),
    Ignored(("--profile",), "there is no account to log in to"),
)


def ignored_flags(command: Command) -> Command:
    """Give a command the flags of `IGNORED`, hidden from its help."""
    for flag in IGNORED:
        names = [_switch(name) if flag.switch else name for name in flag.names]
        settings: Mapping[str, Any] = {} if flag.switch else {"multiple": True}
        click.option(*names, hidden=True, expose_value=False, default=None, callback=_said(flag), **settings)(command)
    return command


def _switch(name: str) -> str:
    return f"--{name[2:]}/--no-{name[2:]}" if name.startswith("--") else name


def _said(flag: Ignored) -> Callable[[click.Context, click.Parameter, Any], None]:
    def say(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value not in (None, ()):
            click.echo(f"{flag.names[0]} has no effect here: {flag.why}.", err=True)

    return say
