import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.interop.convert import create_proxy
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.channel import Channel
from pyflare.interop.web.websocket import WebSocket, WebSocketPair
from tests.support.web import Gate, inside_worker, js, run, thrown

NOT_ACCEPTED = (
    "TypeError: You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages."
)


class Heard:
    """A receiver that remembers."""

    def __init__(self) -> None:
        self.frames: list[tuple[Any, ...]] = []

    def on_message(self, data: str | bytes) -> None:
        self.frames.append(("message", data))

    def on_close(self, code: int, reason: str, was_clean: bool) -> None:
        self.frames.append(("close", code, reason, was_clean))

    def on_error(self, error: BaseException) -> None:
        self.frames.append(("error", str(error)))


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def listening(socket: WebSocket) -> list[Any]:
    """Accept a socket; the list of what its listeners hear."""
    heard: list[Any] = []
    socket.addEventListener("message", create_proxy(lambda event: heard.append(event.data)))
    socket.addEventListener(
        "close", create_proxy(lambda event: heard.append((event.code, event.reason, event.wasClean, socket.readyState)))
    )
    socket.accept()
    return heard


# --- channels -----------------------------------------------------------------------------------------------------


def test_frames_wait_until_somebody_listens() -> None:
    one, other = Channel.pair()
    one.send("early")
    one.close(4000, "bye")
    heard = Heard()
    other.attach(heard)
    assert heard.frames == [("message", "early"), ("close", 4000, "bye", True)]


def test_a_connection_is_over_when_both_ends_have_closed() -> None:
    one, other = Channel.pair()
    one.attach(Heard())
    other.attach(Heard())
    one.close(1000)
    assert (one.over, other.over) == (False, False)
    other.close(1000)
    assert (one.over, other.over) == (True, True)


def test_nothing_is_sent_after_close_and_only_the_first_close_counts() -> None:
    one, other = Channel.pair()
    heard = Heard()
    other.attach(heard)
    one.close(4000)
    one.send("late")
    one.close(4001)
    assert heard.frames == [("close", 4000, "", True)]


def test_a_dropped_end_is_1006_for_the_other() -> None:
    one, other = Channel.pair()
    heard = Heard()
    other.attach(heard)
    one.drop()
    assert heard.frames == [("close", 1006, "WebSocket disconnected without sending Close frame.", False)]
    assert other.over


def test_frames_of_an_object_leave_in_line_after_its_commit() -> None:
    one, other = Channel.pair()
    heard, gate = Heard(), Gate()
    other.attach(heard)
    with inside_worker(gate=gate):
        one.send("first")
        one.close(4000)
        before = list(heard.frames)
        gate.commit()
    assert (before, heard.frames) == ([], [("message", "first"), ("close", 4000, "", True)])


# --- sockets ------------------------------------------------------------------------------------------------------


def test_a_pair_has_two_ends_in_many_ways() -> None:
    pair = WebSocketPair.new()
    client, server = pair.object_values()
    assert [*pair] == [client, server] == [pair[0], pair["1"]] == [getattr(pair, "0"), getattr(pair, "1")]
    assert (client.readyState, client.url, client.protocol) == (1, jsnull, "")


def test_a_socket_must_be_accepted_first() -> None:
    client, _ = WebSocketPair.new()
    assert thrown(lambda: client.send("x")) == NOT_ACCEPTED
    assert thrown(client.close) == NOT_ACCEPTED


def test_messages_wait_for_accept_and_keep_their_order() -> None:
    async def main() -> list[Any]:
        client, server = WebSocketPair.new()
        client.accept()
        client.send("one")
        client.send("two")
        heard = listening(server)
        client.send("three")
        await turns()
        return heard

    assert run(main) == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("message", "text"),
    [(5, "5"), (1.5, "1.5"), (True, "true"), (None, "undefined"), (b"abc", "b'abc'"), ([1, "x"], "[1, 'x']")],
)
def test_what_is_no_buffer_goes_out_as_text(message: object, text: str) -> None:
    async def main() -> list[Any]:
        client, server = WebSocketPair.new()
        heard = listening(server)
        client.accept()
        client.send(message)
        await turns()
        return heard

    assert run(main) == [text]


