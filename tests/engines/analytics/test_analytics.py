"""`env.POINTS.writeDataPoint`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pyflare.config.model import Compat
from pyflare.engines.analytics.config import RETENTION_SECONDS
from pyflare.engines.analytics.engine import Analytics
from pyflare.interop import scope
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import jsnull
from tests.support.rooms import NOW, Bench, js

SECTIONS = {"analytics_engine_datasets": [{"binding": "POINTS", "dataset": "visits"}]}


@pytest.fixture
def room(bench: Bench) -> Iterator[Analytics]:
    room = bench.open(Analytics, SECTIONS)
    yield room
    room.close()


@pytest.fixture
def points(room: Analytics) -> Any:
    return room.bindings("w")["POINTS"]


def test_a_point_is_kept(room: Analytics, points: Any) -> None:
    assert points.writeDataPoint(blobs=js(["a", jsnull, b"b"]), doubles=js([1, 2.5]), indexes=js(["i"])) is None
    assert room.store.latest("visits", 10) == [(NOW, "i", ["a", None, "b"], [1.0, 2.5])]


def test_a_point_may_be_empty(room: Analytics, points: Any) -> None:
    points.writeDataPoint()
    assert room.store.latest("visits", 10) == [(NOW, "", [], [])]


@pytest.mark.cloudflare("workerd api/analytics-engine-impl.h")
@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"indexes": ["a", "b"]}, "TypeError: writeDataPoint(): Maximum of 1 indexes supported."),
        ({"indexes": ["é" * 49]}, "TypeError: writeDataPoint(): Size of indexes[0] exceeds 96 bytes)."),
        ({"blobs": ["a"] * 21}, "TypeError: writeDataPoint(): Maximum of 20 blobs supported."),
        ({"blobs": ["a" * 16_001]}, "TypeError: writeDataPoint(): Cumulative size of blobs exceeds 16000 bytes)."),
        ({"doubles": [1] * 21}, "TypeError: writeDataPoint(): Maximum of 20 doubles supported."),
    ],
)
def test_a_point_has_limits(room: Analytics, points: Any, point: dict[str, Any], message: str) -> None:
    with pytest.raises(JsException) as raised:
        points.writeDataPoint(js(point))
    assert str(raised.value) == message
    assert room.store.latest("visits", 10) == []


def test_an_invocation_writes_at_most_250_points(bench: Bench, points: Any) -> None:
    class Worker:
        compat = Compat("2026-08-01")

    def write(count: int) -> None:
        token = scope.current.set(scope.Scope(Worker(), bench.clock, lambda work: None))
        try:
            for _ in range(count):
                points.writeDataPoint()
        finally:
            scope.current.reset(token)

    write(250)
    write(250)
    with pytest.raises(JsException, match="250 data points"):
        write(251)


def test_old_points_go_when_the_room_opens(bench: Bench) -> None:
    room = bench.open(Analytics, SECTIONS)
    room.store.add("visits", NOW - RETENTION_SECONDS - 1, "old", [], [])
    room.store.add("visits", NOW, "new", [], [])
    room.close()
    again = bench.open(Analytics, SECTIONS)
    assert [row[1] for row in again.panel().tables[0].rows] == ["new"]
    again.close()


def test_the_panel_shows_what_json_has_no_number_for(room: Analytics, points: Any) -> None:
    points.writeDataPoint(doubles=js([float("nan"), float("-inf"), "x", 1.5]))
    [(_, _, _, doubles)] = room.panel().tables[0].rows
    assert doubles == ["NaN", "-Infinity", "NaN", 1.5]
