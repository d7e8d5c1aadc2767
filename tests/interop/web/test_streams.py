import asyncio
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyflare.interop import scope
from pyflare.interop.buffers import Uint8Array
from pyflare.interop.convert import create_proxy
from pyflare.interop.promise import JsPromise
from pyflare.interop.web.abort import AbortController, AbortSignal
from pyflare.interop.web.response import Response
from pyflare.interop.web.streams import (
    CompressionStream,
    DecompressionStream,
    FixedLengthStream,
    IdentityTransformStream,
    ReadableStream,
    TextDecoderStream,
    TextEncoderStream,
    TransformStream,
    WritableStream,
)
from tests.support.web import NOTHING, inside_worker, js, rejection, run, thrown


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def all_of(stream: ReadableStream) -> bytes:
    return b"".join([chunk async for chunk in stream.drain()])


# --- reading ------------------------------------------------------------------------------------------------------


def test_a_source_may_fill_the_stream_when_it_starts() -> None:
    def start(controller: Any) -> None:
        controller.enqueue(js(b"one "))
        controller.enqueue(js(b"two"))
        controller.close()

    async def main() -> bytes:
        return await all_of(ReadableStream.new(start=create_proxy(start)))

    assert run(main) == b"one two"


def test_a_source_may_be_an_object_with_an_async_pull() -> None:
    parts = [b"one ", b"two ", b"three"]

    async def pull(controller: Any) -> None:
        await asyncio.sleep(0)
        controller.enqueue(js(parts.pop(0)))
        if not parts:
            controller.close()

    async def main() -> bytes:
        return await all_of(ReadableStream.new(js({"pull": create_proxy(pull)})))

    assert run(main) == b"one two three"


def test_pull_is_called_only_while_the_queue_has_room() -> None:
    pulls: list[int] = []

    def pull(controller: Any) -> None:
        pulls.append(1)
        controller.enqueue(len(pulls))

    async def main() -> tuple[int, int]:
        stream = ReadableStream.new(pull=pull)
        await turns(10)
        before = len(pulls)
        await stream.getReader().read()
        await turns(10)
        return before, len(pulls)

    assert run(main) == (1, 2)


def test_pull_runs_in_the_context_of_the_event_that_made_the_stream() -> None:
    seen: list[Any] = []

    async def main() -> bool:
        def pull(controller: Any) -> None:
            seen.append(scope.current.get())
            controller.close()

        with inside_worker() as running:
            running.worker.portal = None
            stream = ReadableStream.new(js({"pull": create_proxy(pull)}), js({"highWaterMark": 0}))
        await stream.getReader().read()
        return seen == [running]

    assert run(main) is True


def test_an_error_of_the_source_reaches_the_reader_with_its_class() -> None:
    def pull(controller: Any) -> None:
        raise LookupError("no more")

    async def main() -> None:
        with pytest.raises(LookupError):
            await all_of(ReadableStream.new(pull=pull))

    run(main)


def test_a_reader_reads_to_done() -> None:
    async def main() -> list[object]:
        reader = ReadableStream.of_bytes(b"hello").getReader()
        first, second = await reader.read(), await reader.read()
        return [first.done, first.value.to_bytes(), second.done, second.value]

    assert run(main) == [False, b"hello", True, None]


def test_known_bytes_are_taken_at_once_unless_somebody_has_begun_to_read() -> None:
    async def main() -> None:
        whole, begun = ReadableStream.of_bytes(b"hello"), ReadableStream.of_bytes(b"hello")
        assert (whole.take_all(), whole.locked, whole._disturbed) == (b"hello", True, True)
        reader = begun.getReader()
        await reader.read()
        reader.releaseLock()
        assert begun.take_all() is None

    run(main)


def test_known_bytes_that_will_not_come_are_an_error() -> None:
    async def main() -> None:
        stream = ReadableStream.of_bytes(b"hello")
        stream._fail(ValueError("gone"))
        assert stream.take_all() is None
        with pytest.raises(ValueError, match="gone"):
            await all_of(stream)

    run(main)


