"""What a shared cache keeps, and for how long."""

from __future__ import annotations

import pytest

from pyflare.engines.cache.policy import directives, http_date, judge
from tests.support.rooms import NOW

pytestmark = pytest.mark.cloudflare("workers/runtime-apis/cache and RFC 9111")


def lifetime(status: int = 200, authorized: bool = False, **headers: str) -> float | None:
    """None: not kept."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    verdict = judge(status, named, authorized, NOW)
    return verdict.lifetime if verdict.storable else None


@pytest.mark.parametrize(
    ("control", "seconds"),
    [
        ("max-age=60", 60),
        ("max-age=60, s-maxage=5", 5),
        ("s-maxage=5", 5),
        ("public, max-age=60", 60),
        ('max-age="60"', 60),
        ("MAX-AGE=60", 60),
        ("max-age=0", 0),
        ("max-age=x", 0),
        ("max-age=60; private", 60),
        ("max-age=60.5", 60),
        ("max-age=+60", 60),
        ("public max-age=60", 0),
        ("no-cache, max-age=60", 0),
        ("immutable", 86_400),
        ("stale-while-revalidate=60", 0),
        ("no-store", None),
        ("private, max-age=60", None),
    ],
)
def test_cache_control_decides(control: str, seconds: float | None) -> None:
    assert lifetime(cache_control=control) == seconds


def test_without_a_lifetime_nothing_is_fresh() -> None:
    assert lifetime() == 0


def test_expires_counts_from_the_date() -> None:
    assert lifetime(expires=http_date(NOW + 60)) == 60
    assert lifetime(expires=http_date(NOW + 60), date=http_date(NOW + 50)) == 10
    assert lifetime(expires="0") == 0


def test_an_age_is_taken_off() -> None:
    assert lifetime(cache_control="max-age=60", age="20") == 40


def test_a_last_modification_gives_a_tenth_of_the_time_since() -> None:
    assert lifetime(last_modified=http_date(NOW - 1000)) == 100


@pytest.mark.parametrize(
    ("status", "kept"), [(200, True), (301, True), (404, True), (500, False), (302, True), (418, False)]
)
def test_statuses(status: int, kept: bool) -> None:
    assert (lifetime(status, cache_control="max-age=60") is not None) is kept


def test_a_temporary_redirect_needs_an_explicit_lifetime() -> None:
    assert lifetime(302) is None


def test_set_cookie_is_not_kept() -> None:
    assert lifetime(cache_control="max-age=60", set_cookie="a=b") is None


def test_set_cookie_is_cut_off_when_it_is_declared_private() -> None:
    verdict = judge(200, {"cache-control": "private=set-cookie, max-age=60", "set-cookie": "a=b"}, False, NOW)
    assert (verdict.storable, verdict.lifetime, "set-cookie" in verdict.headers) == (True, 60, False)


def test_an_authorized_answer_must_be_declared_shareable() -> None:
    assert lifetime(authorized=True, cache_control="max-age=60") is None
    assert lifetime(authorized=True, cache_control="public, max-age=60") == 60


def test_headers_of_one_hop_are_dropped() -> None:
    headers = {"connection": "x-own, close", "x-own": "1", "transfer-encoding": "chunked"}
    assert set(judge(200, headers, False, NOW).headers) == {"x-own", "age", "date"}


def test_directives_may_have_quoted_values_with_commas() -> None:
    assert directives('private="a, b", max-age=5') == {"private": "a, b", "max-age": "5"}
