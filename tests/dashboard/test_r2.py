"""R2 over the explorer's REST API."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboard.world import Explorer, explore

FILES = "/r2/buckets/files"
OBJECTS = f"{FILES}/objects"


def test_buckets_are_listed(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        assert (await explorer.api("GET", "/r2/buckets")).result == {"buckets": [{"name": "files"}]}
        assert (await explorer.api("GET", FILES)).result == {"name": "files"}

    explore(tmp_path, visit)


def test_an_object_comes_back_with_its_bytes_and_metadata(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        put = await explorer.api(
            "PUT", f"{OBJECTS}/a%2Fb.txt", b"hello", content_type="text/plain", cf_r2_custom_metadata='{"by":"Ada"}'
        )
        assert (put.result["key"], put.result["size"]) == ("a/b.txt", 5)
        got = await explorer.api("GET", f"{OBJECTS}/a%2Fb.txt")
        assert got.body == b"hello"
        assert got.headers["content-type"] == "text/plain"
        assert got.headers["content-length"] == "5"
        assert got.headers["x-r2-custom-metadata-by"] == "Ada"

    explore(tmp_path, visit)


def test_metadata_alone_is_an_envelope(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.api("PUT", f"{OBJECTS}/a", b"hello", content_type="text/plain")
        head = (await explorer.api("GET", f"{OBJECTS}/a", cf_metadata_only="true")).result
        assert (head["key"], head["size"], head["etag"]) == ("a", 5, "5d41402abc4b2a76b9719d911017c592")
        assert (head["http_metadata"], head["custom_metadata"]) == ({"contentType": "text/plain"}, {})

    explore(tmp_path, visit)


@pytest.mark.cloudflare("api/resources/r2/subresources/buckets/subresources/objects")
def test_storage_class_and_time_are_told_of_an_object(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        put = (await explorer.api("PUT", f"{OBJECTS}/a", b"x", cf_r2_storage_class="InfrequentAccess")).result
        (listed,) = (await explorer.api("GET", OBJECTS)).result
        assert put["storage_class"] == listed["storage_class"] == "InfrequentAccess"
        assert (put["uploaded"], listed["ssec"]) == (listed["last_modified"], False)

    explore(tmp_path, visit)


def test_a_delimiter_groups_keys(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        for key in ("a", "b/1", "b/2"):
            await explorer.api("PUT", f"{OBJECTS}/{key}", b"x")
        answer = await explorer.api("GET", f"{OBJECTS}?delimiter=/")
        assert [one["key"] for one in answer.result] == ["a"]
        assert answer.json()["result_info"] == {"delimited": ["b/"], "is_truncated": "false"}

    explore(tmp_path, visit)


def test_a_page_goes_on_at_its_cursor(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        for key in ("a", "b"):
            await explorer.api("PUT", f"{OBJECTS}/{key}", b"x")
        first = (await explorer.api("GET", f"{OBJECTS}?per_page=1")).json()
        assert first["result_info"]["is_truncated"] == "true"
        second = await explorer.api("GET", f"{OBJECTS}?per_page=1&cursor={first['result_info']['cursor']}")
        assert [one["key"] for one in second.result] == ["b"]

    explore(tmp_path, visit)


def test_objects_are_deleted_by_their_keys(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.api("PUT", f"{OBJECTS}/a", b"x")
        assert (await explorer.api("DELETE", OBJECTS, ["a", "b"])).result == [{"key": "a"}, {"key": "b"}]
        assert (await explorer.api("GET", f"{OBJECTS}/a")).error == (404, 10007, "get: 'object not found'")

    explore(tmp_path, visit)


@pytest.mark.cloudflare("api/resources/r2/subresources/buckets/subresources/objects")
def test_one_object_is_deleted_by_its_path(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        await explorer.api("PUT", f"{OBJECTS}/a/b", b"x")
        assert (await explorer.api("DELETE", f"{OBJECTS}/a/b")).result == {"key": "a/b"}
        assert (await explorer.api("GET", f"{OBJECTS}/a/b")).error == (404, 10007, "get: 'object not found'")

    explore(tmp_path, visit)


@pytest.mark.cloudflare("api/resources/r2/subresources/buckets/subresources/objects")
def test_objects_are_listed_after_a_key(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        for key in ("a", "b"):
            await explorer.api("PUT", f"{OBJECTS}/{key}", b"x")
        assert [one["key"] for one in (await explorer.api("GET", f"{OBJECTS}?start_after=a")).result] == ["b"]

    explore(tmp_path, visit)


@pytest.mark.cloudflare("miniflare: workers/local-explorer/resources/r2.ts")
def test_what_is_wrong_is_told_with_cloudflares_codes(tmp_path: Path) -> None:
    async def visit(explorer: Explorer) -> None:
        api = explorer.api
        assert (await api("GET", "/r2/buckets/x/objects")).error == (404, 10006, "list objects: 'bucket not found'")
        head = await api("GET", f"{OBJECTS}/x", cf_metadata_only="true")
        assert head.error == (404, 10007, "head: 'object not found'")
        wrong = await api("PUT", f"{OBJECTS}/x", b"x", cf_r2_custom_metadata="{")
        assert wrong.error == (400, 10001, "Invalid custom metadata JSON")
        assert (await api("DELETE", OBJECTS, [])).error[:2] == (400, 10001)
        assert (await api("PUT", f"{OBJECTS}/{'k' * 1025}", b"x")).error[:2] == (400, 10020)

    explore(tmp_path, visit)
