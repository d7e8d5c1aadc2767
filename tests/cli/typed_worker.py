"""A worker that calls all that bindings document, with keywords and with dicts: it must run, and pass `mypy --strict`
against the stub that `pyflare types` writes of it."""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image

CONFIG: dict[str, Any] = {
    "vars": {"GREETING": "Hello", "LIMIT": 5, "DEBUG": True, "NESTED": {"a": [1]}},
    "kv_namespaces": [{"binding": "KV", "id": "n"}],
    "d1_databases": [{"binding": "DB", "database_name": "d", "database_id": "d"}],
    "r2_buckets": [{"binding": "R2", "bucket_name": "files"}],
    "queues": {
        "producers": [{"binding": "JOBS", "queue": "jobs"}],
        "consumers": [{"queue": "jobs", "max_batch_size": 10, "max_batch_timeout": 0, "max_retries": 1}],
    },
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
    "workflows": [{"binding": "FLOW", "name": "flow", "class_name": "Flow"}],
    "services": [{"binding": "SELF", "service": "shop"}],
    "assets": {"directory": "public", "binding": "ASSETS"},
    "ratelimits": [{"name": "LIMITER", "namespace_id": "1", "simple": {"limit": 100, "period": 60}}],
    "analytics_engine_datasets": [{"binding": "POINTS", "dataset": "points"}],
    "send_email": [{"name": "EMAIL"}],
    "hyperdrive": [{"binding": "SQL", "id": "h", "localConnectionString": "postgres://ada:pw@localhost:5432/db"}],
    "pipelines": [{"binding": "PIPE", "pipeline": "p"}],
    "version_metadata": {"binding": "VERSION"},
    "images": {"binding": "IMAGES"},
    "worker_loaders": [{"binding": "LOADER"}],
    "ai": {"binding": "AI"},
    "secrets_store_secrets": [{"binding": "SECRET", "store_id": "s", "secret_name": "key"}],
}

ENTRY = """
from workers import DurableObject, Response, WorkerEntrypoint, WorkflowEntrypoint

import calls


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.method == "POST":
            await calls.use(self.env, PICTURE)
        return Response("done")

    async def queue(self, batch, env, ctx):
        calls.handle(batch)
        await self.env.KV.put("handled", batch.queue)


class Counter(DurableObject):
    async def fetch(self, request):
        return Response("1")

    async def increment(self, by):
        return by


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        await step.wait_for_event("approval", "approved", timeout="1 hour")
"""

