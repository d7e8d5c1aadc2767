"""js.navigator, js.performance and, with nodejs_compat, js.process: as much of them as there is on Cloudflare."""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.containers import JsArray
from pyflare.interop.dates import JsDate
from pyflare.interop.proxy import JsObject, JsProxy


class Navigator(JsProxy):
    js_name: ClassVar[str] = "Navigator"
    userAgent = "Cloudflare-Workers"
    language = "en"
    hardwareConcurrency = 1
    platform = ""

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def languages(self) -> JsArray:
        return JsArray.make([self.language])

    def sendBeacon(self, url: Any, body: Any = None) -> bool:
        from pyflare.interop.web.fetch import fetch  # noqa: PLC0415  (brings an HTTP client)

        promise = fetch(url, JsObject.make({"method": "POST", "body": body}))
        running = scope.current.get()
        if running is not None:
            running.background(promise)
        return True


class Performance(JsProxy):
    """Its clock is the wall clock, which on Cloudflare starts at 0 in 1970."""

    js_name: ClassVar[str] = "Performance"
    timeOrigin = 0

    def js_properties(self) -> dict[str, Any]:
        return {}

    def now(self) -> int:
        return JsDate.now()

    def toJSON(self, *_: Any) -> JsObject:
        return JsObject.make()


navigator: Navigator = Navigator.make()
performance: Performance = Performance.make()


def __getattr__(name: str) -> Any:
    running = scope.current.get()
    if name != "process" or running is None or not running.compat.enabled("nodejs_compat"):
        raise AttributeError(name)
    texts: dict[str, str] = {}
    if running.compat.enabled("nodejs_compat_populate_process_env"):
        texts = {key: value for key, value in running.worker.config.vars.items() if isinstance(value, str)}
    versions = JsObject.make({"node": "22.19.0"})
    return JsObject.make({"versions": versions, "env": JsObject.make(texts), "platform": "linux"})
