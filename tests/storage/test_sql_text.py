"""Statements that apsw reads otherwise than workerd."""

from __future__ import annotations

import pytest

from pyflare.storage.sql_text import has_empty_end


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1;", False),
        ("SELECT 1;;", True),
        ("SELECT 1; \n ;", True),
        ("; SELECT 1;", False),
        ("SELECT ';;'", False),
        ("SELECT 1 -- ;;", False),
    ],
)
def test_an_empty_statement_at_the_end_is_seen(sql: str, expected: bool) -> None:
    assert has_empty_end(sql) is expected
