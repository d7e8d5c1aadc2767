"""The cache room: one cache for all workers, and named ones beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import Action, Engine, EngineContext, Panel, Table
from pyflare.engines.cache.binding import CacheStorage
from pyflare.engines.cache.matching import answer
from pyflare.engines.cache.policy import Verdict, is_web, judge
from pyflare.engines.cache.store import from_entry, open_cache, to_metadata
from pyflare.interop.containers import to_text
from pyflare.interop.proxy import get
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.storage.keyvalue import KeyValueStore

SHOWN_ENTRIES = 100
NOT_MODIFIED = (
    "Ignoring attempt to Cache.put() a 304 status response. 304 responses are not meaningful to cache, and a potential "
    "source of bugs. Consider validating that the response status is meaningful to cache before calling Cache.put()."
)


class NamedCache:
    """One cache. An answer that may not be kept is let go without a word, as on Cloudflare."""

    def __init__(self, store: KeyValueStore, now: Callable[[], float], warn: Callable[[str], None]) -> None:
        self.store = store
        self._now = now
        self._warn = warn

    def match(self, request: Request) -> Response | None:
        now = self._now()
        entry = self.store.get(cache_key(request), now)
        stored = None if entry is None else from_entry(entry)
        return None if stored is None else answer(request, stored, self.store.blobs, now)

    def put(self, request: Request, response: Response, body: bytes) -> None:
        verdict = self._judge(request, response)
        if verdict is None:
            return
        headers = {**verdict.headers, "content-length": str(len(body))}
        metadata = to_metadata(response.status, list(headers.items()), len(body))
        self.store.put(cache_key(request), body, self._now(), self._now() + verdict.lifetime, metadata)

    async def put_stream(
        self, request: Request, response: Response, chunks: AsyncIterator[bytes], length: int | None
    ) -> None:
        """`length`: what the body promises to have, which alone gives the answer a `content-length`."""
        verdict = self._judge(request, response)
        writer = self.store.blobs.writer(self._now())
        try:
            async for chunk in chunks:
                if verdict is not None:
                    writer.write(chunk)
        except BaseException:
            writer.abort()
            raise
        if verdict is None:
            writer.abort()
            return
        headers = {name: value for name, value in verdict.headers.items() if name != "content-length"}
        if length is not None:
            headers["content-length"] = str(length)
        metadata = to_metadata(response.status, list(headers.items()), writer.size)
        self.store.put_written(cache_key(request), writer, self._now() + verdict.lifetime, metadata)

    def delete(self, request: Request) -> bool:
        return self.store.delete(cache_key(request), self._now())

    def _judge(self, request: Request, response: Response) -> Verdict | None:
        """None: the answer is not kept."""
        if response.status == 304:
            self._warn(NOT_MODIFIED)
            return None
        if not is_web(request.url):
            return None
        headers = dict(response.headers.combined())
        verdict = judge(response.status, headers, request.headers.first("authorization") is not None, self._now())
        if verdict.storable and verdict.lifetime <= 0:
            # What is stale from the start takes the place of what was there.
            self.delete(request)
        return verdict if verdict.storable and verdict.lifetime > 0 else None


def cache_key(request: Request) -> str:
    """The URL without its fragment, or what `cf.cacheKey` says."""
    own = get(request.cf, "cacheKey")
    return to_text(own) if own else request.url.partition("#")[0]


class Cache(Engine):
    keys: ClassVar[Sequence[str]] = ()

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> None:
        return None

    def __init__(self, configs: Mapping[str, None], ctx: EngineContext) -> None:
        self._ctx = ctx
        self._caches: dict[str | None, NamedCache] = {}
        self.storage: CacheStorage = CacheStorage.make(self.cache)

    def cache(self, name: str | None = None) -> NamedCache:
        """The cache of a name; None: the default one."""
        cache = self._caches.get(name)
        if cache is None:
            cache = NamedCache(open_cache(self._ctx.storage, name), self._ctx.clock.now, self._warn)
            self._caches[name] = cache
        return cache

    def panel(self) -> Panel:
        tables = []
        for name, cache in self._caches.items():
            entries, _ = cache.store.list(self._ctx.clock.now(), limit=SHOWN_ENTRIES)
            rows = [[entry.key, None if entry.expiration is None else entry.expiration // 1000] for entry in entries]
            tables.append(Table("default" if name is None else name, ("key", "expires"), rows))
        purge = Action("purge", lambda cache="": self.cache(cache or None).store.clear(), ("cache",))
        return Panel("Cache", tables, {"purge": purge})

    def close(self) -> None:
        for cache in self._caches.values():
            cache.store.close()
        self._caches.clear()

    def _warn(self, text: str) -> None:
        self._ctx.log.warn(text)
