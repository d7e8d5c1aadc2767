"""`await env.SECRET.get()`, and the stores behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyflare.engines.secrets.engine import SecretsStore
from pyflare.engines.secrets.store import NoSuchSecret
from pyflare.interop.errors import JsException
from tests.support.rooms import Bench, faults, settle

SECTIONS = {"secrets_store_secrets": [{"binding": "TOKEN", "store_id": "s1", "secret_name": "API_TOKEN"}]}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def room(bench: Bench) -> Iterator[SecretsStore]:
    room = bench.open(SecretsStore, SECTIONS)
    yield room
    room.close()


def test_an_unknown_secret_is_an_error_and_the_terminal_says_how_to_set_it(bench: Bench, room: SecretsStore) -> None:
    for _ in range(2):
        with pytest.raises(JsException, match=r'^Error: Secret "API_TOKEN" not found$'):
            settle(room.bindings("w")["TOKEN"].get())
    command = "pyflare secrets-store secret create s1 --name API_TOKEN --scopes workers"
    assert bench.terminal.getvalue().count(command) == 1


def test_a_secret_is_text(room: SecretsStore) -> None:
    room.store("s1").create("API_TOKEN", "hé")
    assert settle(room.bindings("w")["TOKEN"].get()) == "hé"


def test_the_table_of_bindings_says_what_is_not_set(room: SecretsStore) -> None:
    assert [row.where for row in room.rows("w")] == ["not set"]
    room.store("s1").create("API_TOKEN", "x")
    assert [row.where for row in room.rows("w")] == ["local"]


def test_an_update_keeps_the_id_and_a_new_value_for_a_name_does_not(room: SecretsStore) -> None:
    store = room.store("s1")
    first = store.create("A", "1")
    assert store.update(first.id, "2") == store.update(first.id, None) == first
    assert store.value("A") == "2"
    assert store.create("A", "3").id != first.id
    assert [secret.name for secret in store.secrets()] == ["A"]


def test_a_duplicate_has_the_value_and_an_id_of_its_own(room: SecretsStore) -> None:
    store = room.store("s1")
    first = store.create("A", "1")
    assert store.duplicate(first.id, "B").id != first.id
    assert store.value("B") == "1"


def test_an_id_that_no_secret_has(room: SecretsStore) -> None:
    store = room.store("s1")
    kept = store.create("A", "1")
    store.delete(kept.id)
    with pytest.raises(NoSuchSecret, match="Secret not found"):
        store.delete(kept.id)


def test_all_secrets_are_listed_however_many(room: SecretsStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyflare.engines.secrets.store.PAGE", 2)
    for name in "abcde":
        room.store("s1").create(name, "")
    assert "".join(secret.name for secret in room.store("s1").secrets()) == "abcde"


@pytest.mark.cloudflare("miniflare workers/secrets-store/secret.worker.ts")
def test_the_id_is_where_wrangler_looks_for_it(room: SecretsStore) -> None:
    kept = room.store("s1").create("A", "1")
    entry = room.store("s1")._kept.get("A", 0.0)
    assert entry is not None and json.loads(entry.metadata or "") == {"uuid": kept.id}


def test_the_panel_hides_values_and_can_set_them(room: SecretsStore) -> None:
    panel = room.panel()
    assert panel.tables[0].rows == [("API_TOKEN", "(not set)", "")]
    kept = panel.actions["create"].run(store="s1", name="API_TOKEN", value="x")
    assert room.panel().tables[0].rows == [("API_TOKEN", "(hidden)", kept["id"])]


def test_all_three_fields_are_required(tmp_path: Path) -> None:
    config = Bench(tmp_path).config({"secrets_store_secrets": [{"binding": "A"}]})
    assert len(faults(SecretsStore, config).faults) == 2
