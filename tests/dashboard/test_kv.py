"""KV over the explorer's REST API."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboard.world import Explorer, explore

NOTES = "/storage/kv/namespaces/notes-id"


def test_namespaces_are_listed_with_their_binding_as_title(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.api("GET", "/storage/kv/namespaces")
        assert answer.result == [{"id": "a-cache", "title": "CACHED"}, {"id": "notes-id", "title": "NOTES"}]
        assert answer.json()["result_info"] == {"count": 2, "page": 1, "per_page": 1000, "total_count": 2}

    explore(tmp_path, visit)


def test_namespaces_come_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.api("GET", "/storage/kv/namespaces?order=title&direction=desc")
        assert [one["title"] for one in answer.result] == ["NOTES", "CACHED"]
        second = await explorer.api("GET", "/storage/kv/namespaces?order=title&direction=desc&per_page=1&page=2")
        assert [one["title"] for one in second.result] == ["CACHED"]

    explore(tmp_path, visit)


def test_a_value_comes_back_as_the_bytes_that_were_put(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        assert (await explorer.api("PUT", f"{NOTES}/values/a%2Fb", b"\x00\xff")).result == {}
        answer = await explorer.api("GET", f"{NOTES}/values/a%2Fb")
        assert (answer.status, answer.body) == (200, b"\x00\xff")

    explore(tmp_path, visit)


def test_keys_are_listed_with_expiration_and_metadata(tmp_path: Path) -> None:
    form = (
        b'--x\r\nContent-Disposition: form-data; name="value"\r\n\r\nmilk\r\n'
        b'--x\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{"by": "Ada"}\r\n--x--\r\n'
    )

    async def visit(explorer: Explorer) -> None:
        now = int(explorer.harness.clock.now())
        kind = "multipart/form-data; boundary=x"
        await explorer.api("PUT", f"{NOTES}/values/today?expiration_ttl=60", form, content_type=kind)
        await explorer.api("PUT", f"{NOTES}/values/other", b"x")
        answer = await explorer.api("GET", f"{NOTES}/keys?prefix=to")
        assert answer.result == [{"name": "today", "expiration": now + 60, "metadata": {"by": "Ada"}}]
        assert answer.json()["result_info"] == {"count": 1, "cursor": ""}
        assert (await explorer.api("GET", f"{NOTES}/values/today")).body == b"milk"

    explore(tmp_path, visit)


@pytest.mark.cloudflare("api/resources/kv/subresources/namespaces/methods/get")
def test_one_namespace_is_found_by_its_id(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        assert (await explorer.api("GET", NOTES)).result == {"id": "notes-id", "title": "NOTES"}
        missing = await explorer.api("GET", "/storage/kv/namespaces/nope")
        assert missing.error == (404, 10013, "get namespace: 'namespace not found'")

    explore(tmp_path, visit)


@pytest.mark.cloudflare("api/resources/kv/subresources/namespaces/subresources/metadata/methods/get")
def test_metadata_of_a_key_comes_without_its_value(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        pairs = [{"key": "a/b", "value": "v", "metadata": {"by": "Ada"}}, {"key": "bare", "value": "v"}]
        await explorer.api("PUT", f"{NOTES}/bulk", pairs)
        assert (await explorer.api("GET", f"/accounts/any{NOTES}/metadata/a%2Fb")).result == {"by": "Ada"}
        assert (await explorer.api("GET", f"{NOTES}/metadata/bare")).result is None
        assert (await explorer.api("GET", f"{NOTES}/metadata/other")).error == (404, 10009, "get: 'key not found'")

    explore(tmp_path, visit)


def test_a_long_list_goes_on_at_its_cursor(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        for number in range(12):
            await explorer.api("PUT", f"{NOTES}/values/{number:02}", b"x")
        first = (await explorer.api("GET", f"{NOTES}/keys?limit=10")).json()
        second = await explorer.api("GET", f"{NOTES}/keys?limit=10&cursor={first['result_info']['cursor']}")
        assert [key["name"] for key in second.result] == ["10", "11"]

    explore(tmp_path, visit)


def test_a_deleted_key_is_gone(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.api("PUT", f"{NOTES}/values/k", b"v")
        assert (await explorer.api("DELETE", f"{NOTES}/values/k")).result == {}
        assert (await explorer.api("GET", f"{NOTES}/values/k")).error == (404, 10009, "get: 'key not found'")

    explore(tmp_path, visit)


def test_many_values_come_as_text_and_missing_ones_as_null(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.api("PUT", f"{NOTES}/values/k", b"v")
        answer = await explorer.api("POST", f"{NOTES}/bulk/get", {"keys": ["k", "other"]})
        assert answer.result == {"values": {"k": "v", "other": None}}

    explore(tmp_path, visit)


@pytest.mark.cloudflare("api/resources/kv/subresources/namespaces/methods/bulk_get")
def test_many_values_come_parsed_and_with_metadata_when_asked(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.api("PUT", f"{NOTES}/bulk", [{"key": "k", "value": '{"a":1}', "metadata": 5}])
        asked = {"keys": ["k", "other"], "type": "json", "withMetadata": True}
        answer = await explorer.api("POST", f"{NOTES}/bulk/get", asked)
        assert answer.result == {"values": {"k": {"value": {"a": 1}, "metadata": 5}, "other": None}}
        await explorer.api("PUT", f"{NOTES}/values/k", b"no JSON")
        status, _, message = (await explorer.api("POST", f"{NOTES}/bulk/get", asked)).error
        assert (status, message) == (400, "At least one of the requested keys corresponds to a non-json value")

    explore(tmp_path, visit)


@pytest.mark.cloudflare("miniflare: workers/local-explorer/resources/kv.ts, common.ts")
def test_what_is_wrong_is_told_with_cloudflares_codes_and_words(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        api = explorer.api
        missing = "/storage/kv/namespaces/nope"
        assert (await api("GET", f"{missing}/keys")).error == (404, 10013, "list keys: 'namespace not found'")
        assert (await api("PUT", f"{missing}/values/k", b"v")).error == (404, 10013, "put: 'namespace not found'")
        assert (await api("GET", f"{NOTES}/keys?limit=x")).error == (
            400, 10001, 'limit: Expected query param to be number but received "x"',
        )  # fmt: skip
        assert (await api("GET", f"{NOTES}/keys?limit=0")).error == (
            400, 10001, "limit: Too small: expected number to be >=10",
        )  # fmt: skip
        assert (await api("POST", f"{NOTES}/bulk/get", {"keys": "k"})).error == (
            400, 10001, "keys: Invalid input: expected array, received string",
        )  # fmt: skip

    explore(tmp_path, visit)


def test_a_value_that_kv_refuses_is_refused_with_its_words(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        answer = await explorer.api("PUT", f"{NOTES}/values/k?expiration_ttl=5", b"v")
        assert answer.error == (
            400, 10001, "KV PUT failed: 400 Invalid expiration_ttl of 5. Expiration TTL must be at least 60.",
        )  # fmt: skip

    explore(tmp_path, visit)
