"""What a test fills and reads of a worker's bindings, and the events that it sends besides requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.errors import ConfigError, EngineError
from pyflare.testing import Harness, Point
from tests.support.project import Project

WORKER = """
from workers import DurableObject, Response, WorkerEntrypoint


class Room(DurableObject):
    async def hello(self, name):
        return {"hello": name}


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/secret"):
            return Response(await self.env.TOKEN.get())
        if request.url.endswith("/send"):
            await self.env.MAIL.send({"from": "a@w.test", "to": "b@c.test", "subject": "Hi", "text": "There"})
            self.env.POINTS.writeDataPoint({"indexes": ["i"], "blobs": ["x"], "doubles": [1.5]})
            self.env.POINTS.writeDataPoint({"doubles": [2]})
        return Response(str(await self.env.NOTES.get("a")))

    async def email(self, message, env, ctx):
        subject = message.headers.get("subject")
        if subject == "boom":
            raise ValueError(subject)
        if subject == "spam":
            message.setReject("no spam")
        await self.env.NOTES.put("a", f"{getattr(message, 'from')} {message.to} {subject}")

    async def scheduled(self, controller, env, ctx):
        await self.env.NOTES.put("a", controller.cron)
"""
BINDINGS: dict[str, Any] = {
    "kv_namespaces": [{"binding": "NOTES", "id": "notes"}],
    "r2_buckets": [{"binding": "FILES", "bucket_name": "files"}],
    "d1_databases": [{"binding": "DB", "database_name": "people", "database_id": "x"}],
    "secrets_store_secrets": [{"binding": "TOKEN", "store_id": "s", "secret_name": "API_KEY"}],
    "analytics_engine_datasets": [{"binding": "POINTS", "dataset": "clicks"}],
    "send_email": [{"name": "MAIL"}],
    "durable_objects": {"bindings": [{"name": "ROOM", "class_name": "Room"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Room"]}],
}


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., Any]:
    project = Project(tmp_path / "w")
    project.write("src/entry.py", WORKER)
    project.configure(**BINDINGS)

    def tell(story: Callable[[Harness], Awaitable[Any]], **options: Any) -> Any:
        async def run() -> Any:
            async with Harness(project.root, **options) as worker:
                return await story(worker)

        return asyncio.run(run())

    return tell


def test_bindings_are_those_that_the_worker_has(told: Callable[..., Any]) -> None:
    async def story(worker: Harness) -> None:
        env = worker.env
        await env.NOTES.put("a", "seeded")
        assert (await worker.fetch("/")).text == "seeded"
        await env.DB.exec("CREATE TABLE t (n INTEGER)")
        await env.DB.prepare("INSERT INTO t VALUES (?)").bind(5).run()
        assert (await env.DB.prepare("SELECT n FROM t").first())["n"] == 5
        await env.FILES.put("k", "text")
        assert await (await env.FILES.get("k")).text() == "text"
        assert await env.ROOM.getByName("a").hello("Ada") == {"hello": "Ada"}

    told(story)


def test_a_binding_that_is_not_configured_is_told_with_one_of_nearly_that_name(told: Callable[..., Any]) -> None:
    async def story(worker: Harness) -> None:
        with pytest.raises(AttributeError) as raised:
            worker.env.NOTE  # noqa: B018
        assert raised.value.__notes__ == ["env has no NOTE; did you mean NOTES?"]
        assert not hasattr(worker.env, "NOTE")

    told(story)


def test_secrets_are_given_by_binding(told: Callable[..., Any]) -> None:
    assert told(lambda worker: worker.fetch("/secret"), secrets={"TOKEN": "s3cret"}).text == "s3cret"
    with pytest.raises(EngineError, match="bound to 'NOPE'; there are: TOKEN"):
        told(lambda worker: worker.fetch("/"), secrets={"NOPE": "x"})


def test_a_message_gets_the_headers_that_it_lacks(told: Callable[..., Any]) -> None:
    async def story(worker: Harness) -> Any:
        delivery = await worker.email("ada@a.test", "in@w.test", "Subject: Hi\r\n\r\nText")
        return delivery.reject_reason, (await worker.fetch("/")).text

    assert told(story) == (None, "ada@a.test in@w.test Hi")


def test_a_message_can_be_rejected_and_the_handler_may_raise(told: Callable[..., Any]) -> None:
    async def story(worker: Harness) -> None:
        assert (await worker.email("a@a.test", "b@b.test", b"Subject: spam\r\n\r\n")).reject_reason == "no spam"
        with pytest.raises(ValueError, match="boom"):
            await worker.email("a@a.test", "b@b.test", "Subject: boom\r\n\r\n")

    told(story)


def test_what_was_sent_and_measured_can_be_read(told: Callable[..., Any]) -> None:
    async def story(worker: Harness) -> None:
        await worker.fetch("/send")
        [mail] = worker.outbox
        assert (mail.sender, mail.recipients, mail.subject) == ("a@w.test", ["b@c.test"], "Hi")
        assert b"There" in mail.raw
        now = worker.clock.now()
        expected = [Point(now, "i", ["x"], [1.5]), Point(now, "", [], [2.0])]
        assert worker.points("clicks") == worker.points("POINTS") == expected
        with pytest.raises(EngineError, match="no dataset 'nope'; there are: clicks, POINTS"):
            worker.points("nope")

    told(story)


def test_a_database_that_is_not_there_cannot_be_migrated(told: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="no D1 database 'nodb'; there are: DB, people"):
        told(lambda worker: worker.migrate("nodb"))


def test_what_dev_answers_itself_is_answered_here_too(told: Callable[..., Any]) -> None:
    async def story(worker: Harness) -> None:
        query = "/cdn-cgi/handler/email?from=a@a.test&to=b@b.test"
        answer = await worker.fetch(query, body="Message-ID: <1@a>\r\nSubject: Hi\r\n\r\nText")
        assert (answer.status, answer.text) == (200, "Worker successfully processed email")
        assert (await worker.fetch("/")).text == "a@a.test b@b.test Hi"
        assert (await worker.fetch("/__scheduled?cron=1+2+*+*+*")).text == "Ran scheduled event"
        assert (await worker.fetch("/")).text == "1 2 * * *"
        assert (await worker.fetch("/cdn-cgi/handler/nope")).status == 404
        panels = (await worker.fetch("/cdn-cgi/explorer/api/local/panels")).json()
        assert "kv" in json.dumps(panels)
        assert (await worker.fetch("/cdn-cgi/unknown")).text == "1 2 * * *"  # the worker's own

    told(story)


def test_a_cron_that_is_no_expression_runs_and_the_terminal_says_so(told: Callable[..., Any]) -> None:
    async def story(worker: Harness) -> None:
        await worker.scheduled("every day")
        assert (await worker.fetch("/")).text == "every day"
        assert "'every day' is no cron expression: a cron expression has five fields" in worker.terminal

    told(story)


def test_a_secret_is_kept_beside_the_rest(told: Callable[..., Any], tmp_path: Path) -> None:
    state = tmp_path / "v3"
    told(lambda worker: worker.fetch("/secret"), secrets={"TOKEN": "kept"}, state=state)
    assert told(lambda worker: worker.fetch("/secret"), state=state).text == "kept"
