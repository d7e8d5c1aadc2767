"""WebSockets that hibernate, and those of `accept()`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.interop.containers import JsArray
from pyflare.interop.convert import from_entries, to_js
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.auto_response import WebSocketRequestResponsePair
from pyflare.interop.web.channel import Channel
from pyflare.interop.web.response import Response
from pyflare.interop.web.websocket import WebSocket, WebSocketPair
from tests.engines.durable_objects.world import DurableObject, World, failure, play, request, turns


class Client:
    """The other end: what it hears, and `send`, `close`, `drop`."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.heard: list[Any] = []
        channel.attach(self)

    def on_message(self, data: str | bytes) -> None:
        self.heard.append(data)

    def on_close(self, code: int, reason: str, was_clean: bool) -> None:
        self.heard.append((code, reason, was_clean))

    def on_error(self, error: BaseException) -> None:
        self.heard.append(error)


class Room(DurableObject):
    log: list[Any]
    act: Callable[[Room, Any, Any], Any]
    built = 0

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        Room.built += 1
        self.count = 0

    async def fetch(self, request: Any) -> Any:
        client, server = WebSocketPair.make()
        tags = request.url.rsplit("/", 1)[1]
        self.ctx.acceptWebSocket(server, JsArray.make(tags.split(",")) if tags else None)
        return Response.construct(None, to_js({"status": 101, "webSocket": client}, dict_converter=from_entries))

    async def run(self, name: str) -> Any:
        return getattr(self, name)()

    async def webSocketMessage(self, ws: Any, message: Any) -> None:
        Room.log.append(("message", message if isinstance(message, str) else bytes(message.to_py())))
        await Room.act(self, ws, message)

    async def webSocketClose(self, ws: Any, code: int, reason: str, was_clean: bool) -> None:
        Room.log.append(("close", code, reason, was_clean, ws.readyState, len(self.ctx.getWebSockets())))

    async def webSocketError(self, ws: Any, error: Any) -> None:
        Room.log.append(("error", str(error)))

    def tags(self) -> str:
        return " ".join(next(iter(self.ctx.getTags(ws))) for ws in self.ctx.getWebSockets())

    def big(self) -> str:
        return " ".join(next(iter(self.ctx.getTags(ws))) for ws in self.ctx.getWebSockets("big"))

    def set_pong(self) -> None:
        self.ctx.setWebSocketAutoResponse(WebSocketRequestResponsePair.new("ping", "pong"))

    def pong_at(self) -> Any:
        at = self.ctx.getWebSocketAutoResponseTimestamp(self.ctx.getWebSockets()[0])
        return at if at is jsnull else at.getTime()

    def timeout(self) -> None:
        self.ctx.setHibernatableWebSocketEventTimeout(1_000)

    def failing(self) -> None:
        self.ctx.abort("enough")


class Silent(DurableObject):
    """Only wants messages."""

    async def fetch(self, request: Any) -> Any:
        client, server = WebSocketPair.make()
        self.ctx.acceptWebSocket(server)
        return Response.construct(None, to_js({"status": 101, "webSocket": client}, dict_converter=from_entries))

    async def webSocketMessage(self, ws: Any) -> None:
        ws.send("heard")


class Standard(DurableObject):
    """`accept()` and listeners."""

    async def fetch(self, request: Any) -> Any:
        client, server = WebSocketPair.make()
        server.accept()
        server.addEventListener("message", lambda event: server.send(event.data))
        return Response.construct(None, to_js({"status": 101, "webSocket": client}, dict_converter=from_entries))

    async def fail(self) -> None:
        self.ctx.abort("enough")


class Inside(DurableObject):
    """Runs what a test wants to try inside of an object."""

    what: Callable[[Any], Any]

    async def go(self) -> Any:
        return Inside.what(self.ctx)


async def nothing(room: Room, ws: Any, message: Any) -> None:
    return


def within(tmp_path: Path, scene: Any, act: Any = nothing) -> Any:
    async def prepared(w: World) -> Any:
        Room.log, Room.act, Room.built = [], staticmethod(act), 0
        return await scene(w)

    return play(tmp_path, [Room, Silent, Standard, Inside], prepared)


def tried(tmp_path: Path, what: Callable[[Any], Any]) -> Any:
    """The value, or the text of the exception."""

    async def scene(w: World) -> Any:
        Inside.what = staticmethod(what)
        try:
            return await w.stub("Inside").go()
        except JsException as raised:
            return raised.message.splitlines()[-1].removeprefix("pyodide.ffi.JsException: ")

    return within(tmp_path, scene)


async def connect(w: World, class_name: str = "Room", tags: str = "", name: str = "a") -> Client:
    response = await w.stub(class_name, name).fetch(request(f"http://room/{tags}"))
    return Client(response.webSocket.channel)


