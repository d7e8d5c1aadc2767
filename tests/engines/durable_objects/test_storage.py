"""`ctx.storage` as JavaScript sees it, over a stand-in for the object's instance."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from pyflare.engines.durable_objects.storage import DurableObjectStorage
from pyflare.engines.durable_objects.store import ObjectStore
from pyflare.interop.containers import JsArray
from pyflare.interop.convert import JsDoubleProxy, to_js, to_py
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.promise import JsPromise, start
from pyflare.interop.proxy import jsnull
from pyflare.storage.sql_guard import SqlError


class Owner:
    """What the storage asks of the instance of an object."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.log: list[str] = []

    def commit(self) -> None:
        self.log.append("commit")
        self.store.commit()

    def before_commit(self) -> None:
        self.log.append("before")

    def after_commit(self) -> None:
        self.log.append("after")

    def critical_section(self, body: Callable[[], Any]) -> JsPromise:
        async def run() -> Any:
            result = body()
            return await result if inspect.isawaitable(result) else result

        return start(run())

    def get_alarm(self) -> int | None:
        alarm = self.store.get_alarm()
        return None if alarm is None else alarm // 1_000_000

    def set_alarm(self, ms: float | None) -> None:
        self.store.set_alarm(None if ms is None else int(ms) * 1_000_000)


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner(ObjectStore(tmp_path / "object.sqlite"))


@pytest.fixture
def storage(owner: Owner) -> Any:
    return DurableObjectStorage.make(owner.store, owner)


@pytest.fixture
def legacy(tmp_path: Path) -> Any:
    """Of a class of `new_classes`."""
    owner = Owner(ObjectStore(tmp_path / "legacy.sqlite", sqlite=False))
    return DurableObjectStorage.make(owner.store, owner)


def plain(promise: JsPromise) -> Any:
    return to_py(promise.result())


def refusal(promise: JsPromise) -> str:
    with pytest.raises(JsException) as raised:
        promise.result()
    return str(raised.value)


def test_the_sdk_knows_the_class_by_its_name(storage: Any) -> None:
    assert storage.constructor.name == "DurableObjectStorage"


def test_calls_are_done_when_they_return(storage: Any) -> None:
    storage.put("key", 1)
    assert storage.get("key").result() == 1


def test_a_missing_key_is_undefined(storage: Any) -> None:
    assert storage.get("missing").result() is None


def test_a_value_is_copied_both_ways(storage: Any) -> None:
    value = to_js({"list": [1]})
    storage.put("key", value)
    value.list.push(2)
    storage.get("key").result().list.push(3)
    assert plain(storage.get("key")) == {"list": [1]}


def test_several_keys_at_once(storage: Any) -> None:
    storage.put(to_js({"b": 2, "a": 1, "c": jsnull}))
    assert plain(storage.get(to_js(["c", "missing", "a"]))) == {"a": 1, "c": jsnull}
    assert storage.delete(to_js(["a", "b", "missing"])).result() == 2
    assert plain(storage.list()) == {"c": jsnull}


def test_undefined_values_of_several_are_left_out(storage: Any) -> None:
    storage.put(to_js({"a": 1, "b": None}))
    assert plain(storage.list()) == {"a": 1}


def test_several_are_stored_together_or_not_at_all(storage: Any) -> None:
    refused = storage.put(to_js({"a": 1, "b": object()}))
    assert refusal(refused) == "DataCloneError: [object Object] could not be cloned."
    assert plain(storage.list()) == {}


@pytest.mark.cloudflare("parity/durable-objects kv_put_without_value")
def test_put_wants_a_value(storage: Any) -> None:
    assert refusal(storage.put("key")) == "TypeError: put() called with undefined value."
    assert refusal(storage.put(to_js({"a": 1}), 5)).startswith("TypeError: put() may only be called with a single")


@pytest.mark.cloudflare("parity/durable-objects kv_own_object_is_refused")
def test_a_python_object_cannot_be_stored(storage: Any) -> None:
    assert refusal(storage.put("key", JsDoubleProxy.make(object()))).startswith("DataCloneError")


@pytest.mark.cloudflare("parity/durable-objects kv_list_is_in_byte_order")
def test_list_is_in_byte_order(storage: Any) -> None:
    storage.put(to_js(dict.fromkeys(["b", "a", "B", "é", "10", "9", "_"], 1)))
    assert list(plain(storage.list())) == ["10", "9", "B", "_", "a", "b", "é"]


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({}, ["a1", "a2", "b1", "b2"]),
        ({"prefix": "a"}, ["a1", "a2"]),
        ({"start": "a2", "end": "b2"}, ["a2", "b1"]),
        ({"startAfter": "a2"}, ["b1", "b2"]),
        ({"reverse": True, "limit": 3}, ["b2", "b1", "a2"]),
        ({"prefix": "b", "start": "a", "end": "c"}, ["b1", "b2"]),
        ({"prefix": "a", "start": "b"}, []),
        ({"prefix": "b", "end": "b"}, []),
        ({"start": None, "end": jsnull}, ["a1", "a2", "b1", "b2"]),
    ],
)
def test_list_takes_ranges(storage: Any, wanted: dict[str, Any], keys: list[str]) -> None:
    storage.put(to_js({"a1": 1, "a2": 2, "b1": 3, "b2": 4}))
    assert list(plain(storage.list(to_js(wanted)))) == keys
    assert [pair[0] for pair in storage.kv.list(to_js(wanted))] == keys


