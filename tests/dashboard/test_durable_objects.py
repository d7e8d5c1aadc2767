"""Durable Objects over the explorer's REST API, and the hooks for curl."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboard.world import Explorer, explore

ALL = "/workers/durable_objects/namespaces"
COUNTER = f"{ALL}/shop-Counter"
HOOKS = "/cdn-cgi/local/durable-objects"


def count(sql: str = "SELECT count(*) AS n FROM counts", name: str = "apples") -> dict[str, object]:
    return {"durable_object_name": name, "queries": [{"sql": sql}]}


def test_classes_are_listed(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        assert (await explorer.api("GET", ALL)).result == [
            {"id": "shop-Counter", "name": "shop_Counter", "script": "shop", "class": "Counter", "use_sqlite": True}
        ]

    explore(tmp_path, visit)


def test_objects_are_listed_with_their_names(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        assert (await explorer.api("GET", f"{COUNTER}/objects")).result == []
        await explorer.harness.fetch("/apples")
        answer = await explorer.api("GET", f"{COUNTER}/objects")
        (found,) = answer.result
        assert (found["name"], found["hasStoredData"], len(found["id"])) == ("apples", True, 64)
        assert answer.json()["result_info"] == {"count": 1, "cursor": ""}
        assert (await explorer.api("GET", f"{COUNTER}/objects?cursor={found['id']}")).result == []

    explore(tmp_path, visit)


def test_sql_sees_what_the_object_has_stored(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.harness.fetch("/apples")
        (found,) = (await explorer.api("POST", f"{COUNTER}/query", count())).result
        assert found == {"columns": ["n"], "rows": [[1]], "meta": {"rows_read": 1, "rows_written": 0}}

    explore(tmp_path, visit)


def test_several_queries_are_one_transaction(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.harness.fetch("/apples")
        queries = [{"sql": "INSERT INTO counts VALUES (?)", "params": [7]}, {"sql": "INSERT INTO counts VALUES (7)"}]
        wrong = await explorer.api("POST", f"{COUNTER}/query", {"durable_object_name": "apples", "queries": queries})
        status, code, message = wrong.error
        assert (status, code) == (400, 10001)
        assert message.startswith("UNIQUE constraint failed: counts.at: SQLITE_CONSTRAINT")
        assert (await explorer.api("POST", f"{COUNTER}/query", count())).result[0]["rows"] == [[1]]

    explore(tmp_path, visit)


def test_a_look_at_an_object_that_is_not_there_does_not_make_it(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.api("POST", f"{COUNTER}/query", count(name="typo"))
        assert answer.error == (400, 10001, "Counter typo has stored nothing")
        assert (await explorer.api("GET", f"{COUNTER}/objects")).result == []

    explore(tmp_path, visit)


@pytest.mark.cloudflare("miniflare: workers/local-explorer/resources/do.ts")
def test_what_is_wrong_is_told_with_cloudflares_codes(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        missing = await explorer.api("GET", f"{ALL}/nope/objects")
        assert missing.error == (404, 10066, "Durable Object namespace ID 'nope' not found.")
        empty = await explorer.api("POST", f"{COUNTER}/query", {"durable_object_name": "a", "queries": []})
        assert empty.error == (400, 10001, "No queries provided")

    explore(tmp_path, visit)


# --- hooks ------------------------------------------------------------------------------------------------------------


def test_the_list_says_who_is_awake_and_when_alarms_are_due(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.harness.fetch("/apples")
        (found,) = (await explorer.ask("GET", HOOKS)).result
        assert (found["class_name"], found["name"], found["awake"]) == ("Counter", "apples", True)
        assert found["alarm"] == 4_102_444_800
        assert (await explorer.ask("GET", f"{HOOKS}?class=Other")).result == []

    explore(tmp_path, visit)


def test_an_object_is_evicted_by_its_name(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.harness.fetch("/apples")
        assert (await explorer.ask("POST", f"{HOOKS}/Counter/apples/evict")).result == {"evicted": True}
        assert (await explorer.ask("GET", HOOKS)).result[0]["awake"] is False
        assert (await explorer.ask("POST", f"{HOOKS}/Counter/apples/evict")).result == {"evicted": False}

    explore(tmp_path, visit)


def test_a_name_may_contain_slashes(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.harness.fetch("/a/b")
        assert (await explorer.ask("POST", f"{HOOKS}/Counter/a%2Fb/evict")).result == {"evicted": True}
        await explorer.harness.fetch("/a/b")
        assert (await explorer.ask("POST", f"{HOOKS}/Counter/a/b/evict")).result == {"evicted": True}

    explore(tmp_path, visit)


def test_all_objects_are_evicted_at_once(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        for name in ("apples", "pears"):
            await explorer.harness.fetch(f"/{name}")
        assert (await explorer.ask("POST", f"{HOOKS}/evict")).result == {"evicted": 2}

    explore(tmp_path, visit)


def test_an_object_is_aborted(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.harness.fetch("/apples")
        assert (await explorer.ask("POST", f"{HOOKS}/Counter/apples/abort?reason=test")).result == {"aborted": True}
        assert (await explorer.harness.fetch("/apples")).text == "2"

    explore(tmp_path, visit)


def test_an_alarm_runs_now_whenever_it_is_due(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.harness.fetch("/apples")
        assert (await explorer.ask("POST", f"{HOOKS}/Counter/apples/alarm")).result == {"ran": True}
        assert (await explorer.api("POST", f"{COUNTER}/query", count())).result[0]["rows"] == [[0]]
        assert (await explorer.ask("POST", f"{HOOKS}/Counter/apples/alarm")).result == {"ran": False}

    explore(tmp_path, visit)


def test_a_deleted_object_starts_anew(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.harness.fetch("/apples")
        assert (await explorer.ask("DELETE", f"{HOOKS}/Counter/apples")).result == {"deleted": True}
        assert (await explorer.harness.fetch("/apples")).text == "1"

    explore(tmp_path, visit)


def test_a_class_that_nobody_has_is_not_found(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.ask("POST", f"{HOOKS}/Other/apples/evict")
        assert answer.error == (404, 10001, "There is no Durable Object class Other")

    explore(tmp_path, visit)
