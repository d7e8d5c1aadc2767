"""The key-value store of KV, cache and secrets."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.storage.keyvalue import KeyValueStore, end_of_prefix

NOW = 100.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KeyValueStore]:
    (tmp_path / "blobs").mkdir()
    store = KeyValueStore(tmp_path / "kv.sqlite", tmp_path / "blobs")
    yield store
    store.close()


def value(store: KeyValueStore, key: str, now: float = NOW) -> bytes | None:
    entry = store.get(key, now)
    return None if entry is None else store.blobs.read(entry.blob_id)


def names(store: KeyValueStore, **query: object) -> list[str]:
    entries, _ = store.list(NOW, **query)  # type: ignore[arg-type]
    return [entry.key for entry in entries]


def test_a_missing_key_is_none(store: KeyValueStore) -> None:
    assert store.get("a", NOW) is None


def test_what_was_put_is_got(store: KeyValueStore) -> None:
    store.put("a", b"1", NOW, metadata='{"n":1}')
    entry = store.get("a", NOW)
    assert entry is not None
    assert (value(store, "a"), entry.metadata) == (b"1", '{"n":1}')


def test_an_overwritten_value_leaves_one_file(store: KeyValueStore) -> None:
    store.put("a", b"1", NOW)
    store.put("a", b"2", NOW)
    assert value(store, "a") == b"2"
    store.blobs.close()
    assert len(list(store.blobs.folder.iterdir())) == 1


def test_overwriting_often_leaves_one_file_to_write_over(store: KeyValueStore) -> None:
    for number in range(5):
        store.put("a", b"%d" % number, NOW)
    assert value(store, "a") == b"4"
    assert len(list(store.blobs.folder.iterdir())) <= 2


def test_an_overwritten_value_may_get_and_lose_an_expiry(store: KeyValueStore) -> None:
    store.put("a", b"1", NOW)
    store.put("a", b"2", NOW, expiration=NOW + 60)
    assert value(store, "a", NOW + 61) is None
    store.put("b", b"1", NOW, expiration=NOW + 60)
    store.put("b", b"2", NOW)
    assert value(store, "b", NOW + 61) == b"2"


def test_an_expired_entry_is_gone_with_its_file(store: KeyValueStore) -> None:
    store.put("a", b"1", NOW, expiration=NOW + 60)
    assert value(store, "a", NOW + 59.9) == b"1"
    assert value(store, "a", NOW + 60) is None
    assert list(store.blobs.folder.iterdir()) == []


def test_delete_tells_whether_there_was_a_live_entry(store: KeyValueStore) -> None:
    store.put("a", b"1", NOW)
    store.put("b", b"1", NOW, expiration=NOW + 60)
    assert [store.delete("a", NOW), store.delete("a", NOW), store.delete("b", NOW + 61)] == [True, False, False]


def test_list_is_in_byte_order(store: KeyValueStore) -> None:
    for key in ("b", "B", "é", "😀", "\uffee", "10", "9"):
        store.put(key, b"", NOW)
    assert names(store) == ["10", "9", "B", "b", "é", "\uffee", "😀"]


def test_list_goes_on_behind_a_key(store: KeyValueStore) -> None:
    for key in "abc":
        store.put(key, b"", NOW)
    first, more = store.list(NOW, limit=2)
    assert [entry.key for entry in first] == ["a", "b"]
    assert more
    assert names(store, after="b") == ["c"]


def test_a_prefix_is_no_pattern(store: KeyValueStore) -> None:
    for key in ("a%b", "axb", "a_b"):
        store.put(key, b"", NOW)
    assert names(store, prefix="a%") == ["a%b"]


def test_list_leaves_out_and_removes_what_expired(store: KeyValueStore) -> None:
    store.put("a", b"", NOW - 100, expiration=NOW - 1)
    assert names(store) == []
    assert list(store.blobs.folder.iterdir()) == []


def test_clear_removes_everything(store: KeyValueStore) -> None:
    store.put("a", b"", NOW)
    assert store.clear() == 1
    assert (names(store), list(store.blobs.folder.iterdir())) == ([], [])


def test_the_rows_are_those_of_wrangler(store: KeyValueStore) -> None:
    store.put("a", b"1", NOW, expiration=200.0, metadata='{"a":1}')
    [(key, blob_id, expiration, metadata)] = store.database.execute("SELECT * FROM _mf_entries")
    assert (key, expiration, metadata) == ("a", 200_000, '{"a":1}')
    assert (store.blobs.folder / blob_id).read_bytes() == b"1"


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_the_end_of_a_prefix_lies_behind_everything_that_has_it(prefix: str, rest: str) -> None:
    end = end_of_prefix(prefix)
    assert end is None or (prefix + rest).encode() < end.encode()
    assert end is None or end.encode() > prefix.encode()


keys = st.text(st.sampled_from("ab/é😀\U0010ffff%"), max_size=4)


@given(
    st.lists(st.tuples(keys.filter(bool), st.sampled_from(["put", "delete"])), max_size=30),
    keys,
    st.integers(1, 4),
)
def test_paging_through_a_prefix_is_like_filtering_a_sorted_dict(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]], prefix: str, limit: int
) -> None:
    store = KeyValueStore(":memory:", tmp_path_factory.mktemp("blobs"))
    model: dict[str, bytes] = {}
    for number, (key, step) in enumerate(steps):
        if step == "put":
            store.put(key, b"%d" % number, NOW)
            model[key] = b"%d" % number
        else:
            assert store.delete(key, NOW) == (model.pop(key, None) is not None)
    listed: list[tuple[str, bytes | None]] = []
    after, more = "", True
    while more:
        page, more = store.list(NOW, prefix, after, limit)
        assert len(page) <= limit
        listed += [(entry.key, store.blobs.read(entry.blob_id)) for entry in page]
        after = page[-1].key if page else after
    expected = sorted((item for item in model.items() if item[0].startswith(prefix)), key=lambda item: item[0].encode())
    assert listed == expected
    store.close()
