"""`_headers`, `_redirects` and `run_worker_first`."""

from __future__ import annotations

import pytest

from pyflare.engines.assets.routing import parse_routing
from pyflare.engines.assets.rules import invalid, parse_headers, parse_redirects, valid

pytestmark = pytest.mark.cloudflare("workers/static-assets/headers and /redirects")


def headers(text: str, path: str, host: str = "site.test", own: dict[str, str] | None = None) -> dict[str, str]:
    found = dict(own or {})
    parse_headers(text).apply(host, path, found)
    return found


def target(text: str, path: str) -> tuple[int, str] | None:
    return parse_redirects(text, "auto-trailing-slash").match("site.test", path)


def messages(text: str) -> list[str]:
    return [fault.message for fault in parse_headers(text).faults]


def redirect_messages(text: str) -> list[str]:
    return [fault.message for fault in parse_redirects(text, "auto-trailing-slash").faults]


# --- _headers ---------------------------------------------------------------------------------------------------------


def test_a_rule_sets_headers_of_its_path() -> None:
    text = "/notes.txt\n  X-Note: one: two\n"
    assert headers(text, "/notes.txt") == {"x-note": "one: two"}
    assert headers(text, "/other.txt") == {}


def test_a_star_matches_any_rest_and_can_be_used() -> None:
    assert headers("/docs/*\n  X-Rest: :splat\n", "/docs/a/b") == {"x-rest": "a/b"}


def test_a_placeholder_matches_one_segment() -> None:
    text = "/movies/:title\n  X-Movie: :title\n"
    assert headers(text, "/movies/up") == {"x-movie": "up"}
    assert headers(text, "/movies/up/2") == {}


def test_the_values_of_several_rules_are_joined() -> None:
    assert headers("/*\n  X-A: 1\n/a\n  X-A: 2\n", "/a") == {"x-a": "1, 2"}


def test_a_header_given_twice_in_a_rule_is_joined() -> None:
    assert headers("/a\n  X-A: 1\n  x-a: 2\n", "/a") == {"x-a": "1, 2"}


def test_a_rule_overrides_what_the_answer_had() -> None:
    assert headers("/a\n  ETag: own\n", "/a", own={"etag": '"1"'}) == {"etag": "own"}


def test_an_exclamation_mark_removes_a_header() -> None:
    assert headers("/*\n  X-A: 1\n/a\n  ! X-A\n", "/a") == {}


def test_a_rule_may_name_a_host() -> None:
    text = "https://:tenant.site.test/*\n  X-Tenant: :tenant\n"
    assert headers(text, "/a", "ada.site.test:8787") == {"x-tenant": "ada"}
    assert headers(text, "/a", "site.test") == {}


def test_the_host_of_a_rule_may_be_an_ipv6_address() -> None:
    assert headers("https://[::1]/*\n  X-A: 1\n", "/a", "[::1]:8787") == {"x-a": "1"}


def test_a_rule_whose_placeholder_begins_like_an_earlier_one_matches_nothing() -> None:
    assert headers("/:year/:years\n  X-A: 1\n", "/a/b") == {}
    assert headers("/:years/:year\n  X-A: :year of :years\n", "/a/b") == {"x-a": "b of a"}


@pytest.mark.parametrize("line", ["X@A: 1", "X-A: 1\r2", "!  X-A"])
def test_a_line_that_no_response_can_carry_breaks_its_rule_and_is_told(line: str) -> None:
    rules = parse_headers(f"/a\n  {line}\n/b\n  X-B: 1\n")
    assert (rules.apply("site.test", "/a", {}), rules.apply("site.test", "/b", {})) == (False, True)
    assert [(fault.line, fault.message.endswith("answers 500 where this rule matches.")) for fault in rules.faults] == [
        (2, True)
    ]


def test_comments_and_blank_lines_mean_nothing() -> None:
    assert headers("# all\n\n/a\n# one\n  X-A: 1\n", "/a") == {"x-a": "1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X-A: 1", "Path should come before header (x-a: 1)"),
        ("word", "Expected a path beginning with at least one forward-slash"),
        ("/a\n  word", "Expected a colon-separated header pair (e.g. name: value)"),
        ("/a\n  X A: 1", "Header name cannot include spaces"),
        ("/a\n  : 1", "No header name specified"),
        ("/a\n  X-A:", "No header value specified"),
        ("/a", "No headers specified"),
        (
            "/*/a/*\n  X: 1",
            "Only one wildcard is allowed per rule. Use a named placeholder (e.g. :project) instead. Skipping /*/a/*.",
        ),
        (
            "https://a.test:8080/\n  X: 1",
            "Specifying ports is not supported. Skipping absolute URL https://a.test:8080/.",
        ),
        (f"/a\n  X: {'x' * 2000}", "Ignoring line 2 as it exceeds the maximum allowed length of 2000."),
    ],
)
def test_a_fault_of_a_headers_file_is_named(text: str, message: str) -> None:
    assert message in messages(text)


def test_a_hundred_header_rules_are_the_most() -> None:
    text = "".join(f"/{number}\n  X: 1\n" for number in range(102))
    parsed = parse_headers(text)
    assert len(parsed.rules) == 100
    assert "Maximum number of rules supported is 100." in messages(text)[0]


# --- _redirects -------------------------------------------------------------------------------------------------------


def test_a_redirect_is_a_302_by_default() -> None:
    assert target("/old /new", "/old") == (302, "/new")


def test_a_redirect_may_have_a_status_and_a_comment() -> None:
    assert target("/old https://example.com/new#part 301 # moved", "/old") == (301, "https://example.com/new#part")


