"""Compensation: what was registered with `do`, run in reverse order of the steps' beginnings.

Each runs as a step of its own (`kind` rollback), with its own retries, and stands in the history; the first that fails
for good ends the rollback (workflows-shared, rollback.ts).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyflare.engines.workflows import faults
from pyflare.engines.workflows.call import Compensation
from pyflare.engines.workflows.rows import Fault
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsObject

if TYPE_CHECKING:
    from pyflare.engines.workflows.run import Run


async def roll_back(run: Run, reason: JsException) -> Fault | None:
    """Undo everything; the fault that stopped it."""
    registered = [found for found in run.compensations.values() if found.step is not None]
    registered.sort(key=lambda found: found.step.position if found.step else 0, reverse=True)
    for compensation in registered:
        assert compensation.step is not None
        try:
            await run.undo(compensation.step, compensation.config, _callback(compensation, reason))
        except JsException as raised:
            return faults.kept(raised)
    return None


def _callback(compensation: Compensation, reason: JsException) -> Callable[[Any], Any]:
    assert compensation.step is not None
    argument: Any = JsObject.make(
        {
            "ctx": compensation.context,
            "error": reason,
            "output": compensation.output,
            "stepName": compensation.step.name,
        }
    )
    return lambda _: compensation.function(argument)
