"""`env.LIMITER`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pyflare.engines.ratelimit.config import PERIODS_SECONDS, Limiter
from pyflare.interop.arguments import promised
from pyflare.interop.containers import to_text
from pyflare.interop.errors import error
from pyflare.interop.promise import JsPromise, perform
from pyflare.interop.proxy import JsObject, JsProxy

KNOWN = ("key", "limit", "period")


class Ratelimit(JsProxy):
    """`take(key, limit, period)` counts."""

    js_name: ClassVar[str] = "Ratelimit"

    def __init__(self, limiter: Limiter, take: Callable[[str, int, int], bool]) -> None:
        self._limiter = limiter
        self._take = take

    def js_properties(self) -> dict[str, Any]:
        return {}

    @promised
    def limit(self, options: Any = None) -> JsPromise:
        if not isinstance(options, (JsProxy, dict)):
            raise error("invalid rate limit options")
        given = options if isinstance(options, dict) else options.js_properties()
        unknown = [str(name) for name in given if name not in KNOWN]
        if unknown:
            raise error(f"bad rate limit options: [{','.join(unknown)}]")
        key = given.get("key", "")
        if not isinstance(key, str):
            raise error(f"invalid key: {to_text(key)}")
        limit = _number(given.get("limit", self._limiter.limit), "limit")
        period = _number(given.get("period", self._limiter.period), "period")
        if period not in PERIODS_SECONDS:
            raise error(f"unsupported period: {to_text(period)}")
        return perform(self._counted, key, limit, period)

    def _counted(self, key: str, limit: int, period: int) -> JsObject:
        return JsObject.make({"success": self._take(key, limit, period)})


def _number(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise error(f"{name} must be a number: {to_text(value)}")
    return int(value)
