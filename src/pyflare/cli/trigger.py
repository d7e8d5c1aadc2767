"""`pyflare trigger`: make something happen now in the server that runs."""

from __future__ import annotations

import sys
from typing import Any

import click

from pyflare.cli.common import config_options, persist_option
from pyflare.cli.rooms import Rooms


@click.group()
def trigger() -> None:
    """Make something happen now in the `pyflare dev` that runs."""


@trigger.command()
@click.argument("expression")
@click.option("--worker", metavar="NAME", help="Whose handler; without it the worker that has the expression.")
@click.option("--time", "time_ms", type=float, metavar="MS", help="controller.scheduledTime; without it now.")
@config_options
@persist_option
def cron(expression: str, worker: str | None, time_ms: float | None, **given: Any) -> None:
    """Run the scheduled handler with EXPRESSION, such as "0 1 * * *"."""
    rooms = Rooms(given)
    fields = {"cron": expression, "worker": worker or rooms.guest, "time_ms": time_ms}
    outcome = rooms.act_on_server("cron", "trigger", **fields)
    if expression not in outcome["configured"]:
        known = ", ".join(f'"{text}"' for text in outcome["configured"]) or "none"
        why = f"is not among the configured crons ({known})"
        if outcome["fault"]:
            why = f"is no cron expression: {outcome['fault']}"
        click.echo(f'"{expression}" {why}; the handler ran all the same', err=True)
    click.echo(outcome["outcome"] + (", noRetry" if outcome["noRetry"] else ""))
    if outcome["error"]:
        click.echo(f"The scheduled handler of {outcome['worker']} failed:\n{outcome['error']}", err=True)
        sys.exit(1)
