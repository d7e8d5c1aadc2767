"""Known keys, wrong types, and wrangler's words for the unknown."""

from pathlib import Path
from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.environment import select
from pyflare.config.schema import INHERITABLE, KEYS, NOT_INHERITABLE, TOP_LEVEL_ONLY, check_top_level


def checked(**raw: Any) -> Diagnostics:
    diagnostics = Diagnostics(Path("wrangler.jsonc"))
    check_top_level(raw, diagnostics)
    return diagnostics


@pytest.mark.cloudflare("workers-sdk: workers-utils/src/config/validation-helpers.ts validateAdditionalProperties")
def test_unknown_keys_are_one_warning_with_their_names() -> None:
    assert checked(foo=1, bar=2, name="x").warnings == ['Unexpected fields found in top-level field: "foo","bar"']


def test_a_workflow_may_be_marked_as_remote() -> None:
    flow = {"binding": "FLOW", "name": "flow", "class_name": "Flow", "remote": True}
    assert checked(workflows=[flow]).warnings == []


def test_an_unknown_key_inside_is_named_with_its_path() -> None:
    warnings = checked(queues={"consumers": [{"queue": "q", "max_batch": 5}]}).warnings
    assert warnings == [
        'Unexpected fields found in queues.consumers[0] field: "max_batch" '
        '(did you mean "max_batch_size" instead of "max_batch"?)'
    ]


def test_a_key_that_stands_a_level_too_high_is_told_its_place() -> None:
    assert checked(crons=["* * * * *"]).warnings == [
        'Unexpected fields found in top-level field: "crons" (did you mean "triggers.crons" instead of "crons"?)'
    ]


def test_an_unknown_key_is_no_fault() -> None:
    assert checked(foo=1).faults == []


def test_an_unknown_key_of_an_environment_is_named_with_it() -> None:
    diagnostics = Diagnostics()
    select({"env": {"staging": {"kv": []}}}, "staging", diagnostics)
    assert diagnostics.warnings == ['Unexpected fields found in env.staging field: "kv"']


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ({"name": 5}, "name: expected a string, alphanumeric and lowercase with dashes only, got 5"),
        ({"name": "My Shop"}, 'name: expected a string, alphanumeric and lowercase with dashes only, got "My Shop"'),
        ({"main": ["a"]}, 'main: expected a string, got ["a"]'),
        ({"compatibility_flags": "x"}, 'compatibility_flags: expected an array, got "x"'),
        ({"compatibility_flags": [1]}, "compatibility_flags[0]: expected a string, got 1"),
        ({"vars": []}, "vars: expected an object, got []"),
        ({"triggers": {"crons": "* * * * *"}}, 'triggers.crons: expected an array, got "* * * * *"'),
        ({"triggers": None}, "triggers: expected an object, got null"),
        ({"dev": {"port": "8787"}}, 'dev.port: expected a port number (0 to 65535), got "8787"'),
        ({"dev": {"port": True}}, "dev.port: expected a port number (0 to 65535), got true"),
        ({"dev": {"local_protocol": "ftp"}}, 'dev.local_protocol: expected one of "http", "https", got "ftp"'),
        ({"kv_namespaces": [{"id": "x"}]}, "kv_namespaces[0].binding: is a required field"),
        ({"kv_namespaces": {"binding": "A"}}, 'kv_namespaces: expected an array, got {"binding": "A"}'),
        ({"d1_databases": [{"binding": 1}]}, "d1_databases[0].binding: expected a string, got 1"),
        ({"durable_objects": {}}, "durable_objects.bindings: is a required field"),
        ({"durable_objects": {"bindings": [{"name": "A"}]}}, "durable_objects.bindings[0].class_name: is a required"),
        ({"migrations": [{"new_classes": []}]}, "migrations[0].tag: is a required field"),
        (
            {"queues": {"consumers": [{"queue": "q", "max_retries": "3"}]}},
            'queues.consumers[0].max_retries: expected a number, got "3"',
        ),
        ({"queues": {"producers": [{"binding": "Q"}]}}, "queues.producers[0].queue: is a required field"),
        ({"assets": {"html_handling": "auto"}}, "assets.html_handling: expected one of"),
        ({"assets": {"run_worker_first": "yes"}}, 'assets.run_worker_first: expected true, false or an array of paths'),
        ({"ratelimits": [{"name": "L", "namespace_id": "1", "simple": {"limit": 1}}]}, "ratelimits[0].simple.period:"),
        ({"rules": [{"type": "Txt", "globs": []}]}, "rules[0].type: expected one of"),
        ({"routes": [{"zone_id": "x"}]}, "routes[0].pattern: is a required field"),
        ({"env": {"a": 1}}, "env.a: expected an object, got 1"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_a_fault_with_its_path(raw: dict[str, Any], fault: str) -> None:
    [found] = checked(**raw).faults
    assert found.startswith(fault)


def test_every_fault_is_collected() -> None:
    faults = checked(name=1, queues={"consumers": [{}, {"queue": 2}]}, vars="x").faults
    assert [fault.partition(":")[0] for fault in faults] == [
        "name", "queues.consumers[0].queue", "queues.consumers[1].queue", "vars",
    ]  # fmt: skip


def test_a_long_value_is_cut_in_a_fault() -> None:
    [fault] = checked(main=["x" * 500]).faults
    assert len(fault) < 100


def test_a_key_belongs_to_one_list() -> None:
    assert len(KEYS) == len(TOP_LEVEL_ONLY) + len(INHERITABLE) + len(NOT_INHERITABLE)


@pytest.mark.cloudflare("workers-sdk: workers-utils/src/config/validation.ts normalizeAndValidateEnvironment")
def test_what_an_environment_inherits() -> None:
    inherited = (
        "name main compatibility_date compatibility_flags triggers migrations exports assets limits rules routes"
    )
    assert set(inherited.split()) | {"observability", "placement", "python_modules", "build"} <= set(INHERITABLE)
    repeated = "vars secrets durable_objects workflows kv_namespaces queues r2_buckets d1_databases services ratelimits"
    assert set(repeated.split()) | {"hyperdrive", "ai", "version_metadata", "send_email"} <= set(NOT_INHERITABLE)


def test_a_key_with_a_fault_is_known_to_be_faulty_also_in_an_environment() -> None:
    diagnostics = Diagnostics()
    diagnostics.fault("env.staging.queues.consumers[0].queue", "is a required field")
    diagnostics.fault("kv_namespaces[0].binding", "is a required field")
    assert diagnostics.faulty(["queues"]) and diagnostics.faulty(["kv_namespaces", "x"])
    assert not diagnostics.faulty(["d1_databases"])
