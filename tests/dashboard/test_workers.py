"""The workers, the panels and what they offer."""

from __future__ import annotations

from pathlib import Path

from tests.dashboard.world import Explorer, explore


def test_workers_are_listed_with_their_resources(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        (worker,) = (await explorer.api("GET", "/local/workers")).result
        assert (worker["isSelf"], worker["name"]) == (True, "shop")
        assert worker["bindings"] == {
            "kv": [{"id": "notes-id", "bindingName": "NOTES"}, {"id": "a-cache", "bindingName": "CACHED"}],
            "d1": [{"id": "orders-id", "bindingName": "DB"}],
            "r2": [{"id": "files", "bindingName": "FILES"}],
            "do": [
                {
                    "id": "shop-Counter",
                    "bindingName": "COUNTER",
                    "className": "Counter",
                    "scriptName": "shop",
                    "useSqlite": True,
                }
            ],
            "workflows": [
                {
                    "id": "onboarding",
                    "bindingName": "ONBOARDING",
                    "className": "Onboarding",
                    "scriptName": "shop",
                }
            ],
        }

    explore(tmp_path, visit)


def test_every_room_that_is_awake_has_a_panel(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        shown = (await explorer.api("GET", "/local/panels")).result
        assert set(shown["rooms"]) == set(explorer.harness.engines)
        assert shown["workers"] == ["shop"]
        assert {"name": "NOTES", "kind": "KV Namespace", "resource": "notes-id", "where": "local"} in shown["bindings"]

    explore(tmp_path, visit)


def test_an_action_says_which_fields_it_needs(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        rooms = (await explorer.api("GET", "/local/panels")).result["rooms"]
        fields = rooms["queues"]["actions"]["retry"]["fields"]
        assert fields == [
            {"name": "queue", "kind": "text", "required": True},
            {"name": "id", "kind": "text", "required": False},
        ]

    explore(tmp_path, visit)


def test_the_kind_of_a_field_follows_from_its_annotation(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        rooms = (await explorer.api("GET", "/local/panels")).result["rooms"]
        kinds = {field["name"]: field["kind"] for field in rooms["queues"]["actions"]["send"]["fields"]}
        assert kinds == {"queue": "text", "body": "json", "content_type": "text", "delay_seconds": "number"}
        kinds = {field["name"]: field["kind"] for field in rooms["workflows"]["actions"]["terminate"]["fields"]}
        assert kinds == {"workflow": "text", "id": "text", "rollback": "boolean"}

    explore(tmp_path, visit)


def test_the_keys_of_a_row_are_fields_of_actions(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        rooms = (await explorer.api("GET", "/local/panels")).result["rooms"]
        for room in rooms.values():
            needed = {field["name"] for action in room["actions"].values() for field in action["fields"]}
            for table in room["tables"]:
                assert set(table["keys"]) <= set(table["columns"])
                assert not room["actions"] or set(table["keys"]) <= needed, table["title"]

    explore(tmp_path, visit)


def test_an_action_is_done(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        fields = {"namespace": "notes-id", "key": "k", "value": "v"}
        assert (await explorer.api("POST", "/local/panels/kv/put", fields)).result is None
        assert explorer.harness.engines["kv"].namespace("notes-id").get("k").data == b"v"

    explore(tmp_path, visit)


def test_an_action_that_takes_time_is_awaited(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.api("POST", "/local/panels/cron/trigger", {"cron": "0 1 * * *"})
        assert answer.result["outcome"] == "ok"
        assert explorer.harness.engines["kv"].namespace("notes-id").get("ticked").data == b"0 1 * * *"

    explore(tmp_path, visit)


def test_an_action_may_only_come_from_the_page_itself(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        path, fields = "/local/panels/queues/pause", {"queue": "jobs"}
        other = await explorer.api("POST", path, fields, origin="http://localhost:3000")
        assert other.error == (403, 10001, "Invalid Origin header")
        assert not explorer.harness.engines["queues"].overview("jobs").standing.paused
        crossed = await explorer.api("POST", path, fields, sec_fetch_site="same-site")
        assert crossed.error == (403, 10001, "Invalid Sec-Fetch-Site header")
        assert (await explorer.api("POST", path, fields, origin="http://localhost:8787")).status == 200

    explore(tmp_path, visit)


def test_unknown_rooms_and_actions_are_named(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        status, _, message = (await explorer.api("POST", "/local/panels/nope/x")).error
        assert status == 404 and message.startswith('Nothing here is called "nope"')
        status, _, message = (await explorer.api("POST", "/local/panels/cron/x")).error
        assert (status, message) == (404, 'cron has no action "x"; there are: trigger')

    explore(tmp_path, visit)


def test_a_field_that_is_missing_or_unknown_is_named(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        status, _, message = (await explorer.api("POST", "/local/panels/kv/get", {})).error
        assert (status, message) == (400, "kv get: missing a required argument: 'namespace'")
        fields = {"cron": "0 1 * * *", "bogus": 1}
        status, _, message = (await explorer.api("POST", "/local/panels/cron/trigger", fields)).error
        assert (status, message) == (400, "cron trigger: got an unexpected keyword argument 'bogus'")

    explore(tmp_path, visit)


def test_traces_are_said_to_be_off(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.api("POST", "/local/observability/query", {"sql": "SELECT 1"})
        assert answer.error == (404, 10130, "Local observability is not enabled for this dev session.")

    explore(tmp_path, visit)
