from typing import Any

import pytest

from pyflare.interop.proxy import jsnull
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.response import Response
from pyflare.interop.web.websocket import WebSocketPair
from tests.support.web import js, pairs, run, thrown

RANGE = "RangeError: Responses may only be constructed with status codes in the range 200 to 599, inclusive."
NO_BODY = "TypeError: Response with null body status (101, 204, 205, or 304) cannot have a body."


def test_the_defaults_of_a_response() -> None:
    response = Response.new("hello")
    assert (response.status, response.statusText, response.ok, response.url) == (200, "OK", True, "")
    assert (response.redirected, response.type, response.webSocket) == (False, "default", jsnull)
    assert pairs(response.headers) == [["content-type", "text/plain;charset=UTF-8"]]


def test_a_response_without_a_body_has_null_and_no_content_type() -> None:
    response = Response.new(None)
    assert (response.body, pairs(response.headers)) == (jsnull, [])


@pytest.mark.parametrize(
    ("status", "phrase"),
    [(418, "I'm a teapot"), (299, "Successful"), (399, "Redirection"), (499, "Client Error"), (599, "Server Error")],
)
def test_the_phrase_of_a_status(status: int, phrase: str) -> None:
    assert Response.new("", status=status).statusText == phrase


@pytest.mark.parametrize("status", [0, 101, 199, 600, "abc", jsnull])
def test_other_statuses_are_range_errors(status: object) -> None:
    assert thrown(lambda: Response.new("x", status=status)) == RANGE


def test_a_number_as_text_is_a_status() -> None:
    assert Response.new("x", status="201").status == 201


@pytest.mark.parametrize("status", [204, 205, 304])
def test_statuses_without_a_body_take_none_but_the_empty_text(status: int) -> None:
    assert thrown(lambda: Response.new("x", status=status)) == NO_BODY
    assert Response.new("", status=status).body is jsnull


def test_options_may_be_keywords_an_object_or_another_response() -> None:
    first = Response.new("one", status=202, headers=js({"x": "w"}))
    second = Response.new("two", js({"status": 202, "headers": {"x": "w"}}))
    third = Response.new("three", first)
    assert {(made.status, made.headers.get("x")) for made in (first, second, third)} == {(202, "w")}


def test_headers_given_are_copied() -> None:
    headers = Headers.new(js({"a": "1"}))
    response = Response.new("x", headers=headers)
    headers.set("a", "2")
    assert response.headers.get("a") == "1"


def test_an_own_content_type_stays() -> None:
    response = Response.new("<p>", headers=js({"Content-Type": "text/html"}))
    assert response.headers.get("content-type") == "text/html"


def test_a_socket_needs_101_and_101_needs_a_socket() -> None:
    client, _ = WebSocketPair.new()
    assert "must have status code 101" in thrown(lambda: Response.new(None, webSocket=client))
    assert thrown(lambda: Response.new(None, status=101)) == RANGE
    assert thrown(lambda: Response.new("body", status=101, webSocket=client)) == NO_BODY
    assert Response.new(None, status=101, webSocket=client).webSocket is client


def test_a_handshake_cannot_be_cloned() -> None:
    client, _ = WebSocketPair.new()
    response = Response.new(None, status=101, webSocket=client)
    assert thrown(response.clone) == "TypeError: Cannot clone a response to a WebSocket handshake."


def test_json_is_a_constructor_on_the_class_and_a_reader_on_the_object() -> None:
    async def main() -> list[object]:
        made = Response.json(js({"a": 1, "b": [1, 2]}), status=201)
        return [made.status, made.headers.get("content-type"), (await made.clone().json()).a, await made.text()]

    assert run(main) == [201, "application/json", 1, '{"a":1,"b":[1,2]}']


def test_redirects_need_an_absolute_url_and_a_redirect_status() -> None:
    response = Response.redirect("https://example.com", 308)
    assert (response.status, response.headers.get("location")) == (308, "https://example.com/")
    assert Response.redirect("https://example.com/").status == 302
    assert thrown(lambda: Response.redirect("/rel")) == "TypeError: Unable to parse URL: /rel"
    assert thrown(lambda: Response.redirect("https://a/", 200)).startswith(
        "RangeError: 200 is not a redirect status code."
    )


def test_an_error_response_has_status_0() -> None:
    response = Response.error()
    assert (response.type, response.status, response.ok) == ("error", 0, False)


def test_a_clone_and_its_original_are_both_readable() -> None:
    async def main() -> list[str]:
        response = Response.new("hello")
        copy = response.clone()
        return [await copy.text(), await response.text()]

    assert run(main) == ["hello", "hello"]


def test_encode_body_is_checked() -> None:
    assert Response.new("x", encodeBody="manual")._encode_body == "manual"
    assert thrown(lambda: Response.new("x", encodeBody="zip")) == "TypeError: encodeBody: unexpected value: zip"


def test_a_line_break_in_the_phrase_is_a_type_error() -> None:
    assert thrown(lambda: Response.new("x", statusText="a\nb")) == "TypeError: Invalid statusText"


def test_the_class_cannot_be_called_without_new() -> None:
    without_new: Any = Response
    assert thrown(lambda: without_new("x")).startswith("TypeError: ")


def test_json_has_a_body_and_wants_a_status_that_may() -> None:
    assert thrown(lambda: Response.json(js({"a": 1}), status=204)) == (
        "TypeError: Response with null body status (101, 204, 205, or 304) cannot have a body."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"status": 10**10}, "Value out of range. Must be between -2147483648 and 2147483647 (inclusive)."),
        ({"statusText": "a\tb"}, "Invalid statusText"),
        (
            {"headers": 5},
            "Incorrect type for the 'headers' field on 'InitializerDict': the provided value is not of type 'Headers "
            "or Sequence or object'.",
        ),
        (
            {"cf": "x"},
            "Incorrect type for the 'cf' field on 'InitializerDict': the provided value is not of type 'Object'.",
        ),
    ],
)
def test_options_of_a_wrong_kind_are_refused(options: dict[str, Any], message: str) -> None:
    assert thrown(lambda: Response.new("x", **options)) == f"TypeError: {message}"


def test_what_is_read_or_being_read_cannot_be_cloned() -> None:
    reading = Response.new("x")
    reading.body.getReader()
    assert thrown(reading.clone) == "TypeError: This ReadableStream is currently locked to a reader,"


def test_an_array_of_buffers_is_a_body_of_their_bytes() -> None:
    async def work() -> tuple[Any, str]:
        response = Response.new(js([b"ab", b"c"]))
        return response.headers.get("content-type"), await response.text()

    assert run(work) == (jsnull, "abc")