def test_list_takes_keywords(storage: Any) -> None:
    storage.put(to_js({"a": 1, "b": 2}))
    assert list(plain(storage.list(prefix="b", limit=1))) == ["b"]


@pytest.mark.cloudflare("parity/durable-objects kv_list_limit_zero_is_refused")
def test_list_refuses_what_makes_no_sense(storage: Any) -> None:
    assert refusal(storage.list(limit=0)) == "TypeError: List limit must be positive."
    said = refusal(storage.list(start="a", startAfter="b"))
    assert said == "TypeError: list() cannot be called with both start and startAfter values."


# --- the synchronous face ---------------------------------------------------------------------------------------------


def test_both_faces_share_the_pairs(storage: Any) -> None:
    storage.kv.put("one", 1)
    storage.put("two", 2)
    assert (storage.get("one").result(), storage.kv.get("two"), storage.kv.get("no")) == (1, 2, None)
    assert (storage.kv.delete("one"), storage.kv.delete("one")) == (True, False)


def test_a_new_list_ends_the_former_one(storage: Any) -> None:
    storage.put(to_js({"a": 1, "b": 2}))
    former = storage.kv.list()
    assert list(former.next().value) == ["a", 1]
    assert [list(pair) for pair in storage.kv.list()] == [["a", 1], ["b", 2]]
    with pytest.raises(JsException, match="iterator was invalidated"):
        former.next()


# --- classes that are not on SQLite -----------------------------------------------------------------------------------


@pytest.mark.cloudflare("parity/durable-objects class_in_new_classes_has_no_sql")
def test_a_class_of_new_classes_has_neither_sql_nor_kv(legacy: Any) -> None:
    with pytest.raises(JsException, match=r"^Error: SQL is not enabled for this Durable Object class. To enable it, "):
        _ = legacy.sql
    with pytest.raises(JsException, match=r"^Error: The storage.kv \(synchronous KV\) API is only available for SQL"):
        _ = legacy.kv
    with pytest.raises(JsException, match=r"^Error: Durable Object is not backed by SQL.$"):
        legacy.transactionSync(lambda: None)


@pytest.mark.cloudflare("durable-objects/platform/limits, workerd io/actor-storage.c++")
def test_a_class_of_new_classes_has_the_older_limits(legacy: Any, storage: Any) -> None:
    many = to_js([str(number) for number in range(129)])
    assert refusal(legacy.get(many)) == "RangeError: Maximum number of keys is 128."
    assert refusal(legacy.delete(many)) == "RangeError: Maximum number of keys is 128."
    pairs = to_js({str(number): 1 for number in range(129)})
    assert refusal(legacy.put(pairs)).startswith("RangeError: Maximum number of key value pairs is 128. 129 pairs")
    assert refusal(legacy.put("k" * 2049, 1)).startswith("RangeError: Keys cannot be larger than 2048 bytes.")
    assert refusal(legacy.put("k", "x" * 131_200)).startswith("RangeError: Values cannot be larger than 131072 bytes.")
    assert storage.put("k" * 2049, "x" * 131_200).result() is None
    assert storage.get(many).result().size == 0


def test_limits_can_be_lifted(tmp_path: Path) -> None:
    owner = Owner(ObjectStore(tmp_path / "lifted.sqlite", sqlite=False, enforce_limits=False))
    storage = DurableObjectStorage.make(owner.store, owner)
    assert storage.put("k" * 2049, "x" * 3_000_000).result() is None


# --- all of it, the alarm, bookmarks ----------------------------------------------------------------------------------


def test_delete_all_takes_the_alarm_along(storage: Any) -> None:
    storage.put("a", 1)
    storage.setAlarm(1893456000123)
    assert storage.getAlarm().result() == 1893456000123
    assert storage.deleteAll().result() is None
    assert (plain(storage.list()), storage.getAlarm().result()) == ({}, jsnull)


def test_an_alarm_is_set_by_number_or_date(storage: Any) -> None:
    storage.setAlarm(JsDate.make(1893456000123.0))
    assert storage.getAlarm().result() == 1893456000123
    storage.deleteAlarm()
    assert storage.getAlarm().result() is jsnull


def test_bookmarks_rise(storage: Any) -> None:
    first, second = storage.getCurrentBookmark().result(), storage.getCurrentBookmark().result()
    assert first < second
    assert storage.waitForBookmark(first).result() is None


@pytest.mark.cloudflare("workerd io/actor-cache.h")
def test_nothing_can_be_restored(storage: Any) -> None:
    for refused in (storage.getBookmarkForTime(0), storage.onNextSessionRestoreBookmark("x")):
        assert "does not implement point-in-time recovery" in refusal(refused)
    with pytest.raises(JsException, match="does not support replication"):
        storage.ensureReplicas()


