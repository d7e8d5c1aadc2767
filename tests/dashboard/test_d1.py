"""D1 over the explorer's REST API."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboard.world import Explorer, explore

RAW, QUERY = "/d1/database/orders-id/raw", "/d1/database/orders-id/query"


def test_databases_are_found_by_a_part_of_their_name(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        found = [{"name": "orders", "uuid": "orders-id", "version": "production"}]
        assert (await explorer.api("GET", "/d1/database")).result == found
        assert (await explorer.api("GET", "/d1/database?name=RDER")).result == found
        assert (await explorer.api("GET", "/d1/database?name=x")).result == []

    explore(tmp_path, visit)


@pytest.mark.cloudflare("api/resources/d1/subresources/database/methods/get")
def test_one_database_is_found_by_its_id(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        found = {"name": "orders", "uuid": "orders-id", "version": "production"}
        assert (await explorer.api("GET", "/d1/database/orders-id")).result == found
        missing = await explorer.api("GET", "/d1/database/nope")
        assert missing.error == (404, 7404, "The database nope could not be found")

    explore(tmp_path, visit)


def test_rows_come_as_arrays_with_their_columns(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.api("POST", RAW, {"sql": "SELECT ? AS a, 1.0 AS b, x'00ff' AS c", "params": ["x"]})
        (result,) = answer.result
        assert result["results"] == {"columns": ["a", "b", "c"], "rows": [["x", 1, [0, 255]]]}
        assert result["success"] is True and result["meta"]["rows_written"] == 0

    explore(tmp_path, visit)


def test_columns_are_named_without_rows_too(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        (result,) = (await explorer.api("POST", RAW, {"sql": "SELECT 1 AS a WHERE 0"})).result
        assert result["results"] == {"columns": ["a"], "rows": []}

    explore(tmp_path, visit)


def test_a_batch_is_all_or_nothing(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.api("POST", RAW, {"sql": "CREATE TABLE t (a UNIQUE)"})
        insert = {"sql": "INSERT INTO t VALUES (?)", "params": [1]}
        refused = await explorer.api("POST", RAW, {"batch": [insert, insert]})
        status, code, message = refused.error
        assert (status, code) == (400, 7500)
        assert message.startswith("UNIQUE constraint failed: t.a: SQLITE_CONSTRAINT")
        one, two = (await explorer.api("POST", RAW, {"batch": [insert, {"sql": "SELECT a FROM t"}]})).result
        assert (one["meta"]["changes"], two["results"]["rows"]) == (1, [[1]])

    explore(tmp_path, visit)


@pytest.mark.cloudflare("api/resources/d1/subresources/database/methods/query")
def test_a_query_gives_rows_as_objects_for_each_statement_of_its_text(tmp_path: Path) -> None:
    sql = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x;y'), (2, x'00ff');\nSELECT * FROM t; -- done"

    async def visit(explorer: Explorer) -> None:
        results = (await explorer.api("POST", QUERY, {"sql": sql})).result
        assert [one["results"] for one in results] == [[], [], [{"a": 1, "b": "x;y"}, {"a": 2, "b": [0, 255]}]]
        assert [one["meta"]["changes"] for one in results] == [0, 2, 0]
        (bound,) = (await explorer.api("POST", QUERY, {"sql": "SELECT ? AS c;", "params": ["x"]})).result
        assert bound["results"] == [{"c": "x"}]
        undone = await explorer.api("POST", QUERY, {"sql": "DELETE FROM t; SELECT * FROM nowhere"})
        assert undone.error == (400, 7500, "no such table: nowhere: SQLITE_ERROR")
        assert len((await explorer.api("POST", RAW, {"sql": "SELECT 1; SELECT 2"})).result) == 2
        assert len((await explorer.api("POST", RAW, {"sql": "SELECT * FROM t"})).result[0]["results"]["rows"]) == 2

    explore(tmp_path, visit)


def test_databases_come_by_pages(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        second = (await explorer.api("GET", "/d1/database?page=2")).json()
        assert second["result"] == []
        assert second["result_info"] == {"count": 0, "page": 2, "per_page": 1000, "total_count": 1}

    explore(tmp_path, visit)


@pytest.mark.cloudflare("miniflare: workers/local-explorer/resources/d1.ts; d1/platform/release-notes, 2024-04-15")
def test_what_is_wrong_is_told_with_cloudflares_codes(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        api = explorer.api
        missing = await api("POST", "/d1/database/nope/raw", {"sql": "SELECT 1"})
        assert missing.error == (404, 7404, "The database nope could not be found")
        assert (await api("POST", RAW, {"sql": "SELEC"})).error[:2] == (400, 7500)
        assert (await api("POST", RAW, {"params": []})).error == (400, 10001, "sql: Invalid input: expected string")
        assert (await api("POST", RAW, b"{")).error == (400, 10001, "Malformed JSON in request body")

    explore(tmp_path, visit)
