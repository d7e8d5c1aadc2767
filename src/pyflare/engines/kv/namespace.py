"""One namespace and its rules. Times in seconds; metadata is JSON text; refusals are Cloudflare's words.

Values are bytes here: what JavaScript makes of them is the binding's business.
"""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyflare.engines.kv.config import (
    MAX_BULK_BYTES,
    MAX_BULK_KEYS,
    MAX_KEY_BYTES,
    MAX_LIST_KEYS,
    MAX_METADATA_BYTES,
    MAX_VALUE_BYTES,
    MIN_CACHE_TTL_SECONDS,
    MIN_TTL_SECONDS,
    WRITE_INTERVAL_SECONDS,
)
from pyflare.interop.errors import JsException, error, type_error
from pyflare.storage.blobs import BlobWriter
from pyflare.storage.keyvalue import Entry, KeyValueStore

NOT_OF_KIND = "At least one of the requested keys corresponds to a non-{kind} value"  # of a bulk read
REMEMBERED_WRITES = 10_000
NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]+")


@dataclass(frozen=True, slots=True)
class Value:
    """What a key holds; `expiration` in whole seconds."""

    data: bytes
    metadata: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    entries: Sequence[Entry]
    cursor: str | None  # None: the list is complete


def described(entry: Entry, parse: Callable[[str], Any]) -> dict[str, Any]:
    """A key as lists show it, the expiration in seconds; `parse` reads the metadata, which is JSON."""
    shown: dict[str, Any] = {"name": entry.key}
    if entry.expiration is not None:
        shown["expiration"] = entry.expiration // 1000
    if entry.metadata is not None:
        shown["metadata"] = parse(entry.metadata)
    return shown


def failed(method: str, status: int, message: str) -> JsException:
    return error(f"KV {method} failed: {status} {message}")


