"""`import _pyodide_entrypoint_helper`: how the SDK reaches the runtime."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.errors import error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsFunction, JsObject, JsProxy
from pyflare.interop.rpc import RpcStub
from pyflare.interop.web.email_message import EmailMessage

_patched_env: ContextVar[Any] = ContextVar("pyflare_patched_env", default=None)


def _running() -> scope.Scope:
    running = scope.current.get()
    if running is None:
        raise RuntimeError("cloudflare:workers is only there while a worker runs")
    return running


class RpcTarget(JsProxy):
    """The base of objects that are passed over RPC by reference."""


class _Class(JsProxy):
    """`WorkerEntrypoint` and the like as JavaScript has them; Python workers derive from the SDK's."""

    def __init__(self, name: str) -> None:
        self.__dict__["name"] = name


class WorkersModule(JsProxy):
    """The module `cloudflare:workers`."""

    js_name: ClassVar[str] = "Module"

    def __init__(self) -> None:
        self.RpcTarget, self.RpcStub = RpcTarget, RpcStub
        for name in ("WorkerEntrypoint", "DurableObject", "WorkflowEntrypoint", "RpcPromise", "RpcProperty"):
            setattr(self, name, _Class.make(name))

    @property
    def env(self) -> Any:
        patched = _patched_env.get()
        return _running().worker.env if patched is None else patched

    @property
    def exports(self) -> Any:
        return _running().worker.loopback()

    def withEnv(self, env: Any, function: Callable[[], Any]) -> Any:
        token = _patched_env.set(env)
        try:
            return function()
        finally:
            _patched_env.reset(token)

    @property
    def waitUntil(self) -> JsFunction:
        return JsFunction.make(_wait_until, "waitUntil")


def _wait_until(work: Any) -> None:
    from pyflare.worker.context import as_awaitable  # noqa: PLC0415  (the worker imports this module)

    _running().background(as_awaitable(work))


cloudflareWorkersModule = WorkersModule.make()
cloudflareSocketsModule = JsObject.make()

workerEntrypoint = None


def patchWaitUntil(ctx: Any) -> None:
    """Nothing to patch: `ctx.waitUntil` takes coroutines as it is."""


def patch_env_helper(names: Any) -> Generator[None, None, None]:
    """Inside, `workers.env` holds nothing but `names`."""
    token = _patched_env.set(names)
    try:
        yield
    finally:
        _patched_env.reset(token)


# --- modules of JavaScript ----------------------------------------------------------------------------------------


def _wrap_workflow_step(step: Any) -> Any:
    """The twin of the SDK's `workflows.js`: a step whose callbacks turn NonRetryableError into the error by which the
    engine knows not to try again."""
    return WorkflowStep.make(step)


class WorkflowStep(JsProxy):
    js_name: ClassVar[str] = "WorkflowStep"

    def __init__(self, step: Any) -> None:
        self._step = step

    def do(self, name: str, *rest: Any) -> Any:
        return self._step.do(name, *[_translating(arg) if _is_function(arg) else arg for arg in rest])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, JsObject)


def _translating(callback: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any) -> Any:
        try:
            result = callback(*args)
            return await result if inspect.isawaitable(result) else result
        except Exception as raised:
            if any(kind.__name__ == "NonRetryableError" for kind in type(raised).__mro__):
                raise error(str(raised), "NonRetryableError") from raised
            raise

    return wrapper


def _modules() -> dict[str, Any]:
    return {
        "cloudflare:workers": cloudflareWorkersModule,
        "cloudflare:sockets": cloudflareSocketsModule,
        "cloudflare:email": JsObject.make({"EmailMessage": EmailMessage}),
        "cloudflare:vectorize": JsObject.make(
            {name: JsObject.make() for name in ("DistanceMetric", "KnownModel", "MetadataRetrievalLevel")}
        ),
        "cloudflare:workflows": JsObject.make({"NonRetryableError": _Class.make("NonRetryableError")}),
        "python_modules/workers/workflows.js": JsObject.make(
            {"wrapWorkflowStep": JsFunction.make(_wrap_workflow_step, "wrapWorkflowStep")}
        ),
    }


def doAnImport(name: str) -> JsPromise:
    """A promise of a module of JavaScript; only those that this runtime brings along exist."""
    module = _modules().get(name)
    if module is None:
        return JsPromise.reject(error(f'No such module "{name}".'))
    return JsPromise.resolve(module)


__all__ = [
    "cloudflareSocketsModule", "cloudflareWorkersModule", "doAnImport", "patchWaitUntil",
    "patch_env_helper", "workerEntrypoint",
]  # fmt: skip
