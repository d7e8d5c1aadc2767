"""The file of a Durable Object, without a loop."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.engines.durable_objects.kv import after_prefix, range_of
from pyflare.engines.durable_objects.store import ConstraintViolation, ObjectStore
from pyflare.interop.proxy import JsObject
from pyflare.storage.sql_guard import SqlError


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path / "object.sqlite")


def reopened(store: ObjectStore) -> ObjectStore:
    store.commit()
    store.close()
    return ObjectStore(store.path)


def test_reading_makes_no_file(store: ObjectStore) -> None:
    assert (store.get("a"), store.list("", None, None, False), store.get_alarm(), store.size) == (None, (), None, 0)
    assert store.delete("a") is False
    store.delete_all()
    assert not store.path.exists()


def test_a_pair_survives_a_restart(store: ObjectStore) -> None:
    store.put("a", b"1")
    store.put("a", b"2")
    assert reopened(store).get("a") == b"2"


def test_delete_tells_whether_there_was_such_a_pair(store: ObjectStore) -> None:
    store.put("a", b"1")
    assert [store.delete("a"), store.delete("a"), store.get("a")] == [True, False, None]


def test_the_first_write_of_a_turn_is_told_once(store: ObjectStore) -> None:
    told: list[str] = []
    store.on_dirty = lambda: told.append("dirty")
    store.put("a", b"1")
    store.runner.run("CREATE TABLE t (a)")
    assert (told, store.in_transaction) == (["dirty"], True)
    store.commit()
    store.get("a")
    assert (told, store.in_transaction) == (["dirty"], False)
    store.set_alarm(5)
    assert told == ["dirty", "dirty"]


def test_a_rollback_undoes_pairs_tables_and_alarm(store: ObjectStore) -> None:
    store.put("a", b"1")
    store.set_alarm(7)
    store.commit()
    store.put("a", b"2")
    store.set_alarm(None)
    store.runner.run("CREATE TABLE t (a)")
    store.rollback()
    assert (store.get("a"), store.get_alarm()) == (b"1", 7)
    with pytest.raises(SqlError, match="no such table"):
        store.runner.run("SELECT * FROM t")


def test_the_first_pair_can_be_rolled_back_with_its_table(store: ObjectStore) -> None:
    store.put("a", b"1")
    store.rollback()
    assert store.get("a") is None
    store.put("a", b"2")
    assert store.get("a") == b"2"


def test_what_is_not_committed_is_lost_with_the_connection(store: ObjectStore) -> None:
    store.put("a", b"1")
    store.commit()
    store.put("a", b"2")
    store.close()
    assert ObjectStore(store.path).get("a") == b"1"


def test_a_closed_store_refuses_to_write(store: ObjectStore) -> None:
    store.close()
    with pytest.raises(SqlError):
        store.put("a", b"1")


def test_an_explicit_transaction_is_left_alone_by_commit(store: ObjectStore) -> None:
    store.begin()
    store.put("a", b"1")
    store.commit()
    store.rollback_explicit()
    assert store.get("a") is None


def test_explicit_transactions_nest(store: ObjectStore) -> None:
    store.begin()
    store.put("a", b"1")
    store.begin()
    store.put("a", b"2")
    store.rollback_explicit()
    store.commit_explicit()
    assert reopened(store).get("a") == b"1"


def test_a_synchronous_transaction_that_raises_leaves_the_turn_before_it(store: ObjectStore) -> None:
    def body() -> None:
        store.put("a", b"2")
        raise ValueError("no")

    store.put("a", b"1")
    with pytest.raises(ValueError, match="no"):
        store.synchronously(body)
    assert store.get("a") == b"1"


def test_synchronous_transactions_nest(store: ObjectStore) -> None:
    def inner() -> None:
        store.put("b", b"1")
        raise ValueError("no")

    def outer() -> str:
        store.put("a", b"1")
        with pytest.raises(ValueError, match="no"):
            store.synchronously(inner)
        return "done"

    assert (store.synchronously(outer), store.get("a"), store.get("b")) == ("done", b"1", None)


def test_deferred_constraints_are_found_by_the_commit(store: ObjectStore) -> None:
    run = store.runner.run
    run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
    run("CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
    run("INSERT INTO child VALUES (9)")
    with pytest.raises(ConstraintViolation, match="FOREIGN KEY constraint failed: SQLITE_CONSTRAINT"):
        store.commit()


def test_the_alarm_survives_a_restart_in_workerds_row(store: ObjectStore) -> None:
    store.set_alarm(4102444800000000000)
    store = reopened(store)
    assert store.get_alarm() == 4102444800000000000
    rows = apsw.Connection(str(store.path)).execute("SELECT * FROM _cf_METADATA").fetchall()
    assert rows == [(1, 4102444800000000000)]


def test_delete_all_removes_tables_pairs_and_file(store: ObjectStore) -> None:
    store.put("a", b"1")
    store.runner.run("CREATE TABLE t (a)")
    store.commit()
    store.put("b", b"1")
    store.delete_all()
    assert (store.get("a"), store.get_alarm(), store.path.exists()) == (None, None, False)
    store.put("c", b"1")
    assert [key for key, _ in reopened(store).list("", None, None, False)] == ["c"]


def test_delete_all_can_keep_the_alarm(store: ObjectStore) -> None:
    store.put("a", b"1")
    store.set_alarm(7)
    store.commit()
    store.delete_all(keep_alarm=True)
    assert reopened(store).get_alarm() == 7


def test_delete_all_within_a_dirty_turn_keeps_the_alarm_for_its_commit(store: ObjectStore) -> None:
    told: list[int] = []
    store.on_dirty = lambda: told.append(1)
    store.set_alarm(7)
    store.delete_all(keep_alarm=True)
    assert (reopened(store).get_alarm(), told) == (7, [1])


def test_delete_all_is_refused_within_a_transaction(store: ObjectStore) -> None:
    store.put("a", b"1")
    store.commit()
    store.begin()
    with pytest.raises(SqlError, match="within a transaction"):
        store.delete_all()


@pytest.mark.cloudflare("durable-objects/platform/limits")
def test_an_object_can_be_full(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path / "small.sqlite", max_bytes=10 * 4096)
    with pytest.raises(SqlError, match=r"^database or disk is full: SQLITE_FULL"):
        for number in range(100):
            store.put(str(number), bytes(2000))


@pytest.mark.cloudflare("durable-objects/platform/limits")
def test_a_value_of_more_than_2_mb_is_too_big(store: ObjectStore) -> None:
    with pytest.raises(SqlError, match=r"^string or blob too big: SQLITE_TOOBIG"):
        store.put("a", bytes(2_000_001))


def test_the_size_is_that_of_the_pages_in_use(store: ObjectStore) -> None:
    store.put("a", bytes(100_000))
    full = store.size
    assert full % 4096 == 0
    store.delete("a")
    assert store.size < full


def test_a_large_result_does_not_hold_up_a_commit(store: ObjectStore) -> None:
    store.runner.run("CREATE TABLE t (a)")
    store.runner.run(
        "INSERT INTO t WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2000) SELECT x FROM n"
    )
    store.commit()
    rows = store.runner.run("SELECT a FROM t")
    store.put("a", b"1")
    store.commit()
    assert len(rows.all()) == 2000


@pytest.mark.cloudflare("parity/state-sample")
def test_a_file_of_the_runtime_is_read(tmp_path: Path) -> None:
    sample = Path(__file__).parent / "data" / "room.sqlite"
    shutil.copy(sample, tmp_path / "room.sqlite")
    store = ObjectStore(tmp_path / "room.sqlite")
    assert store.get("int") == bytes.fromhex("ff0f4954")
    assert store.get_alarm() == 4102444800000000000
    assert store.runner.run("SELECT id, author, body FROM messages").rows == [
        (1, "Ada", b"\x01\x02"),
        (2, "Grace", "text"),
    ]


# --- the order of keys ------------------------------------------------------------------------------------------------

keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@settings(deadline=None)
@given(st.dictionaries(keys, st.binary(max_size=3)), keys, keys, keys, st.booleans(), st.none() | st.integers(1, 5))
def test_list_is_a_sorted_dict(
    pairs: dict[str, bytes], start: str, end: str, prefix: str, reverse: bool, limit: int | None
) -> None:
    wanted = JsObject.make({"start": start, "end": end, "prefix": prefix, "reverse": reverse, "limit": limit})
    asked = range_of(wanted)
    found = [
        (key, value)
        for key, value in sorted(pairs.items(), key=lambda pair: pair[0].encode(), reverse=reverse)
        if start.encode() <= key.encode() < end.encode() and key.startswith(prefix)
    ][:limit]
    assert list(MODEL.filled(pairs).list(*asked) if asked else ()) == found


class Model:
    """One store for all examples: making a file each would take most of the time."""

    def __init__(self) -> None:
        self.store: ObjectStore | None = None

    def filled(self, pairs: dict[str, bytes]) -> ObjectStore:
        if self.store is None:
            self.store = ObjectStore(Path(":memory:"))
        self.store.rollback()
        for key, value in pairs.items():
            self.store.put(key, value)
        return self.store


MODEL = Model()


@settings(deadline=None)
@given(keys, keys)
def test_what_begins_with_a_prefix_sorts_before_what_follows_it(prefix: str, rest: str) -> None:
    beyond = after_prefix(prefix)
    assert beyond is None or prefix.encode() <= (prefix + rest).encode() < beyond.encode()


# --- a turn that is one put ---------------------------------------------------------------------------------------


def test_a_single_put_is_seen_before_and_after_its_commit(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path / "a.sqlite")
    store.put("a", b"1")
    store.commit()
    store.put("a", b"2")
    assert (store.get("a"), store.in_transaction) == (b"2", True)
    assert list(store.list("", None, None, False)) == [("a", b"2")]
    store.commit()
    assert (store.get("a"), store.in_transaction) == (b"2", False)


def test_a_single_put_can_be_undone(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path / "a.sqlite")
    store.put("a", b"1")
    store.commit()
    store.put("a", b"2")
    store.rollback()
    assert store.get("a") == b"1"


def test_what_follows_a_single_put_shares_its_transaction(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path / "a.sqlite")
    store.put("a", b"1")
    store.commit()
    told: list[int] = []
    store.on_dirty = lambda: told.append(1)
    store.put("a", b"2")
    store.put("b", b"3")
    store.runner.run("CREATE TABLE t (x)")
    assert told == [1]
    store.rollback()
    assert (store.get("a"), store.get("b")) == (b"1", None)


def test_a_single_put_that_is_not_committed_is_lost_with_the_file(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path / "a.sqlite")
    store.put("a", b"1")
    store.commit()
    store.put("a", b"2")
    store.close()
    assert ObjectStore(tmp_path / "a.sqlite").get("a") == b"1"
