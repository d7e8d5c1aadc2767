"""`pyflare dev`: the flags, as `DevOptions`, to the supervisor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from pyflare.cli.common import PATH, config_options, pairs, persist_option
from pyflare.cli.ignored import ignored_flags
from pyflare.config.options import DevOptions

_PROTOCOL = click.Choice(["http", "https"])
_LEVELS = click.Choice(["debug", "info", "log", "warn", "error", "none"])
_EPILOG = "The other flags of `wrangler dev` are accepted; each says in one line that it has no effect here."


@click.command(epilog=_EPILOG)
@click.argument("script", type=PATH, required=False)
@config_options
@persist_option
@click.option("--name", help="Name of the worker.")
@click.option("--ip", help="Address to listen on (default: localhost, IPv4 and IPv6).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 picks one (default: 8787).")
@click.option("--host", help="Host that request.url shows.")
@click.option("--local-upstream", hidden=True)
@click.option("--local-protocol", type=_PROTOCOL, help="What to listen for.")
@click.option("--https-key-path", type=PATH, help="Key of your own certificate.")
@click.option("--https-cert-path", type=PATH, help="Your own certificate.")
@click.option("--upstream-protocol", type=_PROTOCOL, help="Protocol that request.url shows.")
@click.option("--var", multiple=True, metavar="NAME:VALUE", help="A variable; wins over every file.")
@click.option("--compatibility-date", metavar="YYYY-MM-DD", help="In place of the configured date.")
@click.option("--compatibility-flags", "--compatibility-flag", multiple=True, help="In place of the configured flags.")
@click.option("--assets", type=PATH, help="Folder of static assets.")
@click.option("--test-scheduled/--no-test-scheduled", default=True, help="Serve /__scheduled (default: yes).")
@click.option("--cron/--no-cron", default=False, help="Fire cron triggers by the clock, in UTC.")
@click.option("--reload/--no-reload", default=True, help="Watch files; without it one process, for debuggers.")
@click.option("--live-reload/--no-live-reload", default=False, help="Reload HTML pages in the browser.")
@click.option("--evict-after", type=click.FloatRange(min=0), default=10.0, metavar="SECONDS",
              help="Drop an idle Durable Object after this time; 0: never (default: 10).")  # fmt: skip
@click.option("--durability", type=click.Choice(["normal", "full"]), default="normal",
              help="full: sync each commit, to survive a power cut (default: normal).")  # fmt: skip
@click.option("--allow-host", multiple=True, metavar="NAME", help="Host that may use the paths under /cdn-cgi/.")
@click.option("--log-level", type=_LEVELS, default="log", help="How much to say (default: log).")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="json: an object a line.")
@click.option("--color/--no-color", default=None, help="Colours (default: on a terminal).")
@ignored_flags
@click.pass_context
def dev(ctx: click.Context, /, **given: Any) -> None:
    """Serve a Python Worker on this machine.

    SCRIPT is a configuration of any name, a folder that holds one, or a .py file. Without it and without -c,
    wrangler.json, wrangler.jsonc or wrangler.toml is searched from the working directory upward.

    A dashboard of all local data is at /cdn-cgi/explorer, e.g. http://localhost:8787/cdn-cgi/explorer.
    """
    options = options_from(given)

    from pyflare.supervisor.supervisor import run  # noqa: PLC0415  (a wrong flag should be told before the server is imported)

    ctx.exit(run(options))


def options_from(given: dict[str, Any]) -> DevOptions:
    """The parsed flags as data; two that contradict each other raise a usage error."""
    if (given["https_key_path"] is None) != (given["https_cert_path"] is None):
        raise click.UsageError("--https-key-path and --https-cert-path belong together; give both")
    cwd: Path = given["cwd"]
    return DevOptions(
        configs=given["config"],
        script=given["script"],
        env=given["env"],
        env_files=given["env_file"],
        vars=pairs(given["var"], "--var"),
        cwd=cwd,
        ip=given["ip"],
        port=given["port"],
        host=given["host"] or given["local_upstream"],
        persist_to=given["persist_to"],
        compatibility_date=given["compatibility_date"],
        compatibility_flags=given["compatibility_flags"],
        name=given["name"],
        assets=given["assets"],
        local_protocol=given["local_protocol"],
        https_key_path=_absolute(cwd, given["https_key_path"]),
        https_cert_path=_absolute(cwd, given["https_cert_path"]),
        upstream_protocol=given["upstream_protocol"],
        test_scheduled=given["test_scheduled"],
        cron=given["cron"],
        reload=given["reload"],
        evict_after=given["evict_after"],
        durability=given["durability"],
        log_level=given["log_level"],
        log_format=given["log_format"],
        allow_hosts=given["allow_host"],
        live_reload=given["live_reload"],
        explorer=os.environ.get("X_LOCAL_EXPLORER", "").lower() not in ("false", "0"),
        color=given["color"] if given["color"] is not None else _wanted_colour(),
    )


def _absolute(cwd: Path, path: Path | None) -> Path | None:
    return None if path is None else cwd / path


def _wanted_colour() -> bool | None:
    """What NO_COLOR and FORCE_COLOR (https://no-color.org, https://force-color.org) ask for."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None
