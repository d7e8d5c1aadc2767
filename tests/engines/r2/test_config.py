"""`r2_buckets` of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyflare.engines.r2.engine import R2
from tests.support.rooms import Bench, faults

NAMING = (
    "Bucket names must begin and end with an alphanumeric character, only contain lowercase letters, numbers, and "
    "hyphens, and be between 3 and 63 characters long."
)


def found(folder: Path, **fields: str) -> list[str]:
    return faults(R2, Bench(folder).config({"r2_buckets": [{"binding": "B", **fields}]})).faults


@pytest.mark.cloudflare("r2/buckets/create-buckets")
@pytest.mark.parametrize("name", ["UP_per", "ab", "-abc", "abc-", "a.b", "a" * 64, ""])
def test_a_bucket_that_cannot_be_called_so_is_a_fault(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, bucket_name=name) == [f'r2_buckets[0].bucket_name: "{name}" is invalid. {NAMING}']


def test_the_bucket_of_previews_is_looked_at_too(tmp_path: Path) -> None:
    [fault] = found(tmp_path, bucket_name="good", preview_bucket_name="Bad")
    assert fault.startswith('r2_buckets[0].preview_bucket_name: "Bad" is invalid.')


@pytest.mark.parametrize("fields", [{}, {"bucket_name": "abc"}, {"bucket_name": "0-" + "a" * 61}])
def test_a_good_name_or_none_is_fine(tmp_path: Path, fields: dict[str, str]) -> None:
    assert found(tmp_path, **fields) == []