def test_two_readers_are_refused_until_the_lock_is_released() -> None:
    async def main() -> list[object]:
        stream = ReadableStream.new()
        reader = stream.getReader()
        message = thrown(stream.getReader)
        locked = stream.locked
        reader.releaseLock()
        return [message, locked, stream.locked, await rejection(reader.read())]

    assert run(main) == [
        "TypeError: This ReadableStream is currently locked to a reader.",
        True,
        False,
        "TypeError: This ReadableStream reader has been released.",
    ]


def test_a_closed_stream_takes_nothing_more() -> None:
    async def main() -> list[str]:
        kept: list[Any] = []
        ReadableStream.new(start=kept.append)
        kept[0].close()
        return [thrown(lambda: kept[0].enqueue(1)), thrown(kept[0].close)]

    assert run(main) == ["TypeError: Unable to enqueue", "TypeError: This ReadableStream is closed."]


def test_cancel_tells_the_source_why() -> None:
    reasons: list[object] = []

    async def main() -> list[object]:
        stream = ReadableStream.new(cancel=reasons.append)
        await stream.cancel("enough")
        return reasons

    assert run(main) == ["enough"]


def test_both_branches_of_a_tee_get_everything() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for data in (b"a", b"b", b"c"):
            yield data

    async def main() -> list[bytes]:
        first, second = ReadableStream.of(chunks()).tee()
        return list(await asyncio.gather(all_of(first), all_of(second)))

    assert run(main) == [b"abc", b"abc"]


def test_a_byob_reader_fills_views() -> None:
    async def main() -> list[object]:
        reader = ReadableStream.of_bytes(b"hello").getReader(js({"mode": "byob"}))
        reads = [await reader.read(js(bytes(size))) for size in (2, 10, 10)]
        return [(read.value.to_bytes(), read.done) for read in reads]

    assert run(main) == [(b"he", False), (b"llo", False), (b"", True)]


def test_a_stream_can_be_made_of_a_python_iterable() -> None:
    async def main() -> list[object]:
        return [chunk async for chunk in ReadableStream.from_(js([1, 2]))]

    assert run(main) == [1, 2]


# --- writing ------------------------------------------------------------------------------------------------------


def test_a_sink_gets_the_chunks_in_order_and_the_end() -> None:
    got: list[object] = []

    async def write(chunk: object, controller: object) -> None:
        await asyncio.sleep(0)
        got.append(chunk)

    async def main() -> list[object]:
        writer = WritableStream.new(write=write, close=lambda: got.append("closed")).getWriter()
        writer.write(1)
        writer.write(2)
        await writer.close()
        return got

    assert run(main) == [1, 2, "closed"]


def test_a_closed_writer_refuses_chunks() -> None:
    async def main() -> str:
        writer = WritableStream.new().getWriter()
        await writer.close()
        return await rejection(writer.write(1))

    assert run(main) == "TypeError: This WritableStream has been closed."


def test_a_failing_sink_fails_the_write_and_the_stream() -> None:
    def write(chunk: object, controller: object) -> None:
        raise KeyError(chunk)

    async def main() -> None:
        writer = WritableStream.new(write=write).getWriter()
        for _ in range(2):
            with pytest.raises(KeyError):
                await writer.write("x")

    run(main)


def test_pipe_to_moves_everything_and_closes() -> None:
    got: list[object] = []

    async def main() -> list[object]:
        sink = WritableStream.new(
            write=lambda chunk, _: got.append(chunk.to_bytes()), close=lambda: got.append("closed")
        )
        await ReadableStream.of_bytes(b"hello").pipeTo(sink)
        return got

    assert run(main) == [b"hello", "closed"]


def test_pipe_to_stops_at_a_signal() -> None:
    async def main() -> str:
        controller = AbortController.new()
        moving = ReadableStream.new().pipeTo(WritableStream.new(), signal=controller.signal)
        await turns()
        controller.abort()
        return await rejection(moving)

    assert run(main) == "AbortError: The operation was aborted"


# --- transforming -------------------------------------------------------------------------------------------------


def test_a_write_settles_when_its_chunk_was_taken() -> None:
    async def main() -> list[object]:
        pipe = TransformStream.new()
        log: list[object] = []
        writer, reader = pipe.writable.getWriter(), pipe.readable.getReader()

        async def feed() -> None:
            for chunk in (1, 2):
                await writer.write(chunk)
                log.append(f"written {chunk}")

        feeding = asyncio.create_task(feed())
        await turns()
        log.append((await reader.read()).value)
        await turns()
        log.append((await reader.read()).value)
        await feeding
        return log

    assert run(main) == [1, "written 1", 2, "written 2"]


