"""What holds for all paths of the explorer, and the routes that rooms offer themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyflare.dashboard import EXPLORER
from pyflare.dashboard.app import PAGE
from tests.dashboard.world import Explorer, explore

QUEUE = "/accounts/any/queues/pulled"


@pytest.mark.parametrize("path", [EXPLORER, f"{EXPLORER}/"])
def test_the_page_is_at_the_prefix(tmp_path: Path, path: str) -> None:
    async def visit(explorer: Explorer) -> None:
        page = await explorer.ask("GET", path)
        assert page.status == 200 and page.headers["content-type"].startswith("text/html")

    explore(tmp_path, visit)


def test_the_page_asks_nobody_else(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        page = (await explorer.ask("GET", EXPLORER)).body.decode()
        assert "http://" not in page and "https://" not in page

    explore(tmp_path, visit)


def test_every_file_that_the_page_names_is_there(tmp_path: Path) -> None:
    names = re.compile(r'(?:href|src|from)[= ]"(?:\./)?([\w.]+)"')

    async def visit(explorer: Explorer) -> None:
        wanted, seen = ["index.html"], set()
        while wanted:
            name = wanted.pop()
            seen.add(name)
            file = await explorer.ask("GET", f"{EXPLORER}/{name}")
            assert file.status == 200, name
            assert file.headers["cache-control"] == "no-cache"
            wanted += {found for found in names.findall(file.body.decode()) if found not in seen}
        assert seen == {path.name for path in PAGE.iterdir()}

    explore(tmp_path, visit)


def test_an_unknown_path_is_an_envelope_too(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        assert (await explorer.api("GET", "/nope")).error == (404, 10001, "Not Found")
        assert (await explorer.api("POST", "/d1/database")).error == (405, 10001, "Method Not Allowed")

    explore(tmp_path, visit)


def test_the_base_describes_every_path(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        document = (await explorer.api("GET", "")).json()
        assert document["openapi"].startswith("3.")
        assert set(document["paths"]["/storage/kv/namespaces/{namespace_id}/values/{key}"]) == {"get", "put", "delete"}
        assert "/accounts/{account_id}/queues/{queue_id}/messages/pull" in document["paths"]

    explore(tmp_path, visit)


@pytest.mark.cloudflare("developers.cloudflare.com/api: every path begins with an account")
def test_cloudflares_paths_are_also_there_below_an_account(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        api, account = explorer.api, "/accounts/0123abcd"
        await api("PUT", f"{account}/storage/kv/namespaces/notes-id/values/a%2Fb", b"milk")
        assert (await api("GET", "/storage/kv/namespaces/notes-id/values/a%2Fb")).body == b"milk"
        (result,) = (await api("POST", f"{account}/d1/database/orders-id/query", {"sql": "SELECT 1 AS a"})).result
        assert result["results"] == [{"a": 1}]
        for path in ("/storage/kv/namespaces", "/d1/database", "/r2/buckets", "/workflows", "/queues"):
            assert (await api("GET", f"{account}{path}")).result, path
        assert (await api("GET", f"{account}/local/panels")).status == 404
        assert (await api("GET", f"{account}/accounts/x/queues")).status == 404
        assert (await api("POST", f"{account}/d1/database")).status == 405

    explore(tmp_path, visit)


@pytest.mark.cloudflare("miniflare: workers/local-explorer/explorer.worker.ts")
def test_a_preflight_allows_pages_of_this_machine(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.api("OPTIONS", "/storage/kv/namespaces", origin="http://localhost:5173")
        assert answer.status == 204
        assert answer.headers["access-control-allow-origin"] == "http://localhost:5173"
        assert answer.headers["access-control-allow-methods"] == "GET, POST, PUT, PATCH, DELETE, OPTIONS"
        read = await explorer.api("GET", "/storage/kv/namespaces", origin="http://localhost:5173")
        assert read.headers["access-control-allow-origin"] == "http://localhost:5173"

    explore(tmp_path, visit)


def test_what_goes_wrong_here_is_an_envelope_and_a_traceback_on_the_terminal(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        del explorer.harness.server.engines["kv"].namespace("notes-id").store
        answer = await explorer.api("GET", "/storage/kv/namespaces/notes-id/keys")
        assert answer.error[:2] == (500, 10000)
        assert "Traceback" in explorer.harness.terminal

    with pytest.raises(AttributeError):  # the room cannot be closed either
        explore(tmp_path, visit)


# --- routes of rooms ------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("queues/reference/error-codes")
def test_a_body_that_is_no_json_has_the_code_of_queues(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.api("POST", f"{QUEUE}/messages/pull", b"{")
        assert answer.error == (400, 10208, "Malformed JSON in request body")

    explore(tmp_path, visit)


def test_a_message_is_pulled_and_acknowledged_as_on_cloudflare(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.api("POST", f"{QUEUE}/messages", {"body": "hi", "content_type": "text"})
        (message,) = (await explorer.api("POST", f"{QUEUE}/messages/pull", {"batch_size": 5})).result["messages"]
        assert (message["body"], message["attempts"]) == ("hi", 1)
        acked = await explorer.api("POST", f"{QUEUE}/messages/ack", {"acks": [{"lease_id": message["lease_id"]}]})
        assert acked.result["ackCount"] == 1

    explore(tmp_path, visit)


def test_the_query_reaches_the_rooms_handler(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        for body in ("one", "two"):
            await explorer.api("POST", f"{QUEUE}/messages", {"body": body, "content_type": "text"})
        found = (await explorer.api("GET", f"{QUEUE}/messages?contains=two")).result["messages"]
        assert [message["body"] for message in found] == ["two"]

    explore(tmp_path, visit)


def test_a_workflow_is_driven_from_creation_to_its_end(tmp_path: Path) -> None:
    one = "/workflows/onboarding/instances"

    async def visit(explorer: Explorer) -> None:
        api, harness = explorer.api, explorer.harness
        created = await api("POST", one, {"id": "first", "params": {"tenant": "acme"}})
        assert created.result["id"] == "first"
        await harness.settle()
        assert (await api("GET", f"{one}/first")).result["status"] == "waiting"
        await api("PATCH", f"{one}/first/status", {"action": "pause"})
        assert (await api("GET", f"{one}?status=paused")).json()["result_info"]["total_count"] == 1
        await api("PATCH", f"{one}/first/status", {"action": "resume"})
        await api("POST", f"{one}/first/events/approved", {"by": "Ada"})
        await harness.settle()
        done = (await api("GET", f"{one}/first")).result
        assert (done["status"], done["steps"][0]["output"]) == ("complete", "acme")

    explore(tmp_path, visit)