@pytest.mark.parametrize(("without", "kind"), [((), "Blob"), (("websocket_standard_binary_type",), "ArrayBuffer")])
def test_binary_messages_are_blobs_or_before_the_flag_buffers(without: tuple[str, ...], kind: str) -> None:
    async def main() -> str:
        with inside_worker(without=without):
            client, server = WebSocketPair.new()
        heard = listening(server)
        client.accept()
        client.send(js(b"abc"))
        await turns()
        return str(heard[0].constructor.name)

    assert run(main) == kind


def test_the_binary_type_can_be_chosen_and_nonsense_is_ignored() -> None:
    async def main() -> bytes:
        client, server = WebSocketPair.new()
        server.binaryType = "arraybuffer"
        server.binaryType = "nonsense"
        heard = listening(server)
        client.accept()
        client.send(js(b"abc"))
        await turns()
        return bytes(heard[0].to_bytes())

    assert run(main) == b"abc"


def test_the_runtime_answers_a_close_and_both_sides_hear_of_it() -> None:
    async def main() -> list[Any]:
        client, server = WebSocketPair.new()
        ours, theirs = listening(client), listening(server)
        client.close(4001, "bye")
        closing = client.readyState
        await turns()
        return [closing, ours, theirs, client.readyState, server.readyState]

    closed = [(4001, "bye", True, 3)]
    assert run(main) == [2, closed, closed, 3, 3]


def test_before_the_flag_a_close_is_answered_by_the_worker_only() -> None:
    async def main() -> list[Any]:
        with inside_worker(without=["web_socket_auto_reply_to_close"]):
            client, server = WebSocketPair.new()
            ours, theirs = listening(client), listening(server)
        client.close(4001, "bye")
        await turns()
        before = [list(ours), list(theirs)]
        server.close(4001, "bye")
        await turns()
        return [before, ours]

    assert run(main) == [[[], [(4001, "bye", True, 2)]], [(4001, "bye", True, 3)]]


def test_a_close_without_a_code_is_1005() -> None:
    async def main() -> list[Any]:
        client, server = WebSocketPair.new()
        heard = listening(server)
        client.accept()
        client.close()
        await turns()
        return heard

    assert run(main) == [(1005, "", True, 3)]


def test_sending_after_close_is_a_type_error_and_closing_again_is_nothing() -> None:
    async def main() -> str:
        client, _ = WebSocketPair.new()
        client.accept()
        client.close()
        client.close()
        return thrown(lambda: client.send("x"))

    assert run(main) == "TypeError: Can't call WebSocket send() after close()."


@pytest.mark.parametrize("code", [999, 1004, 1005, 1006, 1015, 5000])
def test_codes_that_may_not_be_sent(code: int) -> None:
    client, _ = WebSocketPair.new()
    assert thrown(lambda: client.close(code)) == f"InvalidAccessError: Invalid WebSocket close code: {code}."


def test_reasons_need_a_code_and_are_short() -> None:
    client, _ = WebSocketPair.new()
    assert "you must also specify a code" in thrown(lambda: client.close(None, "why"))
    assert "must not be longer than 123 bytes" in thrown(lambda: client.close(1000, "é" * 62))
    with inside_worker(without=["websocket_close_reason_byte_limit"]):
        assert thrown(lambda: client.close(1000, "é" * 62)) == NOT_ACCEPTED


def test_a_socket_is_not_hashable() -> None:
    client, _ = WebSocketPair.new()
    with pytest.raises(TypeError, match="unhashable"):
        hash(client)


def test_an_object_stays_awake_for_a_socket_it_accepts() -> None:
    async def main() -> bool:
        gate = Gate()
        client, _ = WebSocketPair.new()
        with inside_worker(gate=gate):
            client.accept()
        return gate.kept == [client.channel]

    assert run(main) is True