def test_a_transformer_changes_chunks_and_adds_at_the_end() -> None:
    async def transform(chunk: str, controller: Any) -> None:
        controller.enqueue(chunk.upper())

    async def main() -> list[object]:
        pipe = TransformStream.new(transform=transform, flush=lambda controller: controller.enqueue("END"))
        writer = pipe.writable.getWriter()
        writer.write("a")
        writer.close()
        return [chunk async for chunk in pipe.readable]

    assert run(main) == ["A", "END"]


def test_aborting_a_side_breaks_the_other() -> None:
    async def main() -> list[str]:
        pipe = TransformStream.new()
        pipe.writable.getWriter().abort("bye")
        other = TransformStream.new()
        await other.readable.cancel("why")
        return [
            await rejection(pipe.readable.getReader().read()),
            await rejection(other.writable.getWriter().write(1)),
        ]

    assert run(main) == ["Error: bye", "Error: why"]


@pytest.mark.parametrize("make", [IdentityTransformStream.new, lambda: CompressionStream.new("gzip")])
def test_byte_streams_refuse_what_is_neither_bytes_nor_text_before_somebody_reads(make: Any) -> None:
    async def main() -> str:
        return await rejection(make().writable.getWriter().write(5))

    assert "non-ArrayBuffer/ArrayBufferView type" in run(main)


def test_byte_streams_take_text_and_go_on_after_a_refusal() -> None:
    async def main() -> str:
        stream = IdentityTransformStream.new()
        writer = stream.writable.getWriter()
        writer.write(5)._when_settled(lambda *_: None)
        writer.write("h\u00e9")
        writer.close()
        return str(await Response.new(stream.readable).text())

    assert run(main) == "h\u00e9"


def test_before_its_flag_a_transform_stream_is_a_byte_stream() -> None:
    with inside_worker(without=["transformstream_enable_standard_constructor"]):

        async def main() -> bool:
            return isinstance(TransformStream.new(), IdentityTransformStream)

        assert run(main) is True


def test_a_fixed_length_stream_has_that_length() -> None:
    async def main() -> list[object]:
        pipe = FixedLengthStream.new(2)
        writer = pipe.writable.getWriter()
        reading = asyncio.ensure_future(all_of(pipe.readable))
        await turns()
        await writer.write(js(b"ab"))
        await writer.close()
        return [pipe.readable._length, await reading]

    assert run(main) == [2, b"ab"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"abc", "Attempt to write too many bytes through a FixedLengthStream."),
        (b"a", "FixedLengthStream did not see all expected bytes before close()."),
    ],
)
def test_a_fixed_length_stream_minds_its_length(data: bytes, message: str) -> None:
    async def main() -> str:
        pipe = FixedLengthStream.new(2)
        writer = pipe.writable.getWriter()
        writer.write(js(data))
        writer.close()
        return await rejection(all_of(pipe.readable))

    assert run(main) == f"TypeError: {message}"


@pytest.mark.parametrize(("form", "bits"), [("gzip", 31), ("deflate", 15), ("deflate-raw", -15)])
def test_compression_comes_back(form: str, bits: int) -> None:
    async def main() -> tuple[bytes, bytes]:
        packed = await all_of(ReadableStream.of_bytes(b"x" * 1000).pipeThrough(CompressionStream.new(form)))
        plain = ReadableStream.of_bytes(packed).pipeThrough(DecompressionStream.new(form))
        return zlib.decompress(packed, bits), await all_of(plain)

    assert run(main) == (b"x" * 1000, b"x" * 1000)


def test_bad_compressed_data_is_a_type_error() -> None:
    async def main() -> str:
        stream = ReadableStream.of_bytes(b"123").pipeThrough(DecompressionStream.new("gzip"))
        return await rejection(all_of(stream))

    assert run(main) == "TypeError: Decompression failed."


def test_an_unknown_format_is_a_type_error() -> None:
    assert "must be either 'deflate', 'deflate-raw' or 'gzip'" in thrown(lambda: CompressionStream.new("br"))


