"""The harness: a server on a clock that the test moves."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json as _json
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyflare.clock import FakeClock, turn, utc
from pyflare.config.load import load_workers
from pyflare.config.options import DevOptions
from pyflare.engines.d1.migrations import DatabaseFile, Migrations
from pyflare.errors import ConfigError
from pyflare.front.app import CONTROL
from pyflare.front.cf import placeholder
from pyflare.front.collected import Collected
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.log import Log
from pyflare.server import Server
from pyflare.testing.network import Network, Outbound
from pyflare.testing.views import Answer, Bindings, Mail, Point, QueueView, Socket, first

if TYPE_CHECKING:
    from pyflare.engines.email.incoming import Delivery
    from pyflare.front.control import Control

ORIGIN = "http://localhost:8787"
PATIENCE_SECONDS = 10.0  # real time that `settle` waits for what is in flight
STUCK_SECONDS = 2.0  # the same in `advance`, when a deadline lies ahead that may end what is in flight
REST_SECONDS = 0.002  # real time between two looks
QUIET_TURNS = 8  # of the loop, with nothing in flight, that count as rest


class Hangs(AssertionError):
    """Something is still in flight after the real time that `settle` allows."""

    def __init__(self, busy: Sequence[str]) -> None:
        self.busy = busy
        super().__init__(f"Still in flight after {PATIENCE_SECONDS:g} s: {', '.join(busy)}")


class Harness:
    """Workers by their configurations (a file, a folder, a lone `.py`), the primary one first.

    `state`: the folder to keep things in, for tests that open it twice; a temporary one by default. `vars` replace the
    configuration's. `secrets`: values of the secrets store by binding. `cron`: triggers fire when `advance` passes
    their time. `migrations`: see `migrate`; here they are applied when it opens. `outbound`: what answers the workers'
    `fetch` in place of the network, a function of an `Outgoing` that gives an `Answer`, also as a coroutine; an OSError
    that it raises is a connection that failed. `options`: anything else that `pyflare dev` takes.
    """

    def __init__(
        self,
        *configs: str | Path,
        state: Path | None = None,
        clock: FakeClock | None = None,
        vars: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        options: DevOptions | None = None,
        cron: bool = False,
        migrations: bool = False,
        outbound: Outbound | None = None,
    ) -> None:
        self.clock = clock or FakeClock()
        self._configs = [Path(config) for config in configs]
        self._state, self._vars, self._environ = state, dict(vars or {}), dict(environ or {})
        self._options = self._with_configs(options or DevOptions(), cron)
        self._migrations, self._secrets = migrations, dict(secrets or {})
        self._outbound = outbound
        self._control: Control | None = None
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
        self._cleanup.enter_context(utc())
        folder = self._state
        if folder is None:
            folder = Path(self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="pyflare-")))
        options = self._options
        configs = load_workers(options, self._environ)
        server = Server(configs, state=folder, options=options, clock=self.clock, log=Log(out=self._terminal))
        self._server = server
        self._cleanup.push_async_callback(server.stop)
        await server.start()
        for binding, value in self._secrets.items():
            self.server.room("secrets").assign(binding, value)
        self.outbound = self._outbound
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
        room = self.server.room("d1")
        bound = [(config.root, binding) for config in self.server.configs for binding in room.bound(config.name)]
        known = [name for _, binding in bound for name in (binding.name, binding.database_name) if name]
        for name in databases:
            if name not in known:
                raise ConfigError(f"There is no D1 database {name!r}; there are: {', '.join(known) or 'none'}")
        applied: list[str] = []
        for root, binding in bound:
            if not databases or not {binding.name, binding.database_name}.isdisjoint(databases):
                applied += Migrations.of(binding, root).apply_all(DatabaseFile(room.store(binding.database)))
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
        given. What `pyflare dev` answers by itself, below /cdn-cgi/, is answered here too."""
        pairs = [(name.lower(), value) for name, value in _pairs(headers)]
        if json is not None:
            body = _json.dumps(json)
            pairs.append(("content-type", "application/json"))
        method = method or ("GET" if body is None else "POST")
        data = body.encode() if isinstance(body, str) else body
        request = self._request(url, method, pairs, data)
        return await asyncio.get_running_loop().create_task(self._fetch(request, pairs, data or b""))

    async def websocket(self, url: str, headers: Mapping[str, str] | None = None) -> Socket:
        """Open a WebSocket; AssertionError when the worker does not accept it."""
        pairs = [("upgrade", "websocket"), ("connection", "Upgrade"), *_pairs(headers or {})]
        request = self._request(url, "GET", pairs, None)
        response = await asyncio.get_running_loop().create_task(self.server.fetch(request))
        face = response._web_socket
        if face is None:
            raise AssertionError(f"{url} answered {response.status}, not with a WebSocket")
        face.couple()
        socket = Socket(face.channel, first(response.headers.pairs(), "sec-websocket-protocol"))
        face.channel.attach(socket)
        return socket

    @property
    def env(self) -> Any:
        """The bindings of the primary worker, as its own code has them in `self.env`: to fill and read KV, D1 and R2,
        to call objects, to create workflows."""
        worker = self.server.workers[self.server.primary.name]
        return Bindings(worker.sdk.wrap_env(worker.env), worker.env)

    @property
    def outbound(self) -> Outbound | None:
        """What answers the `fetch` of the workers; None: the network. A test may set it as it goes."""
        return self._outbound

    @outbound.setter
    def outbound(self, outbound: Outbound | None) -> None:
        self._outbound = outbound
        for worker in self.server.workers.values():
            worker.outbound = None if outbound is None else Network.make(outbound)

    async def scheduled(self, cron: str, when: float | None = None) -> None:
        """Run the cron handler, at `when` (seconds since the epoch) if given; raises what it raises. `terminal` says so
        when the expression is not valid or not configured."""
        _, _, raised = await self.server.scheduled(cron, None if when is None else when * 1000)
        if raised is not None:
            raise raised

    async def email(self, sender: str, recipient: str, message: str | bytes) -> Delivery:
        """Give a message to the email handler; raises what it raises. `message` is MIME; From, To and Message-ID are
        added where it has none. The answer has `reject_reason`, `forwards` and `replies`."""
        data = message.encode() if isinstance(message, str) else message
        room = self.server.room("email")
        delivery: Delivery
        delivery, raised = await room.receive(
            self.server.primary.name, sender, recipient, _mime(data, sender, recipient)
        )
        if raised is not None:
            raise raised
        return delivery

    @property
    def outbox(self) -> list[Mail]:
        """What the workers have sent by their `send_email` bindings, the oldest first."""
        return [Mail(sent.sender, sent.recipients, sent.subject, raw) for sent, raw in self.server.room("email").sent()]

    def points(self, dataset: str) -> list[Point]:
        """The data points of a dataset of Analytics Engine, named by itself or by a binding, the oldest first."""
        return [Point(*point) for point in self.server.room("analytics").points(dataset)]

    def queue(self, name: str) -> QueueView:
        """A queue of the configuration, or one that has messages. ValueError: there is none of that name."""
        engine = self.server.engines["queues"]
        if name not in (names := engine.names()):
            raise ValueError(f"There is no queue {name!r}; there are: {', '.join(names) or 'none'}")
        return QueueView(name, engine)

    @property
    def engines(self) -> Mapping[str, Any]:
        """The rooms by name, for what has no verb here."""
        return self.server.engines

    @property
    def terminal(self) -> str:
        """What the server has said so far."""
        return self._terminal.getvalue()

    async def _fetch(self, request: Request, pairs: list[tuple[str, str]], data: bytes) -> Answer:
        target = request.url.removeprefix("/".join(request.url.split("/")[:3]))
        if target.startswith(CONTROL):
            asked = Collected(request.method, target, pairs, data)
            if await self._answers_itself(asked):
                return Answer(asked.status, asked.reason, asked.answer_headers, asked.content)
        response = await self.server.fetch(request)
        body: Body | None = response._body
        content = b"" if body is None else await body.gather()
        return Answer(response.status, response.statusText, response.headers.pairs(), content)

    async def _answers_itself(self, asked: Collected) -> bool:
        if self._control is None:
            from pyflare.front.routes import control_of  # noqa: PLC0415  (imports the dashboard)

            self._control = control_of(self.server, self._options, "", self.server.log, None)
        return await self._control.answer(asked)

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
        ahead. ValueError: time does not go back."""
        if seconds < 0:
            raise ValueError(f"time does not go back: advance({seconds:g})")
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
            await (_rest(REST_SECONDS) if busy else turn())

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


def _mime(message: bytes, sender: str, recipient: str) -> bytes:
    given = BytesHeaderParser().parsebytes(message)
    wanted = {"From": sender, "To": recipient, "Message-ID": f"<{uuid.uuid4().hex}@test>"}
    added = "".join(f"{name}: {value}\r\n" for name, value in wanted.items() if name not in given)
    return added.encode() + message


async def _rest(seconds: float) -> None:
    """Give the loop real time."""
    loop = asyncio.get_running_loop()
    rested = loop.create_future()
    timer = loop.call_later(seconds, rested.set_result, None)
    try:
        await rested
    finally:
        timer.cancel()
