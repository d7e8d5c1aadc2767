"""Bookmarks."""

from __future__ import annotations

import pytest

from pyflare.storage import bookmark
from pyflare.storage.database import Database


@pytest.mark.cloudflare("workerd io/actor-sqlite.c++ getCurrentBookmark")
def test_a_bookmark_is_written_as_production_writes_it() -> None:
    assert bookmark.text(1) == "00000000-00000001-00000000-00000000000000000000000000000000"


def test_bookmarks_sort_in_the_order_in_which_they_were_given() -> None:
    database = Database(":memory:")
    given = [bookmark.advance(database) for _ in range(20)]
    assert given == sorted(given)
    assert len(set(given)) == 20


def test_reading_the_bookmark_writes_nothing() -> None:
    database = Database(":memory:")
    assert bookmark.current(database) == bookmark.text(0)
    assert database.execute("SELECT name FROM sqlite_schema") == []
    bookmark.advance(database)
    assert bookmark.current(database) == bookmark.advance(Database(":memory:"))
