"""`pyflare check`: the faults and warnings of a configuration and of the code it names, without serving them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from pyflare import engines
from pyflare.cli.common import PATH, config_options, options_of
from pyflare.cli.report import show_warnings
from pyflare.config.find import shown
from pyflare.config.load import Loaded, check_loaded, read_workers
from pyflare.config.options import DevOptions
from pyflare.errors import ConfigError


@click.command()
@click.argument("script", type=PATH, required=False)
@click.option("--strict/--no-strict", default=False, help="Fail for warnings too, as a CI wants.")
@config_options
def check(strict: bool, **given: Any) -> None:
    """Say what is wrong with a worker, and what a deploy would miss.

    SCRIPT and -c name it as for pyflare dev. Its configuration is read, then its code is imported in a state folder
    that is thrown away; `build.command` is not run. Warnings do not fail unless --strict is given; faults exit with 1.
    Handlers that pyflare serves and Cloudflare does not find are faults.

    What passes is well formed, loads, and exports the classes that it binds. Not looked at: what handlers do, for no
    event is delivered; modules that only they would import; whether packages exist for Pyodide; what your account has
    (ids, secrets, other workers, limits of your plan).
    """
    options = options_of(given)
    loaded = read_workers(options, os.environ, strict=True)
    warned = 0
    for one in loaded:
        engines.examine(one.config, one.diagnostics)
        warned += _show(one.warnings())
    check_loaded(loaded)
    warned += _show(_rehearse(loaded, options))
    if strict and warned:
        raise ConfigError(f"{warned} warning{'s' if warned > 1 else ''}; with --strict there may be none")
    for one in loaded:
        click.echo(_summary(one, options))


def _show(warnings: Sequence[str]) -> int:
    show_warnings(warnings)
    return len(warnings)


def _rehearse(loaded: Sequence[Loaded], options: DevOptions) -> list[str]:
    from pyflare.rehearsal import rehearse  # noqa: PLC0415  (imports the server, which a faulty configuration never needs)

    return rehearse([one.config for one in loaded], options)


def _summary(one: Loaded, options: DevOptions) -> str:
    config = one.config
    main = shown(config.main, options.cwd) if config.main else "assets only"
    source = shown(config.path, options.cwd) if config.path else "no configuration"
    return f"{config.name}: no faults ({source}, {main}, {config.compat.date})"