def test_the_storage_of_a_reset_object_is_closed(storage: Any, owner: Owner) -> None:
    owner.store.close()
    assert "was reset" in refusal(storage.get("a"))


# --- transactions -----------------------------------------------------------------------------------------------------


def test_a_transaction_commits_and_gives_the_result(storage: Any, owner: Owner) -> None:
    async def body(txn: Any) -> Any:
        await txn.put("key", 1)
        return await txn.get("key")

    async def main() -> Any:
        storage.put("before", 1)
        return await storage.transaction(body)

    assert asyncio.run(main()) == 1
    assert owner.log == ["commit", "before", "after"]
    owner.store.close()
    assert ObjectStore(owner.store.path).get("key") is not None


@pytest.mark.cloudflare("parity/durable-objects transaction_rolls_back_when_body_raises")
def test_a_body_that_raises_undoes_everything_and_raises_in_javascript(storage: Any, owner: Owner) -> None:
    async def body(txn: Any) -> None:
        await txn.put("key", "new")
        await storage.put("other", "new")
        raise ValueError("no")

    async def main() -> None:
        storage.put("key", "old")
        await storage.transaction(body)

    with pytest.raises(JsException) as raised:
        asyncio.run(main())
    assert (raised.value.name, raised.value.message.splitlines()[-1]) == ("PythonError", "ValueError: no")
    assert plain(storage.list()) == {"key": "old"}
    assert owner.log == ["commit"]


@pytest.mark.cloudflare("parity/durable-objects transaction_rollback_call")
def test_rollback_undoes_and_the_body_goes_on(storage: Any) -> None:
    async def body(txn: Any) -> str:
        await txn.put("key", "new")
        txn.rollback()
        txn.rollback()
        with pytest.raises(JsException, match=r"^Error: Cannot get\(\) on rolled back transaction$"):
            await txn.get("key")
        return "finished"

    async def main() -> Any:
        storage.put("key", "old")
        return await storage.transaction(body)

    assert (asyncio.run(main()), storage.get("key").result()) == ("finished", "old")


@pytest.mark.cloudflare("parity/durable-objects transaction_used_after_its_end")
def test_a_transaction_cannot_be_used_after_its_end(storage: Any) -> None:
    kept: list[Any] = []

    async def main() -> Any:
        await storage.transaction(kept.append)
        return await kept[0].put("key", 1)

    with pytest.raises(JsException, match=r"^Error: Cannot call put\(\) on transaction that has already committed: "):
        asyncio.run(main())


def test_transactions_nest(storage: Any) -> None:
    async def inner(txn: Any) -> None:
        await txn.put("b", 1)
        raise ValueError("no")

    async def outer(txn: Any) -> None:
        await txn.put("a", 1)
        with pytest.raises(JsException):
            await storage.transaction(inner)

    asyncio.run(_await(lambda: storage.transaction(outer)))
    assert plain(storage.list()) == {"a": 1}


def test_delete_all_is_refused_within_a_transaction(storage: Any) -> None:
    async def body(txn: Any) -> None:
        with pytest.raises(JsException, match=r"^Error: Cannot call deleteAll\(\) within a transaction$"):
            await storage.deleteAll()
        with pytest.raises(JsException, match=r"^Error: Cannot call deleteAll\(\) within a transaction$"):
            txn.deleteAll()

    asyncio.run(_await(lambda: storage.transaction(body)))


async def _await(make: Callable[[], JsPromise]) -> Any:
    return await make()


@pytest.mark.cloudflare("parity/durable-objects sql_transaction_sync_undoes_and_reraises")
def test_a_synchronous_transaction_raises_what_its_body_raised(storage: Any) -> None:
    storage.sql.exec("CREATE TABLE t (a)")

    def body() -> None:
        storage.sql.exec("INSERT INTO t VALUES (1)")
        storage.kv.put("key", 1)
        raise ValueError("undo")

    with pytest.raises(ValueError, match="undo"):
        storage.transactionSync(body)
    assert (storage.sql.exec("SELECT a FROM t").toArray().length, storage.kv.get("key")) == (0, None)
    assert storage.transactionSync(lambda: "done") == "done"


def test_an_array_as_key_is_several_keys(storage: Any) -> None:
    assert isinstance(to_js(["a"]), JsArray)
    assert plain(storage.get(["a"])) == {}


def test_a_file_that_another_process_holds_is_an_error_of_javascript(storage: Any, owner: Owner) -> None:
    storage.put("a", 1)
    owner.store.commit()
    owner.store.runner.run("SELECT 1")
    other = apsw.Connection(str(owner.store.path))
    other.execute("BEGIN IMMEDIATE")
    owner.store.busy_timeout(0)
    storage.put("a", 2)
    for refused in (storage.delete("a"), storage.setAlarm(1893456000123)):
        assert refusal(refused) == "Error: database is locked: SQLITE_BUSY"
    with pytest.raises(SqlError) as raised:
        owner.store.commit()
    assert raised.value.busy
    other.execute("COMMIT")
    owner.store.commit()
    assert storage.get("a").result() == 2
    assert storage.delete("a").result() is True
