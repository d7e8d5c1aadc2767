"""The explorer of a real server, and a command that goes through that server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.dev import Dev, project

API = "/cdn-cgi/local/explorer/api"
SOURCE = """
from workers import DurableObject, Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(await self.env.CART.getByName("ada").add())

class Cart(DurableObject):
    async def add(self):
        return "added"
"""


def shop(root: Path) -> Path:
    return project(
        root,
        SOURCE,
        queues={"producers": [{"binding": "JOBS", "queue": "jobs"}]},
        r2_buckets=[{"binding": "FILES", "bucket_name": "files"}],
        durable_objects={"bindings": [{"name": "CART", "class_name": "Cart"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Cart"]}],
    )


def result(answer: tuple[int, str, dict[str, str]]) -> Any:
    status, text, _ = answer
    assert status == 200, text
    return json.loads(text)["result"]


def test_the_explorer_is_served_beside_the_worker(tmp_path: Path) -> None:
    with Dev(shop(tmp_path)) as dev:
        status, page, _ = dev.request("GET", "/cdn-cgi/local/explorer")
        assert status == 200 and "<title>pyflare explorer</title>" in page
        assert dev.request("GET", "/cdn-cgi/explorer")[1] == page
        (worker,) = result(dev.request("GET", f"{API}/local/workers"))
        assert worker["name"] == "probe"
        assert dev.request("GET", f"{API}/local/workers", headers={"origin": "https://other.example"})[0] == 403
        # A page that asks every two seconds must not fill the terminal.
        dev.get("/cdn-cgi/local/durable-objects")
        dev.wait_for("GET /cdn-cgi/local/durable-objects 200")
        assert "GET /cdn-cgi/local/explorer" not in dev.output


def test_objects_are_steered_by_curl(tmp_path: Path) -> None:
    with Dev(shop(tmp_path)) as dev:
        assert dev.get("/") == (200, "added")
        evict = "/cdn-cgi/local/durable-objects/Cart/ada/evict"
        assert result(dev.request("POST", evict)) == {"evicted": True}


def test_a_large_object_goes_in_and_out_in_pieces_of_known_length(tmp_path: Path) -> None:
    data, path = bytes(3_000_000), f"{API}/r2/buckets/files/objects/big"
    with Dev(shop(tmp_path)) as dev:
        assert result(dev.request("PUT", path, data))["size"] == len(data)
        connection = dev.connect()
        connection.request("GET", path)
        response = connection.getresponse()
        assert response.getheader("content-length") == str(len(data))
        assert response.read() == data
        connection.close()


def test_a_command_goes_through_the_server_that_runs(tmp_path: Path) -> None:
    with Dev(shop(tmp_path)) as dev:
        command = [sys.executable, "-m", "pyflare", "queues", "send", "jobs", '{"n": 1}']
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.startswith("Sent ")
        (message,) = result(dev.request("GET", f"{API}/accounts/any/queues/jobs/messages"))["messages"]
        assert message["preview"] == '{"n":1}'


def test_a_command_on_what_no_worker_uses_answers_as_without_a_server(tmp_path: Path) -> None:
    def said(folder: Path, room: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "pyflare", room, "list"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    folder = project(tmp_path, SOURCE)
    alone = said(folder, "workflows"), said(folder, "queues")
    with Dev(folder) as dev:
        assert (said(folder, "workflows"), said(folder, "queues")) == alone
        dev.get("/")
        dev.wait_for("GET / ")
        assert "/cdn-cgi/pyflare" not in dev.output
    assert alone == ((0, "There are none.\n", ""), (0, "There are no queues.\n", ""))


def test_commands_find_the_server_of_a_lone_module(tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        command = [sys.executable, "-m", "pyflare", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    (tmp_path / "hello.py").write_text(SOURCE)
    with Dev(tmp_path, "hello.py"):
        assert said("queues", "list") == "There are no queues.\n"
    assert said("queues", "list", "-c", "hello.py") == "There are no queues.\n"


def test_commands_in_the_folder_of_a_second_worker_find_the_server(tmp_path: Path) -> None:
    first = project(tmp_path / "a", SOURCE, name="a")
    second = project(tmp_path / "b", SOURCE, name="b", queues={"producers": [{"binding": "Q", "queue": "jobs"}]})
    command = [sys.executable, "-m", "pyflare", "queues", "send", "jobs", "1"]
    with Dev(first, "-c", "wrangler.jsonc", "-c", str(second / "wrangler.jsonc")) as dev:
        subprocess.run(command, cwd=second, capture_output=True, check=True)
        (message,) = result(dev.request("GET", f"{API}/accounts/any/queues/jobs/messages"))["messages"]
        assert message["preview"] == "1"
    done = subprocess.run([*command[:-3], "list", "--json"], cwd=second, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[0]["metrics"]["backlog_count"] == 0  # its own data again
