"""`step`: what `run(event, step)` gets to call. developers.cloudflare.com/workflows/build/workers-api

This is the raw object, below the SDK's wrapper. `do` takes a trailing options object with `rollback` and
`rollbackConfig`, as Cloudflare's engine does. What production accepts of it today: JavaScript workers pass the options
behind the compatibility flag `workflows_step_rollback`; the Python SDK has no spelling for them up to 1.9.5 (the
documented `step.with_rollback`, `.undo` and `rollback_all` are in no release so far), so a Python worker that must run
on Cloudflare writes its compensation as steps of its own (see `fixtures/order-saga`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.engines.workflows.call import Compensation
from pyflare.engines.workflows.config import DEFAULT_EVENT_TIMEOUT, MAX_SLEEP_SECONDS, MAX_STEP_NAME_LENGTH
from pyflare.engines.workflows.duration import DEFAULT, StepConfig, milliseconds, step_config
from pyflare.interop.containers import to_text
from pyflare.interop.convert import JsDoubleProxy
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish

if TYPE_CHECKING:
    from pyflare.engines.workflows.run import Run

CONTROL = re.compile(r"[\x00-\x1f]")
SLEEPING = "See https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/"
IN_THE_PAST = "You can't sleep until a time in the past, time-traveler"


class WorkflowStep(JsProxy):
    js_name: ClassVar[str] = "WorkflowStep"

    def __init__(self, run: Run) -> None:
        self._run = run

    def js_properties(self) -> dict[str, Any]:
        return {}

    def do(self, name: Any = None, *rest: Any) -> JsPromise:
        """`do(name, [config], callback, [options])`."""
        run = self._run
        run.check_alive()
        try:
            text = _name(name)
            config, callback, compensation = _arguments(text, rest)
            return run.do(text, config, callback, compensation)
        except JsException as raised:
            return JsPromise.reject(raised)

    def sleep(self, name: Any = None, duration: Any = None) -> JsPromise:
        """`duration`: milliseconds, or a text such as "14 days"."""
        run = self._run
        run.check_alive()
        try:
            seconds = _duration(duration) / 1000
            if seconds > MAX_SLEEP_SECONDS:
                raise error(f'Sleep "{name}" is longer than 365 days, which is the limit of a sleep')
            return run.sleep(_name(name), lambda: run.host.now() + seconds)
        except JsException as raised:
            return JsPromise.reject(raised)

    def sleepUntil(self, name: Any = None, timestamp: Any = None) -> JsPromise:
        """`timestamp`: a Date, milliseconds since the epoch, or an ISO text."""
        run = self._run
        run.check_alive()
        try:
            moment = _moment(timestamp)

            def until() -> float:
                if moment < run.host.now():
                    raise error(IN_THE_PAST)
                return moment

            return run.sleep(_name(name), until)
        except JsException as raised:
            return JsPromise.reject(raised)

    def waitForEvent(self, name: Any = None, options: Any = None) -> JsPromise:
        """`options`: {type, timeout}; the time-out is 24 hours when none is given."""
        run = self._run
        run.check_alive()
        try:
            kind = get(options, "type")
            if not isinstance(kind, str) or not kind:
                raise type_error('waitForEvent needs an event type: {"type": "…"}')
            timeout = get(options, "timeout")
            return run.wait_for_event(_name(name), kind, _duration(timeout or DEFAULT_EVENT_TIMEOUT))
        except JsException as raised:
            return JsPromise.reject(raised)


def _arguments(name: str, rest: tuple[Any, ...]) -> tuple[StepConfig, Callable[[Any], Any], Compensation | None]:
    if rest and _is_function(rest[0]):
        config, callback, options = DEFAULT, rest[0], rest[1] if len(rest) > 1 else None
    else:
        given, callback, options = (*rest, None, None, None)[:3]
        if not _is_function(callback):
            raise error(f'Step "{name}" requires a callback function')
        config = _config(given, f'Step config for "{name}"')
    return config, callback, _compensation(name, options)


def _config(given: Any, what: str) -> StepConfig:
    try:
        return step_config(given)
    except ValueError:
        raise error(f"{what} is in a invalid format. {SLEEPING}") from None


def _compensation(name: str, options: Any) -> Compensation | None:
    if is_nullish(options):
        return None
    if not isinstance(options, (JsObject, dict)):
        raise error(f'Rollback options for "{name}" must be an object')
    function = get(options, "rollback")
    if function is None:
        return None
    if not _is_function(function):
        raise error(f'Rollback for "{name}" must be a function')
    return Compensation(function, _config(get(options, "rollbackConfig"), f'Rollback config for "{name}"'))


def _is_function(value: Any) -> bool:
    if isinstance(value, JsDoubleProxy):
        return value.typeof == "function"
    return callable(value) and not isinstance(value, JsObject)


def _name(name: Any) -> str:
    text = to_text(name)
    if len(text) > MAX_STEP_NAME_LENGTH or CONTROL.search(text):
        raise error(f'Step name "{text}" exceeds max length ({MAX_STEP_NAME_LENGTH} chars) or invalid characters found')
    return text


def _duration(value: Any) -> float:
    try:
        ms = milliseconds(value)
    except ValueError as raised:
        raise type_error(str(raised)) from None
    if ms < 0:
        raise type_error(f"{value} is no duration: it is negative")
    return ms


def _moment(timestamp: Any) -> float:
    """Seconds since the epoch."""
    if isinstance(timestamp, str):
        timestamp = JsDate.construct(timestamp)
    ms = timestamp._ms if isinstance(timestamp, JsDate) else timestamp
    if isinstance(ms, bool) or not isinstance(ms, (int, float)) or ms != ms:
        raise type_error(f"sleepUntil takes a date or milliseconds since the epoch, not {timestamp}")
    return ms / 1000
