"""Durations and the options of a step, as the engine of Cloudflare takes them (workflows-shared)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyflare.engines.workflows.config import (
    DEFAULT_BACKOFF,
    DEFAULT_RETRY_DELAY_MS,
    DEFAULT_RETRY_LIMIT,
    DEFAULT_TIMEOUT,
)
from pyflare.interop.proxy import JsObject, get, is_nullish

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
UNITS = {
    "millisecond": 1, "ms": 1, "second": SECOND, "sec": SECOND, "s": SECOND, "minute": MINUTE, "min": MINUTE,
    "m": MINUTE, "hour": HOUR, "h": HOUR, "day": DAY, "d": DAY, "week": 7 * DAY, "w": 7 * DAY, "month": 30 * DAY,
    "year": 365 * DAY, "y": 365 * DAY,
}  # fmt: skip

_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*(?:,|and\b)?", re.IGNORECASE)
BACKOFFS = ("constant", "linear", "exponential")


def milliseconds(value: Any) -> float:
    """A number of milliseconds, or a text such as "10 seconds" or "1 hour, 30 minutes". ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"{value!r} is no duration")
    if not isinstance(value, str):
        if not math.isfinite(value):
            raise ValueError(f"{value!r} is no duration")
        return float(value)
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
        return float(value)
    total, at = 0.0, 0
    while at < len(value.rstrip()):
        part = _PART.match(value, at)
        unit = UNITS.get(part[2].lower()) or UNITS.get(part[2].lower().removesuffix("s")) if part else None
        if part is None or unit is None:
            raise ValueError(f'"{value}" is no duration: write a number of milliseconds, "10 seconds", "14 days" …')
        total, at = total + float(part[1]) * unit, part.end()
    if at == 0:
        raise ValueError("a duration must not be empty")
    return total


def shown(ms: float) -> str:
    """Milliseconds as JavaScript writes the number."""
    return str(int(ms)) if float(ms).is_integer() else repr(ms)


@dataclass(frozen=True)
class StepConfig:
    """`retries`, `timeout` and `sensitive` of a step, with defaults; `delay` and `timeout` as they were given."""

    limit: float = DEFAULT_RETRY_LIMIT
    delay: Any = DEFAULT_RETRY_DELAY_MS  # number, text or function
    backoff: str = DEFAULT_BACKOFF
    timeout: Any = DEFAULT_TIMEOUT
    sensitive: bool = False
    given: bool = False  # whether the worker gave one
    timeout_ms: float = field(default=600_000.0)

    def as_object(self) -> Any:
        """What the callback's context shows of it; a delay that is a function is left out."""
        retries: dict[str, Any] = {"limit": self.limit, "backoff": self.backoff}
        if not callable(self.delay):
            retries["delay"] = self.delay
        shown: dict[str, Any] = {"retries": JsObject.make(retries), "timeout": self.timeout}
        if self.sensitive:
            shown["sensitive"] = "output"
        return JsObject.make(shown)

    def as_plain(self) -> dict[str, Any]:
        """The same as JSON, for the history."""
        delay = "(a function)" if callable(self.delay) else self.delay
        plain = {"limit": self.limit, "delay": delay, "backoff": self.backoff}
        return {"retries": plain, "timeout": self.timeout, **({"sensitive": "output"} if self.sensitive else {})}

    def wait_after(self, attempt: int, base_ms: float) -> float:
        """Milliseconds between the attempt of that number, which begins at 1, and the next."""
        if self.backoff == "exponential":
            return base_ms * 2.0 ** (attempt - 1)
        return base_ms * attempt if self.backoff == "linear" else base_ms


DEFAULT = StepConfig()


def step_config(given: Any) -> StepConfig:
    """Checked as strictly as Cloudflare does: unknown keys are refused, `retries` needs limit and delay. ValueError."""
    if is_nullish(given):
        return DEFAULT
    if _names(given) - {"retries", "timeout", "sensitive"}:
        raise ValueError("unknown option")
    sensitive = get(given, "sensitive")
    if sensitive is not None and sensitive != "output":
        raise ValueError("sensitive")
    timeout = get(given, "timeout")
    timeout_ms = 600_000.0 if timeout is None else milliseconds(timeout)
    if timeout_ms <= 0:
        raise ValueError("timeout")
    limit, delay, backoff = _retries(get(given, "retries"))
    return StepConfig(
        limit, delay, backoff, DEFAULT_TIMEOUT if timeout is None else timeout, sensitive is not None, True, timeout_ms
    )


def _retries(given: Any) -> tuple[float, Any, str]:
    if given is None:
        return DEFAULT.limit, DEFAULT.delay, DEFAULT.backoff
    if _names(given) - {"limit", "delay", "backoff"}:
        raise ValueError("unknown option of retries")
    limit, delay, backoff = get(given, "limit"), get(given, "delay"), get(given, "backoff", DEFAULT_BACKOFF)
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit < 0:
        raise ValueError("limit")
    if not isinstance(delay, Callable) and milliseconds(delay) < 0:  # type: ignore[arg-type]
        raise ValueError("delay")
    if backoff not in BACKOFFS:
        raise ValueError("backoff")
    return limit, delay, backoff


def _names(given: Any) -> set[str]:
    if isinstance(given, dict):
        return set(given)
    if not isinstance(given, JsObject):
        raise ValueError("not an object")
    return set(given.js_properties())
