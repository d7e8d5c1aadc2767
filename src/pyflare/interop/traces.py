"""Tracebacks as the author of a worker wants them: from the first line of the worker's own file on."""

from __future__ import annotations

import asyncio
import difflib
import functools
import importlib
import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import greenlet

from pyflare.interop.errors import JsException

BAD_BODY = "Unsupported type in Response: "  # how the SDK begins
BODY_HINT = "return Response(...) with text or bytes, or Response.json(...) with anything else"
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


def strip(trace: TracebackType | None) -> TracebackType | None:
    """The traceback with no frame but those of the worker and of who uses it; None when there are none."""
    if trace is None:
        return None
    rest = strip(trace.tb_next)
    if is_inner(trace.tb_frame.f_code.co_filename):
        return rest
    return TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def render(raised: BaseException) -> str:
    """For people: the formatted traceback, and what to write instead where that is known."""
    return "\n".join([formatted(raised), *_hints(raised)])


def formatted(raised: BaseException) -> str:
    """The formatted traceback, ending in `Class: message`, which the SDK reads on the other side of a call; what the
    runtime itself refused is that one line."""
    if isinstance(raised, JsException) and not _passed_user_code(raised.__traceback__):
        return str(raised)
    trace = own(raised.__traceback__)
    if (isinstance(raised, SyntaxError) or is_explained(raised)) and not _passed_user_code(trace):
        trace = None  # its own text names file and line, or the way to write it; the frames are only ours
    made = traceback.TracebackException(type(raised), raised, trace, capture_locals=False)
    if isinstance(raised, JsException):
        # JavaScript has no frames of its runtime either; what is no JsException may be a fault of ours, so they stay.
        made.stack = traceback.StackSummary.from_list([frame for frame in made.stack if not is_inner(frame.filename)])
    return "".join(made.format()).rstrip("\n")


def _hints(raised: BaseException) -> list[str]:
    """What to write instead, where the message alone does not say it."""
    if isinstance(raised, TypeError) and str(raised).startswith(BAD_BODY):
        return [BODY_HINT]
    return []


def is_explained(raised: BaseException) -> bool:
    return bool(getattr(raised, "__notes__", None))


def explain_env(raised: AttributeError, env: Any) -> None:
    """A note with what `env` has, if it is what lacks the attribute."""
    if raised.obj is env and raised.name and not is_explained(raised):
        raised.add_note(_missing(raised.name, sorted(vars(env))))


def _missing(name: str, configured: list[str]) -> str:
    near = difflib.get_close_matches(name, configured, 1)
    if near:
        return f"env has no {name}; did you mean {near[0]}?"
    return f"env has no {name}; the configuration gives: {', '.join(configured) or 'nothing'}"


def _passed_user_code(trace: TracebackType | None) -> bool:
    return any(not is_inner(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(trace))


def user_line() -> str:
    """`entry.py:12: `, the line of the worker's code that runs now; empty when none does."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_inner(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}: " if frame is not None else ""
