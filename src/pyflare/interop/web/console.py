"""js.console. Lines look as Node prints them, since that is what people see of Cloudflare's console.

They go to the worker's `on_console(level, text)` if it has one, else to standard output; in the order of `print`.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any, ClassVar

from pyflare.clock import monotonic
from pyflare.interop import scope, traces
from pyflare.interop.containers import to_text
from pyflare.interop.proxy import JsProxy
from pyflare.interop.web.console_format import format_values, inspect_value


def write(level: str, text: str) -> None:
    """One entry of the console; `level` is debug, info, log, warn or error."""
    running = scope.current.get()
    hook = None if running is None else getattr(running.worker, "on_console", None)
    if hook is not None:
        hook(level, text)
        return
    stream = getattr(sys.stdout, "beneath", sys.stdout)  # not what listens to `print`
    say = getattr(stream, "say", None)  # of JSON lines, which carry the level
    if say is not None:
        say(level, text)
        return
    stream.write(text + "\n")
    stream.flush()


def report(raised: Any) -> None:
    """An exception that nobody can catch: of a timer, of a listener."""
    thrown = isinstance(raised, BaseException) and raised.__traceback__ is not None
    running = scope.current.get()
    if thrown and running is not None and running.trace is not None:
        running.trace.failed(raised)
    write("error", f"Uncaught {traces.render(raised) if thrown else to_text(raised)}")


def hint(topic: str, text: str) -> None:
    """What Cloudflare does and surprises people: said once to a worker, with the line of its code that met it."""
    running = scope.current.get()
    told = getattr(running.worker, "hints", None) if running is not None else None
    if told is not None and topic not in told:
        told.add(topic)
        write("warn", f"{traces.user_line()}{text}")


class Console(JsProxy):
    """The object `js.console` of one worker."""

    js_name: ClassVar[str] = "console"

    def __init__(self) -> None:
        self._indent = ""
        self._counts: dict[str, int] = {}
        self._started: dict[str, float] = {}

    def js_properties(self) -> dict[str, Any]:
        return {}

    def _write(self, level: str, values: tuple[Any, ...], options: dict[str, Any]) -> None:
        text = format_values((*values, options) if options else values)
        if self._indent:
            text = "\n".join(self._indent + line for line in text.split("\n"))
        running = scope.current.get()
        if running is not None and running.trace is not None:
            running.trace.log(level, values)
        write(level, text)

    def log(self, *values: Any, **options: Any) -> None:
        self._write("log", values, options)

    def info(self, *values: Any, **options: Any) -> None:
        self._write("info", values, options)

    def debug(self, *values: Any, **options: Any) -> None:
        self._write("debug", values, options)

    def warn(self, *values: Any, **options: Any) -> None:
        self._write("warn", values, options)

    def error(self, *values: Any, **options: Any) -> None:
        self._write("error", values, options)

    def trace(self, *values: Any) -> None:
        stack = "".join(traceback.format_list(traceback.extract_stack()[:-1])).rstrip()
        self._write("log", (f"Trace: {format_values(values)}\n{stack}",), {})

    def assert_(self, condition: Any = False, *values: Any) -> None:
        if not condition:
            self._write("error", ("Assertion failed:", *values) if values else ("Assertion failed",), {})

    def dir(self, value: Any = None, *_: Any) -> None:
        self._write("log", (inspect_value(value),), {})

    def table(self, value: Any = None, *_: Any) -> None:
        self._write("log", (value,), {})

    def group(self, *values: Any) -> None:
        if values:
            self._write("log", values, {})
        self._indent += "  "

    groupCollapsed = group

    def groupEnd(self) -> None:
        self._indent = self._indent[:-2]

    def count(self, label: Any = "default") -> None:
        name = to_text(label)
        self._counts[name] = self._counts.get(name, 0) + 1
        self._write("log", (f"{name}: {self._counts[name]}",), {})

    def countReset(self, label: Any = "default") -> None:
        self._counts.pop(to_text(label), None)

    def time(self, label: Any = "default") -> None:
        self._started[to_text(label)] = monotonic()

    def timeLog(self, label: Any = "default", *values: Any) -> None:
        name = to_text(label)
        if name in self._started:
            self._write("log", (f"{name}: {round((monotonic() - self._started[name]) * 1000, 3)}ms", *values), {})

    def timeEnd(self, label: Any = "default") -> None:
        self.timeLog(label)
        self._started.pop(to_text(label), None)


console: Console = Console.make()
