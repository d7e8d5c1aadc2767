"""A worker in a test: a server in this process, on a clock that the test moves and in a folder of its own.

    async with Harness("fixtures/counter") as worker:
        answer = await worker.fetch("/increment", method="POST")
        await worker.advance(60)                     # what falls due within the minute happens, in order
        socket = await worker.websocket("/room")

`advance` delivers messages, fires alarms, wakes workflows, and ends what expires. Cron triggers fire with `cron=True`
only, as with `pyflare dev --cron`; `scheduled` runs one by hand. No port is opened. With pytest see
`pyflare.pytest_plugin`.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json as _json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as _field
from pathlib import Path
from typing import Any

from pyflare.clock import FakeClock
from pyflare.config.load import load_workers
from pyflare.config.options import DevOptions
from pyflare.engines.d1.migrations import DatabaseFile, Migrations
from pyflare.front.cf import placeholder
from pyflare.interop.web.body import Body
from pyflare.interop.web.channel import Channel
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.log import Log
from pyflare.server import Server

__all__ = ("Answer", "DevOptions", "FakeClock", "Hangs", "Harness", "QueueView", "Socket")

ORIGIN = "http://localhost:8787"
PATIENCE_SECONDS = 10.0  # real time that `settle` waits for what is in flight
STUCK_SECONDS = 2.0  # the same in `advance`, when a deadline lies ahead that may end what is in flight
REST_SECONDS = 0.002  # real time between two looks
QUIET_TURNS = 4  # of the loop, with nothing in flight, that count as rest


class Hangs(AssertionError):
    """Something is still in flight after the real time that `settle` allows."""

    def __init__(self, busy: Sequence[str]) -> None:
        self.busy = busy
        super().__init__(f"Still in flight after {PATIENCE_SECONDS:g} s: {', '.join(busy)}")


@dataclass(frozen=True)
class Answer:
    """What a request was answered with."""

    status: int
    reason: str
    headers: Sequence[tuple[str, str]]  # names in lower case; several of one name stay apart
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return _json.loads(self.content)

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return next((value for key, value in self.headers if key == name.lower()), None)


@dataclass
class Socket:
    """The client's end of a WebSocket."""

    channel: Channel
    protocol: str | None = None
    _frames: asyncio.Queue[str | bytes] = _field(default_factory=asyncio.Queue)
    _closed: asyncio.Event = _field(default_factory=asyncio.Event)
    _end: tuple[int, str] = (1006, "")

    def send(self, data: str | bytes) -> None:
        self.channel.send(data)

    async def receive(self, seconds: float = 5.0) -> str | bytes:
        """The next frame; TimeoutError when none comes within that real time."""
        return await asyncio.wait_for(self._frames.get(), seconds)

    @property
    def waiting(self) -> int:
        """Frames that have come and were not received yet."""
        return self._frames.qsize()

    def close(self, code: int = 1000, reason: str = "") -> None:
        self.channel.close(code, reason)

    def drop(self) -> None:
        """Vanish without a word."""
        self.channel.drop()

    async def closed(self, seconds: float = 5.0) -> tuple[int, str]:
        """Code and reason with which the server closed."""
        await asyncio.wait_for(self._closed.wait(), seconds)
        return self._end

    # --- the channel's receiver -------------------------------------------------------------------------------------

    def on_message(self, data: str | bytes) -> None:
        self._frames.put_nowait(data)

    def on_close(self, code: int, reason: str, was_clean: bool) -> None:
        self._end = (code, reason)
        self._closed.set()
        if was_clean:
            self.channel.close(code, reason)

    def on_error(self, error: BaseException) -> None:
        self._closed.set()


@dataclass(frozen=True)
class QueueView:
    """A queue as a test sees it."""

    name: str
    _engine: Any

    @property
    def backlog(self) -> int:
        """Messages that wait, delayed ones too."""
        return int(self._engine.tally(self.name).waiting)

    @property
    def in_flight(self) -> int:
        return int(self._engine.tally(self.name).leased)

    @property
    def bodies(self) -> list[Any]:
        """The bodies of waiting JSON and text messages, in order."""
        return [_plain(message.body, message.content_type) for message in self._engine.peek(self.name, 1000)]

    def send(self, body: Any, content_type: str = "json", delay_seconds: int = 0) -> None:
        """Send a message by hand; `body` as for the REST path: a JSON value, a text, base64."""
        text = _json.dumps(body) if content_type == "json" else body
        self._engine.panel().actions["send"].run(self.name, text, content_type, delay_seconds)

    def pause(self) -> None:
        """No batch starts until `resume`; messages are still accepted."""
        self._engine.pause_delivery(self.name)

    def resume(self) -> None:
        self._engine.resume_delivery(self.name)

    def purge(self) -> int:
        """Delete every message; how many."""
        return int(self._engine.purge(self.name))

    def retry_now(self, id: str | None = None) -> int:
        """Make delayed messages due: one, or all; how many."""
        return int(self._engine.retry_now(self.name, id))

    def redrive(self, to: str | None = None) -> int:
        """Move dead letters back to where they died, or to another queue; how many."""
        return sum(self._engine.redrive(self.name, to).values())


