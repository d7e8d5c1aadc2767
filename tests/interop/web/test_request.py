import pytest

from pyflare.interop.proxy import jsnull
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import ONE_TIME_BODY, Request
from pyflare.interop.web.response import Response
from pyflare.interop.web.streams import ReadableStream
from tests.support.web import inside_worker, js, pairs, run, thrown

URL = "https://example.com/"


def test_the_defaults_of_a_request() -> None:
    request = Request.new("https://example.com")
    assert (request.method, request.url, request.redirect, pairs(request.headers)) == ("GET", URL, "follow", [])
    assert (request.body, request.cf, request.cache, request.bodyUsed) == (jsnull, None, None, False)
    assert request.signal.aborted is False


def test_names_that_workers_do_not_know_are_absent() -> None:
    request = Request.new(URL)
    assert not any(hasattr(request, name) for name in ("credentials", "mode", "destination", "referrer"))


@pytest.mark.parametrize("url", ["/only/a/path", "", "nope"])
def test_a_relative_url_is_a_type_error(url: str) -> None:
    assert thrown(lambda: Request.new(url)) == f"TypeError: Invalid URL: {url}"


def test_methods_are_written_in_upper_case() -> None:
    assert Request.new(URL, method="post").method == "POST"
    assert Request.new(URL, method="patch").method == "PATCH"


def test_before_its_flag_only_the_common_methods_are_written_in_upper_case() -> None:
    with inside_worker(without=["upper_case_all_http_methods"]):
        assert Request.new(URL, method="post").method == "POST"
        assert "Invalid HTTP method string: patch" in thrown(lambda: Request.new(URL, method="patch"))


def test_an_unknown_method_is_a_type_error() -> None:
    message = thrown(lambda: Request.new(URL, method="FROBNICATE"))
    assert message == "TypeError: Invalid HTTP method string: FROBNICATE"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_get_and_head_have_no_body(method: str) -> None:
    message = thrown(lambda: Request.new(URL, method=method, body="x"))
    assert message == "TypeError: Request with a GET or HEAD method cannot have a body."


def test_a_new_request_takes_the_body_of_the_old_one() -> None:
    async def main() -> list[object]:
        first = Request.new(URL, method="POST", body="hello", headers=js({"x": "w"}))
        second = Request.new(first)
        return [second.method, second.headers.get("x"), first.bodyUsed, await second.text()]

    assert run(main) == ["POST", "w", True, "hello"]


def test_a_used_body_cannot_be_taken_but_replaced() -> None:
    async def main() -> list[str]:
        first = Request.new(URL, method="POST", body="x")
        await first.text()
        message = thrown(lambda: Request.new(first))
        return [message, await Request.new(first, body="y").text()]

    assert run(main) == ["TypeError: Cannot reconstruct a Request with a used body.", "y"]


def test_a_clone_shares_nothing() -> None:
    async def main() -> list[object]:
        request = Request.new(URL, method="POST", body="x", headers=js({"a": "1"}))
        copy = request.clone()
        copy.headers.set("a", "2")
        return [await copy.text(), await request.text(), request.headers.get("a")]

    assert run(main) == ["x", "x", "1"]


def test_other_redirect_modes_than_follow_and_manual_are_refused() -> None:
    assert Request.new(URL, redirect="manual").redirect == "manual"
    assert "must be one of" in thrown(lambda: Request.new(URL, redirect="error"))


def test_cf_must_be_an_object_and_is_copied() -> None:
    cf = js({"cacheTtl": 5})
    request = Request.new(URL, cf=cf)
    cf.cacheTtl = 6
    assert request.cf.cacheTtl == 5
    assert "Incorrect type for the 'cf' field" in thrown(lambda: Request.new(URL, cf=5))


def test_a_posted_request_without_body_may_be_read_again() -> None:
    async def main() -> list[object]:
        request = Request.new(URL, method="POST")
        return [await request.text(), await request.text(), request.bodyUsed]

    assert run(main) == ["", "", False]


def redirected(method: str, status: int, location: str = "/next", **rest: object) -> Request:
    request: Request = Request.new(URL, method=method, **({"body": "x"} if method == "POST" else {}), **rest)
    if request._body is not None:
        request._body.take()
    answer = Response.make(status, None, Headers.make([("location", location)]))
    following = request.redirected_by(answer)
    assert following is not None
    return following


@pytest.mark.parametrize(
    ("method", "status", "then"),
    [
        ("POST", 301, "GET"), ("POST", 302, "GET"), ("POST", 303, "GET"), ("DELETE", 303, "GET"),
        ("DELETE", 302, "DELETE"), ("HEAD", 303, "HEAD"), ("POST", 307, "POST"), ("POST", 308, "POST"),
    ],
)  # fmt: skip
def test_the_method_after_a_redirect(method: str, status: int, then: str) -> None:
    following = redirected(method, status)
    assert (following.method, following.url) == (then, "https://example.com/next")


def test_a_redirect_that_becomes_get_keeps_the_content_type_and_loses_the_body() -> None:
    following = redirected("POST", 303)
    assert (following.headers.get("content-type"), following.body) == ("text/plain;charset=UTF-8", jsnull)


def test_a_307_repeats_known_bytes() -> None:
    body = redirected("POST", 307)._body
    assert body is not None
    assert body.known == b"x"


def test_a_307_cannot_repeat_a_stream() -> None:
    request = Request.make("POST", URL, None, Body.make(ReadableStream.of_bytes(b"x")))
    answer = Response.make(307, None, Headers.make([("location", "/next")]))
    assert thrown(lambda: request.redirected_by(answer)) == f"TypeError: {ONE_TIME_BODY}"


def test_manual_redirects_and_other_statuses_are_not_followed() -> None:
    moved = Response.make(302, None, Headers.make([("location", "/next")]))
    assert Request.new(URL, redirect="manual").redirected_by(moved) is None
    assert Request.new(URL).redirected_by(Response.make(302)) is None
    assert Request.new(URL).redirected_by(Response.make(200, None, Headers.make([("location", "/next")]))) is None


def test_authorization_does_not_cross_origins() -> None:
    headers = js({"authorization": "secret"})
    assert redirected("GET", 302, "https://other.example/", headers=headers).headers.get("authorization") is jsnull
    assert redirected("GET", 302, "/here", headers=headers).headers.get("authorization") == "secret"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cache": "default"}, "Unsupported cache mode: default"),
        (
            {"integrity": "sha256-x"},
            "Subrequest integrity checking is not implemented. The integrity option must be either undefined or an "
            "empty string.",
        ),
        (
            {"signal": "x"},
            "Incorrect type for the 'signal' field on 'RequestInitializerDict': the provided value is not of type "
            "'AbortSignal'.",
        ),
        (
            {"headers": jsnull},
            "Incorrect type for the 'headers' field on 'RequestInitializerDict': the provided value is not of type "
            "'Headers or Sequence or object'.",
        ),
    ],
)
def test_options_that_the_runtime_does_not_take_are_refused(options: dict[str, object], message: str) -> None:
    assert thrown(lambda: Request.new("http://x/", **options)) == f"TypeError: {message}"
