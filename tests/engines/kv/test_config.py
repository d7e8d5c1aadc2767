"""`kv_namespaces` of the configuration."""

from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.kv.engine import Kv
from tests.support.rooms import Bench, faults


@pytest.mark.parametrize(
    ("entry", "namespace"),
    [
        ({"binding": "KV", "id": "a", "preview_id": "b"}, "b"),
        ({"binding": "KV", "id": "a"}, "a"),
        ({"binding": "KV"}, "KV"),
    ],
)
def test_the_storage_is_named_by_preview_id_id_or_binding(
    tmp_path: Path, entry: dict[str, Any], namespace: str
) -> None:
    room = Bench(tmp_path).open(Kv, {"kv_namespaces": [entry]})
    assert room.rows("w")[0].resource == namespace


def test_a_namespace_without_a_binding_is_a_fault_with_its_path(tmp_path: Path) -> None:
    found = faults(Kv, Bench(tmp_path).config({"kv_namespaces": [{"binding": "A"}, {"id": "x"}]}))
    assert found.faults == ['kv_namespaces[1]: bindings should have a string "binding" field but got {"id":"x"}.']


def test_a_section_that_is_no_list_is_a_fault(tmp_path: Path) -> None:
    assert faults(Kv, Bench(tmp_path).config({"kv_namespaces": {}})).faults != []


def test_a_worker_without_namespaces_has_no_bindings(tmp_path: Path) -> None:
    assert Bench(tmp_path).open(Kv, {}).bindings("w") == {}


def test_the_panel_shows_the_keys(tmp_path: Path) -> None:
    room = Bench(tmp_path).open(Kv, {"kv_namespaces": [{"binding": "KV"}]})
    room.namespace("KV").put("a", b"1")
    [table] = room.panel().tables
    assert (table.title, table.rows) == ("KV (1 keys)", [["a", None, None]])
    room.close()