class Namespace:
    """Reads and writes of one namespace.

    `lag` is for tests: for so many seconds after a write, readers still see what was there before, as they may on
    Cloudflare. All reads of values go through `read`.
    """

    def __init__(
        self, store: KeyValueStore, now: Callable[[], float], warn: Callable[[str], None], enforce_limits: bool = True
    ) -> None:
        self.store = store
        self.lag = 0.0
        self._now = now
        self._warn = warn
        self._enforce = enforce_limits
        self._written: dict[str, float] = {}
        self._before: dict[str, tuple[float, Value | None]] = {}

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self, key: str) -> Value | None:
        """The value that a reader sees; None when there is none."""
        now = self._now()
        if key in self._before:
            until, value = self._before[key]
            if now < until:
                return value
            del self._before[key]
        return self._current(key, now)

    def _current(self, key: str, now: float) -> Value | None:
        entry = self.store.get(key, now)
        if entry is None:
            return None
        data = self.store.blobs.read(entry.blob_id)
        return None if data is None else Value(data, entry.metadata)

    def get(self, key: str, cache_ttl: int | None = None) -> Value | None:
        check_key("GET", key)
        _check_cache_ttl("GET", cache_ttl)
        return self.read(key)

    def get_many(self, keys: Sequence[str], kind: str, cache_ttl: int | None = None) -> list[tuple[str, Value | None]]:
        """The values of up to 100 keys; `kind` is "text" (as is "") or "json"."""
        if kind not in ("", "text", "json"):
            raise failed("GET_BULK", 400, f'"{kind}" is not a valid type. Use "json" or "text"')
        if len(keys) > MAX_BULK_KEYS:
            raise failed("GET_BULK", 400, f"You can request a maximum of {MAX_BULK_KEYS} keys")
        if not keys:
            raise failed("GET_BULK", 400, "You must request a minimum of 1 key")
        found: list[tuple[str, Value | None]] = []
        total = 0
        for key in keys:
            _check_bulk_key(key)
            _check_cache_ttl("GET_BULK", cache_ttl)
            value = self.read(key)
            total += 0 if value is None else len(value.data)
            found.append((key, value))
        if total > MAX_BULK_BYTES:
            self._limit("GET_BULK", 413, "Total size of request exceeds the limit of 25MB")
        return found

    def list(self, prefix: str = "", limit: int = MAX_LIST_KEYS, cursor: str | None = None) -> Page:
        if limit < 1:
            raise failed("GET", 400, f"Invalid key_count_limit of {limit}. Please specify an integer greater than 0.")
        if limit > MAX_LIST_KEYS:
            raise failed(
                "GET", 400, f"Invalid key_count_limit of {limit}. Please specify an integer less than {MAX_LIST_KEYS}."
            )
        if len(prefix.encode()) > MAX_KEY_BYTES:
            raise failed("GET", 414, _too_long(prefix))
        found, more = self.store.list(self._now(), prefix, _decode_cursor(cursor), limit)
        return Page(found, base64.b64encode(found[-1].key.encode()).decode() if more else None)

    # --- writing ------------------------------------------------------------------------------------------------------

    def expiry(self, expiration: int | None, ttl: int | None) -> float | None:
        """When a value ends, of `expiration` and `expirationTtl`; the latter wins without a look at the former."""
        now = int(self._now())
        if ttl is not None:
            if ttl <= 0:
                raise failed("PUT", 400, f"Invalid expiration_ttl of {ttl}. Please specify integer greater than 0.")
            if ttl < MIN_TTL_SECONDS:
                raise failed(
                    "PUT", 400, f"Invalid expiration_ttl of {ttl}. Expiration TTL must be at least {MIN_TTL_SECONDS}."
                )
            return now + ttl
        if expiration is None:
            return None
        if expiration <= now:
            raise failed(
                "PUT",
                400,
                f"Invalid expiration of {expiration}. Please specify integer greater than the current number of "
                "seconds since the UNIX epoch.",
            )
        if expiration < now + MIN_TTL_SECONDS:
            raise failed(
                "PUT",
                400,
                f"Invalid expiration of {expiration}. Expiration times must be at least {MIN_TTL_SECONDS} seconds in "
                "the future.",
            )
        return expiration

    def check_metadata(self, metadata: str | None) -> None:
        length = 0 if metadata is None else len(metadata.encode())
        if length > MAX_METADATA_BYTES:
            self._limit("PUT", 413, f"Metadata length of {length} exceeds limit of {MAX_METADATA_BYTES}.")

    def check_size(self, length: int) -> None:
        if length > MAX_VALUE_BYTES:
            self._limit("PUT", 413, f"Value length of {length} exceeds limit of {MAX_VALUE_BYTES}.")

    def put(self, key: str, value: bytes, expiration: float | None = None, metadata: str | None = None) -> None:
        """Write a value whose key, expiry and metadata were checked."""
        self.check_size(len(value))
        self._about_to_write(key)
        self.store.put(key, value, self._now(), expiration, metadata)

    async def put_stream(
        self, key: str, chunks: AsyncIterator[bytes], expiration: float | None, metadata: str | None
    ) -> None:
        """Like `put`, of a value that comes in pieces; what is too large is read to its end, to name its length."""
        writer: BlobWriter = self.store.blobs.writer(self._now())
        length = 0
        try:
            async for chunk in chunks:
                length += len(chunk)
                if length <= MAX_VALUE_BYTES or not self._enforce:
                    writer.write(chunk)
            self.check_size(length)
            self._about_to_write(key)
        except BaseException:
            writer.abort()
            raise
        self.store.put_written(key, writer, expiration, metadata)

    def write(
        self,
        key: str,
        value: bytes,
        expiration: int | None = None,
        ttl: int | None = None,
        metadata: str | None = None,
    ) -> None:
        """`put` with all checks."""
        check_key("PUT", key)
        ends = self.expiry(expiration, ttl)
        self.check_metadata(metadata)
        self.put(key, value, ends, metadata)

    def remove(self, key: str) -> None:
        """`delete` with its check."""
        check_key("DELETE", key)
        self.delete(key)

    def delete(self, key: str) -> None:
        self._about_to_write(key)
        self.store.delete(key, self._now())

    def _about_to_write(self, key: str) -> None:
        now = self._now()
        if now - self._written.get(key, -WRITE_INTERVAL_SECONDS) < WRITE_INTERVAL_SECONDS:
            self._warn(
                f'KV takes one write a second to the same key; "{key}" was written again sooner. On Cloudflare the '
                "second write fails with 429 Too Many Requests."
            )
        if len(self._written) >= REMEMBERED_WRITES:
            self._written.clear()
        self._written[key] = now
        if self.lag and (key not in self._before or self._before[key][0] <= now):
            self._before[key] = (now + self.lag, self._current(key, now))

    def _limit(self, method: str, status: int, message: str) -> None:
        if self._enforce:
            raise failed(method, status, message)
        self._warn(f"KV {method} would fail: {status} {message}")


def check_key(method: str, key: str) -> None:
    """The rules of key names, as the runtime applies them before it asks the service."""
    if not key:
        raise type_error("Key name cannot be empty.")
    if key in (".", ".."):
        raise type_error(f'"{key}" is not allowed as a key name.')
    if len(key) * 4 > MAX_KEY_BYTES and len(key.encode()) > MAX_KEY_BYTES:
        raise failed(method, 414, _too_long(key))


def _check_bulk_key(key: str) -> None:
    """The same rules in the words of the service, which alone sees the keys of a bulk read."""
    if not key:
        raise failed("GET_BULK", 400, "Key names must not be empty")
    if key in (".", ".."):
        raise failed("GET_BULK", 400, f'Illegal key name "{key}". Please use a different name.')
    if len(key.encode()) > MAX_KEY_BYTES:
        raise failed("GET_BULK", 414, _too_long(key))


def _check_cache_ttl(method: str, seconds: int | None) -> None:
    if seconds is not None and seconds < MIN_CACHE_TTL_SECONDS:
        raise failed(
            method, 400, f"Invalid cache_ttl of {seconds}. Cache TTL must be at least {MIN_CACHE_TTL_SECONDS}."
        )


def _too_long(key: str) -> str:
    return f"UTF-8 encoded length of {len(key.encode())} exceeds key length limit of {MAX_KEY_BYTES}."


def _decode_cursor(cursor: str | None) -> str:
    """The key behind which a page begins. Any text will do, as on wrangler: what is not base64 is passed over."""
    text = NOT_BASE64.sub("", (cursor or "").partition("=")[0].replace("-", "+").replace("_", "/"))
    whole = text[:-1] if len(text) % 4 == 1 else text
    return base64.b64decode(whole + "==").decode("utf-8", "replace")
