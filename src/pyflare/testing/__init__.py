"""A worker in a test: a server in this process, on a clock that the test moves and in a folder of its own.

    async with Harness("fixtures/counter") as worker:
        answer = await worker.fetch("/increment", method="POST")
        await worker.advance(60)                     # what falls due within the minute happens, in order
        socket = await worker.websocket("/room")
        await worker.env.NOTES.put("key", "value")   # its bindings, as it has them itself
        worker.outbound = lambda sent: Answer.of("busy", 503)  # what its `fetch` gets in place of the network

`advance` delivers messages, fires alarms, wakes workflows, and ends what expires. Cron triggers fire with `cron=True`
only, as with `pyflare dev --cron`; `scheduled` runs one by hand. No port is opened.

With pytest `@pytest.mark.pyflare("fixtures/counter", …)` takes the same arguments and gives an `async` test the open
harness as `worker`; its paths begin in pytest's root folder (`help(pyflare.pytest_plugin)`).
"""

from pyflare.clock import FakeClock
from pyflare.config.options import DevOptions
from pyflare.testing.harness import Hangs, Harness
from pyflare.testing.views import Answer, Leased, Mail, Outgoing, Point, QueueView, Socket

__all__ = (
    "Answer", "DevOptions", "FakeClock", "Hangs", "Harness", "Leased", "Mail", "Outgoing", "Point", "QueueView",
    "Socket",
)  # fmt: skip
