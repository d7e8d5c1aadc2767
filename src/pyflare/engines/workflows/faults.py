"""Errors between the worker, the rows and JavaScript.

What a step raised is kept as name and message. Over RPC the classes of Cloudflare's engine arrive as plain Errors, and
a Python exception as "PythonError: " and its traceback, from whose last line the SDK finds its class again.
"""

from __future__ import annotations

from pyflare.engines.workflows.rows import Fault
from pyflare.interop import traces
from pyflare.interop.errors import JsException, error

NON_RETRYABLE = "NonRetryableError"
PYTHON = "PythonError: "  # the traceback follows
PYTHON_NON_RETRYABLE = "workers.workflows.NonRetryableError"  # as a traceback names it
ENGINE_ERRORS = ("WorkflowTimeoutError", "WorkflowInternalError", "WorkflowFatalError")

LOST_ATTEMPT = Fault("WorkflowInternalError", "Attempt failed due to internal workflows error")
TERMINATED_FAULT = Fault("Error", "The Workflow instance was terminated")


def kept(raised: BaseException) -> Fault:
    """An exception of the worker's as it is recorded."""
    if isinstance(raised, JsException):
        message = raised.message.rstrip("\n") if raised.message.startswith(PYTHON) else raised.message
        return Fault(NON_RETRYABLE if is_non_retryable(raised) else raised.name, message)
    if is_non_retryable(raised):
        return Fault(NON_RETRYABLE, str(raised).removeprefix(PYTHON_NON_RETRYABLE).removeprefix(": "), python=True)
    return Fault("Error", f"{PYTHON}{traces.formatted(raised)}")


def thrown(fault: Fault) -> JsException:
    """What `run` gets of a recorded error. Older SDKs find NonRetryableError in the last line of a traceback, newer
    ones have made a JavaScript Error of it before it comes here."""
    if fault.python:
        said = f": {fault.message}" if fault.message else ""
        return error(f"{PYTHON}Traceback (most recent call last):\n{PYTHON_NON_RETRYABLE}{said}\n")
    if fault.message.startswith(PYTHON):
        return error(f"{fault.message}\n", fault.name)  # Python ends a traceback with it; SDK 1.6 counts on that
    return error(fault.message, "Error" if fault.name in ENGINE_ERRORS else fault.name)


def is_non_retryable(raised: BaseException) -> bool:
    """NonRetryableError and what derives from it, raised in Python or turned into an Error by the SDK."""
    if isinstance(raised, JsException):
        return raised.name == NON_RETRYABLE or raised.message.startswith(NON_RETRYABLE)
    return any(kind.__name__ == NON_RETRYABLE for kind in type(raised).__mro__)


def timed_out(milliseconds: str) -> Fault:
    return Fault("WorkflowTimeoutError", f"Execution timed out after {milliseconds}ms")


def fatal(message: str) -> Fault:
    return Fault("WorkflowFatalError", message)


def short(fault: Fault) -> str:
    """One line for the terminal: the last of a traceback."""
    lines = fault.message.strip().splitlines() or [""]
    return lines[-1] if len(lines) > 1 else f"{fault.name}: {fault.message}"
