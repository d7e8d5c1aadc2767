import asyncio
from collections.abc import AsyncIterator

import pytest

from pyflare.interop.buffers import ArrayBuffer, DataView
from pyflare.interop.web.blob import Blob
from pyflare.interop.web.body import Body, extract
from pyflare.interop.web.form_data import FormData
from pyflare.interop.web.response import Response
from pyflare.interop.web.streams import ReadableStream
from pyflare.interop.web.url import URLSearchParams
from tests.support.web import js, rejection, run, thrown

USED = "TypeError: Body has already been used. It can only be used once. Use tee() first if you need to read it twice."


async def numbered(count: int) -> AsyncIterator[bytes]:
    for number in range(count):
        yield b"%d;" % number


@pytest.mark.parametrize(
    ("value", "data", "kind"),
    [
        ("é", "é".encode(), "text/plain;charset=UTF-8"),
        (js(b"\x00\xff"), b"\x00\xff", None),
        (ArrayBuffer.make(b"abc"), b"abc", None),
        (DataView.make(ArrayBuffer.make(b"abcd"), 1, 2), b"bc", None),
        (Blob.make(b"x", "text/css"), b"x", "text/css"),
        (Blob.make(b"x"), b"x", None),
        (URLSearchParams.new("a=1 2"), b"a=1+2", "application/x-www-form-urlencoded;charset=UTF-8"),
        (5, b"5", "text/plain;charset=UTF-8"),
        (b"raw", b"b'raw'", "text/plain;charset=UTF-8"),
    ],
)
def test_what_a_value_is_as_a_body(value: object, data: bytes, kind: str | None) -> None:
    body, content_type = extract(value)
    assert (body.known, content_type) == (data, kind)


def test_a_form_is_multipart_with_a_boundary() -> None:
    form = FormData.new()
    form.append("a", "1")
    body, kind = extract(form)
    assert kind is not None
    boundary = kind.removeprefix("multipart/form-data; boundary=")
    assert body.known is not None
    assert body.known.startswith(f"--{boundary}\r\n".encode())
    assert body.known.endswith(f"--{boundary}--".encode())


def test_known_bytes_come_out_once() -> None:
    body = Body.make(b"hello")
    assert (body.known, body.length, body.used) == (b"hello", 5, False)
    assert body.take() == b"hello"
    assert (body.known, body.used) == (None, True)
    assert thrown(body.take) == USED


def test_reading_twice_rejects() -> None:
    async def main() -> str:
        response = Response.new("hello")
        await response.text()
        return await rejection(response.text())

    assert run(main) == USED


def test_the_stream_of_known_bytes_counts_as_the_body() -> None:
    async def main() -> tuple[bool, bytes, bool]:
        response = Response.new("hello")
        before = response.bodyUsed
        chunks = [chunk.to_bytes() async for chunk in response.body]
        return before, b"".join(chunks), response.bodyUsed

    assert run(main) == (False, b"hello", True)


def test_a_locked_stream_cannot_be_read_as_a_whole() -> None:
    async def main() -> str:
        response = Response.new("hello")
        response.body.getReader()
        return await rejection(response.text())

    assert run(main) == "TypeError: This ReadableStream is currently locked to a reader."


def test_a_stream_that_somebody_reads_makes_no_body() -> None:
    async def main() -> tuple[str, str]:
        stream = ReadableStream.of_bytes(b"hello")
        reader = stream.getReader()
        before = thrown(lambda: Response.new(stream))
        await reader.read()
        return before, thrown(lambda: Response.new(stream))

    locked, read = run(main)
    assert locked == "TypeError: This ReadableStream is locked to a reader, and cannot be used as a body."
    assert read.startswith("TypeError: This ReadableStream is disturbed (has already been read from)")


def test_text_in_a_stream_is_sent_but_not_read() -> None:
    async def main() -> tuple[list[bytes], str]:
        sent = Response.new(ReadableStream.from_(js(["hé", "llo"])))
        read = Response.new(ReadableStream.from_(js(["hé"])))
        return [chunk async for chunk in sent._body.chunks()], await rejection(read.text())

    assert run(main) == (["hé".encode(), b"llo"], "TypeError: This ReadableStream did not return bytes.")


def test_streams_are_not_gathered_by_chunks() -> None:
    async def main() -> list[bytes]:
        return [chunk async for chunk in Body.make(ReadableStream.of(numbered(3))).chunks()]

    assert run(main) == [b"0;", b"1;", b"2;"]


def test_a_native_iterator_is_read_only_as_far_as_asked() -> None:
    made: list[int] = []

    async def source() -> AsyncIterator[bytes]:
        for number in range(10):
            made.append(number)
            yield bytes([number])

    async def main() -> list[int]:
        reader = Body.make(source()).stream.getReader()
        await asyncio.sleep(0)
        await reader.read()
        await asyncio.sleep(0)
        return made

    assert run(main) == [0]


