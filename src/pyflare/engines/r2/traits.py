"""Storage class and encryption key of an object, for which wrangler's tables have no column.

They are kept among the HTTP metadata, under names that wrangler's local mode skips when it reads them. Objects with a
key are stored as they are: it is the MD5 of the key that is asked for when they are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

STANDARD, INFREQUENT_ACCESS = "Standard", "InfrequentAccess"
STORAGE_CLASS, KEY_MD5 = "storageClass", "ssecKeyMd5"
SSEC_KEY_BYTES = 32


def written(http_metadata: Mapping[str, str | int], storage_class: str, key_md5: str | None) -> str:
    """What is stored as HTTP metadata: JSON."""
    kept = dict(http_metadata)
    if storage_class != STANDARD:
        kept[STORAGE_CLASS] = storage_class
    if key_md5 is not None:
        kept[KEY_MD5] = key_md5
    return to_json(kept)


def to_json(value: Mapping[str, str | int]) -> str:
    """Metadata as it is stored."""
    return json.dumps(dict(value), separators=(",", ":"), ensure_ascii=False) if value else "{}"


def http_metadata(stored: str) -> dict[str, str | int]:
    """The HTTP metadata alone."""
    kept: dict[str, str | int] = json.loads(stored)
    return {name: value for name, value in kept.items() if name not in (STORAGE_CLASS, KEY_MD5)}


def storage_class(stored: str) -> str:
    return _kept(stored, STORAGE_CLASS) or STANDARD


def key_md5(stored: str) -> str | None:
    """In hex; None: the object is not encrypted."""
    return _kept(stored, KEY_MD5)


def _kept(stored: str, name: str) -> str | None:
    if name not in stored:
        return None
    found: dict[str, Any] = json.loads(stored)
    return found.get(name)
