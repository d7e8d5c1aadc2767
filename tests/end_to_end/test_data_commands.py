"""`pyflare kv`, `r2` and `d1` while a server holds the state folder: it is asked, and no file is opened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result

from pyflare.cli import d1_target, kv, main, r2
from tests.support.dev import Dev, project

SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        found = await self.env.NOTES.getWithMetadata("a")
        return Response.json([found.value, found.metadata])
"""
BINDINGS: dict[str, Any] = {
    "kv_namespaces": [{"binding": "NOTES", "id": "notes-id"}],
    "r2_buckets": [{"binding": "FILES", "bucket_name": "files"}],
    "d1_databases": [{"binding": "DB", "database_name": "orders", "database_id": "orders-id"}],
}


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """Without the explorer, which the commands do not need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("X_LOCAL_EXPLORER", "false")
        server = Dev(project(tmp_path_factory.mktemp("served"), SOURCE, **BINDINGS))
    with server as served:
        yield served


def run(dev: Dev, *args: str) -> Result:
    return CliRunner().invoke(main, [*args, "--cwd", str(dev.folder)])


@pytest.fixture(autouse=True)
def closed_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> NoReturn:
        raise AssertionError("a file is opened")

    monkeypatch.setattr(kv, "open_namespace", refuse)
    monkeypatch.setattr(r2, "ObjectStore", refuse)
    monkeypatch.setattr(d1_target, "D1Store", refuse)


def notes(dev: Dev, *args: str) -> Result:
    return run(dev, "kv", *args, "--binding", "NOTES")


def test_the_worker_reads_what_kv_key_put_wrote(dev: Dev) -> None:
    assert notes(dev, "key", "put", "a", "héllo", "--metadata", '{"n": [1]}').exit_code == 0
    assert json.loads(dev.get()[1]) == ["héllo", {"n": [1]}]
    assert notes(dev, "key", "get", "a").stdout == "héllo"


def test_kv_keys_are_listed_and_deleted(dev: Dev) -> None:
    notes(dev, "key", "put", "b/c d", "1", "--metadata", '{"k": 2}', "--expiration", "4102444800")
    listed = [{"name": "b/c d", "expiration": 4_102_444_800, "metadata": {"k": 2}}]
    assert json.loads(notes(dev, "key", "list", "--prefix", "b/").stdout) == listed
    assert notes(dev, "key", "delete", "b/c d").exit_code == 0
    assert notes(dev, "key", "get", "b/c d").stdout == "Value not found\n"


def test_many_kv_pairs_are_written_read_and_deleted(dev: Dev, tmp_path: Path) -> None:
    (tmp_path / "pairs.json").write_text(
        json.dumps(
            [{"key": "m1", "value": "AP8=", "base64": True}, {"key": "m2", "value": "two", "metadata": {"x": 1}}]
        )
    )
    (tmp_path / "keys.json").write_text('["m1", "m2"]')
    pairs, keys = str(tmp_path / "pairs.json"), str(tmp_path / "keys.json")
    assert notes(dev, "bulk", "put", pairs).stdout.endswith("Success!\n")
    assert json.loads(notes(dev, "bulk", "get", keys).stdout)["m2"] == {"value": "two"}
    assert notes(dev, "bulk", "delete", keys, "--force").stdout.endswith("Success!\n")
    assert json.loads(notes(dev, "key", "list", "--prefix", "m").stdout) == []


def test_what_kv_refuses_is_an_error_of_the_command(dev: Dev) -> None:
    result = notes(dev, "key", "put", "a", "1", "--ttl", "5")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: KV PUT failed: 400 Invalid expiration_ttl of 5.")
    assert notes(dev, "key", "put", "", "1").stderr == "error: Key name cannot be empty.\n"


def test_what_r2_refuses_is_an_error_of_the_command(dev: Dev, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    put = ("r2", "object", "put", "--file", str(tmp_path / "empty"))
    assert run(dev, *put, "files/a", "-s", "Cold").stderr == "error: The storage class specified is not valid.\n"
    assert run(dev, *put, f"files/{'k' * 1025}").stderr == "error: The specified object name is not valid.\n"


def test_an_object_goes_through_the_server_with_its_metadata(dev: Dev, tmp_path: Path) -> None:
    content = bytes(range(256)) * 4_000
    (tmp_path / "in.bin").write_bytes(content)
    put = run(
        dev,
        "r2",
        "object",
        "put",
        "files/a/b c",
        "--file",
        str(tmp_path / "in.bin"),
        "--ct",
        "text/x",
        "--cc",
        "no-store",
    )
    assert put.stdout.endswith("Upload complete.\n")
    run(dev, "r2", "object", "get", "files/a/b c", "--file", str(tmp_path / "out.bin"))
    assert (tmp_path / "out.bin").read_bytes() == content
    status, _, headers = dev.request("HEAD", "/cdn-cgi/local/r2/public/files/a/b%20c")
    assert (status, headers["content-type"], headers["cache-control"]) == (200, "text/x", "no-store")


def test_an_object_that_is_not_there_leaves_no_file(dev: Dev, tmp_path: Path) -> None:
    result = run(dev, "r2", "object", "get", "files/none", "--file", str(tmp_path / "none"))
    assert result.stderr == 'error: The specified key does not exist: "none" in bucket "files".\n'
    assert not (tmp_path / "none").exists()


def test_objects_are_deleted(dev: Dev, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    run(dev, "r2", "object", "put", "files/gone", "--file", str(tmp_path / "empty"))
    assert run(dev, "r2", "object", "get", "files/gone", "--pipe").stdout == ""
    run(dev, "r2", "object", "delete", "files/gone")
    assert run(dev, "r2", "object", "get", "files/gone", "--pipe").exit_code == 1


def test_sql_is_run_by_the_server(dev: Dev) -> None:
    sql = "CREATE TABLE t (x, y); INSERT INTO t VALUES (1.5, X'0102'), ('two', NULL); SELECT x, y FROM t"
    results = json.loads(run(dev, "d1", "execute", "orders", "--command", sql, "--json").stdout)
    assert [one["results"] for one in results] == [[], [], [{"x": 1.5, "y": "[1, 2]"}, {"x": "two", "y": None}]]


def test_sql_that_fails_leaves_nothing_and_says_why(dev: Dev) -> None:
    result = run(dev, "d1", "execute", "orders", "--command", "CREATE TABLE kept (x); SELECT nope")
    assert result.exit_code == 1
    assert result.stderr == "error: no such column: nope at offset 7: SQLITE_ERROR\n  in line 1: SELECT nope\n"
    assert "no such table: kept" in run(dev, "d1", "execute", "orders", "--command", "SELECT * FROM kept").stderr


def test_migrations_are_applied_by_the_server(dev: Dev) -> None:
    folder = dev.folder / "migrations"
    folder.mkdir(exist_ok=True)
    (folder / "0001_first.sql").write_text("CREATE TABLE first (x);")
    (folder / "0002_bad.sql").write_text("CREATE TABLE second (x); nonsense;")
    applied = run(dev, "d1", "migrations", "apply", "orders")
    assert applied.exit_code == 1
    assert "Migration 0002_bad.sql failed with the following errors:" in applied.stderr
    listed = run(dev, "d1", "migrations", "list", "orders").stdout
    assert "0002_bad.sql" in listed and "0001_first.sql" not in listed


def test_what_the_server_does_not_serve_lies_in_files(dev: Dev) -> None:
    result = run(dev, "kv", "key", "get", "a", "--namespace-id", "another")
    assert isinstance(result.exception, AssertionError)


def test_without_the_explorer_its_path_is_the_workers(dev: Dev) -> None:
    assert dev.get("/cdn-cgi/local/explorer")[1].startswith("[")