def test_a_used_stream_cannot_be_a_body() -> None:
    async def main() -> str:
        stream = Response.new("x").body
        reader = stream.getReader()
        await reader.read()
        reader.releaseLock()
        return thrown(lambda: extract(stream))

    assert "is disturbed (has already been read from), and cannot be used as a body." in run(main)


def test_a_stream_of_other_things_than_bytes_is_refused_when_read() -> None:
    async def main() -> str:
        def start(controller: object) -> None:
            controller.enqueue("text")  # type: ignore[attr-defined]

        return await rejection(Response.new(ReadableStream.new(start=start)).text())

    assert run(main) == "TypeError: This ReadableStream did not return bytes."


def test_a_copy_leaves_the_original_readable() -> None:
    async def main() -> list[bytes]:
        body = Body.make(numbered(2), 4)
        copy = body.copy()
        return [await body.gather(), await copy.gather()]

    assert run(main) == [b"0;1;", b"0;1;"]


def test_moving_a_body_uses_it() -> None:
    body = Body.make(b"x")
    moved = body.move()
    assert (body.used, moved.known) == (True, b"x")


def test_text_replaces_what_is_no_utf8_and_drops_the_mark() -> None:
    async def main() -> list[str]:
        return [
            await Response.new(js(b"ok \xff")).text(),
            await Response.new(js(b"\xef\xbb\xbfmarked")).text(),
        ]

    assert run(main) == ["ok �", "marked"]


def test_json_gives_javascript_objects_and_rejects_with_syntax_error() -> None:
    async def main() -> tuple[object, str]:
        value = await Response.new('{"a": [1]}').json()
        return value.a.to_py(), await rejection(Response.new("{").json())

    value, message = run(main)
    assert value == [1]
    assert message.startswith("SyntaxError: ")


def test_a_blob_takes_the_content_type_of_the_response() -> None:
    async def main() -> str:
        response = Response.new("a,b", headers=js({"content-type": "Text/CSV; Charset=x"}))
        return str((await response.blob()).type)

    assert run(main) == "text/csv;charset=x"


def test_bytes_and_array_buffers_hold_the_body() -> None:
    async def main() -> tuple[bytes, bytes]:
        array, buffer = await Response.new("hi").bytes(), await Response.new("hi").arrayBuffer()
        return array.to_bytes(), buffer.to_bytes()

    assert run(main) == (b"hi", b"hi")


def test_who_stops_reading_a_stream_early_cancels_its_source() -> None:
    reasons: list[object] = []

    async def main() -> list[object]:
        def pull(controller: object) -> None:
            controller.enqueue(js(b"x"))  # type: ignore[attr-defined]

        chunks = Body.make(ReadableStream.new(pull=pull, cancel=reasons.append)).chunks()
        first = await anext(chunks)
        await chunks.aclose()  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        return [first, str(reasons[0])]

    assert run(main) == [b"x", "Error: Network connection lost."]


@pytest.mark.parametrize("started", [False, True])
def test_a_body_that_nobody_wants_closes_its_source(started: bool) -> None:
    class Source:
        closed = False

        def __aiter__(self) -> "Source":
            return self

        async def __anext__(self) -> bytes:
            return b"x"

        async def aclose(self) -> None:
            self.closed = True

    async def main() -> bool:
        source = Source()
        body = Body.make(source)
        if started:
            chunks = Body.make(ReadableStream.of(source)).chunks()
            await anext(chunks)
            await chunks.aclose()  # type: ignore[attr-defined]
        else:
            await body.discard()
        return source.closed

    assert run(main) is True


def test_a_stream_of_known_bytes_is_a_body_of_known_bytes() -> None:
    stream = ReadableStream.of_bytes(b"whole")
    body, kind = extract(stream)
    assert (body.known, body.length, kind) == (b"whole", 5, None)


def test_such_a_body_uses_its_stream() -> None:
    stream = ReadableStream.of_bytes(b"whole")
    body, _ = extract(stream)
    assert asyncio.run(body.gather()) == b"whole"
    assert body.used and stream._disturbed


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("Text/HTML; Charset=UTF-8", "text/html;charset=UTF-8"),
        ('a/b; c="d"; c=e; f', "a/b;c=d"),
        ('a/b; c="d e"', 'a/b;c="d e"'),
        ("Multipart/Form-Data; boundary=AbC", "multipart/form-data; boundary=AbC"),
        ("application/json, text/plain", "text/plain"),
        ("text", ""),
        ("a/b c", ""),
    ],
)
def test_the_type_of_a_blob_is_the_media_type_of_the_header(header: str, kind: str) -> None:
    async def work() -> str:
        return str((await Response.new("x", headers=js({"content-type": header})).blob()).type)

    assert run(work) == kind


def test_the_text_of_a_blob_keeps_a_byte_order_mark() -> None:
    async def work() -> str:
        return str(await Blob.make(b"\xef\xbb\xbfx").text())

    assert run(work) == "\ufeffx"


def test_options_of_blobs_that_are_not_implemented_say_so() -> None:
    assert thrown(lambda: Blob.new(js(["x"]), endings="native")) == (
        "Error: The 'endings' field on 'Options' is not implemented."
    )
