# mypy: ignore-errors
"""The workflows of these tests: `params["flow"]` names the method that runs; `note` leaves a line in KV."""

import asyncio
import json
from datetime import datetime, timedelta

from js import Object
from pyodide.ffi import to_js
from workers import Response, WorkerEntrypoint, WorkflowEntrypoint
from workers.workflows import NonRetryableError

ONCE = {"retries": {"limit": 0, "delay": 0}}


class SlugTaken(NonRetryableError):
    pass


def js(value):
    return to_js(value, dict_converter=Object.fromEntries)


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        self.event, self.step = event, step
        params = event["payload"]
        return await getattr(self, params.get("flow", "echo"))(params)

    async def note(self, line):
        log = await self.env.LOG.get("log", "json") or []
        await self.env.LOG.put("log", json.dumps([*log, line]))

    async def do(self, name, action=None, **config):
        """A step that notes its name and returns what `action(ctx)` gives."""

        async def call(ctx):
            await self.note(name)
            result = action(ctx) if action else name
            return await result if asyncio.iscoroutine(result) else result

        return await self.step.do(name, config=config or None)(call)()

    # --- flows ------------------------------------------------------------------------------------------------------

    async def echo(self, params):
        return params

    async def two_steps_around_a_nap(self, params):
        await self.note("outside")
        first = await self.do("one", lambda ctx: 1)
        await self.step.sleep("nap", params.get("nap", "1 hour"))
        return first + await self.do("two", lambda ctx: 2)

    async def fails(self, params):
        """Fails as often as `times` says."""

        def attempt(ctx):
            if ctx["attempt"] <= params["times"]:
                raise RuntimeError(f"attempt {ctx['attempt']}")
            return ctx["attempt"]

        return await self.do("flaky", attempt, **params.get("config", {}))

    async def gives_up(self, params):
        kinds = {"plain": NonRetryableError, "subclass": SlugTaken}

        def attempt(ctx):
            raise kinds[params["kind"]](params["message"])

        return await self.do("fatal", attempt)

    async def gives_up_and_catches(self, params):
        def attempt(ctx):
            raise NonRetryableError("stop")

        try:
            await self.do("fatal", attempt)
        except NonRetryableError as error:
            return [type(error).__name__, str(error)]

    async def delay_function(self, params):
        answers = {"linear": lambda given: given.ctx.attempt * 1000, "text": lambda given: "1 minute"}
        answers |= {"bad": lambda given: "soon", "raises": lambda given: 1 / 0}

        def attempt(ctx):
            raise RuntimeError("again")

        async def call(ctx):
            await self.note("attempt")
            attempt(ctx)

        config = to_js({"limit": 2, "delay": answers[params["kind"]]}, dict_converter=Object.fromEntries)
        return await self.step._js_step.do("delayed", js({"retries": config}), call)

    async def slow(self, params):
        async def forever(ctx):
            await asyncio.Event().wait()

        return await self.do("slow", forever, timeout="1 minute", **ONCE)

    async def big(self, params):
        result = await self.do("big", lambda ctx: bytes(params["size"]), **ONCE)
        return len(result)

    async def streams(self, params):
        body = Response("x" * params["size"]).body

        @self.step.do("stream")
        async def stream():
            await self.note("stream")
            return body

        found = await stream()
        text = await Response(found).text()
        await self.step.sleep("nap", "1 hour")
        return len(text)

    async def unserialisable(self, params):
        @self.step.do("object")
        async def an_object():
            return {"function": lambda: 1}

        try:
            await an_object()
        except Exception:
            return "caught"

    async def secret(self, params):
        return len(await self.do("secret", lambda ctx: "hunter2", sensitive="output"))

    async def sleeps(self, params):
        await self.step.sleep("nap", params["duration"])
        return "awake"

    async def sleeps_until(self, params):
        await self.step.sleep_until("nap", datetime.now() + timedelta(seconds=params["seconds"]))
        return "awake"

    async def waits(self, params):
        got = await self.step.wait_for_event("wait", params.get("type", "go"), timeout=params.get("timeout", "1 hour"))
        return got["payload"]

    async def waits_twice(self, params):
        try:
            await self.step.wait_for_event("first", "go", timeout="1 minute")
        except Exception as error:
            await self.note(str(error))
        return (await self.step.wait_for_event("second", "go", timeout="1 hour"))["payload"]

    async def waits_in_a_group(self, params):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.nap(n)) for n in range(3)]
        return [task.result() for task in tasks]

    async def waits_in_a_gather(self, params):
        return list(await asyncio.gather(*(self.nap(n) for n in range(3))))

    async def nap(self, number):
        await self.step.sleep(f"nap {number}", "1 day")
        return number

    async def works_beside_a_wait(self, params):
        """Code outside of steps that takes its time while a step waits."""

        async def beside():
            for _ in range(5):
                await asyncio.sleep(0.02)
            await self.note("beside")

        await asyncio.gather(self.step.sleep("nap", "1 hour"), beside())
        return "done"

    async def together(self, params):
        return list(await asyncio.gather(self.do("left"), self.do("right")))

    async def holds(self, params):
        """A step that lasts until the test says so."""

        async def until_told(ctx):
            while not await self.env.LOG.get("told"):
                await asyncio.sleep(0.01)
            return "told"

        first = await self.do("holds", until_told, **params.get("config", {}))
        return [first, await self.do("after")]

    async def works_then_waits_twice(self, params):
        await self.holds(params)
        found = [await self.step.wait_for_event(f"wait {n}", "go", timeout="1 minute") for n in range(2)]
        return [event["payload"] for event in found]

    async def fickle(self, params):
        """Decides outside of a step: what it does depends on what is in KV."""
        await self.do("first")
        if await self.env.LOG.get("told"):
            await self.do("other way")
        await self.step.sleep("nap", "1 hour")
        return "done"

    async def fickle_branch(self, params):
        await self.do("new" if await self.env.LOG.get("told") else "old")
        await self.step.sleep("nap", "1 hour")
        return "done"

    async def saga(self, params):
        """The raw step's own rollback."""
        raw = self.step._js_step

        def step(name, *config):
            async def act(ctx):
                await self.note(name)
                return f"result of {name}"

            async def undo(given):
                given = given.to_py() if hasattr(given, "to_py") else given
                await self.note(f"undo {name}: {given['output']}, {given['error'].message.splitlines()[-1]}")
                failures = params.get("undo_failures", 0)
                if name == "charge" and given and await self.count(f"undo {name}") <= failures:
                    raise RuntimeError("the bank does not answer")

            options = {"rollback": undo}
            if config:
                options["rollbackConfig"] = config[0]
            return raw.do(name, act, js(options))

        await step("reserve")
        await step("charge", {"retries": {"limit": 2, "delay": "1 minute", "backoff": "constant"}})
        if params.get("wait"):
            await self.step.wait_for_event("approval", "approved")
        raise RuntimeError("nobody delivers there")

    async def count(self, prefix):
        log = await self.env.LOG.get("log", "json") or []
        return sum(line.startswith(prefix) for line in log)

    async def everything(self, params):
        """Ten steps with retries, a sleep, an event and a rollback, for the crash test."""
        raw = self.step._js_step
        for number in range(4):

            async def act(ctx, number=number):
                if number == 2 and ctx.attempt < 3:
                    raise RuntimeError("not yet")
                return number

            async def undo(given):
                return None

            config = js({"retries": {"limit": 50, "delay": "1 second", "backoff": "constant"}})
            options = js({"rollback": undo, "rollbackConfig": {"retries": {"limit": 50, "delay": "1 second"}}})
            await raw.do(f"step {number}", config, act, options)
        await self.step.sleep("nap", "1 hour")
        news = await self.step.wait_for_event("wait", "go", timeout="30 days")
        for number in range(3):
            await self.do(f"late {number}", lambda ctx: news["payload"], retries={"limit": 50, "delay": 1000})

        def stop(ctx):
            raise NonRetryableError("the end")

        await self.do("last", stop)

    async def child(self, params):
        parent = await self.env.FLOW.get(params["parent"])
        await parent.send_event({"type": "child done", "payload": params["n"] * 2})

    async def parent(self, params):
        async def start(ctx):
            child = {"flow": "child", "parent": self.event["instanceId"], "n": 21}
            return (await self.env.FLOW.create(params=child)).id

        await self.do("start child", start)
        return (await self.step.wait_for_event("wait", "child done"))["payload"]

    async def many_steps(self, params):
        return [await self.do(f"step {number}") for number in range(params["count"])]


class Short(WorkflowEntrypoint):
    async def run(self, event, step):
        for number in range(event["payload"]["steps"]):
            await step.do(f"step {number}")(lambda: 1)()
        return "done"


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        """POST /call {"method", "args", "id"}: a method of the binding, or of an instance where an id is given."""
        if request.method == "GET":
            return Response.json(await self.env.LOG.get("log", "json") or [])
        call = await request.json()
        binding = getattr(self.env, call.get("binding", "FLOW"))
        try:
            target = await binding.get(call["id"]) if "id" in call else binding
            result = await getattr(target, call["method"])(*call.get("args", ()))
        except Exception as error:
            return Response.json({"error": str(error)})
        return Response.json({"result": plain(result)})


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, (str, int, float, bool)) else value.id
