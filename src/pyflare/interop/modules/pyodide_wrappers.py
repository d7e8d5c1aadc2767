"""`import pyodide.ffi.wrappers`: event listeners and timers that keep their proxies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyflare.interop.web import timers


def add_event_listener(target: Any, event: str, listener: Callable[[Any], None]) -> None:
    target.addEventListener(event, listener)


def remove_event_listener(target: Any, event: str, listener: Callable[[Any], None]) -> None:
    target.removeEventListener(event, listener)


set_timeout, clear_timeout = timers.setTimeout, timers.clearTimeout
set_interval, clear_interval = timers.setInterval, timers.clearInterval
