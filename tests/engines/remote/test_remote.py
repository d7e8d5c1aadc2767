"""What only Cloudflare has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.remote.engine import Remote
from pyflare.interop.errors import JsException
from tests.support.rooms import Bench, faults, run

SECTIONS: dict[str, Any] = {
    "ai": {"binding": "AI"},
    "vectorize": [{"binding": "INDEX", "index_name": "i"}],
    "browser": {"binding": "BROWSER"},
}
FAKES = """
class FakeAi:
    async def run(self, model, inputs):
        return {"response": inputs["prompt"].upper()}
"""


def test_a_call_raises_productions_sentence(tmp_path: Path) -> None:
    bindings = Bench(tmp_path).open(Remote, SECTIONS).bindings("w")
    with pytest.raises(JsException, match=r"^Error: Binding AI needs to be run remotely$"):
        bindings["AI"].run("@cf/model", {})
    with pytest.raises(JsException, match="Binding INDEX needs"):
        bindings["INDEX"].query([1.0])


def test_the_terminal_says_once_how_to_do_without(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    index = bench.open(Remote, SECTIONS).bindings("w")["INDEX"]
    for _ in range(2):
        with pytest.raises(JsException):
            index.query([1.0])
    line = '[tool.pyflare.fakes]\n    INDEX = "tests.fakes:Index"'
    assert bench.terminal.getvalue().count(line) == 1


def test_a_service_raises_when_it_is_awaited(tmp_path: Path) -> None:
    browser = Bench(tmp_path).open(Remote, SECTIONS).bindings("w")["BROWSER"]

    async def scenario() -> None:
        with pytest.raises(JsException, match="Binding BROWSER needs"):
            await browser.fetch("http://browser.test/")

    run(scenario())


def test_the_sdk_knows_the_classes_by_their_names(tmp_path: Path) -> None:
    bindings = Bench(tmp_path).open(Remote, SECTIONS).bindings("w")
    assert [bindings[name].constructor.name for name in ("AI", "INDEX", "BROWSER")] == [
        "Ai",
        "VectorizeIndexImpl",
        "Fetcher",
    ]


def test_the_start_only_warns(tmp_path: Path) -> None:
    found = faults(Remote, Bench(tmp_path).config(SECTIONS))
    assert found.faults == []
    assert [warning.partition(" bindings do not support local")[0] for warning in found.warnings] == [
        "AI",
        "Browser",
        "Vectorize Index",
    ]


def test_a_fake_takes_the_place_of_a_binding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fakes_of_a_test.py").write_text(FAKES)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fakes_of_a_test", raising=False)
    room = Bench(tmp_path).open(Remote, SECTIONS, tool={"fakes": {"AI": "fakes_of_a_test:FakeAi"}})
    ai = room.bindings("w")["AI"]
    assert not hasattr(ai, "constructor")
    assert run(ai.run("@cf/model", {"prompt": "hi"})) == {"response": "HI"}
    assert [row.where for row in room.rows("w")] == ["fake", "not supported", "not supported"]


@pytest.mark.parametrize("target", ["fakes", 5, "a:b:c", ":b"])
def test_a_fake_is_a_module_and_a_class(tmp_path: Path, target: Any) -> None:
    config = Bench(tmp_path).config(SECTIONS, tool={"fakes": {"AI": target}})
    assert faults(Remote, config).faults == [
        f'pyproject.toml: tool.pyflare.fakes.AI: must be "module:Class", not {target!r}'
    ]


def test_a_binding_without_a_name_is_a_fault(tmp_path: Path) -> None:
    assert faults(Remote, Bench(tmp_path).config({"ai": {}})).faults[0].startswith("ai: bindings should have a string")
