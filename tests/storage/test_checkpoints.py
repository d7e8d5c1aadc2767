from collections.abc import Iterator
from pathlib import Path

import pytest

from pyflare.storage.checkpoints import Checkpoints
from pyflare.storage.database import Database


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(Checkpoints, "PAGES", 10)
    opened = Database(tmp_path / "busy.sqlite", schema="CREATE TABLE IF NOT EXISTS t (v)")
    opened.checkpoint_aside()
    yield opened
    opened.close()


def fill(database: Database, commits: int) -> None:
    """Commit, and let a checkpoint that has begun come to its end each time."""
    assert database._checkpoints is not None
    for _ in range(commits):
        database.execute("INSERT INTO t VALUES (randomblob(5000))")
        database._checkpoints.close()


def in_file(database: Database) -> int:
    """Pages that the file itself has."""
    return Path(database.path).stat().st_size // 4096


def test_a_log_that_has_grown_is_copied_into_the_file_by_a_thread(database: Database) -> None:
    before = in_file(database)
    fill(database, 9)
    assert in_file(database) > before


def test_the_log_begins_anew_after_a_checkpoint_that_reached_its_end(database: Database) -> None:
    log = Path(f"{database.path}-wal")
    fill(database, 50)
    assert log.stat().st_size < 20 * 5000


def test_a_commit_does_the_rest_when_the_thread_never_comes_to_the_end(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoints, "_checkpoint", lambda self: None)
    fill(database, 100)
    assert Path(f"{database.path}-wal").stat().st_size < 60 * 5000


def test_what_was_written_meanwhile_is_there_after_closing(database: Database) -> None:
    for _ in range(300):
        database.execute("INSERT INTO t VALUES (randomblob(5000))")
    database.close()
    again = Database(database.path)
    assert again.value("SELECT count(*) FROM t") == 300
    again.close()
