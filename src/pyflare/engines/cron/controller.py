"""What the `scheduled` handler gets (workerd `api/scheduled.h`)."""

from __future__ import annotations

from typing import ClassVar

from pyflare.interop.proxy import JsProxy


class ScheduledController(JsProxy):
    """`scheduledTime` is in whole milliseconds."""

    js_name: ClassVar[str] = "ScheduledController"

    def __init__(self, cron: str, time_ms: float) -> None:
        self.scheduledTime = int(time_ms)
        self.cron = cron
        self.type = "scheduled"
        self._no_retry = False

    def noRetry(self) -> None:
        self._no_retry = True