def _plain(body: bytes, content_type: str) -> Any:
    if content_type == "json":
        return _json.loads(body)
    return body.decode() if content_type == "text" else body


class Harness:
    """Workers by their configurations (a file, a folder, a lone `.py`), the primary one first.

    `state`: the folder to keep things in, for tests that open it twice; a temporary one by default. `vars` replace the
    configuration's. `cron`: triggers fire when `advance` passes their time. `migrations`: see `migrate`; here they are
    applied when it opens. `options`: anything else that `pyflare dev` takes.
    """

    def __init__(
        self,
        *configs: str | Path,
        state: Path | None = None,
        clock: FakeClock | None = None,
        vars: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        options: DevOptions | None = None,
        cron: bool = False,
        migrations: bool = False,
    ) -> None:
        self.clock = clock or FakeClock()
        self._configs = [Path(config) for config in configs]
        self._state, self._vars, self._environ = state, dict(vars or {}), dict(environ or {})
        self._options = self._with_configs(options or DevOptions(), cron)
        self._migrations = migrations
        self._terminal = io.StringIO()
        self._cleanup = contextlib.AsyncExitStack()
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        if self._server is None:
            raise RuntimeError(
                "The worker is not open: `async with Harness(…) as worker:` opens it, pytest an async test's"
            )
        return self._server

    async def __aenter__(self) -> Harness:
        try:
            await self._open()
        except BaseException:
            await self._cleanup.aclose()
            raise
        return self

    async def _open(self) -> None:
        folder = self._state
        if folder is None:
            folder = Path(self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="pyflare-")))
        options = self._options
        configs = load_workers(options, self._environ)
        server = Server(configs, state=folder, options=options, clock=self.clock, log=Log(out=self._terminal))
        self._server = server
        self._cleanup.push_async_callback(server.stop)
        await server.start()
        if self._migrations:
            await self.migrate()
        workflows: Any = self.server.engines.get("workflows")
        if workflows is not None:
            workflows.strict = True

    async def __aexit__(self, *exc: object) -> None:
        await self._cleanup.aclose()

    def _with_configs(self, options: DevOptions, cron: bool) -> DevOptions:
        configs = [config.resolve() for config in self._configs]
        named: dict[str, Any] = {"script": configs[0]} if len(configs) == 1 else {"configs": configs} if configs else {}
        return replace(options, vars={**options.vars, **self._vars}, cron=options.cron or cron, **named)

    async def migrate(self, *databases: str) -> Sequence[str]:
        """Apply what is not applied yet of the D1 migrations, as `pyflare d1 migrations apply` does: of all databases,
        or of those with these names or bindings. Gives the names of the files; EngineError with what SQLite says."""
        applied: list[str] = []
        for config in self.server.configs:
            for binding in self.server.room("d1").bound(config.name):
                if not databases or not {binding.name, binding.database_name}.isdisjoint(databases):
                    database = DatabaseFile(self.server.room("d1").store(binding.database))
                    applied += Migrations.of(binding, config.root).apply_all(database)
        return applied

    # --- asking -----------------------------------------------------------------------------------------------------

    async def fetch(
        self,
        url: str,
        *,
        method: str | None = None,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        body: str | bytes | None = None,
        json: Any = None,
    ) -> Answer:
        """Ask the primary worker; raises what its handler raises. With `json` or `body` the method is POST unless
        given."""
        pairs = [(name.lower(), value) for name, value in _pairs(headers)]
        if json is not None:
            body = _json.dumps(json)
            pairs.append(("content-type", "application/json"))
        method = method or ("GET" if body is None else "POST")
        request = self._request(url, method, pairs, body.encode() if isinstance(body, str) else body)
        return await asyncio.get_running_loop().create_task(self._fetch(request))

    async def websocket(self, url: str, headers: Mapping[str, str] | None = None) -> Socket:
        """Open a WebSocket; AssertionError when the worker does not accept it."""
        pairs = [("upgrade", "websocket"), ("connection", "Upgrade"), *_pairs(headers or {})]
        request = self._request(url, "GET", pairs, None)
        response = await asyncio.get_running_loop().create_task(self.server.fetch(request))
        face = response._web_socket
        if face is None:
            raise AssertionError(f"{url} answered {response.status}, not with a WebSocket")
        face.couple()
        socket = Socket(face.channel, _header(response, "sec-websocket-protocol"))
        face.channel.attach(socket)
        return socket

    async def scheduled(self, cron: str, when: float | None = None) -> None:
        """Run the cron handler, at `when` (seconds since the epoch) if given; raises what it raises."""
        _, _, raised = await self.server.scheduled(cron, None if when is None else when * 1000)
        if raised is not None:
            raise raised

    def queue(self, name: str) -> QueueView:
        return QueueView(name, self.server.engines["queues"])

    @property
    def engines(self) -> Mapping[str, Any]:
        """The rooms by name, for what has no verb here."""
        return self.server.engines

    @property
    def terminal(self) -> str:
        """What the server has said so far."""
        return self._terminal.getvalue()

    async def _fetch(self, request: Request) -> Answer:
        response = await self.server.fetch(request)
        body: Body | None = response._body
        content = b"" if body is None else await body.gather()
        return Answer(response.status, response.statusText, response.headers.pairs(), content)

    def _request(self, url: str, method: str, pairs: list[tuple[str, str]], body: bytes | None) -> Request:
        address = url if "://" in url else ORIGIN + url
        known = {name for name, _ in pairs}
        given = (("host", address.split("/")[2]), ("cf-connecting-ip", "127.0.0.1"), ("accept-encoding", "br, gzip"))
        pairs += [pair for pair in given if pair[0] not in known]
        if body is not None:
            pairs.append(("content-length", str(len(body))))
        source = None if body is None else Body.make(body)
        request: Request = Request.make(method, address, Headers.make(pairs), source, placeholder(""))
        return request

    # --- time -------------------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Wait until nothing is in flight and nothing is due; Hangs after ten seconds of real time."""
        await self._settle(self.clock.now())

    async def advance(self, seconds: float) -> None:
        """Move the clock, deadline by deadline; at each, everything comes to rest before time goes on. What does not,
        such as a handler that hangs until its time-out, is given two seconds of real time as long as deadlines lie
        ahead."""
        end = self.clock.now() + seconds
        await self._settle(end)
        while (due := self.server.scheduler.next_due()) is not None and due <= end:
            await self._move(max(due, self.clock.now()), end)
        await self._move(end, end)

    async def _move(self, now: float, end: float) -> None:
        self.clock.set(now)
        self.server.poke()
        await self._settle(end)

    async def _settle(self, end: float) -> None:
        """`end`: how far time may go on by itself."""
        loop = asyncio.get_running_loop()
        begun, quiet = loop.time(), 0
        while quiet < QUIET_TURNS:
            busy, waited = self._in_flight(), loop.time() - begun
            quiet = 0 if busy else quiet + 1
            if waited > PATIENCE_SECONDS:
                raise Hangs(busy)
            if waited > STUCK_SECONDS and self._deadline_ahead(end):
                return
            await _rest(REST_SECONDS if busy else 0.0)

    def _deadline_ahead(self, end: float) -> bool:
        due = self.server.scheduler.next_due()
        return due is not None and self.clock.now() < due <= end

    def _in_flight(self) -> list[str]:
        busy = self.server.busy()
        due = self.server.scheduler.next_due()
        if due is not None and due <= self.clock.now():
            busy.append("something is due")
        return busy


def _pairs(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    return headers.items() if isinstance(headers, Mapping) else headers


def _header(response: Response, name: str) -> str | None:
    return next((value for key, value in response.headers.pairs() if key == name), None)


async def _rest(seconds: float) -> None:
    """Give the loop real time; zero is one turn."""
    loop = asyncio.get_running_loop()
    rested = loop.create_future()
    timer = loop.call_later(seconds, rested.set_result, None) if seconds else loop.call_soon(rested.set_result, None)
    try:
        await rested
    finally:
        timer.cancel()