def test_text_streams_keep_characters_that_are_cut_in_two() -> None:
    async def main() -> list[object]:
        encoded = "é".encode()

        async def halves() -> AsyncIterator[bytes]:
            yield encoded[:1]
            yield encoded[1:]

        texts = [text async for text in ReadableStream.of(halves()).pipeThrough(TextDecoderStream.new())]
        back = ReadableStream.from_(js(["é"])).pipeThrough(TextEncoderStream.new())
        return [texts, await all_of(back)]

    assert run(main) == [["é"], "é".encode()]


def test_a_writer_that_waits_hears_of_the_failure() -> None:
    async def main() -> str:
        stream = WritableStream.new(js({"write": lambda chunk, _: NOTHING[chunk]}))
        writer = stream.getWriter()
        writer.write("x")
        with pytest.raises(KeyError):
            await writer.ready
        return str(stream._state)

    assert run(main) == "errored"


def test_a_failing_sink_ends_a_pipe_from_a_source_that_never_ends() -> None:
    async def main() -> list[object]:
        cancelled: list[object] = []
        source = ReadableStream.new(js({"pull": lambda c: c.enqueue(1), "cancel": cancelled.append}))
        with pytest.raises(KeyError):
            await source.pipeTo(WritableStream.new(js({"write": lambda chunk, _: NOTHING[chunk]})))
        return cancelled

    assert [type(reason) for reason in run(main)] == [KeyError]


def test_a_pipe_never_begins_with_an_aborted_signal() -> None:
    async def main() -> list[object]:
        written: list[object] = []
        source: Any = ReadableStream.from_([1])
        sink = WritableStream.new(js({"write": lambda chunk, _: written.append(chunk)}))
        message = await rejection(source.pipeTo(sink, signal=AbortSignal.abort()))
        return [message, written]

    assert run(main) == ["AbortError: The operation was aborted", []]


def test_a_locked_stream_cannot_be_piped_through() -> None:
    async def main() -> str:
        stream = ReadableStream.new()
        stream.getReader()
        return thrown(lambda: stream.pipeThrough(TransformStream.new()))

    assert run(main) == "TypeError: This ReadableStream is currently locked to a reader."


def test_what_start_raises_breaks_the_stream() -> None:
    async def main() -> None:
        stream = ReadableStream.new(js({"start": lambda _: NOTHING["x"]}))
        await stream.getReader().read()

    with pytest.raises(KeyError):
        run(main)


def test_only_byte_streams_are_read_into_buffers_of_the_reader_which_it_loses() -> None:
    async def main() -> tuple[str, bytes, int]:
        message = thrown(lambda: ReadableStream.new().getReader(mode="byob"))
        view = Uint8Array.new(4)
        result = await Response.new("abc").body.getReader(mode="byob").read(view)
        return message, result.value.to_bytes(), view.byteLength

    assert run(main) == ("TypeError: This ReadableStream does not support BYOB reads.", b"abc", 0)


def test_a_sink_has_a_signal_that_aborts_with_the_stream() -> None:
    async def main() -> tuple[bool, object]:
        seen: list[Any] = []
        stream = WritableStream.new(js({"start": seen.append}))
        await stream.abort("enough")
        return seen[0].signal.aborted, seen[0].signal.reason

    assert run(main) == (True, "enough")


def test_promises_of_an_iterable_are_awaited() -> None:
    async def main() -> list[object]:
        return [chunk async for chunk in ReadableStream.from_([JsPromise.resolve(1), 2])]

    assert run(main) == [1, 2]


@pytest.mark.parametrize(
    ("mark", "text"),
    [(-1, "it is negative and this API expects a positive bigint"), ("x", "it is not an integer")],
)
def test_a_high_water_mark_is_no_negative_number(mark: object, text: str) -> None:
    assert thrown(lambda: ReadableStream.new(js({}), js({"highWaterMark": mark}))) == (
        f"TypeError: The value cannot be converted because {text}."
    )


def test_a_pipe_that_carries_no_bytes_breaks_both_sides() -> None:
    async def main() -> list[str]:
        stream = IdentityTransformStream.new()
        piped = ReadableStream.from_(js([5])).pipeTo(stream.writable)
        return [await rejection(stream.readable.getReader().read()), await rejection(piped)]

    assert run(main) == ["TypeError: This WritableStream only supports writing byte types."] * 2
