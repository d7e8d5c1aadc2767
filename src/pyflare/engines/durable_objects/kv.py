"""Key-value pairs of an object: what `list` may ask for, the limits, and the synchronous `ctx.storage.kv`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from pyflare.engines.durable_objects.store import ObjectStore
from pyflare.interop import v8
from pyflare.interop.arguments import to_string
from pyflare.interop.containers import JsArray
from pyflare.interop.errors import error, range_error, type_error
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, options
from pyflare.storage.sql_guard import SqlError

# Classes of `new_classes`; those on SQLite have the limits of SQLite (durable-objects/platform/limits).
MAX_KEY_BYTES = 2_048
MAX_VALUE_BYTES = 128 * 1024
VALUE_SLACK_BYTES = 34  # for the header and tags of the serialized value: workerd `io/actor-storage.h`
MAX_KEYS = 128  # of one `get`, `put` or `delete` of several

UNDEFINED_VALUE = "put() called with undefined value."
ITERATOR_GONE = (
    "kv.list() iterator was invalidated because a new call to kv.list() was started. Only one kv.list() iterator can "
    "exist at a time."
)


class Range(NamedTuple):
    """What `list` reads: keys from `start` on, before `end`."""

    start: str
    end: str | None
    limit: int | None
    reverse: bool


def range_of(wanted: Any) -> Range | None:
    """The options of `list`; None when nothing can be in that range."""
    start, after, end, prefix = (get(wanted, name) for name in ("start", "startAfter", "end", "prefix"))
    if not is_nullish(start) and not is_nullish(after):
        raise type_error("list() cannot be called with both start and startAfter values.")
    limit = get(wanted, "limit")
    if not is_nullish(limit) and not limit > 0:
        raise type_error("List limit must be positive.")
    first = to_string(start) if not is_nullish(start) else ""
    if not is_nullish(after):
        first = to_string(after) + "\0"  # the very next key
    last = None if is_nullish(end) else to_string(end)
    if not is_nullish(prefix) and prefix:
        within = to_string(prefix)
        beyond = after_prefix(within)
        first = max(first, within)
        if beyond is not None:
            last = beyond if last is None else min(last, beyond)
    if last is not None and last <= first:
        return None
    return Range(first, last, None if is_nullish(limit) else int(limit), bool(get(wanted, "reverse", False)))


def after_prefix(prefix: str) -> str | None:
    """The first text after all that begin with `prefix`. Code points sort as their UTF-8 does."""
    while prefix:
        point = ord(prefix[-1]) + 1
        if 0xD800 <= point <= 0xDFFF:
            point = 0xE000  # surrogates are no text
        if point <= 0x10FFFF:
            return prefix[:-1] + chr(point)
        prefix = prefix[:-1]
    return None


def pairs(store: ObjectStore, wanted: Any) -> Sequence[tuple[str, bytes]]:
    asked = range_of(wanted)
    return () if asked is None else store.list(*asked)


def put(store: ObjectStore, key: str, value: Any) -> None:
    """Store one value. Raises `DataCloneError`, or what the limits say."""
    write(store, key, v8.dumps(value))


def write(store: ObjectStore, key: str, data: bytes) -> None:
    """Store one serialized value."""
    if store.enforce_limits and not store.sqlite:
        check(key, data)
    try:
        store.put(key, data)
    except SqlError as fault:
        raise error(fault.message) from None


def check(key: str, data: bytes) -> None:
    """The limits of classes that are not on SQLite."""
    size = len(key.encode("utf-8", "replace"))
    if size > MAX_KEY_BYTES:
        raise range_error(f"Keys cannot be larger than {MAX_KEY_BYTES} bytes. A key of size {size} was provided.")
    if len(data) > MAX_VALUE_BYTES + VALUE_SLACK_BYTES:
        raise range_error(
            f"Values cannot be larger than {MAX_VALUE_BYTES} bytes. A value of size {len(data)} was provided."
        )


def check_count(store: ObjectStore, count: int, what: str = "keys") -> None:
    if store.sqlite or not store.enforce_limits or count <= MAX_KEYS:
        return
    if what == "keys":
        raise range_error(f"Maximum number of keys is {MAX_KEYS}.")
    raise range_error(f"Maximum number of key value pairs is {MAX_KEYS}. {count} pairs were provided.")


class SyncKvStorage(JsProxy):
    """`ctx.storage.kv`."""

    js_name: ClassVar[str] = "SyncKvStorage"

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._listing: KvIterator | None = None

    def get(self, key: Any, _options: Any = None) -> Any:
        data = self._store.get(to_string(key))
        return None if data is None else v8.loads(data)

    def put(self, key: Any, value: Any = None, _options: Any = None) -> None:
        if value is None:
            raise type_error(UNDEFINED_VALUE)
        put(self._store, to_string(key), value)

    def delete(self, key: Any, _options: Any = None) -> bool:
        return self._store.delete(to_string(key))

    @options
    def list(self, wanted: Any = None) -> KvIterator:
        found = pairs(self._store, wanted)
        if self._listing is not None:
            self._listing._gone = True
        made: KvIterator = KvIterator.make(found)
        self._listing = made
        return made


class KvIterator(JsProxy):
    """Gives `[key, value]`; ends when another list is asked for."""

    js_name: ClassVar[str] = "ListIterator"

    def __init__(self, found: Sequence[tuple[str, bytes]]) -> None:
        self._pairs = iter(found)
        self._gone = False

    def js_properties(self) -> dict[str, Any]:
        return {}

    def __iter__(self) -> Iterator[JsArray]:
        return self

    def __next__(self) -> JsArray:
        if self._gone:
            raise error(ITERATOR_GONE)
        key, data = next(self._pairs)
        made: JsArray = JsArray.make([key, v8.loads(data)])
        return made

    def next(self) -> JsObject:
        pair = next(self, None)
        made: JsObject = JsObject.make({"done": pair is None, "value": pair})
        return made
