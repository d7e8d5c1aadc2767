from typing import Any

import pytest

from pyflare.interop.containers import JsMap
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.headers import Headers
from tests.support.web import js, pairs, thrown


def test_names_are_lower_case_and_sorted_when_iterated() -> None:
    assert pairs(Headers.new(js([["X-B", "1"], ["x-a", "2"]]))) == [["x-a", "2"], ["x-b", "1"]]


def test_values_of_one_name_are_joined_with_a_comma() -> None:
    assert Headers.new(js([["X-B", "1"], ["x-b", "3"]])).get("x-B") == "1, 3"


def test_cookies_are_never_joined_when_iterated() -> None:
    headers = Headers.new(js([["Set-Cookie", "a=1; Path=/"], ["A", "x"], ["set-cookie", "b=2"]]))
    assert pairs(headers) == [["a", "x"], ["set-cookie", "a=1; Path=/"], ["set-cookie", "b=2"]]
    assert list(headers.getSetCookie()) == ["a=1; Path=/", "b=2"]


@pytest.mark.parametrize(
    "init",
    [
        js([["a", "1"]]),
        js({"a": "1"}),
        {"a": "1"}.items(),
        [("a", "1")],
        JsMap.make([("a", "1")]),
        Headers.make([("A", "1")]),
    ],
)
def test_headers_are_made_of_pairs_objects_maps_and_headers(init: object) -> None:
    assert pairs(Headers.new(init)) == [["a", "1"]]


def test_an_absent_name_is_null_for_get_and_a_key_error_for_subscripts() -> None:
    headers = Headers.new()
    assert headers.get("x") is jsnull
    with pytest.raises(KeyError):
        headers["x"]


def test_in_ignores_the_case() -> None:
    headers = Headers.new(js({"X-One": "1"}))
    assert "x-ONE" in headers
    assert headers["X-ONE"] == "1"
    assert "x-two" not in headers


def test_set_replaces_all_values_in_the_place_of_the_first() -> None:
    headers = Headers.new(js([["a", "1"], ["b", "2"], ["a", "3"]]))
    headers.set("A", "9")
    assert headers.pairs() == [("a", "9"), ("b", "2")]


def test_values_become_the_text_that_javascript_has_for_them() -> None:
    headers = Headers.new({"n": 5, "t": True, "f": 1.0}.items())
    assert [headers.get(name) for name in "ntf"] == ["5", "true", "1"]


def test_blanks_around_a_value_go() -> None:
    assert Headers.new(js([["a", "  x\t "]])).get("a") == "x"


@pytest.mark.parametrize("name", ["a b", "", "é", "a:"])
def test_a_bad_name_is_a_type_error(name: str) -> None:
    assert thrown(lambda: Headers.new(js([[name, "1"]]))) == "TypeError: Invalid header name."


def test_a_line_break_in_a_value_is_a_type_error() -> None:
    assert thrown(lambda: Headers.new(js([["a", "1\nx: 2"]]))) == "TypeError: Invalid header value."


def test_a_sequence_of_something_else_than_pairs_is_a_type_error() -> None:
    assert "each inner sequence must have exactly two elements" in thrown(lambda: Headers.new(js([["a"]])))


def test_a_string_makes_no_headers() -> None:
    assert "constructor parameter 1 is not of type" in thrown(lambda: Headers.new("a: 1"))


def test_immutable_headers_can_be_read_and_copied_only() -> None:
    headers = Headers.make([("a", "1")], True)
    assert thrown(lambda: headers.set("a", "2")) == "TypeError: Can't modify immutable headers."
    copy = Headers.new(headers)
    copy.set("a", "2")
    assert (headers.get("a"), copy.get("a")) == ("1", "2")


def test_python_gets_lower_case_pairs_in_order_of_insertion() -> None:
    assert Headers.make([("B", "1"), ("a", "2"), ("b", "3")]).pairs() == [("b", "1"), ("a", "2"), ("b", "3")]


def test_for_each_calls_with_value_name_and_headers() -> None:
    seen: list[object] = []
    headers = Headers.new(js({"a": "1"}))
    headers.forEach(lambda value, name, owner: seen.extend([value, name, owner is headers]))
    assert seen == ["1", "a", True]


def test_iterators_speak_javascript_too() -> None:
    entries = Headers.new(js({"a": "1"})).entries()
    first, second = entries.next(), entries.next()
    assert (list(first.value), first.done, second.value, second.done) == (["a", "1"], False, None, True)


def test_for_each_wants_a_function() -> None:
    assert thrown(lambda: Headers.new().forEach("x")) == (
        "TypeError: Failed to execute 'forEach' on 'Headers': parameter 1 is not of type 'function'."
    )


@pytest.mark.parametrize("pair", ["ab", 5])
def test_a_pair_of_headers_must_be_a_sequence(pair: object) -> None:
    assert thrown(lambda: Headers.new(js([pair]))) == (
        "TypeError: Incorrect type: the provided value is not of type 'Sequence'."
    )


def test_what_is_missing_is_named_and_what_is_too_many_is_passed_over() -> None:
    headers: Any = Headers.new(js({"a": "1"}))
    assert headers.get("a", "b", "c") == "1"
    assert (
        thrown(headers.get) == "TypeError: Failed to execute 'get' on 'Headers': parameter 1 is not of type 'string'."
    )
    assert thrown(lambda: headers.set("a")) == (
        "TypeError: Failed to execute 'set' on 'Headers': parameter 2 is not of type 'string'."
    )


def test_headers_that_cannot_be_changed_say_so_first() -> None:
    headers = Headers.make([("a", "1")], True)
    assert thrown(lambda: headers.set("no name", "1")) == "TypeError: Can't modify immutable headers."
