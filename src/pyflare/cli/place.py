"""Which local data a data command works on: those of the project. A server that holds them is asked (`served`)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from pyflare.cli.common import PATH, Command, config_options, options_of
from pyflare.cli.data_folder import data_folder
from pyflare.cli.report import show_missing_environments
from pyflare.clock import SystemClock
from pyflare.config.load import read_workers
from pyflare.config.model import WorkerConfig
from pyflare.engines.r2.faults import R2Fault
from pyflare.errors import ConfigError, EngineError
from pyflare.interop.errors import JsException
from pyflare.storage.layout import Layout

NOT_BOTH = "Arguments remote and local are mutually exclusive"
NO_REMOTE = "pyflare works on local data only; for what is on Cloudflare use the same command of wrangler."


def place_options(command: Command) -> Command:
    """`--local`, `--remote`, `--persist-to` and what names the configuration."""
    for option in (
        click.option("--local", is_flag=True, help="The local data (always so in pyflare)."),
        click.option("--remote", is_flag=True, help="Refused: use wrangler."),
        click.option("--persist-to", type=PATH, help="Folder of the local data."),
    ):
        option(command)
    return config_options(command)


class Place:
    """The project that the flags name."""

    def __init__(self, given: dict[str, Any]) -> None:
        if given["local"] and given["remote"]:
            raise ConfigError(NOT_BOTH)
        if given["remote"]:
            raise ConfigError(NO_REMOTE)
        options = options_of(given)
        self.cwd = options.cwd
        loaded = read_workers(options, os.environ)
        show_missing_environments(loaded)
        self.configs: Sequence[WorkerConfig] = [one.config for one in loaded]
        self.layout = Layout(data_folder(options, self.configs[0]))
        self.now = SystemClock().now

    def expect(self, what: str, name: str, section: str, *fields: str) -> None:
        """Warns when no entry of the section has this name: what is stored under it no worker sees."""
        entries = (entry for config in self.configs for entry in config.sections.get(section) or ())
        if not any(entry.get(field) == name for entry in entries for field in fields):
            warn(f'{what} "{name}" is not in the "{section}" section of your configuration.')


def announce() -> None:
    click.echo("Resource location: local \n")


def warn(text: str) -> None:
    click.echo(text, err=True)


@contextmanager
def refusals() -> Iterator[None]:
    """What a room refuses is an error of the command."""
    try:
        yield
    except (JsException, R2Fault) as refused:
        raise EngineError(refused.message) from None
