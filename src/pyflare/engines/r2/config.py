"""`r2_buckets` of the configuration, and R2's limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import check, enforces_limits, entries
from pyflare.config.model import WorkerConfig

# developers.cloudflare.com/r2/platform/limits and r2/api/workers/workers-api-reference
MAX_KEY_BYTES = 1024
MAX_METADATA_BYTES = 2048
MAX_OBJECT_BYTES = 5 * 1024**3 - 5 * 1024**2
MAX_LIST_OBJECTS = 1000
MAX_LIST_OBJECTS_WITH_METADATA = 100
MAX_DELETED_KEYS = 1000
MAX_PARTS = 10_000
MIN_PART_BYTES = 5 * 1024 * 1024

NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")  # developers.cloudflare.com/r2/buckets/create-buckets
NAMING = (
    "Bucket names must begin and end with an alphanumeric character, only contain lowercase letters, numbers, and "
    "hyphens, and be between 3 and 63 characters long."
)


@dataclass(frozen=True)
class Credentials:
    """Who may use the S3 endpoint of a bucket."""

    access_key_id: str
    secret_access_key: str


@dataclass(frozen=True)
class R2Binding:
    name: str
    bucket: str  # the name of the storage
    credentials: Credentials | None = None


@dataclass(frozen=True)
class R2Config:
    bindings: Sequence[R2Binding] = ()
    enforce_limits: bool = True


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> R2Config:
    found = entries(
        config,
        "r2_buckets",
        diagnostics,
        required={"binding": str},
        optional={"bucket_name": str, "preview_bucket_name": str, "jurisdiction": str, "local_dev": dict},
    )
    bindings = []
    for path, entry in found:
        _check_names(path, entry, diagnostics)
        bindings.append(
            R2Binding(
                entry["binding"],
                entry.get("preview_bucket_name") or entry.get("bucket_name") or entry["binding"],
                _credentials(f"{path}.local_dev", entry.get("local_dev") or {}, diagnostics),
            )
        )
    return R2Config(bindings, enforces_limits(config))


def _check_names(path: str, entry: Mapping[str, Any], diagnostics: Diagnostics) -> None:
    for key in ("bucket_name", "preview_bucket_name"):
        name = entry.get(key)
        if name is not None and not NAME.fullmatch(name):
            diagnostics.fault(f"{path}.{key}", f'"{name}" is invalid. {NAMING}')


def _credentials(path: str, section: dict[str, object], diagnostics: Diagnostics) -> Credentials | None:
    given = section.get("experimental_s3_credentials")
    if given is None:
        return None
    path += ".experimental_s3_credentials"
    if not isinstance(given, dict):
        diagnostics.fault(path, "The field should be an object.")
        return None
    fields = {"accessKeyId": str, "secretAccessKey": str}
    if not check(path, given, diagnostics, required=fields, optional={}):
        return None
    return Credentials(given["accessKeyId"], given["secretAccessKey"])
