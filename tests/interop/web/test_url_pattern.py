from typing import Any

import pytest

from pyflare.interop.modules import js as js_module
from pyflare.interop.proxy import JsObject, jsnull
from pyflare.interop.web.url import URL
from pyflare.interop.web.url_pattern import URLPattern
from pyflare.interop.web.url_pattern_init import COMPONENTS
from tests.support.web import inside_worker, js, thrown

REFUSED = "TypeError: Failed to construct URLPattern"


def shown(pattern: Any) -> list[str]:
    return [getattr(pattern, name) for name in COMPONENTS]


def groups(pattern: Any, *given: Any, part: str = "pathname") -> Any:
    """What the groups of one part caught; None when nothing matches."""
    result = pattern.exec(*given)
    return None if result is jsnull else getattr(result, part).groups.js_properties()


def search(regexp: str, text: str, ignore_case: bool = False) -> Any:
    """What the first group of `(regexp)` catches in a query; None when it does not match."""
    pattern = URLPattern.new(js({"search": f"({regexp})"}), js({"ignoreCase": ignore_case}))
    caught = groups(pattern, js({"search": text}), part="search")
    return caught and caught["0"]


def test_it_is_a_global() -> None:
    assert js_module.URLPattern is URLPattern
    assert "URLPattern" in dir(js_module)


def test_a_named_group_ends_at_the_separator() -> None:
    pattern = URLPattern.new(pathname="/users/:id")
    assert groups(pattern, "https://example.com/users/5") == {"id": "5"}
    assert pattern.test("https://example.com/users/5/x") is False
    assert pattern.exec("https://example.com/users/") is jsnull


def test_the_parts_of_a_constructors_string() -> None:
    assert shown(URLPattern.new("https://user\\:pw@:sub.example.com:8080/a/:b\\?q=*#h")) == [
        "https", "user", "pw", ":sub.example.com", "8080", "/a/:b", "q=*", "h",
    ]  # fmt: skip
    assert shown(URLPattern.new("http{s}?://*.example.com/books/:id")) == [
        "http{s}?", "*", "*", "*.example.com", "", "/books/:id", "*", "*",
    ]  # fmt: skip


def test_what_stands_before_a_part_of_the_string_is_empty_and_what_behind_it_anything() -> None:
    assert shown(URLPattern.new("https://example.com?q")) == ["https", "*", "*", "example.com", "", "/", "q", "*"]
    assert shown(URLPattern.new("https://example.com#h")) == ["https", "*", "*", "example.com", "", "/", "", "h"]
    assert shown(URLPattern.new("data\\:text")) == ["data", "*", "*", "", "", "text", "*", "*"]


def test_a_base_is_inherited_up_to_the_first_part_given() -> None:
    base = "https://user:pw@example.com:8080/a/b?q#h"
    assert shown(URLPattern.new("c", base)) == ["https", "*", "*", "example.com", "8080", "/a/c", "*", "*"]
    assert shown(URLPattern.new("?x", base)) == ["https", "*", "*", "example.com", "8080", "/a/b", "x", "*"]
    assert shown(URLPattern.new(hostname="other", baseURL=base)) == ["https", "*", "*", "other", "*", "*", "*", "*"]
    assert groups(URLPattern.new(username=":u"), js({"pathname": "/", "baseURL": base}), part="username") == {
        "u": "user"
    }


def test_fixed_text_is_canonical() -> None:
    assert URLPattern.new(hostname="CAFÉ.com").hostname == "xn--caf-dma.com"
    assert URLPattern.new(pathname="/a/../é/x y/:id").pathname == "/%C3%A9/x%20y/:id"
    assert URLPattern.new(search="?a b'", hash="#a`").search == "a%20b'"
    assert URLPattern.new(protocol="https", port="443").port == ""
    assert URLPattern.new(hostname="[\\:\\:AB]").hostname == "[\\:\\:ab]"


def test_a_pattern_is_written_in_its_shortest_form() -> None:
    def path(text: str) -> Any:
        return URLPattern.new(pathname=text).pathname

    assert path("/foo/(.*)") == "/foo/*"
    assert path("/{foo}/{:bar}?") == "/foo/{:bar}?"
    assert path("/:id([^\\/]+?)") == "/:id"
    assert (path("{:foo}-bar"), path("{:foo}bar")) == (":foo-bar", "{:foo}bar")
    assert path("/a{/b:c}+") == "/a/b:c+"


