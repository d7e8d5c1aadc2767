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


@click.command()
@click.argument("script", type=PATH, required=False)
@config_options
def check(**given: Any) -> None:
    """Say what is wrong with a worker, and what a deploy would miss.

    SCRIPT and -c name it as for pyflare dev. Its configuration is read, then its code is imported in a state folder
    that is thrown away; `build.command` is not run. Warnings do not fail; faults exit with 1. Handlers that pyflare
    serves and Cloudflare does not find are faults.
    """
    options = options_of(given)
    loaded = read_workers(options, os.environ, strict=True)
    for one in loaded:
        engines.examine(one.config, one.diagnostics)
        show_warnings(one.warnings())
    check_loaded(loaded)
    show_warnings(_rehearse(loaded, options))
    for one in loaded:
        click.echo(_summary(one, options))


def _rehearse(loaded: Sequence[Loaded], options: DevOptions) -> list[str]:
    from pyflare.rehearsal import rehearse  # noqa: PLC0415  (imports the server, which a faulty configuration never needs)

    return rehearse([one.config for one in loaded], options)


def _summary(one: Loaded, options: DevOptions) -> str:
    config = one.config
    main = shown(config.main, options.cwd) if config.main else "assets only"
    source = shown(config.path, options.cwd) if config.path else "no configuration"
    return f"{config.name}: no faults ({source}, {main}, {config.compat.date})"