CALLS = """
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worker_env import Env, MessageBatch


async def use(env: Env, picture: bytes) -> None:
    for calls in (kv, d1, sessions, r2, r2_parts, queues, objects, workflows, others):
        await calls(env)
    await images(env, picture)


async def kv(env: Env) -> None:
    await env.KV.put("a", '{"n": 1}', expirationTtl=60, metadata={"by": "Ada"})
    await env.KV.put("b", b"2", {"expirationTtl": 60})
    await env.KV.put("c", 3)
    assert await env.KV.get("a") == await env.KV.get("a", "text")
    for value in (
        await env.KV.get("a", "json"),
        await env.KV.get("a", type="json", cacheTtl=60),
        await env.KV.get("a", {"type": "json", "cacheTtl": 60}),
        (await env.KV.get(["a", "b"], "json"))["a"],
        (await env.KV.get(["a", "b"], type="json"))["a"],
        (await env.KV.get(["a", "b"], {"type": "json", "cacheTtl": 60}))["a"],
    ):
        assert value == {"n": 1}
    assert (await env.KV.get(["a", "x"]))["x"] is None
    found = await env.KV.getWithMetadata("a", {"type": "json"})
    assert (found.value, found["metadata"], found.cacheStatus) == ({"n": 1}, {"by": "Ada"}, None)
    assert (await env.KV.getWithMetadata("a", "text")).value == (await env.KV.getWithMetadata("a", type="text")).value
    many = await env.KV.getWithMetadata(["a", "b"], type="json")
    assert many["a"].metadata == (await env.KV.getWithMetadata(["a", "b"]))["a"]["metadata"]
    page = await env.KV.list(prefix="", limit=1, cursor=None)
    following = await env.KV.list({"cursor": page.cursor, "limit": 1})
    assert [key["name"] for key in page["keys"] + following["keys"]] == ["a", "b"]
    assert (await env.KV.list()).list_complete
    await env.KV.delete("c")


async def d1(env: Env) -> None:
    made = await env.DB.exec("CREATE TABLE IF NOT EXISTS t (a, b)")
    assert made.count == 1 and made["duration"] >= 0
    insert = env.DB.prepare("INSERT INTO t VALUES (?, ?)")
    done = await insert.bind(1, None).run()
    assert done.success and done.meta.changes == 1 and done.meta["last_row_id"] == done.meta.last_row_id
    first, second = await env.DB.batch([insert.bind(2, "x"), env.DB.prepare("SELECT * FROM t")])
    assert first["success"] and second.results[0]["a"] == second["results"][0].a
    everything = env.DB.prepare("SELECT a, b FROM t")
    rows = await everything.all()
    assert [row.a for row in rows.results] == [1, 2]
    assert await everything.first("b") is None and (await everything.first()).a == 1
    assert (await everything.raw())[0] == [1, None]
    assert (await everything.raw(columnNames=True))[0] == (await everything.raw({"columnNames": True}))[0] == ["a", "b"]


async def sessions(env: Env) -> None:
    for session in (env.DB.withSession(), env.DB.withSession("first-primary")):
        assert session.getBookmark() is None
        (result,) = await session.batch([session.prepare("SELECT ? AS a").bind(1)])
        assert result.results[0].a == 1
        bookmark = session.getBookmark()
        assert bookmark is not None
        assert (await env.DB.withSession(bookmark).prepare("SELECT 1 AS a").first("a")) == 1


async def r2(env: Env) -> None:
    put = await env.R2.put(
        "a", "hello", httpMetadata={"contentType": "text/plain"}, customMetadata={"by": "Ada"}, storageClass="Standard"
    )
    assert (put.key, put.size, put.httpEtag) == ("a", 5, f'"{put.etag}"')
    assert put.checksums.md5 is not None and put.checksums.sha1 is None and put.checksums.toJSON()["md5"] == put.etag
    assert (put.storageClass, put.ssecKeyMd5, put.version != "") == ("Standard", None, True)
    assert put.uploaded and put.httpMetadata.contentType == "text/plain" and put.customMetadata["by"] == "Ada"
    checked = await env.R2.put("b", b"x", {"httpMetadata": {"contentType": "a/b"}, "sha1": SHA1})
    assert checked.checksums.sha1 is not None
    assert await env.R2.put("b", b"y", onlyIf={"etagMatches": "0" * 32}) is None
    assert await env.R2.put("b", b"y", {"onlyIf": {"etagMatches": "0" * 32}}) is None
    head = await env.R2.head("a")
    assert head is not None and head.range.length == 5 and head.etag == put.etag
    got = await env.R2.get("a", range={"offset": 1, "length": 2})
    assert got is not None and got.body is not None and not got.bodyUsed
    assert await got.text() == "el" and got.range.offset == 1
    assert await (await env.R2.get("a", {"range": {"suffix": 2}, "onlyIf": {"etagMatches": put.etag}})).text() == "lo"
    assert not hasattr(await env.R2.get("a", onlyIf={"etagDoesNotMatch": put.etag}), "body")
    for method in ("bytes", "arrayBuffer"):
        whole = await env.R2.get("a")
        assert whole is not None
        assert bytes(await (whole.bytes() if method == "bytes" else whole.arrayBuffer())) == b"hello"
    whole = await env.R2.get("a")
    assert whole is not None and await whole.blob() is not None
    await env.R2.put("c", "[1]")
    whole = await env.R2.get("c")
    assert whole is not None and await whole.json() == [1]
    page = await env.R2.list(prefix="", limit=1, delimiter="/", include=["httpMetadata", "customMetadata"])
    assert page.truncated and page["delimitedPrefixes"] == page.delimitedPrefixes == [] and page.cursor is not None
    assert page.objects[0].key == "a" and page.objects[0].customMetadata.by == "Ada"
    following = await env.R2.list({"cursor": page.cursor, "limit": 1})
    assert [found.key for found in following.objects] == ["b"]
    assert [found.key for found in (await env.R2.list(startAfter="b")).objects] == ["c"]
    assert not (await env.R2.list()).truncated
    await env.R2.delete("a")
    await env.R2.delete(["b", "c"])


SHA1 = "11f6ad8ec52a2984abaafd7c3b516503785c2072"


async def r2_parts(env: Env) -> None:
    upload = await env.R2.createMultipartUpload("big", httpMetadata={"contentType": "a/b"})
    part = await upload.uploadPart(1, b"one")
    assert part.partNumber == 1 and part["etag"] == part.etag
    resumed = env.R2.resumeMultipartUpload(upload.key, upload.uploadId)
    assert (await resumed.complete([part])).size == 3
    other = await env.R2.createMultipartUpload("big", {"customMetadata": {"by": "Ada"}, "storageClass": "Standard"})
    await other.abort()


async def queues(env: Env) -> None:
    sent = await env.JOBS.send({"a": 1})
    assert sent.metadata.metrics.backlogCount == sent["metadata"]["metrics"]["backlogCount"] >= 1
    await env.JOBS.send("x", contentType="text", delaySeconds=1)
    await env.JOBS.send("x", {"contentType": "text", "delaySeconds": 1})
    await env.JOBS.sendBatch([{"body": 1}, {"body": "x", "contentType": "text", "delaySeconds": 1}])
    await env.JOBS.sendBatch([{"body": 1}], delaySeconds=1)
    await env.JOBS.sendBatch([{"body": 1}], {"delaySeconds": 1})
    metrics = await env.JOBS.metrics()
    assert metrics.backlogBytes > 0 and metrics.oldestMessageTimestamp


def handle(batch: MessageBatch) -> None:
    assert batch.queue == "jobs" and batch.metadata.metrics.backlogCount >= len(batch.messages)
    for message in batch.messages:
        assert message.id and message.timestamp and message.body
        if message.attempts > 1:
            message.ack()
        elif message.body == "x":
            message.retry(delaySeconds=1)
        else:
            message.retry({"delaySeconds": 1})
    batch.retryAll(delaySeconds=1)
    batch.retryAll({"delaySeconds": 1})
    batch.ackAll()


async def objects(env: Env) -> None:
    id = env.COUNTER.idFromName("a")
    assert id.equals(env.COUNTER.idFromString(id.toString())) and (id.name, id.jurisdiction) == ("a", None)
    stub = env.COUNTER.get(id, locationHint="weur")
    assert stub.name == "a" and stub.id.toString() == id.toString() and await stub.increment(2) == 2
    assert await (await stub.fetch("http://counter/", method="POST")).text() == "1"
    assert await env.COUNTER.getByName("a", {"locationHint": "weur"}).increment(1) == 1
    assert env.COUNTER.get(env.COUNTER.newUniqueId()).name is None
    assert env.COUNTER.newUniqueId(jurisdiction="eu").jurisdiction == "eu"
    assert env.COUNTER.jurisdiction("eu").idFromName("a").jurisdiction == "eu"


async def workflows(env: Env) -> None:
    one = await env.FLOW.create(id="one", params={"a": 1}, retention={"successRetention": "1 day"})
    two = await env.FLOW.create({"id": "two", "params": {"a": 1}})
    three, four = await env.FLOW.create_batch([{"id": "three"}, {"params": 1}])
    (five,) = await env.FLOW.createBatch([{"id": "five"}])
    made = await env.FLOW.createBatch(count=2, params={"a": 1})
    assert len(made.created) == 2 and (await env.FLOW.createBatch({"instances": [{"id": "six"}]})).errors == []
    status = await one.status()
    assert status.status == status["status"] and status.error is None and status.output is None
    await one.pause()
    await one.resume()
    await one.restart()
    await one.sendEvent(type="approved", payload=1)
    await two.send_event({"type": "approved", "payload": 1})
    await two.sendEvent({"type": "approved"})
    await three.terminate(rollback=True)
    await four.terminate()
    await (await env.FLOW.get(five.id)).terminate({"rollback": False})
    await five.delete()
    assert [gone.id for gone in (await env.FLOW.deleteBatch(["three"])).deleted] == ["three"]


async def others(env: Env) -> None:
    assert (env.GREETING, env.LIMIT, env.DEBUG, env.NESTED.a[0]) == ("Hello", 5, True, 1)
    assert await (await env.SELF.fetch("http://shop/", headers={"a": "b"})).text() == "done"
    assert (await env.ASSETS.fetch("http://shop/page.txt")).status == 200
    outcome = await env.LIMITER.limit(key="a")
    assert outcome.success and (await env.LIMITER.limit({"key": "a"}))["success"]
    env.POINTS.writeDataPoint(indexes=["a"], blobs=["b", None], doubles=[1, 2.5])
    env.POINTS.writeDataPoint({"indexes": ["a"], "doubles": [1]})
    mail = {"from": "ada@example.com", "to": "bob@example.com", "subject": "Hello", "text": "Hi"}
    assert (await env.EMAIL.send(mail)).messageId
    sql = env.SQL
    assert sql.connectionString and (sql.port, sql.user, sql.password, sql.database, bool(sql.host)) == SQL
    await env.PIPE.send([{"a": 1}])
    assert (env.VERSION.id != "", env.VERSION.tag, env.VERSION.timestamp != "") == (True, "", True)
    assert await env.SECRET.get() == "hush"
    assert env.AI and env.LOADER


SQL = (5432, "ada", "pw", "db", True)


async def images(env: Env, picture: bytes) -> None:
    info = await env.IMAGES.info(picture)
    assert (info.format, info["width"], info.height, info.fileSize) == ("image/png", 4, 2, len(picture))
    mark = env.IMAGES.input(picture).transform(width=1)
    drawing = env.IMAGES.input(picture).transform({"width": 2, "rotate": 90}).draw(mark, {"opacity": 0.5, "top": 0})
    result = await drawing.draw(picture, left=0).output(format="image/png", quality=50)
    assert result.contentType() == "image/png" and result.response().status == 200
    again = await env.IMAGES.input(picture).output({"format": "image/png"})
    assert again.image(encoding="base64") and again.image({"encoding": "base64"}) and again.image()
"""


def picture() -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (4, 2)).save(target, "PNG")
    return target.getvalue()


def entry() -> str:
    return f"import base64\n{ENTRY}\n\nPICTURE = base64.b64decode({base64.b64encode(picture()).decode()!r})\n"
