"""What lands in env: a Fetcher that reaches a worker by name."""

from __future__ import annotations

from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any, ClassVar

from pyflare.engines.base import EngineContext
from pyflare.engines.services.config import Service
from pyflare.interop import scope
from pyflare.interop.dates import JsDate
from pyflare.interop.json import from_plain
from pyflare.interop.promise import JsPromise, after, start
from pyflare.interop.proxy import JsFunction, JsObject, get, options
from pyflare.interop.rpc import Fetcher, remote
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.worker.event import Fetch, Rpc, Scheduled


class ServiceBinding(Fetcher):
    js_name: ClassVar[str] = "Fetcher"  # by which the SDK knows it

    def __init__(self, service: Service, ctx: EngineContext) -> None:
        self._service, self._ctx = service, ctx

    @property
    def _props(self) -> Any:
        return None if self._service.props is None else from_plain(self._service.props)

    def _missing(self) -> str | None:
        if self._service.service in self._ctx.workers():
            return None
        return f'Worker "{self._service.service}" not found. Make sure it is running locally.'

    @options
    def scheduled(self, event: Any = None) -> JsPromise:
        """Run the target's cron handler (flag `service_binding_extra_handlers`): `{outcome, noRetry}`."""
        return self._js_start(self._scheduled(get(event, "cron", ""), get(event, "scheduledTime")))

    async def _scheduled(self, cron: str, scheduled_time: Any) -> JsObject:
        outcome = JsObject.make({"outcome": "ok", "noRetry": False})
        moment = scheduled_time.getTime() if isinstance(scheduled_time, JsDate) else scheduled_time
        controller = JsObject.make(
            {
                "cron": cron,
                "scheduledTime": int(self._ctx.clock.now() * 1000) if moment is None else moment,
                "type": "scheduled",
                "noRetry": JsFunction.make(lambda: setattr(outcome, "noRetry", True), "noRetry"),
            }
        )
        try:
            await self._ctx.dispatch(self._service.service, Scheduled(controller))
        except Exception:
            outcome.__dict__["outcome"] = "exception"
        return outcome

    def _js_start(self, work: Coroutine[Any, Any, Any]) -> JsPromise:
        """What runs there is another worker, which the gate of the object that calls must not hold up."""
        running = scope.current.get()
        if running is None or running.gate is None:
            return super()._js_start(work)
        outside = scope.Scope(running.worker, running.clock, running.background, None, running.label)
        outside.trace = running.trace
        context = copy_context()
        context.run(scope.current.set, outside)
        pending = running.gate.unconfirmed()
        return start(work if pending is None else after(pending, work), context)

    async def _js_fetch(self, request: Request) -> Response:
        missing = self._missing()
        if missing is not None:
            return Response.make(503, "Service Unavailable", Headers.make([]), Body.make(missing.encode()))
        service = self._service
        try:
            response: Response
            response = await self._ctx.dispatch(service.service, Fetch(request, service.entrypoint, self._props))
            return response
        except Exception as raised:
            raise remote(raised) from None

    async def _js_call(self, method: str, args: tuple[Any, ...]) -> Any:
        service = self._service
        missing = self._missing()
        if missing is not None:
            raise remote(RuntimeError(missing))
        try:
            return await self._ctx.dispatch(service.service, Rpc(method, args, service.entrypoint, self._props))
        except Exception as raised:
            raise remote(raised) from None
