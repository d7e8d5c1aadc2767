"""`env.VERSION`."""

from __future__ import annotations

import uuid
from pathlib import Path

from pyflare.engines.version_metadata.engine import VersionMetadata
from tests.support.rooms import Bench, faults

SECTIONS = {"version_metadata": {"binding": "VERSION"}}


def test_a_version_has_an_id_no_tag_and_the_time_of_the_start(tmp_path: Path) -> None:
    version = Bench(tmp_path).open(VersionMetadata, SECTIONS).bindings("w")["VERSION"]
    assert uuid.UUID(version.id).version == 4
    assert (version.tag, version.timestamp) == ("", "2023-11-14T22:13:20.000Z")


def test_without_the_key_there_is_no_binding(tmp_path: Path) -> None:
    assert Bench(tmp_path).open(VersionMetadata, {}).bindings("w") == {}


def test_a_list_is_a_fault(tmp_path: Path) -> None:
    assert faults(VersionMetadata, Bench(tmp_path).config({"version_metadata": []})).faults != []