def test_splats_and_placeholders_are_filled_in() -> None:
    assert target("/blog/* /news/:splat", "/blog/2024/may") == (302, "/news/2024/may")
    assert target("/people/:name /notes?who=:name 303", "/people/ada") == (303, "/notes?who=ada")


def test_a_relative_target_has_single_slashes() -> None:
    assert target("/a/* /b/:splat", "/a//evil.test") == (302, "/b/evil.test")


def test_what_fills_a_target_cannot_lead_to_another_host() -> None:
    assert target("/a/* /:splat", "/a//evil.test") == (302, "/evil.test")
    assert target("/a/:x /\\evil.test/:x?at=//:x", "/a/b") == (302, "/evil.test/b?at=//b")
    assert target("/a/* //:splat", "/a/b") == (302, "//b")


def test_a_target_that_names_its_host_stays_as_it_is() -> None:
    assert target("/a/* //other.test/:splat", "/a/b//c") == (302, "//other.test/b//c")


def test_plain_paths_go_before_patterns() -> None:
    assert target("/a/b /plain\n/a/* /pattern", "/a/b") == (302, "/plain")


def test_a_plain_path_below_a_pattern_waits_for_its_turn() -> None:
    assert target("/a/* /pattern\n/a/b /plain", "/a/b") == (302, "/pattern")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/a", "Expected exactly 2 or 3 whitespace-separated tokens. Got 1."),
        ("/a /b 302 x", "Expected exactly 2 or 3 whitespace-separated tokens. Got 4."),
        ("/a /b 404", "Valid status codes are 200, 301, 302 (default), 303, 307, or 308. Got 404."),
        ("/a /b\n/a /c", "Ignoring duplicate rule for path /a."),
        ("/a https://b.test 200", "Proxy (200) redirects can only point to relative paths. Got https://b.test/"),
        ("https://a.test/ /b", "Only relative URLs are allowed. Skipping absolute URL https://a.test/."),
        ("/a ftp://b.test", "URLs should either be relative"),
        ("/* /index.html 200", "Infinite loop detected in this rule and has been ignored."),
    ],
)
def test_a_fault_of_a_redirects_file_is_named(text: str, message: str) -> None:
    assert any(found.startswith(message) for found in redirect_messages(text))


def test_a_hundred_patterns_are_the_most() -> None:
    text = "".join(f"/{number}/* /x\n" for number in range(102))
    assert "Maximum number of dynamic rules supported is 100." in redirect_messages(text)[0]


def test_two_thousand_plain_paths_are_the_most() -> None:
    redirects = parse_redirects("".join(f"/{number} /x\n" for number in range(2002)), "none")
    message = "Maximum number of static rules supported is 2000. Skipping line."
    assert (redirects.count, [(fault.line, fault.message) for fault in redirects.faults]) == (
        2000,
        [(2001, message), (2002, message)],
    )


# --- what a person is told --------------------------------------------------------------------------------------------


def test_the_valid_rules_are_counted() -> None:
    assert valid(parse_redirects("/a /b\n/c/* /d\nx", "none")) == "✨ Parsed 2 valid redirect rules."
    assert valid(parse_headers("/a\n  X-A: 1\n")) == "✨ Parsed 1 valid header rule."


def test_every_fault_has_its_place_in_the_file() -> None:
    text = "/a\n/b\n  word\n  X-B: 1\n# long\n/" + "c" * 2000
    assert invalid(parse_headers(text), "public/_headers") == (
        "Found 3 invalid header rules:\n"
        "▶︎ No headers specified\n"
        "    at public/_headers:1 | /a\n"
        "▶︎ Expected a colon-separated header pair (e.g. name: value)\n"
        "    at public/_headers:3 | word\n"
        "▶︎ Ignoring line 6 as it exceeds the maximum allowed length of 2000.\n"
        "    at public/_headers:6"
    )


def test_of_a_file_without_faults_nothing_is_invalid() -> None:
    assert invalid(parse_redirects("/a /b", "none"), "_redirects") is None


# --- run_worker_first -------------------------------------------------------------------------------------------------


def test_rules_decide_for_the_worker_or_the_assets() -> None:
    routing, fault = parse_routing(["/api/*", "!/api/docs/*"])
    assert fault is None
    assert [routing.decide(path) for path in ("/api/a", "/api/docs/a", "/a")] == ["worker", "assets", None]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([], "No `run_worker_first` rules were provided; must provide at least 1 rule."),
        (["!/a"], "Only negative `run_worker_first` rules were provided; must provide at least 1 non-negative rule"),
        (["a"], "Invalid routes in `run_worker_first`:\n'a': rules must start with '/' or '!/'"),
        (["/a", "!a"], "Invalid routes in `run_worker_first`:\n'!a': negative rules must start with '!/'"),
        (["/a", "/a"], "Invalid routes in `run_worker_first`:\n'/a': rule is a duplicate; rules must be unique"),
        (["/a/*", "/a/b"], "Invalid routes in `run_worker_first`:\n'/a/b': rule '/a/*' makes it redundant"),
        (
            ["/a/*", "/a/*", "/a/b"],
            "'/a/b': rule '/a/*' makes it redundant\n'/a/*': rule is a duplicate; rules must be unique",
        ),
        (["/" + "a" * 100], "all rules must be less than 100 characters in length"),
        (
            [f"/{number}" for number in range(101)],
            "Too many `run_worker_first` rules were provided; 101 rules provided exceeds max of 100.",
        ),
    ],
)
def test_bad_rules_are_refused(rules: list[str], message: str) -> None:
    _, fault = parse_routing(rules)
    assert fault is not None and fault.endswith(message)