def test_what_a_listener_raises_is_reported_and_nothing_more_is_heard() -> None:
    lines: list[tuple[str, str]] = []

    async def main() -> list[Any]:
        client, server = WebSocketPair.new()
        client.accept()
        with inside_worker(console=lines):
            heard: list[Any] = []
            server.onmessage = lambda event: heard.append(event.data) if event.data else {}[event.data]
            server.accept()
        client.send("")
        client.send("in vain")
        await turns()
        return heard

    assert run(main) == []
    assert [text.splitlines()[-1] for _, text in lines] == ["KeyError: ''"]


def test_listeners_run_in_the_event_that_accepted() -> None:
    from pyflare.interop import scope

    async def main() -> bool:
        seen: list[Any] = []
        client, server = WebSocketPair.new()
        client.accept()
        with inside_worker() as running:
            server.onmessage = lambda event: seen.append(scope.current.get())
            server.accept()
        client.send("x")
        await turns()
        return seen == [running]

    assert run(main) is True


def test_an_attachment_comes_back_as_a_copy() -> None:
    client, _ = WebSocketPair.new()
    assert client.deserializeAttachment() is jsnull
    value = js({"name": "Ada", "seat": [1, 2]})
    client.serializeAttachment(value)
    value.name = "Bob"
    assert client.deserializeAttachment().to_py() == {"name": "Ada", "seat": [1, 2]}
    assert WebSocket.make(client.channel).deserializeAttachment().name == "Ada"


def test_attachments_are_cloneable_and_small() -> None:
    client, _ = WebSocketPair.new()
    assert thrown(lambda: client.serializeAttachment({"a": 1})).startswith("DataCloneError: ")
    assert thrown(lambda: client.serializeAttachment("x" * 16_400)) == (
        "Error: A WebSocket 'attachment' cannot be larger than 16384 bytes.'attachment' was 16406 bytes."
    )


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nope", "The url is invalid."),
        ("http://x/", "The url scheme must be ws or wss."),
        ("ws://x/#a", "The url fragment must be empty."),
    ],
)
def test_a_client_wants_a_websocket_url(url: str, message: str) -> None:
    assert thrown(lambda: WebSocket.new(url)) == f"SyntaxError: WebSocket Constructor: {message}"


def test_a_code_may_be_text_and_null_is_none() -> None:
    client, _ = WebSocketPair.new()
    client.accept()
    assert thrown(lambda: client.close(jsnull)) == "InvalidAccessError: Invalid WebSocket close code: 0."
    client.close("1000")


@pytest.mark.parametrize(
    ("protocols", "message"),
    [
        ("a b", "The protocol header token is invalid."),
        (["chat", "chat"], "The protocols header cannot have repeating values."),
    ],
)
def test_protocols_are_different_tokens(protocols: object, message: str) -> None:
    assert thrown(lambda: WebSocket.new("ws://x/", js(protocols))) == f"SyntaxError: WebSocket Constructor: {message}"


@pytest.mark.parametrize(
    ("listener", "message"),
    [
        (lambda event: {}[event.data], "Uncaught KeyError: 'one'"),
        (lambda event: event.absent, "Uncaught AttributeError: absent"),
    ],
)
def test_a_listener_that_raises_ends_the_connection(listener: Callable[[Any], Any], message: str) -> None:
    async def main() -> list[object]:
        client, server = WebSocketPair.new()
        seen: list[Any] = []
        client.accept()
        server.accept()
        client.addEventListener("close", lambda event: seen.append((event.code, event.wasClean)))
        server.addEventListener("error", lambda event: seen.append(event.message))
        server.addEventListener("message", listener)
        client.send("one")
        client.send("two")
        for _ in range(4):
            await asyncio.sleep(0)
        return [*seen, server.readyState]

    assert run(main) == [message, (1006, False), 3]
