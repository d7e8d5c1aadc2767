"""`triggers.crons` of wrangler's configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.cron.expression import CronFault, Expression, parse

WALL_SECONDS = 15 * 60  # developers.cloudflare.com/workers/platform/limits: a run longer than that is cut off there
EPOCH = 0.0


@dataclass(frozen=True)
class CronConfig:
    """One worker's expressions, in their order."""

    expressions: Sequence[Expression] = ()


def read(config: WorkerConfig, diagnostics: Diagnostics) -> CronConfig:
    """The expressions; a wrong one is a fault that points at the place."""
    section = config.sections.get("triggers") or {}
    if not isinstance(section, Mapping):
        diagnostics.fault("triggers", 'must be an object with "crons"')
        return CronConfig()
    given = section.get("crons") or []
    if not isinstance(given, list):
        diagnostics.fault("triggers.crons", "must be a list of cron expressions")
        return CronConfig()
    found = []
    for at, text in enumerate(given):
        path = f"triggers.crons[{at}]"
        if not isinstance(text, str):
            diagnostics.fault(path, f"must be a cron expression, not {text!r}")
            continue
        try:
            expression = parse(text)
        except CronFault as fault:
            diagnostics.fault(path, fault.shown)
            continue
        if expression.next_after(EPOCH) is None:
            diagnostics.warn(f'{path}: "{text}" never comes')
        found.append(expression)
    return CronConfig(tuple(found))
