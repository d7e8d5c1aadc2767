"""How faults and warnings look on the terminal. They go to stderr, coloured only there where it is a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from pyflare.errors import ConfigError, PyflareError, WorkerError

if TYPE_CHECKING:
    from pyflare.config.load import Loaded


def show_error(error: PyflareError) -> None:
    """All faults of a configuration, or one error; never a traceback of pyflare's own."""
    if isinstance(error, ConfigError):
        for fault in error.faults:
            _line("error", "red", fault)
        return
    _line("error", "red", str(error))
    if isinstance(error, WorkerError) and error.details:
        click.echo(error.details, err=True)


def show_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        _line("warning", "yellow", warning)


def show_missing_environments(loaded: Iterable[Loaded]) -> None:
    """For commands on data, which show no other warnings of the configuration."""
    show_warnings(f"{one.diagnostics.file}: {one.missing}" for one in loaded if one.missing is not None)


def _line(kind: str, colour: str, text: str) -> None:
    indented = text.replace("\n", "\n  ")
    click.echo(f"{click.style(kind + ':', fg=colour)} {indented}", err=True)
