"""The command line. Each command is a module of this package, imported when it is called, without behaviour of its own.

A new command is one module and one line in `COMMANDS`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from pyflare.cli.arguments import normalised
from pyflare.cli.report import show_error
from pyflare.config.find import NoConfiguration
from pyflare.errors import ConfigError, PyflareError

# What a person types: the module that holds a click command of the same name, and its line in `pyflare --help`.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "dev": ("pyflare.cli.dev", "Serve a Python Worker on this machine."),
    "check": ("pyflare.cli.check", "Say what is wrong with a configuration, and what a deploy would miss."),
    "queues": ("pyflare.cli.queues", "Look into local queues and act on them."),
    "workflows": ("pyflare.cli.workflows", "Look into local workflows and steer their instances."),
    "trigger": ("pyflare.cli.trigger", "Run a cron handler now."),
    "init": ("pyflare.cli.init", "Make the folder of a new worker."),
    "types": ("pyflare.cli.types", "Write the type of self.env for type checkers and editors."),
    "d1": ("pyflare.cli.d1", "Work on local D1 databases."),
    "kv": ("pyflare.cli.kv", "Work on local KV namespaces."),
    "r2": ("pyflare.cli.r2", "Work on local R2 buckets."),
    "secrets-store": ("pyflare.cli.secrets_store", "Work on local secrets stores."),
}


class Commands(click.Group):
    """A group that imports a command when it is called, and turns our exceptions into lines on stderr."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), cmd_name.replace("-", "_"))
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """With near names for one that does not exist; click knows those of the groups only."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib  # noqa: PLC0415  (slow to import, and a typing error is rare)

            near = " or ".join(f"'{name}'" for name in difflib.get_close_matches(args[0], COMMANDS))
            ctx.fail(f"No such command '{args[0]}'." + (f" Did you mean {near}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **settings: Any) -> Any:
        words = normalised(sys.argv[1:] if args is None else args)
        return super().main(words, *rest, obj=words, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NoConfiguration as missing:
            names, positional = self._called(ctx)
            show_error(ConfigError(missing.advice(names, positional)))
            ctx.exit(1)
        except PyflareError as error:
            show_error(error)
            ctx.exit(1)
        except click.UsageError as error:
            raise _with_commands(error) from None

    def _called(self, ctx: click.Context) -> tuple[str, bool]:
        """The command with its groups, and whether its argument may be a worker."""
        command: click.Command | None = self
        names: list[str] = []
        for word in ctx.obj:
            if not isinstance(command, click.Group) or word.startswith("-"):
                break
            command = command.get_command(ctx, word)
            names.append(word)
        return " ".join(names), command is not None and any(one.name == "script" for one in command.params)


def _with_commands(error: click.UsageError) -> click.UsageError:
    """Wrangler has more commands than a group here: say which there are."""
    ctx = error.ctx
    if ctx is None or not isinstance(ctx.command, click.Group) or not error.message.startswith("No such command"):
        return error
    there = f"{ctx.command_path} has: {', '.join(ctx.command.list_commands(ctx))}"
    return click.UsageError(f"{error.format_message()} {there}. For what is on Cloudflare use wrangler.", ctx)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-v", "--version", package_name="pyflare-dev", prog_name="pyflare")
def main() -> None:
    """Run Cloudflare Python Workers on this machine: every binding emulated on real storage."""
