"""What is said of a handler that cannot be called as Cloudflare calls it."""

from collections.abc import Callable
from typing import Any

import pytest

from pyflare.worker.signature import explain


def told(handler: Callable[..., Any], name: str, count: int) -> list[str]:
    raised = TypeError("no")
    explain(raised, handler, name, count)
    return getattr(raised, "__notes__", [])


class Room:
    async def alarm(self, info: Any, more: Any) -> None: ...

    async def queue(self, *args: Any) -> None: ...


def test_an_alarm_that_wants_more_is_told_what_it_gets() -> None:
    (note,) = told(Room().alarm, "alarm", 1)
    where = f"test_signature.py:{Room.alarm.__code__.co_firstlineno}"
    assert note == f"{where}: Cloudflare calls it with one argument: write `async def alarm(self, info):`"


@pytest.mark.parametrize(("name", "count"), [("queue", 3), ("unknown", 0)])
def test_nothing_is_said_of_what_can_be_called_or_is_no_handler(name: str, count: int) -> None:
    assert told(Room().queue, name, count) == []
