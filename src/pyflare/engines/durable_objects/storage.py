"""`ctx.storage` (developers.cloudflare.com, Durable Objects, "Access storage"; workerd `api/actor-state.c++`).

Nothing here suspends: a promise is settled when it is returned, so that reading and writing again is one step. Only
`transaction` runs code of the user's and keeps other events out meanwhile.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from pyflare.engines.durable_objects import kv
from pyflare.engines.durable_objects.sql import SqlStorage
from pyflare.engines.durable_objects.store import CLOSED, ObjectStore
from pyflare.interop import scope, traces, v8
from pyflare.interop.arguments import to_string
from pyflare.interop.containers import JsArray, JsMap
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.promise import JsPromise, inside
from pyflare.interop.proxy import JsObject, JsProxy, is_nullish, jsnull, options
from pyflare.storage.sql_guard import SqlError

ENABLE_SQLITE = (
    "change `new_classes` to `new_sqlite_classes` within the 'migrations' field in your wrangler.jsonc or "
    "wrangler.toml file. If using workerd directly,"
)
NOT_CHANGEABLE = (
    "in your workerd config for the class. Note that this change cannot be made after the class is already deployed to "
    "production."
)
NO_SQL = (
    f"SQL is not enabled for this Durable Object class. To enable it, {ENABLE_SQLITE}set `enableSql = true` "
    f"{NOT_CHANGEABLE}"
)
NO_KV = (
    "The storage.kv (synchronous KV) API is only available for SQLite-backed Durable Objects, but this object's "
    "namespace is not declared to use SQLite. You can use the older, asyncronous interface via methods of `storage` "
    f"itself (e.g. `storage.get()`). Alternatively, to enable SQLite, {ENABLE_SQLITE} set `enableSql = true` "
    f"{NOT_CHANGEABLE}"
)
NO_TRANSACTION_SYNC = "Durable Object is not backed by SQL."
NO_RECOVERY = "This Durable Object's storage back-end does not implement point-in-time recovery."
NO_REPLICAS = "This Durable Object's storage back-end does not support replication."
ONE_PAIR_OR_ENTRIES = (
    "put() may only be called with a single key-value pair and optional options as put(key, value, options) or with "
    "multiple key-value pairs and optional options as put(entries, options)"
)
IN_TRANSACTION = "Cannot call deleteAll() within a transaction"
COMMITTED = "on transaction that has already committed: did you move `txn` outside of the closure?"
NESTED_ROLLBACK = "Cannot roll back an outer transaction while a nested transaction is still running."


def done(call: Callable[..., Any], *args: Any) -> JsPromise:
    """A promise of `call(*args)`, which is over when this returns; what SQLite refuses is an error of JavaScript."""
    return inside(_tried, call, args)


def _tried(call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return call(*args)
    except SqlError as fault:
        raise error(fault.message) from None


class Operations(JsProxy):
    """What `ctx.storage` and the `txn` of a transaction have in common. `owner` is the living instance of the object:
    `get_alarm()` and `set_alarm(ms | None)` deal with its alarm."""

    _store: ObjectStore
    _owner: Any

    def js_properties(self) -> dict[str, Any]:
        return {}

    def _ready(self, operation: str) -> ObjectStore:
        """The store, if `operation` is possible now."""
        if self._store.closed:
            raise error(CLOSED)
        return self._store

    # --- pairs ----------------------------------------------------------------------------------------------------

    @options
    def get(self, key: Any = None, _options: Any = None) -> JsPromise:
        return done(self._get_many if isinstance(key, (JsArray, list)) else self._get, key)

    def _get(self, key: Any) -> Any:
        data = self._ready("get()").get(to_string(key))
        return None if data is None else v8.loads(data)

    def _get_many(self, keys: Any) -> JsMap:
        store = self._ready("get()")
        kv.check_count(store, len(keys))
        found = ((key, store.get(key)) for key in sorted({to_string(key) for key in keys}))
        made: JsMap = JsMap.make((key, v8.loads(data)) for key, data in found if data is not None)
        return made

    @options
    def list(self, wanted: Any = None) -> JsPromise:
        return done(self._list, wanted)

    def _list(self, wanted: Any) -> JsMap:
        found = kv.pairs(self._ready("list()"), wanted)
        made: JsMap = JsMap.make((key, v8.loads(data)) for key, data in found)
        return made

    @options
    def put(self, key: Any = None, value: Any = None, _options: Any = None) -> JsPromise:
        if isinstance(key, (JsObject, dict)):
            return done(self._put_many, key, value)
        return done(self._put, key, value)

    def _put(self, key: Any, value: Any) -> None:
        store = self._ready("put()")
        if value is None:
            raise type_error(kv.UNDEFINED_VALUE)
        kv.put(store, to_string(key), value)

    def _put_many(self, entries: Any, options: Any) -> None:
        store = self._ready("put()")
        if not is_nullish(options) and not isinstance(options, (JsObject, dict)):
            raise type_error(ONE_PAIR_OR_ENTRIES)
        pairs = entries if isinstance(entries, dict) else entries.js_properties()
        kv.check_count(store, len(pairs), "pairs")
        # Everything is serialized before anything is written: a value that cannot be cloned leaves no half.
        ready = [(to_string(key), v8.dumps(value)) for key, value in pairs.items() if value is not None]
        for key, data in ready:
            kv.write(store, key, data)

    @options
    def delete(self, key: Any = None, _options: Any = None) -> JsPromise:
        return done(self._delete_many if isinstance(key, (JsArray, list)) else self._delete, key)

    def _delete(self, key: Any) -> bool:
        return self._ready("delete()").delete(to_string(key))

    def _delete_many(self, keys: Any) -> int:
        store = self._ready("delete()")
        kv.check_count(store, len(keys))
        return sum(store.delete(to_string(key)) for key in keys)

    # --- the alarm ------------------------------------------------------------------------------------------------

    @options
    def getAlarm(self, _options: Any = None) -> JsPromise:
        return done(self._get_alarm)

    def _get_alarm(self) -> Any:
        self._ready("getAlarm()")
        alarm = self._owner.get_alarm()
        return jsnull if alarm is None else alarm

    @options
    def setAlarm(self, scheduled: Any = None, _options: Any = None) -> JsPromise:
        return done(self._set_alarm, scheduled)

    def _set_alarm(self, scheduled: Any) -> None:
        self._ready("setAlarm()")
        self._owner.set_alarm(milliseconds(scheduled))

    @options
    def deleteAlarm(self, _options: Any = None) -> JsPromise:
        return done(self._delete_alarm)

    def _delete_alarm(self) -> None:
        self._ready("deleteAlarm()")
        self._owner.set_alarm(None)


def milliseconds(value: Any) -> float:
    """A Date or a number as milliseconds since the epoch; not-a-number for anything else."""
    if isinstance(value, JsDate):
        return float(value._ms)
    return float(value) if isinstance(value, (int, float)) else float("nan")


class DurableObjectStorage(Operations):
    js_name: ClassVar[str] = "DurableObjectStorage"

    def __init__(self, store: ObjectStore, owner: Any) -> None:
        self._store, self._owner = store, owner
        self._transactions: list[DurableObjectTransaction] = []  # open ones, the innermost last
        self._sql: SqlStorage | None = None
        self._kv: kv.SyncKvStorage | None = None

    @property
    def sql(self) -> SqlStorage:
        if self._sql is None:
            if not self._store.sqlite:
                raise error(NO_SQL)
            self._sql = SqlStorage.make(self._store)
        return self._sql

    @property
    def kv(self) -> kv.SyncKvStorage:
        if self._kv is None:
            if not self._store.sqlite:
                raise error(NO_KV)
            self._kv = kv.SyncKvStorage.make(self._store)
        return self._kv

    @options
    def deleteAll(self, _options: Any = None) -> JsPromise:
        return done(self._delete_all)

    def _delete_all(self) -> None:
        store = self._ready("deleteAll()")
        with_alarm = scope.enabled("delete_all_deletes_alarm")
        if self._transactions:
            raise error(IN_TRANSACTION)
        if with_alarm:
            self._owner.set_alarm(None)
        store.delete_all(keep_alarm=not with_alarm)

    def sync(self) -> JsPromise:
        return done(self._owner.commit)

    # --- transactions ---------------------------------------------------------------------------------------------

    @options
    def transaction(self, closure: Callable[[Any], Any], _options: Any = None) -> JsPromise:
        """Run `closure(txn)` while no other event gets in; what it wrote stays unless it raises or rolls back."""
        promise: JsPromise = self._owner.critical_section(lambda: self._run(closure))
        return promise

    async def _run(self, closure: Callable[[Any], Any]) -> Any:
        owner = self._owner
        if not self._transactions:
            owner.commit()
        store = self._store
        store.begin()
        txn: DurableObjectTransaction = DurableObjectTransaction.make(self)
        self._transactions.append(txn)
        try:
            result = closure(txn)
            if inspect.isawaitable(result):
                result = await result
            if not txn.rolled_back:
                self._commit(store)
        except BaseException as raised:
            if not txn.rolled_back:
                store.rollback_explicit()
            txn.rolled_back = True
            raise _of_javascript(raised) from None
        finally:
            txn.over = True
            self._transactions.remove(txn)
        return result

    def _commit(self, store: ObjectStore) -> None:
        if len(self._transactions) > 1:
            store.commit_explicit()
            return
        self._owner.before_commit()
        try:
            store.commit_explicit()
        except SqlError as fault:
            raise error(fault.message) from None
        self._owner.after_commit()

    def transactionSync(self, closure: Callable[[], Any]) -> Any:
        """Run `closure()`; what it raises undoes what it wrote, and is raised again as it is."""
        store = self._ready("transactionSync()")
        if not store.sqlite:
            raise error(NO_TRANSACTION_SYNC)
        try:
            return store.synchronously(closure)
        except SqlError as fault:
            raise error(fault.message) from None

    # --- bookmarks, replicas --------------------------------------------------------------------------------------

    def getCurrentBookmark(self) -> JsPromise:
        return done(lambda: self._ready("getCurrentBookmark()").bookmark())

    def getBookmarkForTime(self, _time: Any = None) -> JsPromise:
        return JsPromise.reject(error(NO_RECOVERY))

    def onNextSessionRestoreBookmark(self, _bookmark: Any = None) -> JsPromise:
        return JsPromise.reject(error(NO_RECOVERY))

    def waitForBookmark(self, _bookmark: Any = None) -> JsPromise:
        return JsPromise.resolve()

    def ensureReplicas(self) -> None:
        raise error(NO_REPLICAS)

    def disableReplicas(self) -> None:
        raise error(NO_REPLICAS)


class DurableObjectTransaction(Operations):
    """`txn`: the storage as the closure of `transaction` sees it."""

    js_name: ClassVar[str] = "DurableObjectTransaction"

    def __init__(self, storage: DurableObjectStorage) -> None:
        self._storage = storage
        self._store, self._owner = storage._store, storage._owner
        self.rolled_back = False
        self.over = False

    def _ready(self, operation: str) -> ObjectStore:
        if self.rolled_back:
            raise error(f"Cannot {operation} on rolled back transaction")
        if self.over:
            raise error(f"Cannot call {operation} {COMMITTED}")
        return super()._ready(operation)

    def rollback(self) -> None:
        if self.rolled_back:
            return
        store = self._ready("rollback()")
        if self._storage._transactions[-1] is not self:
            raise error(NESTED_ROLLBACK)
        store.rollback_explicit()
        self.rolled_back = True

    def deleteAll(self, _options: Any = None) -> None:
        raise error(IN_TRANSACTION)


def _of_javascript(raised: BaseException) -> BaseException:
    """An exception of the closure as it comes out of the promise: one of Python has become a PythonError."""
    if isinstance(raised, JsException) or not isinstance(raised, Exception):
        return raised
    return error(traces.formatted(raised), "PythonError")
