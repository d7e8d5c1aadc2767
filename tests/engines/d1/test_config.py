"""`d1_databases` of the configuration."""

from __future__ import annotations

from pathlib import Path

from pyflare.engines.d1.engine import D1
from tests.support.rooms import Bench, faults


def test_the_file_is_named_by_preview_id_id_or_binding(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    entries = [
        {"binding": "A", "database_id": "id-a", "preview_database_id": "preview-a"},
        {"binding": "B", "database_id": "id-b", "database_name": "b"},
        {"binding": "C"},
    ]
    room = bench.open(D1, {"d1_databases": entries})
    assert dict(room.databases) == {"preview-a": "A", "id-b": "b", "C": "C"}
    assert [(row.name, row.kind, row.resource) for row in room.rows("w")] == [
        ("A", "D1 Database", "preview-a"),
        ("B", "D1 Database", "b"),
        ("C", "D1 Database", "C"),
    ]


def test_a_binding_without_a_name_is_a_fault_with_its_path(tmp_path: Path) -> None:
    found = faults(D1, Bench(tmp_path).config({"d1_databases": [{"database_id": "x"}]}))
    assert [fault.split(":")[0] for fault in found.faults] == ["d1_databases[0]"]


def test_migration_settings_are_kept_and_have_defaults(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    entry = {"binding": "A", "migrations_dir": "sql", "migrations_table": "done", "migrations_pattern": "sql/*.sql"}
    config = D1.parse(bench.config({"d1_databases": [entry, {"binding": "B"}]}), faults(D1, bench.config({})))
    first, second = config.bindings
    assert (first.migrations_dir, first.migrations_table, first.migrations_pattern) == ("sql", "done", "sql/*.sql")
    assert (second.migrations_dir, second.migrations_table) == (None, "d1_migrations")
