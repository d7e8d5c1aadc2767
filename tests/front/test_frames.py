"""Frames of the WebSocket protocol, as RFC 6455 has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.front.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    TEXT,
    FrameCache,
    FrameError,
    FrameReader,
    close_frame,
    frame,
    parse_close,
)

MASK = b"\x01\x02\x03\x04"


def masked(opcode: int, payload: bytes, final: bool = True, mask: bytes = MASK) -> bytes:
    size = len(payload)
    first = opcode | (0x80 if final else 0)
    if size < 126:
        head = bytes((first, 0x80 | size))
    elif size < 65536:
        head = bytes((first, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((first, 0x80 | 127)) + size.to_bytes(8, "big")
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


def refused(data: bytes, max_bytes: int = 1000) -> int:
    with pytest.raises(FrameError) as refusal:
        list(FrameReader(max_bytes).feed(data))
    return refusal.value.code


def test_text_is_a_str_and_binary_is_bytes() -> None:
    data = masked(TEXT, "héllo".encode()) + masked(BINARY, b"\x00\xff")
    assert list(FrameReader().feed(data)) == [(TEXT, "héllo"), (BINARY, b"\x00\xff")]


def test_an_empty_message_is_a_message() -> None:
    assert list(FrameReader().feed(masked(TEXT, b""))) == [(TEXT, "")]


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 50))
def test_messages_survive_any_cutting_of_the_stream(messages: list[bytes], step: int) -> None:
    stream = b"".join(masked(BINARY, message) for message in messages)
    reader = FrameReader()
    pieces = [stream[at : at + step] for at in range(0, len(stream), step)]
    assert [payload for piece in pieces for _, payload in reader.feed(piece)] == messages


def test_a_large_message_arrives_whole() -> None:
    message = bytes(range(256)) * 400
    assert list(FrameReader().feed(masked(BINARY, message))) == [(BINARY, message)]


def test_fragments_make_one_message_and_a_ping_may_come_between() -> None:
    data = masked(TEXT, b"one ", final=False) + masked(PING, b"?") + masked(CONTINUATION, b"two")
    assert list(FrameReader().feed(data)) == [(PING, b"?"), (TEXT, "one two")]


def test_a_message_over_the_limit_is_1009_before_its_payload_arrives() -> None:
    assert refused(masked(BINARY, b"x" * 1001)[:14]) == 1009


def test_fragments_count_together() -> None:
    assert refused(masked(BINARY, b"x" * 600, final=False) + masked(CONTINUATION, b"x" * 600)) == 1009


def test_text_that_is_not_utf8_is_1007() -> None:
    assert refused(masked(TEXT, b"\xff")) == 1007


@pytest.mark.parametrize(
    "data",
    [
        frame(TEXT, b"unmasked"),
        masked(CONTINUATION, b"nothing to continue"),
        masked(TEXT, b"a", final=False) + masked(TEXT, b"b"),
        masked(3, b"reserved opcode"),
        masked(PING, b"x" * 126),
        masked(PING, b"x", final=False),
        b"\xc1" + masked(TEXT, b"compressed")[1:],
    ],
)
def test_what_the_protocol_forbids_is_1002(data: bytes) -> None:
    assert refused(data) == 1002


def test_a_close_frame_carries_code_and_reason() -> None:
    assert close_frame(4000, "bye") == bytes((0x80 | CLOSE, 5)) + (4000).to_bytes(2, "big") + b"bye"
    assert parse_close((4000).to_bytes(2, "big") + b"bye") == (4000, "bye")


def test_a_close_frame_without_a_code_is_1005_both_ways() -> None:
    assert parse_close(b"") == (1005, "")
    assert close_frame(1005, "") == bytes((0x80 | CLOSE, 0))


@pytest.mark.parametrize("code", [999, 1004, 1005, 1006, 1015, 2999, 5000])
def test_close_codes_that_must_not_be_sent_are_refused(code: int) -> None:
    with pytest.raises(FrameError):
        parse_close(code.to_bytes(2, "big"))


def test_a_long_reason_is_cut_between_characters() -> None:
    assert len(close_frame(1000, "é" * 100)) <= 2 + 125
    close_frame(1000, "é" * 100)[4:].decode()


def test_the_same_message_is_framed_once() -> None:
    cache = FrameCache()
    message = "to all " * 3
    assert cache.frame(message) is cache.frame(message)


def test_a_frame_says_how_long_it_is() -> None:
    assert frame(TEXT, b"x" * 126)[:4] == bytes((0x81, 126, 0, 126))
    assert frame(BINARY, b"x" * 70000)[:10] == bytes((0x82, 127)) + (70000).to_bytes(8, "big")
