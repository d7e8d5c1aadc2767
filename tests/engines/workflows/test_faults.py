"""Errors on their way between Python, the rows and the SDK."""

import pytest

from pyflare.engines.workflows.faults import kept, thrown
from pyflare.engines.workflows.rows import Fault


class NonRetryableError(Exception):
    """As SDK 1.6 lets it out of a step: a Python exception."""


class Refund(NonRetryableError):
    """A worker's own."""


@pytest.mark.parametrize("kind", [NonRetryableError, Refund])
def test_an_sdk_that_reads_tracebacks_finds_the_error_that_ends_the_retries(kind: type[Exception]) -> None:
    lines = thrown(kept(kind("stop"))).message.split("\n")
    assert lines[0].startswith("PythonError")
    assert lines[-2] == "workers.workflows.NonRetryableError: stop"


def failed() -> Exception:
    """An exception with a traceback."""
    try:
        raise ValueError("bad")
    except ValueError as raised:
        return raised


def test_an_sdk_that_reads_tracebacks_finds_the_class_in_the_line_before_the_last() -> None:
    assert thrown(kept(failed())).message.split("\n")[-2] == "ValueError: bad"


def test_the_traceback_of_an_error_that_run_lets_through_does_not_grow() -> None:
    first = kept(failed())
    assert kept(thrown(first)) == first


@pytest.mark.parametrize("said", ["workers.workflows.NonRetryableError: stop", "stop"])
def test_the_status_shows_the_message_alone(said: str) -> None:
    assert kept(NonRetryableError(said)).message == "stop"


def test_where_an_error_came_from_survives_a_restart() -> None:
    fault = kept(NonRetryableError("stop"))
    assert Fault.from_json(fault.to_json()) == fault
