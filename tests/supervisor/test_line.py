from __future__ import annotations

import os
import socket

import pytest

from pyflare.supervisor.line import Line, pass_on, receive_descriptors


@pytest.fixture
def ends() -> tuple[Line, Line]:
    ours, theirs = Line.pair()
    return ours, Line(theirs)


def close(ends: tuple[Line, Line]) -> None:
    for end in ends:
        end.close()


def test_messages_arrive_in_order_with_their_fields(ends: tuple[Line, Line]) -> None:
    ends[0].send("one", number=1)
    ends[0].send("two", text="zwei\n")
    assert [message for message, _ in ends[1].receive()] == [
        {"kind": "one", "number": 1},
        {"kind": "two", "text": "zwei\n"},
    ]
    close(ends)


def test_descriptors_come_with_their_message(ends: tuple[Line, Line]) -> None:
    reading, writing = os.pipe()
    ends[0].send("none")
    ends[0].send("with", [writing])
    received = [*ends[1].receive(), *ends[1].receive()]
    assert [len(fds) for _, fds in received] == [0, 1]
    os.close(writing)
    os.write(received[1][1][0], b"through the copy")
    assert os.read(reading, 100) == b"through the copy"
    os.close(received[1][1][0])
    os.close(reading)
    close(ends)


def test_a_message_may_be_larger_than_one_read(ends: tuple[Line, Line]) -> None:
    ends[0].send("large", text="x" * 100_000)
    assert len(ends[1].wait()[0]["text"]) == 100_000
    close(ends)


def test_the_end_of_the_other_side_is_told(ends: tuple[Line, Line]) -> None:
    ends[0].send("last")
    ends[0].close()
    assert ends[1].wait()[0]["kind"] == "last"
    with pytest.raises(EOFError):
        ends[1].wait()
    ends[1].send("into the void")
    assert ends[1].ended
    ends[1].close()


def test_connections_are_passed_on_until_the_end() -> None:
    here, there = socket.socketpair()
    pipes = [os.pipe() for _ in range(3)]
    for reading, _ in pipes:
        pass_on(here, reading)
    here.close()
    received = [fd for _ in pipes for fd in receive_descriptors(there) or ()]
    assert len(received) == 3
    assert receive_descriptors(there) is None
    for fd in (*received, *(writing for _, writing in pipes)):
        os.close(fd)
    there.close()
