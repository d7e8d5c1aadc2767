from typing import Any

import pytest

from pyflare.interop.proxy import jsnull
from pyflare.interop.web.url import URL, URLSearchParams, normalize, resolve
from tests.support.web import js, pairs, thrown


def test_the_parts_of_a_url() -> None:
    url = URL.new("https://user:pw@example.com:8080/a/b?x=1&y=2#top")
    assert (url.protocol, url.hostname, url.port, url.host) == ("https:", "example.com", "8080", "example.com:8080")
    assert (url.pathname, url.search, url.hash, url.username) == ("/a/b", "?x=1&y=2", "#top", "user")
    assert url.origin == "https://example.com:8080"


def test_a_base_resolves() -> None:
    url = URL.new("../c?d=1", "https://example.com/a/b/")
    assert (url.href, str(url)) == ("https://example.com/a/c?d=1",) * 2


def test_percent_escapes_stay_and_dots_go() -> None:
    assert URL.new("https://a/x/../%41%20").pathname == "/%41%20"


def test_setters_write_into_the_url() -> None:
    url = URL.new("https://example.com/a?b#c")
    url.protocol, url.hostname, url.port = "http", "other.example", "8080"
    url.pathname, url.search, url.hash = "/café 1", "?x=1", ""
    assert url.href == "http://other.example:8080/caf%C3%A9%201?x=1"


def test_setters_ignore_what_they_cannot_use_but_href_refuses_it() -> None:
    url = URL.new("http://a/")
    url.port = "abc"
    assert url.href == "http://a/"
    assert "Failed to set the 'href' property on 'URL'" in thrown(lambda: setattr(url, "href", "nope"))


def test_search_params_are_live_both_ways() -> None:
    url = URL.new("https://example.com/?a=1")
    params = url.searchParams
    params.append("b", "two words")
    params.set("a", "9")
    assert url.href == "https://example.com/?a=9&b=two+words"
    url.search = "?c=3"
    assert pairs(params) == [["c", "3"]]


def test_an_invalid_url_is_a_type_error_or_null_when_parsed() -> None:
    assert thrown(lambda: URL.new("not a url")) == "TypeError: Invalid URL string."
    assert (URL.parse("x"), URL.canParse("x"), URL.canParse("http://x")) == (jsnull, False, True)


def test_params_keep_repeated_names() -> None:
    params = URLSearchParams.new("?a=1&b=2&a=3")
    assert (params.get("a"), list(params.getAll("a")), params.get("z")) == ("1", ["1", "3"], jsnull)
    assert (params.size, len(params), "a" in params, "z" in params, params["a"]) == (3, 3, True, False, "1")
    assert str(params) == "a=1&b=2&a=3"


@pytest.mark.parametrize(
    "init", ["a=1", "?a=1", js({"a": "1"}), js([["a", "1"]]), {"a": "1"}, URLSearchParams.new("a=1")]
)
def test_params_are_made_of_text_pairs_and_objects(init: object) -> None:
    assert str(URLSearchParams.new(init)) == "a=1"


def test_params_are_encoded_as_forms_are() -> None:
    assert str(URLSearchParams.new(js([["~é *", "a&b"]]))) == "%7E%C3%A9+*=a%26b"


def test_params_can_be_sorted_and_deleted_by_value() -> None:
    params = URLSearchParams.new("b=1&a=2&b=3")
    params.delete("b", "3")
    params.sort()
    assert str(params) == "a=2&b=1"


def test_for_python_urls_are_normalized_and_resolved() -> None:
    assert normalize("HTTP://Example.com:80") == "http://example.com/"
    assert normalize("/x") is None
    assert resolve("/y", "http://a/x") == "http://a/y"


def test_lone_surrogates_become_replacement_characters() -> None:
    assert URLSearchParams.new("a=\ud800").get("a") == "\ufffd"
    url = URL.new("http://x/")
    url.search = "?q=\udc00"
    assert url.href == "http://x/?q=%EF%BF%BD"


def test_escapes_that_are_no_utf8_are_shown_replaced_and_written_as_they_came() -> None:
    url = URL.new("http://x/?word=caf%E9")
    url.searchParams.append("page", "2")
    assert url.searchParams.get("word") == "caf\ufffd"
    assert url.href == "http://x/?word=caf%E9&page=2"


def test_what_is_appended_while_params_are_iterated_comes_too() -> None:
    params = URLSearchParams.new("a=1&b=2")
    seen = []
    for name, _ in params:
        seen.append(name)
        if name == "a":
            params.append("c", "3")
    assert seen == ["a", "b", "c"]


@pytest.mark.parametrize("pair", ["ab", 5, js(None), js({})])
def test_a_pair_of_params_must_be_a_sequence(pair: object) -> None:
    assert thrown(lambda: URLSearchParams.new(js([pair]))) == (
        "TypeError: Incorrect type: the provided value is not of type 'Sequence'."
    )


def test_a_missing_name_of_a_parameter_is_told() -> None:
    params: Any = URLSearchParams.new("a=1")
    assert thrown(params.has) == (
        "TypeError: Failed to execute 'has' on 'URLSearchParams': parameter 1 is not of type 'USVString'."
    )
    assert params.get("a", "b") == "1"
