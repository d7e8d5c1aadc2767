"""`env.LIMITER.limit({key})`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.engines.ratelimit.engine import Ratelimits
from pyflare.engines.ratelimit.store import RatelimitStore
from pyflare.interop.errors import JsException
from tests.support.rooms import Bench, faults, settle

SECTION = {"name": "LIMITER", "namespace_id": "1", "simple": {"limit": 2, "period": 60}}


@pytest.fixture
def room(bench: Bench) -> Iterator[Ratelimits]:
    room = bench.open(Ratelimits, {"ratelimits": [SECTION, {**SECTION, "name": "SAME"}]})
    yield room
    room.close()


@pytest.fixture
def limiter(room: Ratelimits) -> Any:
    return room.bindings("w")["LIMITER"]


def allowed(limiter: Any, **options: Any) -> bool:
    return bool(settle(limiter.limit(**options)).success)


def test_the_sdk_knows_the_binding_by_its_name(limiter: Any) -> None:
    assert limiter.constructor.name == "Ratelimit"


def test_calls_up_to_the_limit_are_allowed(limiter: Any) -> None:
    assert [allowed(limiter, key="a") for _ in range(3)] == [True, True, False]


def test_keys_are_counted_apart(limiter: Any) -> None:
    for _ in range(3):
        allowed(limiter, key="a")
    assert allowed(limiter, key="b")


def test_the_next_window_begins_at_the_next_minute_of_the_clock(limiter: Any, bench: Bench) -> None:
    bench.clock.set(1_700_000_039.0)  # one second before a full minute
    assert [allowed(limiter, key="a") for _ in range(3)] == [True, True, False]
    bench.clock.advance(1)
    assert allowed(limiter, key="a")


def test_bindings_of_one_namespace_share_their_counts(room: Ratelimits, limiter: Any) -> None:
    for _ in range(2):
        allowed(limiter, key="a")
    assert not allowed(room.bindings("w")["SAME"], key="a")


def test_counts_survive_a_restart(bench: Bench) -> None:
    for expected in (True, True, False):
        room = bench.open(Ratelimits, {"ratelimits": [SECTION]})
        assert allowed(room.bindings("w")["LIMITER"], key="a") is expected
        room.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": 5}, "Error: invalid key: 5"),
        ({"key": "a", "limit": "x"}, "Error: limit must be a number: x"),
        ({"key": "a", "period": 30}, "Error: unsupported period: 30"),
        ({"key": "a", "cost": 1, "who": 2}, "Error: bad rate limit options: [cost,who]"),
        ({}, "Error: invalid rate limit options"),
    ],
)
def test_bad_options_are_refused(limiter: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(JsException) as raised:
        settle(limiter.limit(**options))
    assert str(raised.value) == message


def test_a_period_is_10_or_60_seconds(bench: Bench) -> None:
    section = {**SECTION, "simple": {"limit": 1, "period": 30}}
    assert "10 or 60" in faults(Ratelimits, bench.config({"ratelimits": [section]})).faults[0]


def test_the_panel_shows_the_counts(room: Ratelimits, limiter: Any) -> None:
    allowed(limiter, key="a")
    [table] = room.panel().tables
    assert table.rows == [("a", 60, 1_699_999_980, 1)]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 40)), max_size=40))
def test_a_window_never_lets_more_pass_than_its_limit(calls: list[tuple[str, float]]) -> None:
    store = RatelimitStore(":memory:")
    passed: dict[tuple[str, int], int] = {}
    now = 0.0
    for key, pause in calls:
        now += pause
        window = (key, int(now // 10))
        expected = passed.get(window, 0) < 2
        assert store.take(key, 2, 10, now) is expected
        passed[window] = passed.get(window, 0) + expected
    store.close()