def server() -> WebSocket:
    return WebSocketPair.make()[1]


def accepted(ctx: Any) -> WebSocket:
    ws = server()
    ctx.acceptWebSocket(ws)
    return ws


# --- events -------------------------------------------------------------------------------------------------------


def test_frames_reach_the_handler_in_order(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        client = await connect(w)
        for number in range(20):
            client.channel.send(str(number))
        client.channel.send(b"\x00\xff")
        client.channel.send("")
        await w.settle()
        assert Room.log == [
            *[("message", str(number)) for number in range(20)],
            ("message", b"\x00\xff"),
            ("message", ""),
        ]

    within(tmp_path, scene)


def test_a_slow_handler_does_not_hold_back_the_next_frame(tmp_path: Path) -> None:
    signal: list[asyncio.Event] = []

    async def act(room: Room, ws: Any, message: Any) -> None:
        if message == "slow":
            await signal[0].wait()
        ws.send(message)

    async def scene(w: World) -> None:
        signal.append(asyncio.Event())
        client = await connect(w)
        client.channel.send("slow")
        client.channel.send("quick")
        await turns(20)
        signal[0].set()
        await w.settle()
        assert client.heard == ["quick", "slow"]

    within(tmp_path, scene, act)


def test_a_handler_that_raises_is_told_and_keeps_the_socket(tmp_path: Path) -> None:
    async def act(room: Room, ws: Any, message: Any) -> None:
        if message == "raise":
            raise ValueError("handler went wrong")
        ws.send(message)

    async def scene(w: World) -> None:
        client = await connect(w)
        client.channel.send("raise")
        client.channel.send("still here")
        await w.settle()
        assert client.heard == ["still here"]
        assert "ValueError: handler went wrong" in w.said and "Room(a).webSocketMessage" in w.said

    within(tmp_path, scene, act)


def test_handlers_are_optional_and_take_as_much_as_they_like(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        client = await connect(w, "Silent")
        client.channel.send("x")
        client.channel.close(1000, "bye")
        await w.settle()
        assert client.heard == ["heard"]
        assert w.said == ""

    within(tmp_path, scene)


@pytest.mark.cloudflare("recorded: no date makes the runtime answer for a hibernating socket")
def test_a_client_that_closes_is_answered_by_the_handler_only(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        client = await connect(w)
        client.channel.close(4005, "x")
        await w.settle()
        assert Room.log == [("close", 4005, "x", True, 2, 1)]
        assert client.heard == []
        assert await w.stub("Room").run("tags") == ""

    within(tmp_path, scene)


def test_a_server_that_closes_hears_of_the_answer(tmp_path: Path) -> None:
    async def act(room: Room, ws: Any, message: Any) -> None:
        ws.close(4100, "srv")

    async def scene(w: World) -> None:
        client = await connect(w)
        client.channel.send("close")
        await w.settle()
        assert client.heard == [(4100, "srv", True)]
        client.channel.close(4100, "srv")
        await w.settle()
        assert Room.log[1:] == [("close", 4100, "srv", True, 3, 1)]

    within(tmp_path, scene, act)


def test_a_client_that_vanishes_is_1006(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        client = await connect(w)
        client.channel.drop()
        await w.settle()
        assert Room.log == [("close", 1006, "WebSocket disconnected without sending Close frame.", False, 3, 1)]
        assert await w.stub("Room").run("tags") == ""

    within(tmp_path, scene)


def test_an_error_reaches_its_handler(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        client = await connect(w)
        client.channel.fail(JsException.make("WebSocket protocol error", "Error"))
        await w.settle()
        assert Room.log == [("error", "Error: WebSocket protocol error")]

    within(tmp_path, scene)


def test_frames_leave_after_the_writes_before_them(tmp_path: Path) -> None:
    order: list[str] = []

    async def act(room: Room, ws: Any, message: Any) -> None:
        await room.ctx.storage.put("k", message)
        ws.send("one")
        ws.send("two")
        order.append("written")

    async def scene(w: World) -> None:
        client = await connect(w)
        instance = w.actor("Room").instance
        assert instance is not None
        real = instance.store.commit

        def commit() -> None:
            order.append(f"commit {client.heard}")
            real()

        instance.store.commit = commit  # type: ignore[method-assign]
        client.channel.send("x")
        await w.settle()
        assert order == ["written", "commit []"]
        assert client.heard == ["one", "two"]

    within(tmp_path, scene, act)


def test_an_event_that_takes_too_long_is_cancelled(tmp_path: Path) -> None:
    async def act(room: Room, ws: Any, message: Any) -> None:
        await asyncio.Event().wait()

    async def scene(w: World) -> None:
        client = await connect(w)
        await w.stub("Room").run("timeout")
        client.channel.send("hang")
        await w.advance(0.9)
        assert w.engine.busy() == ["Room(a).webSocketMessage"]
        await w.advance(0.2)
        assert w.engine.busy() == []
        assert "took longer than 1000 ms" in w.said

    within(tmp_path, scene, act)


# --- hibernation --------------------------------------------------------------------------------------------------


def test_sockets_survive_their_object_and_wake_it(tmp_path: Path) -> None:
    async def act(room: Room, ws: Any, message: Any) -> None:
        room.count += 1
        ws.serializeAttachment(f"seen {ws.deserializeAttachment() is not jsnull}")
        ws.send(f"{room.count} {ws.deserializeAttachment()}")

    async def scene(w: World) -> None:
        client = await connect(w, tags="red")
        client.channel.send("x")
        client.channel.send("x")
        await w.settle()
        await w.advance(11)
        assert not w.awake("Room")
        client.channel.send("x")
        await w.settle()
        assert client.heard == ["1 seen False", "2 seen True", "1 seen True"]
        assert Room.built == 2
        assert await w.stub("Room").run("tags") == "red"

    within(tmp_path, scene, act)


def test_one_python_object_stands_for_a_socket_while_the_instance_lives(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def act(room: Room, ws: Any, message: Any) -> None:
        seen.append(any(other is ws for other in room.ctx.getWebSockets()))
        seen.append(getattr(ws, "mark", None))
        ws.mark = message

    async def scene(w: World) -> None:
        client = await connect(w)
        client.channel.send("first")
        client.channel.send("second")
        await w.settle()
        await w.advance(11)
        client.channel.send("third")
        await w.settle()
        assert seen == [True, None, True, "first", True, None]

    within(tmp_path, scene, act)


def test_an_auto_response_answers_without_waking(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        client = await connect(w)
        await w.stub("Room").run("set_pong")
        assert await w.stub("Room").run("pong_at") is jsnull
        await w.advance(11)
        client.channel.send("ping")
        assert client.heard == ["pong"]
        assert not w.awake("Room")
        at = w.ms
        await w.advance(5)
        assert await w.stub("Room").run("pong_at") == at
        client.channel.send("ping ")
        client.channel.send(b"ping")
        await w.settle()
        assert Room.log == [("message", "ping "), ("message", b"ping")]

    within(tmp_path, scene)


def test_an_object_that_is_reset_drops_its_sockets(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        client = await connect(w)
        await failure(w.stub("Room").run("failing"))
        await w.settle()
        assert [event[0] for event in client.heard] == [1006]
        assert Room.log == []
        assert await w.stub("Room").run("tags") == ""

    within(tmp_path, scene)


# --- tags ---------------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("recorded: newest first, of a tag in the order of accepting")
def test_sockets_are_listed_newest_first_and_by_tag_oldest_first(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        for tags in ("a,big", "b", "c,big"):
            await connect(w, tags=tags)
        assert await w.stub("Room").run("tags") == "c b a"
        assert await w.stub("Room").run("big") == "a c"

    within(tmp_path, scene)


def test_tags_can_be_read_back_each_once(tmp_path: Path) -> None:
    def what(ctx: Any) -> Any:
        ws = server()
        ctx.acceptWebSocket(ws, JsArray.make(["red", "red", 5]))
        return ",".join(ctx.getTags(ws))

    assert tried(tmp_path, what) == "red,5"


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        ([f"t{n}" for n in range(11)], "Error: a Hibernatable WebSocket cannot have more than 10 tags"),
        (["x" * 257], f'Error: "{"x" * 257}" is longer than the max tag length (256 characters).'),
        (["é" * 129], f'Error: "{"é" * 129}" is longer than the max tag length (256 characters).'),
    ],
)
def test_too_many_or_too_long_tags_are_refused(tmp_path: Path, tags: list[str], said: str) -> None:
    assert tried(tmp_path, lambda ctx: ctx.acceptWebSocket(server(), JsArray.make(tags))) == said


@pytest.mark.parametrize(
    ("what", "remedy"),
    [
        (lambda ctx: ctx.acceptWebSocket(server(), ["red"]), 'acceptWebSocket(ws, to_js(["red"]))'),
        (lambda ctx: server().serializeAttachment({"a": 1}), "to_js(value, dict_converter=Object.fromEntries)"),
        (lambda ctx: accepted(ctx).send(b"x"), "send(to_js(data))"),
    ],
)
def test_what_surprises_is_kept_and_told_once_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: Callable[[Any], Any], remedy: str
) -> None:
    async def scene(w: World) -> None:
        Inside.what = staticmethod(what)
        for _ in range(2):
            with contextlib.suppress(JsException):
                await w.stub("Inside").go()

    within(tmp_path, scene)
    told = capsys.readouterr().out
    assert told.startswith("test_sockets.py:") and told.count(remedy) == 1


def test_a_python_list_of_tags_is_refused(tmp_path: Path) -> None:
    said = tried(tmp_path, lambda ctx: ctx.acceptWebSocket(server(), ["red"]))
    assert said.endswith("parameter 2 is not of type 'Array'.")


def test_tags_of_a_socket_that_was_not_accepted(tmp_path: Path) -> None:
    assert tried(tmp_path, lambda ctx: ctx.getTags(server())) == (
        "Error: you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket."
    )


# --- accepting ----------------------------------------------------------------------------------------------------

ACCEPTED = "Error: Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`"


def test_a_socket_is_accepted_once(tmp_path: Path) -> None:
    def twice(ctx: Any) -> None:
        ws = server()
        ctx.acceptWebSocket(ws)
        ctx.acceptWebSocket(ws)

    def after_accept(ctx: Any) -> None:
        ws = server()
        ws.accept()
        ctx.acceptWebSocket(ws)

    def both_ends(ctx: Any) -> None:
        one, other = WebSocketPair.make()
        ctx.acceptWebSocket(other)
        ctx.acceptWebSocket(one)

    assert tried(tmp_path, twice) == ACCEPTED
    assert tried(tmp_path, after_accept) == ACCEPTED
    assert tried(tmp_path, both_ends) == (
        "Error: Cannot call `acceptWebSocket()` on this WebSocket because its pair has already been accepted or used "
        "in a Response."
    )
    assert "parameter 1 is not of type 'WebSocket'" in tried(tmp_path, lambda ctx: ctx.acceptWebSocket("x"))


def test_accept_after_accept_web_socket_is_refused(tmp_path: Path) -> None:
    def what(ctx: Any) -> None:
        ws = server()
        ctx.acceptWebSocket(ws)
        ws.accept()

    assert tried(tmp_path, what) == "TypeError: Can't accept() WebSocket after enabling hibernation."


@pytest.mark.cloudflare("workerd api/actor-state.c++")
def test_an_auto_response_has_limits(tmp_path: Path) -> None:
    def pair(request: str, response: str) -> Callable[[Any], Any]:
        return lambda ctx: ctx.setWebSocketAutoResponse(WebSocketRequestResponsePair.new(request, response))

    assert tried(tmp_path, pair("é" * 1025, "y")) == (
        "RangeError: Request cannot be larger than 2048 bytes. A request of size 2050 was provided."
    )
    assert tried(tmp_path, pair("x", "y" * 2049)) == (
        "RangeError: Response cannot be larger than 2048 bytes. A response of size 2049 was provided."
    )
    assert "WebSocketRequestResponsePair" in tried(tmp_path, lambda ctx: ctx.setWebSocketAutoResponse("ping"))


def test_an_auto_response_can_be_read_and_unset(tmp_path: Path) -> None:
    def what(ctx: Any) -> str:
        ctx.setWebSocketAutoResponse(WebSocketRequestResponsePair.new("hi", "ho"))
        pair = ctx.getWebSocketAutoResponse()
        ctx.setWebSocketAutoResponse()
        return f"{pair.request} {pair.response} {ctx.getWebSocketAutoResponse()!r}"

    assert tried(tmp_path, what) == "hi ho jsnull"


def test_the_event_timeout_is_checked(tmp_path: Path) -> None:
    def read(value: Any) -> Callable[[Any], str]:
        def what(ctx: Any) -> str:
            ctx.setHibernatableWebSocketEventTimeout(value)
            return repr(ctx.getHibernatableWebSocketEventTimeout())

        return what

    assert tried(tmp_path, read(5.7)) == "5"
    assert tried(tmp_path, read(0)) == "jsnull"
    assert tried(tmp_path, read(None)) == "jsnull"
    assert tried(tmp_path, read(604_800_001)) == "Error: Event timeout should not exceed 604800000 ms."
    assert "negative" in tried(tmp_path, read(-5))


# --- accept() -----------------------------------------------------------------------------------------------------


def test_an_open_socket_of_accept_keeps_its_object_awake(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        client = await connect(w, "Standard")
        client.channel.send("x")
        await w.settle()
        assert client.heard == ["x"]
        await w.advance(60)
        assert w.awake("Standard")
        client.channel.close(1000, "")
        await turns(20)
        await w.advance(25)
        assert not w.awake("Standard")

    within(tmp_path, scene)


def test_a_reset_drops_the_sockets_of_accept_too(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        client = await connect(w, "Standard")
        await failure(w.stub("Standard").fail())
        assert [event[0] for event in client.heard] == [1006]

    within(tmp_path, scene)
