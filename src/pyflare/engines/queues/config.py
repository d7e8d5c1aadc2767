"""What `queues` means in wrangler's configuration, with `[tool.pyflare.queues]` of the project's pyproject.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import Compat, WorkerConfig
from pyflare.errors import ConfigError

# developers.cloudflare.com/queues/platform/limits and queues/configuration/batching-retries
MAX_MESSAGE_BYTES = 128_000
MAX_BATCH_MESSAGES = 100
MAX_BATCH_BYTES = 256_000  # the local broker of wrangler lets 288,000 pass
MAX_DELAY_SECONDS = 86_400
MAX_RETRIES = 100
MAX_BATCH_TIMEOUT_SECONDS = 60
MAX_CONCURRENCY = 250
MAX_VISIBILITY_TIMEOUT_MS = 12 * 60 * 60 * 1000
MIN_RETENTION_SECONDS, MAX_RETENTION_SECONDS = 60, 14 * 86_400
RETENTION_NOTICE_SECONDS = 86_400.0  # how long before the end a line says so, a quarter of a shorter retention; ours
RETENTION_AGAIN_SECONDS = 60.0  # ours: between two looks at a message that is held past its time
CONSUMER_TIMEOUT_SECONDS = 15 * 60.0

DEFAULT_RETENTION_SECONDS = 4 * 86_400
DEFAULT_BATCH_SIZE = 10
DEFAULT_BATCH_TIMEOUT_SECONDS = 5
DEFAULT_RETRIES = 3
DEFAULT_PULL_SIZE = 5
DEFAULT_VISIBILITY_TIMEOUT_MS = 30_000
LOCAL_CONCURRENCY = 10  # ours: the cap when `max_concurrency` is not given


@dataclass(frozen=True)
class Producer:
    """`queues.producers[]`."""

    binding: str
    queue: str
    delivery_delay: int | None = None  # seconds; None: the queue's


@dataclass(frozen=True)
class Consumer:
    """`queues.consumers[]`; times in seconds unless the name says otherwise."""

    queue: str
    type: str = "worker"  # or "http_pull"
    max_batch_size: int = DEFAULT_BATCH_SIZE
    max_batch_timeout: float = DEFAULT_BATCH_TIMEOUT_SECONDS
    max_retries: int = DEFAULT_RETRIES
    retry_delay: int = 0
    dead_letter_queue: str | None = None
    max_concurrency: int = LOCAL_CONCURRENCY
    visibility_timeout_ms: int = DEFAULT_VISIBILITY_TIMEOUT_MS


@dataclass(frozen=True)
class QueuesConfig:
    """One worker's queues."""

    producers: Sequence[Producer] = ()
    consumers: Sequence[Consumer] = ()
    compat: Compat = field(default_factory=lambda: Compat("2026-08-01"))
    undecided: str = "ack"  # what becomes of messages without a decision when the handler returns: "ack" or "retry"
    consumer_timeout: float = CONSUMER_TIMEOUT_SECONDS
    enforce_limits: bool = True  # False: `limits = "warn"` under [tool.pyflare]


NUMBERS = {  # key of a consumer -> least, greatest
    "max_batch_size": (1, MAX_BATCH_MESSAGES),
    "max_batch_timeout": (0, MAX_BATCH_TIMEOUT_SECONDS),
    "max_retries": (0, MAX_RETRIES),
    "retry_delay": (0, MAX_DELAY_SECONDS),
    "max_concurrency": (1, MAX_CONCURRENCY),
    "visibility_timeout_ms": (0, MAX_VISIBILITY_TIMEOUT_MS),
}
FRACTIONS = ("max_batch_timeout", "consumer_timeout")  # these may be parts of a second; the others are whole
TYPES = ("worker", "http_pull")
VALID_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")  # queues/get-started
NAME_RULE = "a name has 1 to 63 letters, digits and dashes, and a letter or digit at both ends"


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> QueuesConfig:
    """The `queues` section of one worker; faults carry their path."""
    section = config.sections.get("queues") or {}
    if not isinstance(section, Mapping):
        diagnostics.fault("queues", f'must be an object with "producers" and "consumers", not {_kind(section)}')
        section = {}
    reader = _Reader(diagnostics)
    for key in section:
        if key not in ("producers", "consumers"):
            diagnostics.warn(f"Unknown key queues.{key}")
    producers = [reader.producer(path, item) for path, item in reader.items(section, "producers")]
    consumers = [reader.consumer(path, item) for path, item in reader.items(section, "consumers")]
    undecided, timeout = reader.tool(config.tool.get("queues", {}))
    return QueuesConfig(
        tuple(producer for producer in producers if producer is not None),
        tuple(consumer for consumer in consumers if consumer is not None),
        config.compat,
        undecided,
        timeout,
        config.tool.get("limits") != "warn",
    )


