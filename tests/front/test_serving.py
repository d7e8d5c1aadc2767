"""A server at its sockets."""

from __future__ import annotations

import asyncio
import gc
import io
import socket
from collections.abc import Iterator

import pytest

from pyflare.clock import SystemClock
from pyflare.config.options import DevOptions
from pyflare.front.listen import listen, port_of
from pyflare.front.serving import Serving
from pyflare.log import Log


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """A server tunes the collector of its process."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_hundreds_of_clients_may_come_before_one_is_accepted() -> None:
    async def scene() -> None:
        serving = Serving(None, DevOptions(), SystemClock(), Log(out=io.StringIO()))
        serving.broken = "nothing to serve"
        sockets = listen("127.0.0.1", 0)
        await serving.open(sockets, "token")
        # The loop stands still meanwhile: with a short line the last ones would wait for a second try.
        clients = [socket.create_connection(("127.0.0.1", port_of(sockets)), 0.5) for _ in range(300)]
        for client in clients:
            client.close()
        await serving.close(0)

    asyncio.run(scene())
