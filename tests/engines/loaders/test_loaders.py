"""`env.LOADER`: workers that a worker loads."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pyflare.testing import Answer, Harness

ENTRY = '''
from urllib.parse import parse_qs, urlsplit

from js import Object
from pyodide.ffi import create_proxy, jsnull, to_js
from workers import Response, WorkerEntrypoint

import part

calls = []


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.hostname == "elsewhere":
            return Response(f"asked for {request.url}")
        if url.path == "/calls":
            return Response.json(calls)
        async def code():
            calls.append(query["id"])
            return self.code(query)

        if "id" in query:
            loaded = self.env.LOADER.get(query["id"], create_proxy(code))
        else:
            loaded = self.env.LOADER.load(self.code(query))
        props = to_js({"props": {"who": "Ada"}}, dict_converter=Object.fromEntries)
        if url.path == "/rpc":
            return Response(str(await loaded.getEntrypoint("Other", props).double(4)))
        return await loaded.getEntrypoint().fetch(request.js_object)

    def code(self, query):
        made = {
            "compatibilityDate": "2026-08-01",
            "mainModule": query.get("main", "main.py"),
            "modules": {
                "main.py": MAIN, "part.py": "NAME = 'loaded'", "raises.py": "1 / 0", "data.txt" if "text" in query else
                "more.py": "x",
            },
            "env": {"GREETING": "hello", "KV": self.env.KV},
        }
        if "outbound" in query:
            made["globalOutbound"] = jsnull if query["outbound"] == "none" else self.env.SELF
            made["limits"] = {"cpuMs": 5}
        return to_js(made, dict_converter=Object.fromEntries)


MAIN = """
from workers import Response, WorkerEntrypoint, env, fetch
import part

count = 0

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        global count
        count += 1
        if request.url.endswith("fetch"):
            return Response(await (await fetch("http://elsewhere/x")).text())
        if request.url.endswith("fail"):
            raise ValueError("inside")
        await self.env.KV.put("seen", request.url)
        return Response(f"{self.env.GREETING} {env.GREETING} {part.NAME} {count}")

class Other(WorkerEntrypoint):
    async def double(self, n):
        return f"{self.ctx.props.who} {2 * n}"
"""
'''


def ask(folder: Path, *paths: str, **options: Any) -> list[str]:
    """The texts of the answers; of what failed `Class: message`, and its last line."""
    config: dict[str, Any] = {
        "name": "host",
        "main": "entry.py",
        "compatibility_date": "2026-08-01",
        "compatibility_flags": ["python_workers"],
        "worker_loaders": [{"binding": "LOADER"}],
        "kv_namespaces": [{"binding": "KV", "id": "kv"}],
        "services": [{"binding": "SELF", "service": "host"}],
    }
    (folder / "entry.py").write_text(ENTRY)
    (folder / "part.py").write_text("NAME = 'host'")
    (folder / "wrangler.json").write_text(json.dumps(config))

    async def run() -> list[str]:
        found = []
        async with Harness(folder / "wrangler.json", **options) as worker:
            for path in paths:
                try:
                    found.append((await worker.fetch(path)).text)
                except Exception as raised:
                    found.append(str(raised).splitlines()[-1])
        return found

    return asyncio.run(run())


def test_a_loaded_worker_answers_with_modules_and_env_of_its_own(tmp_path: Path) -> None:
    assert ask(tmp_path, "/?id=a") == ["hello hello loaded 1"]


def test_an_id_is_loaded_once(tmp_path: Path) -> None:
    assert ask(tmp_path, "/?id=a", "/?id=a", "/?id=b", "/calls")[1:] == [
        "hello hello loaded 2",
        "hello hello loaded 1",
        '["a", "b"]',
    ]


def test_load_gives_a_new_worker_each_time(tmp_path: Path) -> None:
    assert ask(tmp_path, "/", "/") == ["hello hello loaded 1"] * 2


def test_an_entrypoint_is_called_by_name_with_props(tmp_path: Path) -> None:
    assert ask(tmp_path, "/rpc?id=a") == ["Ada 8"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/?id=a&x=fail", "ValueError: inside"),
        ("/?id=a&main=raises.py", "ZeroDivisionError: division by zero"),
        ("/?id=a&main=none.py", "mainModule 'none.py' is not one of the modules"),
        ("/?id=a&text=1", "pyflare loads Python modules only, not 'data.txt'"),
        ("/?id=a&outbound=none&x=fetch", "This worker is not permitted to access the internet via global functions"),
    ],
)
def test_what_fails_says_why(tmp_path: Path, path: str, text: str) -> None:
    assert text in ask(tmp_path, path)[0]


def test_code_that_failed_to_load_is_asked_for_again(tmp_path: Path) -> None:
    assert ask(tmp_path, "/?id=a&main=raises.py", "/?id=a")[1] == "hello hello loaded 1"


def test_its_fetches_may_go_to_a_binding(tmp_path: Path) -> None:
    assert ask(tmp_path, "/?id=a&outbound=self&x=fetch") == ["asked for http://elsewhere/x"]


def test_its_fetches_go_where_the_hosts_go(tmp_path: Path) -> None:
    assert ask(tmp_path, "/?id=a&x=fetch", outbound=lambda sent: Answer.of(sent.url)) == ["http://elsewhere/x"]
