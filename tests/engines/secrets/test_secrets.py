"""`await env.SECRET.get()`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyflare.engines.secrets.engine import SecretsStore
from pyflare.interop.errors import JsException
from tests.support.rooms import Bench, faults, settle

SECTIONS = {"secrets_store_secrets": [{"binding": "TOKEN", "store_id": "s1", "secret_name": "API_TOKEN"}]}


@pytest.fixture
def room(tmp_path: Path) -> Iterator[SecretsStore]:
    room = Bench(tmp_path).open(SecretsStore, SECTIONS)
    yield room
    room.close()


def test_an_unknown_secret_is_an_error(room: SecretsStore) -> None:
    with pytest.raises(JsException, match='Error: Secret "API_TOKEN" not found'):
        settle(room.bindings("w")["TOKEN"].get())


def test_a_secret_is_text(room: SecretsStore) -> None:
    room.write("s1", "API_TOKEN", "hé")
    assert settle(room.bindings("w")["TOKEN"].get()) == "hé"


def test_the_panel_hides_values_and_can_set_them(room: SecretsStore) -> None:
    room.panel().actions["put"].run("s1", "API_TOKEN", "x")
    assert room.panel().tables[0].rows == [["API_TOKEN", "(hidden)"]]


def test_all_three_fields_are_required(tmp_path: Path) -> None:
    config = Bench(tmp_path).config({"secrets_store_secrets": [{"binding": "A"}]})
    assert len(faults(SecretsStore, config).faults) == 2