class _Reader:
    """Reads values and says what is wrong with them."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self.diagnostics = diagnostics

    def items(self, section: Mapping[str, Any], key: str) -> Sequence[tuple[str, Any]]:
        value = section.get(key) or []
        if not isinstance(value, list):
            self.diagnostics.fault(f"queues.{key}", f"must be a list, not {_kind(value)}")
            return []
        return [(f"queues.{key}[{at}]", item) for at, item in enumerate(value)]

    def producer(self, path: str, item: Any) -> Producer | None:
        if not self.is_object(path, item):
            return None
        binding, queue = self.text(path, item, "binding"), self.name(path, item, "queue")
        delay = None
        if item.get("delivery_delay") is not None:
            delay = int(self.number(path, item, "delivery_delay", 0, 0, MAX_DELAY_SECONDS))
        return Producer(binding, queue, delay) if binding and queue else None

    def consumer(self, path: str, item: Any) -> Consumer | None:
        if not self.is_object(path, item):
            return None
        queue = self.name(path, item, "queue")
        kind = item.get("type") or "worker"
        if kind not in TYPES:
            self.diagnostics.fault(f"{path}.type", f'must be "worker" or "http_pull", not {kind!r}')
        dead = self.name(path, item, "dead_letter_queue") if item.get("dead_letter_queue") is not None else None
        if dead and dead == queue:
            self.diagnostics.fault(
                f"{path}.dead_letter_queue", f'Dead letter queue for queue "{queue}" cannot be itself'
            )
        numbers: dict[str, Any] = {
            key: self.number(path, item, key, getattr(Consumer, key), *span)
            for key, span in NUMBERS.items()
            if item.get(key) is not None
        }
        return Consumer(queue, kind, dead_letter_queue=dead, **numbers) if queue else None

    def tool(self, settings: Any) -> tuple[str, float]:
        """`[tool.pyflare.queues]`: `undecided`, `consumer_timeout` (seconds)."""
        if not isinstance(settings, Mapping):
            self.diagnostics.fault("tool.pyflare.queues", f"must be a table, not {_kind(settings)}")
            return "ack", CONSUMER_TIMEOUT_SECONDS
        for key in settings:
            if key not in ("undecided", "consumer_timeout"):
                self.diagnostics.warn(f"Unknown key tool.pyflare.queues.{key}")
        undecided = settings.get("undecided", "ack")
        if undecided not in ("ack", "retry"):
            self.diagnostics.fault("tool.pyflare.queues.undecided", f'must be "ack" or "retry", not {undecided!r}')
            undecided = "ack"
        timeout = self.number(
            "tool.pyflare.queues", settings, "consumer_timeout", CONSUMER_TIMEOUT_SECONDS, 1, CONSUMER_TIMEOUT_SECONDS
        )
        return undecided, timeout

    def is_object(self, path: str, item: Any) -> bool:
        if not isinstance(item, Mapping):
            self.diagnostics.fault(path, f"must be an object, not {_kind(item)}")
            return False
        return True

    def text(self, path: str, item: Mapping[str, Any], key: str) -> str:
        value = item.get(key)
        if isinstance(value, str) and value:
            return value
        problem = "is missing" if value is None else f"must be a non-empty string, not {value!r}"
        self.diagnostics.fault(f"{path}.{key}", problem)
        return ""

    def name(self, path: str, item: Mapping[str, Any], key: str) -> str:
        """Of a queue; one that Cloudflare would not make works here."""
        found = self.text(path, item, key)
        if found and not VALID_NAME.fullmatch(found):
            self.diagnostics.warn(f'{path}.{key}: Cloudflare makes no queue called "{found}": {NAME_RULE}')
        return found

    def number(
        self, path: str, item: Mapping[str, Any], key: str, default: float, least: float, greatest: float
    ) -> float:
        value = item.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.diagnostics.fault(f"{path}.{key}", f"must be a number, not {_kind(value)}")
            return default
        if not least <= value <= greatest:
            span = f"{least:.12g} and {greatest:.12g}"
            self.diagnostics.fault(f"{path}.{key}", f"must be between {span}, not {value:.12g}")
            return default
        if isinstance(value, float) and not value.is_integer() and key not in FRACTIONS:
            self.diagnostics.fault(f"{path}.{key}", f"must be a whole number, not {value:g}")
            return default
        return value if key in FRACTIONS else int(value)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), repr(value))


def agree(configs: Mapping[str, QueuesConfig]) -> None:
    """Raise ConfigError when a queue has two consumers: only all configurations together show that."""
    owners: dict[str, str] = {}
    faults = []
    for worker, config in configs.items():
        for consumer in config.consumers:
            owner = owners.setdefault(consumer.queue, worker)
            if owner is not worker or sum(other.queue == consumer.queue for other in config.consumers) > 1:
                faults.append(f'Multiple consumers defined for queue "{consumer.queue}": "{owner}" and "{worker}"')
    if faults:
        raise ConfigError(*dict.fromkeys(faults))
