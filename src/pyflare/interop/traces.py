"""Tracebacks as the author of a worker wants them: from the first line of the worker's own file on."""

from __future__ import annotations

import asyncio
import functools
import importlib
import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType, TracebackType

import greenlet

from pyflare.interop.errors import JsException

ENV_HINT = "env is None in class handlers: use self.env"


@functools.cache
def _inner_folders() -> tuple[str, ...]:
    """Where code lies that stands between the event and the worker: pyflare, the SDK, asyncio and the like."""
    purelib = Path(sysconfig.get_paths()["purelib"])
    here = Path(__file__).resolve().parents[1]
    packages = [str(Path(module.__file__ or "").resolve().parent) for module in (asyncio, greenlet, importlib)]
    return (str(here), str(purelib / "workers"), *packages)


def is_inner(filename: str) -> bool:
    workers = getattr(sys.modules.get("workers"), "__file__", None)
    own_sdk = (str(Path(workers).parent),) if workers else ()
    return filename.startswith((*_inner_folders(), *own_sdk, "<frozen", "<string>"))


def own(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the leading frames that are not the worker's; whole when none is."""
    first = trace
    while first is not None and is_inner(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    return first or trace


def render(raised: BaseException) -> str:
    """The formatted traceback, ending in `Class: message`; what the runtime itself refused is that one line."""
    if isinstance(raised, JsException) and not _passed_user_code(raised.__traceback__):
        return str(raised)
    made = traceback.TracebackException(type(raised), raised, own(raised.__traceback__), capture_locals=False)
    return "".join(made.format()).rstrip("\n")


def _passed_user_code(trace: TracebackType | None) -> bool:
    return any(not is_inner(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(trace))


def last_frame(raised: BaseException) -> tuple[str, int] | None:
    """File and line where the exception was raised."""
    frames = traceback.extract_tb(raised.__traceback__)
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else None


def user_line() -> str:
    """`entry.py:12: `, the line of the worker's code that runs now; empty when none does."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_inner(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}: " if frame is not None else ""
