"""`env.KV` as the SDK calls it: JavaScript values in, promises out."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.kv.binding import KvNamespace
from pyflare.engines.kv.engine import Kv
from pyflare.interop.buffers import ArrayBuffer
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.readable import ReadableStream
from tests.support.gate import Unconfirmed
from tests.support.rooms import NOW, Bench, js, refusal, run, settle

SECTIONS = {"kv_namespaces": [{"binding": "KV", "id": "notes"}]}


@pytest.fixture
def room(bench: Bench) -> Iterator[Kv]:
    room = bench.open(Kv, SECTIONS)
    yield room
    room.close()


@pytest.fixture
def kv(room: Kv) -> Any:
    return room.bindings("w")["KV"]


def names(listed: Any) -> list[str]:
    return [key.name for key in listed.keys]


def test_the_sdk_knows_the_binding_by_its_name(kv: Any) -> None:
    assert kv.constructor.name == "KvNamespace"


def test_text_comes_back(kv: Any) -> None:
    settle(kv.put("k", "héllo 😀"))
    assert settle(kv.get("k")) == "héllo 😀"


def test_a_missing_key_is_null(kv: Any) -> None:
    assert settle(kv.get("k")) is jsnull


def test_a_put_needs_no_await(kv: Any) -> None:
    kv.put("k", "v")
    assert settle(kv.get("k")) == "v"


@pytest.mark.cloudflare("parity/storage")
@pytest.mark.parametrize(
    ("given", "stored"), [(5, "5"), (1.5, "1.5"), (True, "true"), (jsnull, "null"), (None, "undefined"), (2.0, "2")]
)
def test_primitives_are_written_as_the_words_of_javascript(kv: Any, given: Any, stored: str) -> None:
    settle(kv.put("k", given))
    assert settle(kv.get("k")) == stored


def test_bytes_come_back_as_an_array_buffer(kv: Any) -> None:
    settle(kv.put("k", js(b"\x00\xff")))
    found = settle(kv.get("k", "arrayBuffer"))
    assert (found.constructor.name, found.to_bytes()) == ("ArrayBuffer", b"\x00\xff")


def test_bytes_are_copied_at_the_call(kv: Any) -> None:
    data = bytearray(b"first")
    buffer = ArrayBuffer.make(data)
    promise = kv.put("k", buffer)
    data[:] = b"later"
    settle(promise)
    assert settle(kv.get("k")) == "first"


def test_json_is_parsed(kv: Any) -> None:
    settle(kv.put("k", '{"name": "Ada", "tags": ["x", null]}'))
    found = settle(kv.get("k", "json"))
    assert (found.name, found.tags[1]) == ("Ada", jsnull)


def test_what_is_no_json_is_a_syntax_error(kv: Any) -> None:
    settle(kv.put("k", "plain words"))
    assert refusal(kv.get("k", "json")).startswith("SyntaxError")


def test_bytes_that_are_no_utf8_are_replaced(kv: Any) -> None:
    settle(kv.put("k", js(b"a\xff\x00b")))
    assert settle(kv.get("k")) == "a\ufffd\x00b"


def test_a_stream_can_be_stored_and_read(kv: Any) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"from "
        yield b"a stream"

    async def scenario() -> bytes:
        await kv.put("k", ReadableStream.of(body()))
        stream = await kv.get("k", "stream")
        return b"".join([chunk async for chunk in stream.drain()])

    assert run(scenario()) == b"from a stream"


def test_a_stream_that_fails_writes_nothing(kv: Any, room: Kv) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"half"
        raise RuntimeError("the client went away")

    async def scenario() -> None:
        with pytest.raises(RuntimeError):
            await kv.put("k", ReadableStream.of(body()))

    run(scenario())
    assert settle(kv.get("k")) is jsnull
    assert list(room.namespace("notes").store.blobs.folder.iterdir()) == []


def test_objects_are_refused(kv: Any) -> None:
    assert refusal(kv.put("k", js({"a": 1}))) == (
        "TypeError: KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values."
    )


def test_an_unknown_type_is_refused(kv: Any) -> None:
    settle(kv.put("k", "v"))
    assert "Unknown response type" in refusal(kv.get("k", "bytes"))


def test_metadata_comes_back_with_the_value(kv: Any) -> None:
    settle(kv.put("k", "v", metadata=js({"a": 1, "b": [None, "x"]})))
    found = settle(kv.getWithMetadata("k"))
    assert (found.value, found.metadata.a, found.metadata.b[1], found.cacheStatus) == ("v", 1, "x", jsnull)


def test_a_plain_put_removes_metadata(kv: Any) -> None:
    settle(kv.put("k", "1", metadata="m"))
    settle(kv.put("k", "2"))
    assert settle(kv.getWithMetadata("k")).metadata is jsnull


def test_a_missing_key_with_metadata_is_an_object_of_nulls(kv: Any) -> None:
    assert settle(kv.getWithMetadata("k")).js_properties() == dict.fromkeys(
        ("value", "metadata", "cacheStatus"), jsnull
    )


@pytest.mark.cloudflare("kv/platform/limits")
def test_metadata_of_1024_bytes_is_the_most(kv: Any) -> None:
    settle(kv.put("k", "v", metadata="x" * 1022))
    assert refusal(kv.put("k", "v", metadata="x" * 1023)) == (
        "Error: KV PUT failed: 413 Metadata length of 1025 exceeds limit of 1024."
    )


@pytest.mark.cloudflare("kv/api/write-key-value-pairs")
def test_a_ttl_of_59_seconds_is_refused_and_60_is_taken(kv: Any) -> None:
    assert refusal(kv.put("k", "v", expirationTtl=59)) == (
        "Error: KV PUT failed: 400 Invalid expiration_ttl of 59. Expiration TTL must be at least 60."
    )
    settle(kv.put("k", "v", expirationTtl=60))


def test_an_expiration_less_than_60_seconds_ahead_is_refused(kv: Any) -> None:
    assert "at least 60 seconds in the future" in refusal(kv.put("k", "v", expiration=int(NOW) + 59))


def test_an_expiration_in_the_past_is_refused(kv: Any) -> None:
    assert refusal(kv.put("k", "v", expiration=1_000_000_000)) == (
        "Error: KV PUT failed: 400 Invalid expiration of 1000000000. Please specify integer greater than the current "
        "number of seconds since the UNIX epoch."
    )


def test_an_expiration_beyond_2038_is_out_of_range(kv: Any) -> None:
    assert "Value out of range" in refusal(kv.put("k", "v", expiration=2**31))


def test_a_ttl_wins_without_a_look_at_the_expiration(kv: Any) -> None:
    settle(kv.put("k", "v", expiration=1, expirationTtl=100))
    assert settle(kv.list()).keys[0].expiration == int(NOW) + 100


def test_a_ttl_of_none_is_the_number_zero(kv: Any) -> None:
    assert "Invalid expiration_ttl of 0." in refusal(kv.put("k", "v", expirationTtl=jsnull))


def test_an_expired_value_is_gone(kv: Any, bench: Bench) -> None:
    settle(kv.put("k", "v", expirationTtl=60))
    bench.clock.advance(61)
    assert settle(kv.get("k")) is jsnull


@pytest.mark.cloudflare("kv/api/read-key-value-pairs")
def test_a_cache_ttl_under_30_is_refused(kv: Any) -> None:
    settle(kv.put("k", "v"))
    assert refusal(kv.get("k", cacheTtl=29)) == (
        "Error: KV GET failed: 400 Invalid cache_ttl of 29. Cache TTL must be at least 30."
    )
    assert settle(kv.get("k", cacheTtl=30)) == "v"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "TypeError: Key name cannot be empty."),
        (".", 'TypeError: "." is not allowed as a key name.'),
        ("..", 'TypeError: ".." is not allowed as a key name.'),
        ("é" * 257, "Error: KV PUT failed: 414 UTF-8 encoded length of 514 exceeds key length limit of 512."),
    ],
)
def test_bad_keys_are_refused(kv: Any, key: str, message: str) -> None:
    assert refusal(kv.put(key, "v")) == message


def test_a_key_of_512_bytes_is_taken(kv: Any) -> None:
    settle(kv.put("é" * 256, "v"))
    assert settle(kv.get("é" * 256)) == "v"


def test_a_value_over_25_mib_is_refused(kv: Any) -> None:
    assert refusal(kv.put("k", "x" * (25 * 1024 * 1024 + 1))) == (
        "Error: KV PUT failed: 413 Value length of 26214401 exceeds limit of 26214400."
    )


def test_limits_may_only_warn(bench: Bench) -> None:
    room = bench.open(Kv, SECTIONS, tool={"limits": "warn"})
    kv = room.bindings("w")["KV"]
    settle(kv.put("k", "v", metadata="x" * 1023))
    assert "Metadata length of 1025" in bench.terminal.getvalue()
    room.close()


def test_a_complete_list_has_no_cursor(kv: Any) -> None:
    settle(kv.put("a", "1"))
    listed = settle(kv.list())
    assert (names(listed), listed.list_complete, hasattr(listed, "cursor")) == (["a"], True, False)


def test_a_list_goes_on_at_its_cursor(kv: Any) -> None:
    for name in "abc":
        settle(kv.put(name, "v"))
    first = settle(kv.list(limit=2))
    assert names(settle(kv.list(limit=2, cursor=first.cursor))) == ["c"]


def test_a_list_limit_of_zero_is_no_limit(kv: Any) -> None:
    settle(kv.put("a", "1"))
    assert names(settle(kv.list(limit=0))) == ["a"]


def test_a_list_limit_over_1000_is_refused(kv: Any) -> None:
    assert refusal(kv.list(limit=1001)) == (
        "Error: KV GET failed: 400 Invalid key_count_limit of 1001. Please specify an integer less than 1000."
    )


def test_a_bulk_get_gives_a_map_in_the_order_of_the_keys(kv: Any) -> None:
    settle(kv.put("a", "1"))
    settle(kv.put("10", "2"))
    found = settle(kv.get(js(["10", "none", "a"])))
    assert found.items() == [("10", "2"), ("none", jsnull), ("a", "1")]


def test_a_bulk_get_of_101_keys_is_refused(kv: Any) -> None:
    keys = js([f"key-{number}" for number in range(101)])
    assert refusal(kv.get(keys)) == "Error: KV GET_BULK failed: 400 You can request a maximum of 100 keys"


def test_a_bulk_get_as_bytes_is_refused(kv: Any) -> None:
    assert refusal(kv.get(js(["a"]), "arrayBuffer")) == (
        'Error: KV GET_BULK failed: 400 "arrayBuffer" is not a valid type. Use "json" or "text"'
    )


def test_a_bulk_get_of_json_names_what_is_none(kv: Any) -> None:
    settle(kv.put("a", "no json"))
    assert "At least one of the requested keys corresponds to a non-json value" in refusal(kv.get(js(["a"]), "json"))


def test_a_bulk_get_with_metadata_has_null_for_missing_keys(kv: Any) -> None:
    settle(kv.put("a", "v", metadata="m"))
    found = settle(kv.getWithMetadata(js(["a", "none"])))
    assert (found.get("a").value, found.get("a").metadata, found.get("none")) == ("v", "m", jsnull)


def test_two_writes_within_a_second_warn_once(kv: Any, bench: Bench) -> None:
    for _ in range(3):
        settle(kv.put("k", "v"))
    assert bench.terminal.getvalue().count("one write a second") == 1


def test_writes_a_second_apart_do_not_warn(kv: Any, bench: Bench) -> None:
    settle(kv.put("k", "v"))
    bench.clock.advance(1.0)
    settle(kv.put("k", "v"))
    assert bench.terminal.getvalue() == ""


@pytest.mark.cloudflare("kv/concepts/how-kv-works#consistency")
def test_a_stale_reader_sees_a_write_a_minute_later(room: Kv, kv: Any, bench: Bench) -> None:
    settle(kv.put("k", "old"))
    room.namespace("notes").lag = 60.0
    settle(kv.put("k", "new"))
    assert settle(kv.get("k")) == "old"
    bench.clock.advance(60)
    assert settle(kv.get("k")) == "new"


def test_a_stale_reader_may_see_that_nothing_is_there(room: Kv, kv: Any) -> None:
    room.namespace("notes").lag = 60.0
    settle(kv.put("k", "new"))
    assert settle(kv.get("k")) is jsnull


def test_two_bindings_of_one_id_share_their_values(bench: Bench) -> None:
    sections = {"kv_namespaces": [{"binding": "A", "id": "one"}, {"binding": "B", "id": "one"}, {"binding": "C"}]}
    room = bench.open(Kv, sections)
    bindings = room.bindings("w")
    settle(bindings["A"].put("k", "v"))
    assert [settle(bindings[name].get("k")) for name in "ABC"] == ["v", "v", jsnull]
    room.close()


def test_values_survive_a_restart(bench: Bench) -> None:
    room = bench.open(Kv, SECTIONS)
    settle(room.bindings("w")["KV"].put("k", "v"))
    room.close()
    again = bench.open(Kv, SECTIONS)
    assert settle(again.bindings("w")["KV"].get("k")) == "v"
    again.close()


def test_a_write_waits_for_the_commit_of_a_durable_object(kv: Any) -> None:
    from pyflare.config.model import Compat
    from pyflare.interop import scope

    class Worker:
        compat = Compat("2026-08-01")

    async def scenario() -> list[Any]:
        gate = Unconfirmed()
        token = scope.current.set(scope.Scope(Worker(), Bench(Path()).clock, lambda work: None, gate))
        promise = kv.put("k", "v")
        scope.current.reset(token)
        before = settle(kv.get("k"))
        gate.commit.set_result(None)
        await promise
        return [before, settle(kv.get("k"))]

    assert run(scenario()) == [jsnull, "v"]


def test_the_binding_is_a_class_of_the_layer(kv: Any) -> None:
    assert isinstance(kv, KvNamespace)


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda kv: kv.get(), "'get' on 'KvNamespace': parameter 1 is not of type 'string or Array'"),
        (lambda kv: kv.getWithMetadata(), "'getWithMetadata' on 'KvNamespace': parameter 1 is not of type 'Array or s"),
        (lambda kv: kv.put(), "'put' on 'KvNamespace': parameter 1 is not of type 'string'"),
        (lambda kv: kv.put("k"), "'put' on 'KvNamespace': parameter 2 is not of type 'string or Object'"),
        (lambda kv: kv.put("k", "v", 60), "'put' on 'KvNamespace': parameter 3 is not of type 'PutOptions'"),
        (lambda kv: kv.list("prefix"), "'list' on 'KvNamespace': parameter 1 is not of type 'ListOptions'"),
        (lambda kv: kv.delete(), "'delete' on 'KvNamespace': parameter 1 is not of type 'string'"),
    ],
)
def test_what_is_missing_or_of_another_type_is_named(kv: Any, call: Callable[[Any], Any], kind: str) -> None:
    with pytest.raises(JsException, match=re.escape(f"TypeError: Failed to execute {kind}")):
        settle(call(kv))


def test_arguments_too_many_are_passed_over(kv: Any) -> None:
    settle(kv.put("k", "v"))
    settle(kv.delete("k", True))
    assert settle(kv.get("k", "text", 1)) is jsnull


def test_a_type_of_null_is_text(kv: Any) -> None:
    settle(kv.put("k", "v"))
    assert settle(kv.get("k", jsnull)) == "v"
    assert settle(kv.get(js(["k"]), jsnull)).get("k") == "v"


def test_a_read_with_metadata_refuses_its_key_at_the_call(kv: Any) -> None:
    assert refusal(kv.get("")) == "TypeError: Key name cannot be empty."
    with pytest.raises(JsException, match="Key name cannot be empty"):
        kv.getWithMetadata("")


def test_a_number_out_of_range_is_refused_before_the_key(kv: Any) -> None:
    assert "Value out of range" in refusal(kv.put("", "v", expiration=2**31))


def test_a_date_is_a_number_of_milliseconds(kv: Any) -> None:
    settle(kv.put("k", "v", expirationTtl=JsDate.new(60_000)))
    assert settle(kv.list()).keys[0].expiration == int(NOW) + 60_000


@pytest.mark.parametrize(("cursor", "first"), [("YQ", "b"), ("YQ==", "b"), ("-_", None), ("no key of ours", None)])
def test_any_text_is_a_cursor(kv: Any, cursor: str, first: str | None) -> None:
    for name in "abc":
        settle(kv.put(name, "v"))
    assert next(iter(names(settle(kv.list(cursor=cursor)))), None) == first


def test_a_stream_of_text_is_written(kv: Any) -> None:
    async def texts() -> AsyncIterator[Any]:
        yield "hé"
        yield js(b"llo")

    async def scenario() -> Any:
        await kv.put("k", ReadableStream.from_(texts()))
        return await kv.get("k")

    assert run(scenario()) == "héllo"


def test_a_stream_of_numbers_is_refused(kv: Any) -> None:
    async def scenario() -> None:
        with pytest.raises(JsException, match="Draining read encountered a value that cannot be converted to bytes"):
            await kv.put("k", ReadableStream.from_(js([5])))

    run(scenario())


def test_a_stream_that_somebody_reads_is_refused(kv: Any) -> None:
    stream = ReadableStream.of_bytes(b"abc")
    reader = stream.getReader()
    assert refusal(kv.put("k", stream)) == "TypeError: The ReadableStream has been locked to a reader."
    settle(reader.read())
    reader.releaseLock()
    assert refusal(kv.put("k", stream)) == "TypeError: This ReadableStream is disturbed."