def test_a_group_that_caught_nothing_is_undefined() -> None:
    pattern = URLPattern.new(pathname="/a/:b?")
    assert groups(pattern, js({"pathname": "/a"})) == {"b": None}
    assert groups(pattern, js({"pathname": "/a/"})) is None
    # A round that consumes nothing is none in JavaScript: the group is undefined, not "".
    assert groups(URLPattern.new(hash="(.*)?"), js({}), part="hash") == {"0": None}
    assert groups(URLPattern.new(hash="*"), js({}), part="hash") == {"0": ""}


def test_groups_come_numbers_first_and_names_from_the_last() -> None:
    caught = groups(URLPattern.new(pathname="/:x/*/(.)/:c"), js({"pathname": "/1/2/3/4"}))
    assert list(caught.items()) == [("0", "2"), ("1", "3"), ("c", "4"), ("x", "1")]


@pytest.mark.parametrize(("text", "caught"), [("/x", "x"), ("/x/y", "x/y"), ("", None)])
def test_modifiers_repeat_a_group_with_its_separator(text: str, caught: str | None) -> None:
    assert groups(URLPattern.new(pathname="/a/:rest*"), js({"pathname": f"/a{text}"})) == {"rest": caught}


def test_the_result_holds_the_input_and_each_part() -> None:
    result = URLPattern.new(pathname="/:a").exec("/x?q", "https://example.com")
    assert list(result.js_properties()) == ["inputs", *COMPONENTS]
    assert list(result.inputs) == ["/x?q", "https://example.com"]
    assert (result.search.input, result.protocol.groups.js_properties()) == ("q", {"0": "https"})
    (given,) = URLPattern.new().exec(js({"port": 80})).inputs
    assert given.js_properties() == {**dict.fromkeys(COMPONENTS), "port": "80", "baseURL": None}


def test_what_is_no_url_does_not_match_and_a_relative_one_has_no_host() -> None:
    pattern = URLPattern.new()
    assert (pattern.test("https://"), pattern.test("/x", "nope"), pattern.test(js({"port": "x"}))) == (False,) * 3
    assert groups(URLPattern.new(pathname="/:a", hostname=""), "/x") == {"a": "x"}


def test_an_object_allows_no_second_base() -> None:
    assert thrown(lambda: URLPattern.new(js({}), "https://a")) == REFUSED
    assert thrown(lambda: URLPattern.new().test(js({}), "https://a")) == "TypeError: Failed to test URLPattern"
    assert thrown(lambda: URLPattern.new().exec(js({}), jsnull)) == "TypeError: Failed to exec URLPattern"


def test_options_come_second_or_third() -> None:
    wanted = js({"ignoreCase": True})
    for pattern in (URLPattern.new("/Foo", "https://a", wanted), URLPattern.new(js({"pathname": "/Foo"}), wanted)):
        assert pattern.test("https://a/fOO")
    assert not URLPattern.new(js({"hostname": "(A)"}), wanted).test("https://a/")
    assert thrown(lambda: URLPattern.new(js({}), None, 1)) == (
        "TypeError: Failed to construct 'URLPattern': constructor parameter 3 is not of type 'URLPatternOptions'."
    )


def test_any_object_is_read_for_parts_and_any_primitive_is_text() -> None:
    assert URLPattern.new(URL.new("https://example.com/a")).pathname == "/a"
    assert URLPattern.new(js({"pathname": 5, "hash": jsnull, "search": None})).hash == "null"
    assert shown(URLPattern.new(jsnull)) == ["*"] * 8
    assert thrown(lambda: URLPattern.new(5)) == REFUSED


@pytest.mark.parametrize(
    "text", ["(", "()", "(?:a)", "(a(b))", "(é)", ":", ":1", "{", "}", "{a{b}}", "a\\", "+", ":a:a", "(a", "{:a(b)c"]
)
def test_what_is_no_pattern_is_refused(text: str) -> None:
    assert thrown(lambda: URLPattern.new(js({"search": text}))) == REFUSED


def test_a_pattern_for_no_url_is_refused() -> None:
    for given in ({"protocol": "1a"}, {"port": "99999"}, {"hostname": "a b"}, {"baseURL": "nope"}):
        assert thrown(lambda given=given: URLPattern.new(js(given))) == REFUSED  # type: ignore[misc]
    assert thrown(lambda: URLPattern.new("/relative")) == REFUSED


