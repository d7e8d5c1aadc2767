"""`Database`: opening, migrations, transactions."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from pyflare.storage.database import Database


def test_a_file_is_in_wal_mode_and_survives_a_reopen(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.sqlite", schema="CREATE TABLE IF NOT EXISTS t (a)")
    database.execute("INSERT INTO t VALUES (?)", (1,))
    assert database.value("PRAGMA journal_mode") == "wal"
    database.close()
    assert Database(tmp_path / "a.sqlite").execute("SELECT a FROM t") == [(1,)]


def test_each_migration_runs_once(tmp_path: Path) -> None:
    first = ("CREATE TABLE t (a)",)
    Database(tmp_path / "a.sqlite", migrations=first).close()
    database = Database(tmp_path / "a.sqlite", migrations=(*first, "ALTER TABLE t ADD COLUMN b"))
    assert database.value("PRAGMA user_version") == 2
    assert database.execute("SELECT a, b FROM t") == []


def test_durability_full_syncs_every_commit(tmp_path: Path) -> None:
    assert Database(tmp_path / "a.sqlite").value("PRAGMA synchronous") == 1
    assert Database(tmp_path / "b.sqlite", durability="full").value("PRAGMA synchronous") == 2


def test_a_transaction_that_raises_leaves_nothing() -> None:
    database = Database(":memory:", schema="CREATE TABLE t (a)")
    with pytest.raises(ZeroDivisionError), database.transaction():
        database.execute("INSERT INTO t VALUES (1)")
        1 / 0  # noqa: B018
    assert database.execute("SELECT * FROM t") == []


def test_an_inner_transaction_that_raises_leaves_the_outer_one() -> None:
    database = Database(":memory:", schema="CREATE TABLE t (a)")
    with database.transaction():
        database.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(ZeroDivisionError), database.transaction():
            database.execute("INSERT INTO t VALUES (2)")
            1 / 0  # noqa: B018
    assert database.execute("SELECT * FROM t") == [(1,)]


def test_a_readonly_database_refuses_to_write(tmp_path: Path) -> None:
    Database(tmp_path / "a.sqlite", schema="CREATE TABLE t (a)").close()
    with pytest.raises(apsw.ReadOnlyError):
        Database(tmp_path / "a.sqlite", readonly=True).execute("INSERT INTO t VALUES (1)")
