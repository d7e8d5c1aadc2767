"""`js.caches`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from pyflare.engines.cache.engine import Cache
from pyflare.engines.cache.policy import http_date
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.readable import ReadableStream
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from tests.support.rooms import NOW, Bench, js, refusal, run, settle

URL = "https://cache.example/a"


@pytest.fixture
def room(bench: Bench) -> Iterator[Cache]:
    room = bench.open(Cache, {})
    yield room
    room.close()


@pytest.fixture
def cache(room: Cache) -> Any:
    return room.storage.default


def response(body: Any = "body", status: int = 200, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response.new(body, status=status, headers=js(named or {"cache-control": "max-age=60"}))


def request(url: str = URL, **headers: str) -> Any:
    return Request.new(url, headers=Headers.make([(name.replace("_", "-"), value) for name, value in headers.items()]))


def text(found: Any) -> str:
    return str(settle(found.text()))


def test_nothing_is_undefined(cache: Any) -> None:
    assert settle(cache.match(URL)) is None


def test_an_answer_comes_back_as_a_hit(cache: Any) -> None:
    settle(cache.put(URL, response("hello", cache_control="max-age=60", x_own="1")))
    found = settle(cache.match(URL))
    assert (found.constructor.name, found.status, text(found)) == ("Response", 200, "hello")
    assert {
        name: found.headers.get(name) for name in ("cf-cache-status", "x-own", "content-length", "age", "date")
    } == {
        "cf-cache-status": "HIT",
        "x-own": "1",
        "content-length": "5",
        "age": "0",
        "date": http_date(NOW),
    }


def test_an_answer_ages_and_ends(cache: Any, bench: Bench) -> None:
    settle(cache.put(URL, response()))
    bench.clock.advance(59)
    assert settle(cache.match(URL)).headers.get("age") == "59"
    bench.clock.advance(1)
    assert settle(cache.match(URL)) is None


def test_a_request_and_its_url_are_the_same_key(cache: Any) -> None:
    settle(cache.put(request(), response()))
    assert settle(cache.match(URL + "#part")) is not None


def test_a_cache_key_of_ones_own(cache: Any) -> None:
    settle(cache.put(Request.new(URL, cf=js({"cacheKey": "mine"})), response("keyed")))
    assert settle(cache.match(URL)) is None
    assert text(settle(cache.match(Request.new("https://other.example/", cf=js({"cacheKey": "mine"}))))) == "keyed"


def test_delete_tells_whether_it_was_there(cache: Any) -> None:
    settle(cache.put(URL, response()))
    assert [settle(cache.delete(URL)), settle(cache.delete(URL))] == [True, False]


def test_what_is_not_to_be_kept_is_let_go(cache: Any) -> None:
    assert settle(cache.put(URL, response(cache_control="no-store"))) is None
    assert settle(cache.match(URL)) is None


def test_a_stale_answer_takes_the_place_of_a_fresh_one(cache: Any) -> None:
    settle(cache.put(URL, response()))
    settle(cache.put(URL, response(cache_control="max-age=0")))
    assert settle(cache.match(URL)) is None


def test_a_stream_is_kept(cache: Any) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"from "
        yield b"a stream"

    async def scenario() -> str:
        await cache.put(URL, response(ReadableStream.of(body())))
        return str(await (await cache.match(URL)).text())

    assert run(scenario()) == "from a stream"


def test_the_body_is_used_up(cache: Any) -> None:
    stored = response()
    settle(cache.put(URL, stored))
    assert stored.bodyUsed


def test_named_caches_are_apart(room: Cache) -> None:
    other = settle(room.storage.open("other"))
    settle(other.put(URL, response("other")))
    assert settle(room.storage.default.match(URL)) is None
    assert text(settle(settle(room.storage.open("other")).match(URL))) == "other"


def test_the_headers_of_a_hit_cannot_be_changed(cache: Any) -> None:
    settle(cache.put(URL, response()))
    with pytest.raises(JsException, match="immutable"):
        settle(cache.match(URL)).headers.set("x-own", "1")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((), "TypeError: Failed to execute 'put' on 'Cache': parameter 1 is not of type 'Request or string'."),
        ((URL,), "TypeError: Failed to execute 'put' on 'Cache': parameter 2 is not of type 'Response'."),
        (("not a url", response()), "TypeError: Invalid URL: not a url"),
        (("data:,x", response()), "TypeError: Invalid URL. Cache API keys must be fully-qualified, valid URLs."),
        ((URL, "text"), "TypeError: Failed to execute 'put' on 'Cache': parameter 2 is not of type 'Response'."),
        ((URL, response(status=206)), "TypeError: Cannot cache response to a range request (206 Partial Content)."),
        ((URL, response(vary="*")), "TypeError: Cannot cache response with 'Vary: *' header."),
        ((URL, Response.error()), "TypeError: Cache is unable to store an error response"),
    ],
)
def test_what_cannot_be_put(cache: Any, asked: tuple[Any, ...], message: str) -> None:
    assert refusal(cache.put(*asked)) == message


def test_only_get_can_be_put_and_matched(cache: Any) -> None:
    post = Request.new(URL, method="POST")
    assert refusal(cache.put(post, response())) == "TypeError: Cannot cache response to non-GET request."
    settle(cache.put(URL, response()))
    assert settle(cache.match(post)) is None
    assert settle(cache.delete(post)) is False
    assert settle(cache.match(post, ignoreMethod=True)) is not None


def test_a_key_holds_no_password(cache: Any) -> None:
    message = "TypeError: Invalid URL. Cache API keys must be fully-qualified, valid URLs."
    assert refusal(cache.match("https://ada:secret@cache.example/")) == message


def test_only_urls_of_the_web_are_kept(cache: Any) -> None:
    settle(cache.put("cache://mine", response()))
    assert refusal(cache.match("cache://mine")) == "TypeError: Fetch API cannot load: cache://mine"
    assert refusal(cache.delete("cache://mine")) == "TypeError: Fetch API cannot load: cache://mine"


@pytest.mark.parametrize("name", ["ignoreSearch", "ignoreVary", "cacheName"])
def test_other_ways_to_match_are_not_implemented(cache: Any, name: str) -> None:
    message = f"Error: The '{name}' field on 'CacheQueryOptions' is not implemented."
    assert refusal(cache.match(URL, **{name: False})) == message


def test_options_are_an_object(cache: Any) -> None:
    message = "TypeError: Failed to execute 'match' on 'Cache': parameter 2 is not of type 'CacheQueryOptions'."
    assert refusal(cache.match(URL, True)) == message
    settle(cache.put(URL, response(), True))


def test_what_browsers_have_besides_is_not_implemented(room: Cache) -> None:
    for owner, name in ((room.storage.default, "addAll"), (room.storage, "has")):
        with pytest.raises(JsException, match=f"Error: Failed to execute '{name}' on .* is not implemented"):
            getattr(owner, name)("x")


def test_a_body_that_somebody_reads_is_refused(cache: Any) -> None:
    stored = response()
    stored.body.getReader()
    assert refusal(cache.put(URL, stored)) == "TypeError: The ReadableStream has been locked to a reader."


def test_the_empty_name_is_the_default_cache(room: Cache) -> None:
    assert settle(room.storage.open("")) is room.storage.default


def test_a_name_may_be_longer_than_one_of_a_file(room: Cache) -> None:
    first, second = (settle(room.storage.open("n" * 1000 + end)) for end in "ab")
    settle(first.put(URL, response("kept")))
    assert text(settle(first.match(URL))) == "kept"
    assert settle(second.match(URL)) is None


def test_only_a_body_of_known_length_has_a_content_length(cache: Any) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"hello"

    async def scenario(length: int | None) -> Any:
        await cache.put(
            URL, response(ReadableStream.of(body(), length), cache_control="max-age=60", content_length="9")
        )
        return (await cache.match(URL)).headers.get("content-length")

    assert run(scenario(5)) == "5"
    assert run(scenario(None)) is jsnull


# --- conditions and ranges --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "status"), [('"e1"', 304), ('W/"e1"', 304), ('"a", "e1"', 304), ("*", 304), ('"other"', 200)]
)
def test_if_none_match(cache: Any, given: str, status: int) -> None:
    settle(cache.put(URL, response(cache_control="max-age=60", etag='"e1"')))
    assert settle(cache.match(request(if_none_match=given))).status == status


@pytest.mark.parametrize(("offset", "status"), [(0, 304), (10, 304), (-10, 200)])
def test_if_modified_since(cache: Any, offset: float, status: int) -> None:
    modified = NOW - 1000
    settle(cache.put(URL, response(cache_control="max-age=60", last_modified=http_date(modified))))
    assert settle(cache.match(request(if_modified_since=http_date(modified + offset)))).status == status


@pytest.mark.parametrize(
    ("given", "content_range", "body"),
    [
        ("bytes=2-4", "bytes 2-4/10", "234"),
        ("bytes=8-", "bytes 8-9/10", "89"),
        ("bytes=-2", "bytes 8-9/10", "89"),
        ("bytes=8-99", "bytes 8-9/10", "89"),
    ],
)
def test_a_range_is_answered_in_part(cache: Any, given: str, content_range: str, body: str) -> None:
    settle(cache.put(URL, response("0123456789")))
    found = settle(cache.match(request(range=given)))
    assert (found.status, found.headers.get("content-range"), text(found)) == (206, content_range, body)


@pytest.mark.parametrize("date", ["Mon, 13 Nov 2023 00:00:00 +0000", "Monday, 13-Nov-23 00:00:00 GMT"])
def test_a_condition_counts_only_with_the_date_of_http(cache: Any, date: str) -> None:
    settle(cache.put(URL, response(cache_control="max-age=60", last_modified="Mon, 13 Nov 2023 00:00:00 GMT")))
    assert settle(cache.match(request(if_modified_since=date))).status == 200


def test_not_modified_tells_the_length_of_what_is_kept(cache: Any) -> None:
    settle(cache.put(URL, response("body", cache_control="max-age=60", etag='"e1"')))
    assert settle(cache.match(request(if_none_match='"e1"'))).headers.get("content-length") == "4"


@pytest.mark.cloudflare("workers/runtime-apis/cache")
def test_a_range_of_what_has_no_content_length_is_everything(cache: Any) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"0123456789"

    async def scenario() -> tuple[int, str]:
        await cache.put(URL, response(ReadableStream.of(body())))
        found = await cache.match(request(range="bytes=2-4"))
        return found.status, await found.text()

    assert run(scenario()) == (200, "0123456789")


@pytest.mark.parametrize(("given", "status"), [("", 200), ("bytes=", 200), ("bytes=-0", 200), ("bytes=-0,0-1", 206)])
def test_an_empty_range_asks_for_nothing(cache: Any, given: str, status: int) -> None:
    settle(cache.put(URL, response("0123456789")))
    assert settle(cache.match(request(range=given))).status == status


def test_a_range_that_cannot_be_satisfied_is_416(cache: Any) -> None:
    settle(cache.put(URL, response("0123456789")))
    found = settle(cache.match(request(range="bytes=90-")))
    assert (found.status, found.headers.get("content-range"), text(found)) == (416, "bytes */10", "")
    assert found.body is not jsnull


def test_several_ranges_come_as_parts(cache: Any) -> None:
    settle(cache.put(URL, response("0123456789", cache_control="max-age=60", content_type="text/plain")))

    async def scenario() -> tuple[int, str, str]:
        found = await cache.match(request(range="bytes=0-1, 8-9"))
        return found.status, found.headers.get("content-type"), await found.text()

    status, kind, body = run(scenario())
    boundary = kind.removeprefix("multipart/byteranges; boundary=")
    assert status == 206
    assert body == (
        f"--{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01\r\n"
        f"--{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n89\r\n--{boundary}--"
    )


def test_the_files_are_those_of_wrangler(room: Cache, bench: Bench) -> None:
    settle(room.storage.default.put(URL, response("hello")))
    settle(settle(room.storage.open("x")).put(URL, response("hello")))
    blobs = {path.parent.parent.name for path in (bench.folder / "v3/cache").glob("*/blobs/*")}
    assert blobs == {"default", "named_x"}


def test_the_panel_purges(room: Cache) -> None:
    settle(room.storage.default.put(URL, response()))
    [table] = room.panel().tables
    assert table.rows == [[URL, int(NOW) + 60]]
    room.panel().actions["purge"].run()
    assert settle(room.storage.default.match(URL)) is None
