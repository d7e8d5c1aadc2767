"""`await env.PIPELINE.send([…])`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.pipelines.engine import Pipelines
from pyflare.interop.errors import JsException
from tests.support.rooms import Bench, faults, js, settle

SECTIONS = {"pipelines": [{"binding": "P", "pipeline": "clicks/eu"}]}


@pytest.fixture
def room(tmp_path: Path) -> Pipelines:
    return Bench(tmp_path).open(Pipelines, SECTIONS)


@pytest.fixture
def pipeline(room: Pipelines) -> Any:
    return room.bindings("w")["P"]


def test_records_are_kept_one_a_line(room: Pipelines, pipeline: Any) -> None:
    settle(pipeline.send(js([{"a": 1}, {"b": "x\ny"}])))
    settle(pipeline.send(js([{"c": None}])))
    assert room.file("clicks/eu").read_text() == '{"a":1}\n{"b":"x\\ny"}\n{}\n'


def test_a_record_alone_is_refused(pipeline: Any) -> None:
    with pytest.raises(JsException, match="array of records"):
        settle(pipeline.send(js({"a": 1})))


def test_five_megabytes_are_the_most(pipeline: Any, room: Pipelines) -> None:
    with pytest.raises(JsException, match="at most 5000000"):
        settle(pipeline.send(js(["x" * 5_000_000])))
    assert not room.file("clicks/eu").exists()


def test_the_panel_shows_the_latest(room: Pipelines, pipeline: Any) -> None:
    settle(pipeline.send(js([1, 2])))
    assert room.panel().tables[0].rows == [["1"], ["2"]]


def test_a_pipeline_needs_a_name(tmp_path: Path) -> None:
    assert faults(Pipelines, Bench(tmp_path).config({"pipelines": [{"binding": "P"}]})).faults != []
