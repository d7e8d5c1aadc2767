"""The names of bindings."""

from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.names import KINDS, binding_names, check_names
from pyflare.config.schema import KEYS


def faults(**sections: Any) -> list[str]:
    diagnostics = Diagnostics()
    check_names(sections, diagnostics)
    return diagnostics.faults


def test_names_of_different_kinds_collide() -> None:
    found = faults(
        vars={"A": 1},
        kv_namespaces=[{"binding": "A"}],
        queues={"producers": [{"binding": "A"}], "consumers": [{"queue": "A"}]},
    )
    assert found == [
        "A assigned to Environment Variable, KV Namespace and Queue bindings; each needs a name of its own"
    ]


def test_names_of_one_kind_collide() -> None:
    bindings = [{"name": "R", "class_name": "A"}, {"name": "R", "class_name": "B"}]
    assert faults(durable_objects={"bindings": bindings}) == [
        "R assigned to multiple Durable Object bindings; each needs a name of its own"
    ]


def test_a_required_secret_is_a_name_too() -> None:
    assert len(faults(secrets={"required": ["A"]}, ai={"binding": "A"})) == 1


@pytest.mark.cloudflare("developers.cloudflare.com/kv/concepts/kv-bindings")
def test_a_name_that_is_no_identifier_is_a_warning() -> None:
    diagnostics = Diagnostics()
    check_names({"kv_namespaces": [{"binding": "1 K"}, {"binding": "$K"}], "vars": {"a-b": 1}}, diagnostics)
    assert diagnostics.warnings == [
        'kv_namespaces: the binding "1 K" should have a valid JavaScript identifier as its name'
    ]


def test_distinct_names_are_fine() -> None:
    assert (
        faults(
            vars={"A": 1},
            assets={"binding": "B"},
            ratelimits=[{"name": "C"}],
            workflows=[{"binding": "D", "name": "A"}],
        )
        == []
    )


@pytest.mark.parametrize("section", [None, 5, "x", [], {}, [None], [{"binding": 5}], {"bindings": "x"}])
@pytest.mark.parametrize("key", ["kv_namespaces", "durable_objects", "queues", "version_metadata"])
def test_malformed_sections_make_no_names(key: str, section: Any) -> None:
    assert list(binding_names(key, section)) == []


def test_every_kind_is_a_key_of_the_configuration() -> None:
    assert set(KINDS) <= set(KEYS)
