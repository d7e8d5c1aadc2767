"""`durable_objects`, `migrations` and `exports` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.durable_objects.config import Binding, ObjectsConfig, parse
from pyflare.engines.durable_objects.migrations import ObjectClass


def read(sections: Mapping[str, Any], tool: Mapping[str, Any] | None = None) -> tuple[ObjectsConfig, Diagnostics]:
    diagnostics = Diagnostics()
    config = WorkerConfig(name="w", root=Path("/p"), main=Path("/p/entry.py"), sections=sections, tool=tool or {})
    return parse(config, diagnostics), diagnostics


def migrated(*entries: Any) -> tuple[ObjectsConfig, Diagnostics]:
    return read({"migrations": list(entries)})


def bound(*names: str) -> dict[str, Any]:
    return {"bindings": [{"name": name.upper(), "class_name": name} for name in names]}


def test_bindings_are_read() -> None:
    section = {"bindings": [{"name": "A", "class_name": "X"}, {"name": "B", "class_name": "Y", "script_name": "far"}]}
    parsed, _ = read({"durable_objects": section, "migrations": [{"tag": "v1", "new_sqlite_classes": ["X"]}]})
    assert parsed.bindings == [Binding("A", "X"), Binding("B", "Y", "far")]
    assert list(parsed.classes) == ["X"]


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        ([], "durable_objects: must be an object with `bindings`"),
        ({"bindings": {}}, "durable_objects.bindings: must be an array of objects"),
        ({"bindings": ["X"]}, "durable_objects.bindings[0]: must be an object with `name` and `class_name`"),
        ({"bindings": [{"class_name": "X"}]}, "durable_objects.bindings[0].name: must be a text"),
        ({"bindings": [{"name": "X", "class_name": 5}]}, "durable_objects.bindings[0].class_name: must be a text"),
    ],
)
def test_wrong_bindings_are_faults_with_their_path(section: Any, fault: str) -> None:
    assert read({"durable_objects": section})[1].faults == [fault]


def test_new_classes_have_no_sql() -> None:
    parsed, _ = migrated({"tag": "v1", "new_classes": ["Old"], "new_sqlite_classes": ["New"]})
    assert parsed.classes == {"Old": ObjectClass("Old", "w-Old", False), "New": ObjectClass("New", "w-New", True)}


def test_a_renamed_class_keeps_its_first_key_and_its_kind() -> None:
    parsed, _ = migrated(
        {"tag": "v1", "new_classes": ["A"]},
        {"tag": "v2", "renamed_classes": [{"from": "A", "to": "B"}]},
        {"tag": "v3", "renamed_classes": [{"from": "B", "to": "C"}]},
    )
    assert parsed.classes == {"C": ObjectClass("C", "w-A", False)}


def test_a_new_class_with_the_name_of_a_renamed_one_gets_a_folder_of_its_own() -> None:
    parsed, _ = migrated(
        {"tag": "v1", "new_sqlite_classes": ["A"]},
        {"tag": "v2", "renamed_classes": [{"from": "A", "to": "B"}]},
        {"tag": "v3", "new_sqlite_classes": ["A"]},
    )
    assert {name: found.unique_key for name, found in parsed.classes.items()} == {"B": "w-A", "A": "w-A-v3"}


def test_a_transferred_class_keeps_the_key_of_the_other_worker() -> None:
    parsed, _ = migrated({"tag": "v1", "transferred_classes": [{"from": "A", "from_script": "far", "to": "B"}]})
    assert parsed.classes["B"].unique_key == "far-A"


def test_a_deleted_class_is_gone_and_may_come_again() -> None:
    parsed, diagnostics = migrated(
        {"tag": "v1", "new_sqlite_classes": ["A"]},
        {"tag": "v2", "deleted_classes": ["A"]},
        {"tag": "v3", "new_sqlite_classes": ["A"]},
    )
    assert diagnostics.faults == []
    assert parsed.classes["A"].unique_key == "w-A"
    assert [one.name for one in parsed.steps[1].deleted] == ["A"]


@pytest.mark.cloudflare("wrangler dev/class-names-sqlite.ts")
@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"deleted_classes": ["X"]}, "Cannot apply deleted_classes migration to non-existent class X"),
        (
            {"renamed_classes": [{"from": "X", "to": "Y"}]},
            "Cannot apply renamed_classes migration to non-existent class X",
        ),
        ({"new_classes": ["A"]}, "Cannot apply new_classes migration to existing class A"),
        ({"new_sqlite_classes": ["A"]}, "Cannot apply new_sqlite_classes migration to existing class A"),
    ],
)
def test_a_migration_that_does_not_fit_is_a_fault_with_its_tag(entry: Any, said: str) -> None:
    _, diagnostics = migrated({"tag": "v1", "new_sqlite_classes": ["A"]}, {"tag": "v2", **entry})
    assert diagnostics.faults == [f'migrations[1] (tag "v2"): {said}']


@pytest.mark.parametrize(
    ("migrations", "fault"),
    [
        ({}, "migrations: must be an array of objects, not an object"),
        (["v1"], "migrations[0]: must be an object, not a text"),
        ([{"new_classes": ["A"]}], "migrations[0].tag: must be a text that names the migration"),
        ([{"tag": "v1", "new_classes": "A"}], "migrations[0].new_classes: must be an array of class names"),
        (
            [{"tag": "v1", "renamed_classes": [["A", "B"]]}],
            'migrations[0].renamed_classes: must be an array of {"from": "…", "to": "…"}',
        ),
        ([{"tag": "v1"}, {"tag": "v1"}], 'migrations[1].tag: "v1" is used twice; each migration needs its own tag'),
    ],
)
def test_wrong_migrations_are_faults_with_their_path(migrations: Any, fault: str) -> None:
    assert read({"migrations": migrations})[1].faults == [fault]


def test_a_bound_class_without_a_migration_runs_with_sql_and_is_warned_of() -> None:
    parsed, diagnostics = read({"durable_objects": bound("Room")})
    assert parsed.classes == {"Room": ObjectClass("Room", "w-Room", True)}
    assert diagnostics.warnings == [
        "durable_objects: no migration for Room; a deploy needs this line: "
        '"migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }]'
    ]


def test_a_class_of_another_worker_needs_no_migration() -> None:
    section = {"bindings": [{"name": "FAR", "class_name": "Far", "script_name": "elsewhere"}]}
    parsed, diagnostics = read({"durable_objects": section})
    assert (dict(parsed.classes), diagnostics.warnings) == ({}, [])


def test_a_binding_to_a_deleted_class_is_warned_of() -> None:
    migrations = [{"tag": "v1", "new_sqlite_classes": ["Room"]}, {"tag": "v2", "deleted_classes": ["Room"]}]
    _, diagnostics = read({"durable_objects": bound("Room"), "migrations": migrations})
    assert diagnostics.faults == []
    assert 'still bound: Room (deleted by the migration "v2")' in diagnostics.warnings[0]


def test_exports_declare_classes() -> None:
    parsed, diagnostics = read(
        {
            "exports": {
                "New": {"type": "durable-object", "storage": "legacy-kv", "state": "created"},
                "Plain": {"type": "durable-object"},
                "Old": {"type": "durable-object", "state": "renamed", "renamed_to": "Fresh"},
                "Fresh": {"type": "durable-object"},
                "Moved": {"type": "durable-object", "state": "expecting-transfer", "transfer_from": "far"},
                "Gone": {"type": "durable-object", "state": "deleted"},
                "Api": {"type": "worker"},
            }
        }
    )
    assert diagnostics.faults == []
    assert {name: (found.unique_key, found.sqlite) for name, found in parsed.classes.items()} == {
        "New": ("w-New", False),
        "Plain": ("w-Plain", True),
        "Fresh": ("w-Old", True),
        "Moved": ("far-Moved", True),
    }
    assert [one.unique_key for step in parsed.steps for one in step.deleted] == ["w-Gone"]


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ({"state": "lost"}, "exports.X.state"),
        ({"storage": "paper"}, "exports.X.storage"),
        ({"state": "renamed"}, "exports.X.renamed_to"),
    ],
)
def test_wrong_exports_are_faults_with_their_path(entry: Any, path: str) -> None:
    _, diagnostics = read({"exports": {"X": {"type": "durable-object", **entry}}})
    assert len(diagnostics.faults) == 1 and diagnostics.faults[0].startswith(path)


def test_evict_after_can_be_set_for_a_project() -> None:
    assert read({}, {"evict_after": 3})[0].evict_after == 3
    assert "[tool.pyflare] evict_after" in read({}, {"evict_after": "soon"})[1].faults[0]
