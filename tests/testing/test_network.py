"""The network that a test plays."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.testing import Answer, Harness, Outgoing

WORKER = """
from js import fetch as js_fetch
from workers import Response, WorkerEntrypoint, fetch


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = request.url.rpartition("/")[2]
        if path == "js":
            return Response((await js_fetch("https://api.example/js")).statusText)
        try:
            answer = await fetch(f"https://api.example/{path}", method="POST", headers={"x-key": "k"}, body="asked")
        except Exception as raised:
            return Response(str(raised), status=502)
        return Response(await answer.text(), status=answer.status, headers={"x-from": answer.url})
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "entry.py").write_text(WORKER)
    (tmp_path / "wrangler.toml").write_text(
        'name = "w"\nmain = "entry.py"\ncompatibility_date = "2026-08-01"\ncompatibility_flags = ["python_workers"]\n'
    )
    return tmp_path


def asked(project: Path, path: str, outbound: Callable[[Outgoing], Answer | Awaitable[Answer]]) -> Answer:
    async def run() -> Answer:
        async with Harness(project, outbound=outbound) as worker:
            return await worker.fetch(path)

    return asyncio.run(run())


def test_a_function_sees_the_request_and_gives_the_answer(project: Path) -> None:
    sent: list[Outgoing] = []

    def outbound(request: Outgoing) -> Answer:
        sent.append(request)
        return Answer.of(json={"busy": True}, status=429)

    answer = asked(project, "/things", outbound)
    assert (answer.status, answer.json()) == (429, {"busy": True})
    assert (sent[0].method, sent[0].url, sent[0].text) == ("POST", "https://api.example/things", "asked")
    assert sent[0].header("X-Key") == "k"


def test_a_coroutine_will_do(project: Path) -> None:
    async def outbound(request: Outgoing) -> Answer:
        await asyncio.sleep(0)
        return Answer.of("late", 201)

    assert asked(project, "/js", outbound).text == "Created"


def test_an_answer_without_a_body(project: Path) -> None:
    assert asked(project, "/gone", lambda _: Answer.of(status=204)).status == 204


def test_redirects_are_followed(project: Path) -> None:
    def outbound(request: Outgoing) -> Answer:
        if request.url.endswith("/old"):
            return Answer.of(status=302, headers={"Location": "/new"})
        return Answer.of(request.method)

    answer = asked(project, "/old", outbound)
    assert (answer.text, answer.header("x-from")) == ("GET", "https://api.example/new")


def test_a_connection_that_fails_is_one(project: Path) -> None:
    def outbound(_: Outgoing) -> Answer:
        raise ConnectionRefusedError

    answer = asked(project, "/", outbound)
    assert (answer.status, "Network connection lost." in answer.text) == (502, True)


def test_it_can_change_as_the_test_goes(project: Path) -> None:
    async def run() -> list[Any]:
        async with Harness(project) as worker:
            answers = []
            for status in (500, 200):
                worker.outbound = lambda _, status=status: Answer.of(status=status)
                answers.append((await worker.fetch("/")).status)
            return answers

    assert asyncio.run(run()) == [500, 200]
