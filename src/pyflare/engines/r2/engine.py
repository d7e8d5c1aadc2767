"""The R2 room: the buckets of all workers, each opened when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.r2 import panel
from pyflare.engines.r2.binding import R2Bucket
from pyflare.engines.r2.bucket import Bucket
from pyflare.engines.r2.config import Credentials, R2Binding, R2Config, parse
from pyflare.engines.r2.store import UNIQUE_KEY, ObjectStore
from pyflare.storage.blobs import BlobStore

if TYPE_CHECKING:
    from pyflare.engines.r2.http import Asgi

S3_PREFIX = "/cdn-cgi/local/r2/s3"
PUBLIC_PREFIX = "/cdn-cgi/local/r2/public"


class R2(Engine):
    keys: ClassVar[Sequence[str]] = ("r2_buckets",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> R2Config:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, R2Config], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx
        self._buckets: dict[str, Bucket] = {}

    def bucket(self, name: str, enforce_limits: bool = True) -> Bucket:
        """The bucket of a name, whether or not a worker is bound to it."""
        bucket = self._buckets.get(name)
        if bucket is None:
            layout = self._ctx.storage
            store = ObjectStore(layout.simulator("r2", UNIQUE_KEY, name), layout.durability)
            blobs = BlobStore(layout.blobs("r2", name), layout.durability)
            bucket = Bucket(store, blobs, self._ctx.clock.now, self._warn, enforce_limits)
            self._buckets[name] = bucket
        return bucket

    @property
    def bucket_names(self) -> Sequence[str]:
        """The buckets that workers are bound to, in the order of the configuration."""
        found = (binding.bucket for config in self._configs.values() for binding in config.bindings)
        return list(dict.fromkeys(found))

    def credentials(self, bucket: str) -> Credentials | None:
        """Who may use the S3 endpoint of a bucket; None: anybody on this machine."""
        bindings = (binding for config in self._configs.values() for binding in config.bindings)
        return next(
            (binding.credentials for binding in bindings if binding.bucket == bucket and binding.credentials), None
        )

    def bound(self, worker: str) -> Sequence[R2Binding]:
        return self._configs[worker].bindings

    def now(self) -> float:
        return self._ctx.clock.now()

    def mounts(self) -> Mapping[str, Callable[[], Asgi]]:
        """Control paths that the room answers by itself."""
        return {S3_PREFIX: self._s3, PUBLIC_PREFIX: self._public}

    def _s3(self) -> Asgi:
        from pyflare.engines.r2.s3 import s3_app  # noqa: PLC0415  (few projects ask for it)

        return s3_app(self)

    def _public(self) -> Asgi:
        from pyflare.engines.r2.public import public_app  # noqa: PLC0415  (few projects ask for it)

        return public_app(self)

    def bindings(self, worker: str) -> Mapping[str, Any]:
        config = self._configs[worker]
        return {
            binding.name: R2Bucket.make(self.bucket(binding.bucket, config.enforce_limits))
            for binding in config.bindings
        }

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [BindingRow(binding.name, "R2 Bucket", binding.bucket) for binding in self._configs[worker].bindings]

    def panel(self) -> Panel:
        return panel.of(self)

    def close(self) -> None:
        for bucket in self._buckets.values():
            bucket.close()
        self._buckets.clear()

    def _warn(self, text: str) -> None:
        self._ctx.log.once("warn", text, text)