def test_regexp_groups_are_told() -> None:
    assert URLPattern.new(pathname="/:id(\\d+)").hasRegExpGroups is True
    assert URLPattern.new(pathname="/:id(.*)/*").hasRegExpGroups is False


@pytest.mark.parametrize(
    ("regexp", "text", "matches"),
    [
        ("[[a-z]--[aeiou]]+", "xyz", True),
        ("[[a-z]--[aeiou]]+", "abc", False),
        ("[\\w&&\\d]+", "12", True),
        ("[\\q{foo|b}x]+", "foobx", True),
        ("\\p{Lu}\\P{Lu}+", "Abc", True),
        ("\\p{Script=Latin}", "1", False),
        ("\\x61\\u0062\\u{63}", "abc", True),
        ("(?<n>a|b)\\k<n>", "aa", True),
        ("(?<n>a|b)\\k<n>", "ab", False),
        ("(?<n>a)|(?<n>b)", "b", True),
        ("(?i:a)b", "Ab", True),
        ("(?i:a)b", "AB", False),
        (".*(?<!\\.(?:png|jpe?g))", "a.gif", True),
        (".*(?<!\\.(?:png|jpe?g))", "a.jpeg", False),
        ("\\B", "", True),
        ("[^]", "a", True),
    ],
)
def test_regular_expressions_are_those_of_javascript(regexp: str, text: str, matches: bool) -> None:
    assert (search(regexp, text) is not None) is matches


@pytest.mark.parametrize(
    "regexp",
    ["a++", "a*+", "(?>a)", "(?P<n>a)", "a{2,1}", "a{", "]", "[b-a]", "[(]", "[a&&&b]", "[a-c&&b]", "[!!]", "\\m",
     "\\p{Foo}", "\\2", "\\k<n>", "(?<n>a)(?<n>b)", "(?=a)*", "[^\\q{ab}]", "\\01", "(?ii:a)"],
)  # fmt: skip
def test_a_regular_expression_that_javascript_refuses_is_refused(regexp: str) -> None:
    assert thrown(lambda: URLPattern.new(js({"search": f"(?:{regexp})"}))) == REFUSED
    assert thrown(lambda: URLPattern.new(js({"search": f"(x{regexp})"}))) == REFUSED


def test_case_is_ignored_as_unicode_folds_it() -> None:
    assert search("[^A-Z]+", "abc", ignore_case=True) is None
    assert search("\\u212a", "k", ignore_case=True) == "k"
    assert search("\\u212a", "k") is None


def test_an_open_ended_lookbehind_is_said_to_be_impossible() -> None:
    assert "pyflare cannot do this regular expression" in thrown(lambda: URLPattern.new(hash="((?<=a+)b)"))


def test_many_rounds_of_nothing_take_no_time() -> None:
    assert search("(?:a?){70000}", "aa") == "aa"


def test_before_the_standard_a_group_without_a_catch_was_the_empty_text() -> None:
    with inside_worker(without=["urlpattern_standard"]):
        pattern = URLPattern.new(pathname="/a/:b?")
        result = pattern.exec(js({"pathname": "/a"}))
        assert result.pathname.groups.js_properties() == {"b": ""}
        assert result.inputs[0].js_properties() == {"pathname": "/a"}
        assert not hasattr(pattern, "hasRegExpGroups")
        assert not URLPattern.new().test("/relative")


def test_before_the_standard_text_left_nothing_open_and_a_base_was_inherited_whole() -> None:
    base = "https://user:pw@example.com/a/b?q#h"
    with inside_worker(without=["urlpattern_standard"]):
        assert shown(URLPattern.new("https://example.com/a")) == ["https", "", "", "example.com", "", "/a", "", ""]
        assert shown(URLPattern.new("?x", "https://a/b#h")) == ["https", "", "", "a", "", "/b", "x", ""]
        assert shown(URLPattern.new(pathname="/c", baseURL=base)) == [
            "https", "user", "pw", "example.com", "", "/c", "q", "h",
        ]  # fmt: skip
        assert URLPattern.new(search="q").test(js({"pathname": "/c", "baseURL": base}))
        assert shown(URLPattern.new(js({"pathname": "/c"}), base))[0] == "*"


def test_an_options_object_may_be_pythons() -> None:
    assert URLPattern.new({"pathname": "/a"}, {"ignoreCase": True}).test("https://a/A")
    assert isinstance(URLPattern.new().exec().pathname, JsObject)
