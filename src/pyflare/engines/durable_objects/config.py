"""What `durable_objects`, `migrations` and `exports` of the configuration mean, and the limits of Durable Objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import enforces_limits
from pyflare.config.model import WorkerConfig
from pyflare.engines.durable_objects.migrations import ObjectClass, Replay, Step

# workerd io/io-context.h, api/actor-state.c++, api/web-socket.c++ and
# developers.cloudflare.com/durable-objects/platform/limits/
BLOCK_CONCURRENCY_SECONDS = 30.0
MAX_NESTED_SECTIONS = 64
EVICT_AFTER_SECONDS = 10.0
MAX_TAGS = 10
MAX_TAG_CHARACTERS = 256
MAX_SOCKETS = 32_768
MAX_ATTACHMENT_BYTES = 16_384
MAX_AUTO_RESPONSE_BYTES = 2_048
MAX_EVENT_TIMEOUT_MS = 604_800_000
MAX_FACET_NAME_CHARACTERS = 256
MAX_FACET_DEPTH = 4
ALARM_WALL_SECONDS = 900.0
ALARM_RETRIES = 6
ALARM_FIRST_RETRY_SECONDS = 2.0
ALARM_JITTER = 0.25

# api/actor.c++; a hint has no effect on one machine.
LOCATION_HINTS = frozenset(("wnam", "enam", "sam", "weur", "eeur", "apac", "apac-ne", "apac-se", "oc", "afr", "me"))
JURISDICTIONS = ("eu", "fedramp", "fedramp-high", "us")


@dataclass(frozen=True)
class Binding:
    """One of `durable_objects.bindings`."""

    name: str
    class_name: str
    script_name: str | None = None  # None: a class of the worker itself


@dataclass(frozen=True)
class ObjectsConfig:
    """What one worker says of Durable Objects."""

    worker: str
    bindings: Sequence[Binding] = ()
    classes: Mapping[str, ObjectClass] = field(default_factory=dict)  # its own, by their present name
    steps: Sequence[Step] = ()
    entry: str = ""  # the entry file, for messages
    evict_after: float | None = None  # seconds, from [tool.pyflare]; 0: never
    enforce_limits: bool = True  # False: `limits = "warn"` under [tool.pyflare]


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> ObjectsConfig:
    """Faults carry their path; a bound class without a migration runs, with SQLite, and is warned of."""
    sections = config.sections
    replay = Replay(config.name, diagnostics)
    if sections.get("migrations") is not None:
        replay.migrations(sections["migrations"])
    if sections.get("exports") is not None:
        replay.exports(sections["exports"])
    bindings = _bindings(sections.get("durable_objects"), diagnostics)
    classes = dict(replay.classes)
    missing = []
    for binding in bindings:
        if binding.script_name in (None, config.name) and binding.class_name not in classes:
            classes[binding.class_name] = ObjectClass(binding.class_name, f"{config.name}-{binding.class_name}")
            missing.append(binding.class_name)
    if missing and not diagnostics.faulty(["migrations", "exports"]):
        diagnostics.warn(_without_migration(missing, replay))
    evict_after = config.tool.get("evict_after")
    if evict_after is not None and not isinstance(evict_after, (int, float)):
        diagnostics.fault("[tool.pyflare] evict_after", "must be a number of seconds")
        evict_after = None
    entry = str(config.main) if config.main else ""
    return ObjectsConfig(config.name, bindings, classes, replay.steps, entry, evict_after, enforces_limits(config))


def _without_migration(missing: Sequence[str], replay: Replay) -> str:
    deleted = {one.name: step.tag for step in replay.steps for one in step.deleted}
    gone = [f'{name} (deleted by the migration "{deleted[name]}")' for name in missing if name in deleted]
    if gone:
        return f"durable_objects.bindings: still bound: {', '.join(gone)}; Cloudflare refuses to deploy this"
    names = ", ".join(f'"{name}"' for name in missing)
    tag = f"v{len(replay.steps) + 1}"
    return (
        f"durable_objects: no migration for {', '.join(missing)}; a deploy needs this line: "
        f'"migrations": [{{ "tag": "{tag}", "new_sqlite_classes": [{names}] }}]'
    )


def _bindings(section: Any, diagnostics: Diagnostics) -> Sequence[Binding]:
    if section is None:
        return ()
    if not isinstance(section, Mapping):
        diagnostics.fault("durable_objects", "must be an object with `bindings`")
        return ()
    entries = section.get("bindings", [])
    if not isinstance(entries, list):
        diagnostics.fault("durable_objects.bindings", "must be an array of objects")
        return ()
    parsed = [_binding(f"durable_objects.bindings[{n}]", entry, diagnostics) for n, entry in enumerate(entries)]
    return [binding for binding in parsed if binding is not None]


def _binding(path: str, entry: Any, diagnostics: Diagnostics) -> Binding | None:
    if not isinstance(entry, Mapping):
        diagnostics.fault(path, "must be an object with `name` and `class_name`")
        return None
    found = len(diagnostics.faults)
    for key in ("name", "class_name"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            diagnostics.fault(f"{path}.{key}", "must be a text")
    script = entry.get("script_name")
    if script is not None and not isinstance(script, str):
        diagnostics.fault(f"{path}.script_name", "must be a text")
    if len(diagnostics.faults) > found:
        return None
    return Binding(entry["name"], entry["class_name"], script)
