"""Options that several commands share, and what they mean together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from pyflare.config.options import DevOptions

Command = TypeVar("Command", bound=Callable[..., Any])

_CONFIG = "Configuration, its folder or a .py file; repeat for more workers."
PATH = click.Path(path_type=Path)


def config_options(command: Command) -> Command:
    """`-c`, `--env`, `--env-file`, `--cwd`: given as `config`, `env`, `env_file` and `cwd` (absolute)."""
    for option in reversed(
        (
            click.option("-c", "--config", type=PATH, multiple=True, help=_CONFIG),
            click.option("-e", "--env", metavar="NAME", help="Environment of the configuration."),
            click.option("--env-file", type=PATH, multiple=True, help="Variables to load instead of .dev.vars."),
            click.option("--cwd", type=PATH, callback=_folder, help="Run as if started in this folder."),
        )
    ):
        option(command)
    return command


def persist_option(command: Command) -> Command:
    """`--persist-to`, given as `persist_to`."""
    text = "Folder of the local data (default: .wrangler/state beside the configuration)."
    click.option("--persist-to", type=PATH, help=text)(command)
    return command


def options_of(given: Mapping[str, Any]) -> DevOptions:
    """What the flags of `config_options` and, where a command has it, `persist_option` say."""
    return DevOptions(
        configs=given["config"],
        script=given.get("script"),
        env=given["env"],
        env_files=given["env_file"],
        cwd=given["cwd"],
        persist_to=given.get("persist_to"),
    )


def pairs(values: Sequence[str], flag: str) -> dict[str, str]:
    """`NAME:VALUE` arguments; the value may hold colons."""
    result: dict[str, str] = {}
    for value in values:
        name, colon, text = value.partition(":")
        if not name or not colon:
            raise click.BadParameter(f'"{value}" has to be NAME:VALUE', param_hint=flag)
        result[name] = text
    return result


def _folder(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> Path:
    folder = Path.cwd() / (value or "")
    if not folder.is_dir():
        raise click.BadParameter(f"{value}: no such folder", ctx, parameter)
    return folder.resolve()
