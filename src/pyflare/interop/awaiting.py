"""Values that may have to be awaited, and awaitables that are no coroutines, such as promises."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from typing import Any


async def value_of(result: Any) -> Any:
    """What `result` gives when it is awaited, or `result` itself where there is nothing to await."""
    return await result if inspect.isawaitable(result) else result


def as_future(work: Awaitable[Any]) -> asyncio.Future[Any]:
    """A future as it is; anything else as a task of its own."""
    return work if asyncio.isfuture(work) else asyncio.ensure_future(value_of(work))
