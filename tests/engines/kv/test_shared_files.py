"""A folder as wrangler's local mode leaves it: the names of its files, its rows, its values."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pyflare.engines.kv.engine import Kv
from pyflare.interop.proxy import jsnull
from tests.support.rooms import Bench, settle

# What wrangler calls the file of the namespace "sample-kv" (parity/state-sample).
FILE = "kv/miniflare-KVNamespaceObject/fb42c204f6b3c18d4e7852407f1e2c0f6e523fae24add04a912764e0b6553ae1.sqlite"
BLOB = "974ebaaada1214b0b57000d6f3d3d0443b72c50b0c6e0412aea2d5cc0c0d39ee000001a227b2787c"
SECTIONS = {"kv_namespaces": [{"binding": "KV", "id": "sample-kv"}]}


def wrangler_folder(root: Path) -> Path:
    file = root / FILE
    file.parent.mkdir(parents=True)
    blobs = root / "kv/sample-kv/blobs"
    blobs.mkdir(parents=True)
    (blobs / BLOB).write_bytes(b"hello")
    (blobs / "any-other-name").write_bytes(b"\x00\x01")
    connection = sqlite3.connect(file)
    connection.executescript(
        f"""
        PRAGMA journal_mode=WAL;
        CREATE TABLE _mf_entries (
          key TEXT PRIMARY KEY,
          blob_id TEXT NOT NULL,
          expiration INTEGER,
          metadata TEXT
        );
        CREATE INDEX _mf_entries_expiration_idx ON _mf_entries(expiration);
        INSERT INTO _mf_entries VALUES ('plain', '{BLOB}', NULL, NULL);
        INSERT INTO _mf_entries VALUES ('with-metadata', 'any-other-name', 2000000000000, '{{"a":1}}');
        INSERT INTO _mf_entries VALUES ('lost', 'no-such-blob', NULL, NULL);
        """
    )
    connection.close()
    return file


def test_what_wrangler_wrote_is_read(tmp_path: Path) -> None:
    wrangler_folder(tmp_path / "v3")
    room = Bench(tmp_path).open(Kv, SECTIONS)
    kv = room.bindings("w")["KV"]
    assert settle(kv.get("plain")) == "hello"
    found = settle(kv.getWithMetadata("with-metadata", "arrayBuffer"))
    assert (found.value.to_bytes(), found.metadata.a) == (b"\x00\x01", 1)
    assert [(key.name, getattr(key, "expiration", None)) for key in settle(kv.list()).keys] == [
        ("lost", None),
        ("plain", None),
        ("with-metadata", 2000000000),
    ]
    room.close()


def test_a_value_whose_file_is_gone_is_missing(tmp_path: Path) -> None:
    wrangler_folder(tmp_path / "v3")
    room = Bench(tmp_path).open(Kv, SECTIONS)
    assert settle(room.bindings("w")["KV"].get("lost")) is jsnull
    room.close()


def test_what_is_written_can_be_read_by_wrangler(tmp_path: Path) -> None:
    file = wrangler_folder(tmp_path / "v3")
    room = Bench(tmp_path).open(Kv, SECTIONS)
    settle(room.bindings("w")["KV"].put("new", "value", metadata="m"))
    connection = sqlite3.connect(file)
    [(blob_id, expiration, metadata)] = connection.execute(
        "SELECT blob_id, expiration, metadata FROM _mf_entries WHERE key = 'new'"
    )
    connection.close()
    assert ((tmp_path / "v3/kv/sample-kv/blobs" / blob_id).read_bytes(), expiration, metadata) == (
        b"value",
        None,
        '"m"',
    )
    room.close()


def test_another_process_may_write_while_the_room_is_open(tmp_path: Path) -> None:
    file = wrangler_folder(tmp_path / "v3")
    room = Bench(tmp_path).open(Kv, SECTIONS)
    kv = room.bindings("w")["KV"]
    settle(kv.put("ours", "1"))
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("INSERT INTO _mf_entries VALUES ('theirs', ?, NULL, NULL)", (BLOB,))
        connection.execute("DELETE FROM _mf_entries WHERE key = 'ours'")
    connection.close()
    assert (settle(kv.get("theirs")), settle(kv.get("ours"))) == ("hello", jsnull)
    room.close()
