"""How events reach the user's handlers, through a whole server and the SDK."""

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.clock import FakeClock
from pyflare.config.model import Compat, WorkerConfig
from pyflare.config.options import DevOptions
from pyflare.engines.queues.batch import MessageBatch
from pyflare.errors import WorkerError
from pyflare.interop import traces
from pyflare.interop.errors import JsException
from pyflare.interop.traces import ENV_HINT
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.log import Log
from pyflare.server import Server
from pyflare.worker.event import Event, Handler, Queue
from pyflare.worker.signature import first_line

MODERN = Compat("2026-08-01", frozenset({"python_workers"}))
LEGACY = Compat("2025-08-01", frozenset({"python_workers"}))


def run(
    folder: Path,
    code: str,
    test: Callable[[Server], Awaitable[Any]],
    compat: Compat = MODERN,
    **more: Any,
) -> tuple[Any, str]:
    """Serve `code` and run `test(server)`; its result and what was logged."""
    main = folder / "entry.py"
    main.write_text(code)
    config = WorkerConfig(name="w", root=folder, main=main, compat=compat, **more)
    out = io.StringIO()

    async def serve() -> Any:
        server = Server(
            [config], state=folder / "state", options=DevOptions(), clock=FakeClock(), log=Log("log", "text", out)
        )
        await server.start()
        try:
            return await test(server)
        finally:
            await server.stop()

    return asyncio.run(serve()), out.getvalue()


async def get(server: Server, path: str = "/", body: bytes | None = None) -> Response:
    method = "GET" if body is None else "POST"
    made = None if body is None else Body.make(body)
    return await server.fetch(Request.make(method, f"http://localhost{path}", Headers.make([]), made))


async def text(server: Server) -> str:
    return str(await (await get(server)).text())


CLASS = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    {handler}
"""


@pytest.mark.parametrize(
    "handler",
    [
        'async def fetch(self, request): return Response("ok")',
        'async def fetch(self): return Response("ok")',
        'def fetch(self, request, env, ctx): return Response("ok" if env is None and ctx is None else "no")',
        'async def fetch(self, *args): return Response("ok" if len(args) == 3 else "no")',
    ],
)
def test_fetch_may_take_fewer_arguments_and_be_a_plain_function(tmp_path: Path, handler: str) -> None:
    assert run(tmp_path, CLASS.format(handler=handler), text)[0] == "ok"


@pytest.mark.parametrize(("value", "named"), [('"text"', "str"), ('{"a": 1}', "dict"), ("None", "None")])
def test_a_handler_that_returns_no_response_is_told_what_to_write(tmp_path: Path, value: str, named: str) -> None:
    code = CLASS.format(handler=f"async def fetch(self, request): return {value}")
    with pytest.raises(JsException, match=f"Default.fetch returned {named}: return Response") as caught:
        run(tmp_path, code, get)
    assert "did not resolve to 'Response'" in caught.value.message


def test_env_as_an_argument_is_none_and_the_error_says_what_to_use(tmp_path: Path) -> None:
    code = CLASS.format(handler="async def fetch(self, request, env, ctx): return Response(env.NAME)")
    with pytest.raises(AttributeError) as caught:
        run(tmp_path, code, get)
    assert caught.value.__notes__ == [ENV_HINT]


@pytest.mark.parametrize("handler", ["fetch(self, request)", "email(self, message, env, ctx)"])
def test_a_binding_that_env_lacks_is_told_with_those_that_it_has(tmp_path: Path, handler: str) -> None:
    code = CLASS.format(handler=f"async def {handler}: return self.env.DB")
    event = get if "fetch" in handler else email
    with pytest.raises(AttributeError) as caught:
        run(tmp_path, code, event, vars={"NAME": "n"})
    assert str(caught.value) == "DB"
    assert caught.value.__notes__ == ["env has no DB; the configuration gives: NAME"]


NO_MESSAGES: Any = MessageBatch.make("jobs", [], lambda: None, print)


async def email(server: Server) -> None:
    await server.dispatch("w", Handler("email", None))


@pytest.mark.parametrize(
    ("handler", "event", "fault"),
    [
        ("async def email(self, message): pass", Handler("email", None), "takes 2 positional arguments but 4"),
        ("async def queue(self): pass", Queue(NO_MESSAGES), "takes 1 positional argument but 4"),
        ("async def queue(self, batch, env, ctx, more): pass", Queue(NO_MESSAGES), "missing 1 required positional"),
        ("def tail(self, events, env): pass", Handler("tail", None), "takes 3 positional arguments but 4"),
    ],
)
def test_a_handler_that_cannot_be_called_is_told_how_to_write_it_and_shows_no_frames_of_ours(
    tmp_path: Path, handler: str, event: Event, fault: str
) -> None:
    async def shown(server: Server) -> str:
        try:
            await server.dispatch("w", event)
        except TypeError as raised:
            frames = raised.__traceback__
            assert frames is not None and frames.tb_next is not None
            return traces.render(raised.with_traceback(frames.tb_next))  # without the test's own
        return ""

    said, told = run(tmp_path, CLASS.format(handler=handler), shown)[0].splitlines()
    assert said.startswith("TypeError: Default.") and fault in said
    line = first_line(event.name if isinstance(event, Handler) else "queue")
    assert told == f"entry.py:5: Cloudflare calls it with three arguments: write `{line}`"


def test_a_type_error_of_the_handler_s_own_code_gets_no_such_hint(tmp_path: Path) -> None:
    with pytest.raises(TypeError) as caught:
        run(tmp_path, CLASS.format(handler="async def email(self, message, env, ctx): len(1)"), email)
    assert not hasattr(caught.value, "__notes__")


def test_vars_are_in_self_env_and_in_workers_env(tmp_path: Path) -> None:
    code = """
from workers import Response, WorkerEntrypoint, env

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(f"{self.env.NAME} {env.NAME} {self.env.JSON.a} {hasattr(self.env, 'OTHER')}")
"""
    made = run(tmp_path, code, text, vars={"NAME": "n", "JSON": {"a": 1}})[0]
    assert made == "n n 1 False"


def test_wait_until_goes_on_after_the_answer_and_its_failure_is_a_line(tmp_path: Path) -> None:
    code = """
import asyncio
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        async def later():
            await asyncio.sleep(0)
            raise ValueError("too late")
        self.ctx.waitUntil(later())
        return Response("ok")
"""

    async def test(server: Server) -> str:
        answer = await text(server)
        while server.busy():
            await asyncio.sleep(0)
        return answer

    answer, logged = run(tmp_path, code, test)
    assert answer == "ok"
    assert "ValueError: too late" in logged


def test_a_wrong_signature_is_named_at_start_with_the_line_to_write(tmp_path: Path) -> None:
    code = CLASS.format(handler="async def queue(self, batch): pass")
    _, logged = run(tmp_path, code, _nothing)
    assert "Default.queue takes 1 argument" in logged
    assert "`async def queue(self, batch, env, ctx):`" in logged


async def _nothing(server: Server) -> None:
    return None


def test_an_import_error_names_the_file_and_keeps_the_traceback_from_the_users_line_on(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=r"entry.py cannot be imported: ZeroDivisionError") as caught:
        run(tmp_path, "1 / 0\n", _nothing)
    assert caught.value.details.splitlines()[1].strip().startswith('File "')
    assert "entry.py" in caught.value.details.splitlines()[1]


def test_module_level_handlers_get_wrapped_values_and_a_line_at_start(tmp_path: Path) -> None:
    code = """
from workers import Response

async def fetch(request, env):
    return Response(f"{type(request).__name__} {env.NAME}")
"""
    answer, logged = run(tmp_path, code, text, vars={"NAME": "n"})
    assert answer == "Request n"
    assert "Cloudflare needs `class Default(WorkerEntrypoint)`" in logged


def test_on_fetch_gets_raw_values_under_dates_that_allow_it(tmp_path: Path) -> None:
    code = """
from js import Response

async def on_fetch(request, env, ctx):
    return Response.new(f"{type(request).__name__} {ctx.constructor.name}")
"""
    answer, logged = run(tmp_path, code, text, LEGACY)
    assert answer == "JsProxy ExecutionContext"
    assert logged == ""


def test_worker_code_sees_the_servers_clock_and_nobody_else_does(tmp_path: Path) -> None:
    code = """
import time
from datetime import datetime
import js
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(f"{time.time():.0f} {datetime.now().timestamp():.0f} {js.Date.now()}")
"""
    import time

    assert run(tmp_path, code, text)[0] == "1700000000 1700000000 1700000000000"
    assert time.time() > 1_700_000_001


def test_the_hosts_environment_does_not_leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "x")
    code = """
import os
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(",".join(sorted(os.environ)))
"""
    assert run(tmp_path, code, text)[0] == "HOME,PYTHONHASHSEED"


TWO = """
import helpers
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        {line}

    async def name(self):
        return helpers.NAME
"""


def test_two_workers_may_both_have_entry_and_helpers(tmp_path: Path) -> None:
    configs = []
    for name, line in (("a", "return Response(helpers.NAME + await self.env.B.name())"), ("b", "pass")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "helpers.py").write_text(f"NAME = {name!r}\n")
        (folder / "entry.py").write_text(TWO.format(line=line))
        sections = {"services": [{"binding": "B", "service": "b"}]}
        configs.append(WorkerConfig(name=name, root=folder, main=folder / "entry.py", compat=MODERN, sections=sections))

    async def serve() -> str:
        server = Server(configs, state=tmp_path / "state", options=DevOptions(), clock=FakeClock(), log=Log("none"))
        await server.start()
        try:
            return await text(server)
        finally:
            await server.stop()

    assert asyncio.run(serve()) == "ab"


@pytest.mark.cloudflare("workers/static-assets/routing/worker-script")
def test_a_service_binding_finds_the_assets_in_front_of_a_worker_but_not_of_an_entrypoint(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public/a.txt").write_text("asset")
    code = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if "a.txt" in request.url or "inner" in request.url:
            return Response("worker")
        answers = []
        for binding, path, method in (("W", "a.txt", "GET"), ("W", "a.txt", "HEAD"), ("W", "inner", "GET"),
                                      ("W", "inner", "HEAD"), ("N", "a.txt", "GET")):
            response = await getattr(self.env, binding).fetch("http://any/" + path, method=method)
            answers.append(await response.text())
        return Response(",".join(answers))

class Named(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("named")
"""
    services = [{"binding": "W", "service": "w"}, {"binding": "N", "service": "w", "entrypoint": "Named"}]
    answer, _ = run(tmp_path, code, text, sections={"services": services, "assets": {"directory": "public"}})
    assert answer == "asset,,worker,,named"


QUEUES = {
    "queues": {
        "producers": [{"binding": "Q", "queue": "jobs"}],
        "consumers": [{"queue": "jobs", "max_batch_timeout": 0, "max_retries": 0}],
    }
}
BACKGROUND = """
import asyncio
from workers import Response, WorkerEntrypoint

gate, seen = asyncio.Event(), []

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/send"):
            await self.env.Q.send("m")
        if request.url.endswith("/open"):
            gate.set()
        return Response(",".join(seen))

    async def queue(self, batch, env, ctx):
        self.ctx.waitUntil(self.later())
        seen.append("handled")
        if RAISES:
            raise ValueError("no")

    async def later(self):
        await gate.wait()
        seen.append("later")
"""


async def batch_ends(server: Server) -> list[bool]:
    """Whether the batch was in flight still before its waitUntil work could end, and after."""
    queues = server.engines["queues"]
    await get(server, "/send")
    for _ in range(30):
        await turn()
    before = bool(queues.busy())
    await get(server, "/open")
    for _ in range(30):
        await turn()
    return [before, bool(queues.busy())]


async def turn() -> None:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, None)
    await future


@pytest.mark.parametrize("raises", ["False", "True"])
def test_a_batch_ends_after_its_waituntil_work(tmp_path: Path, raises: str) -> None:
    ends, _ = run(tmp_path, BACKGROUND.replace("RAISES", raises), batch_ends, sections=QUEUES)
    assert ends == [True, False]


@pytest.mark.cloudflare("compatibility flag queue_consumer_no_wait_for_wait_until")
def test_with_its_flag_a_batch_ends_with_its_handler(tmp_path: Path) -> None:
    flags = frozenset({"python_workers", "queue_consumer_no_wait_for_wait_until"})
    code = BACKGROUND.replace("RAISES", "False")
    ends, _ = run(tmp_path, code, batch_ends, Compat("2026-08-01", flags), sections=QUEUES)
    assert ends == [False, False]


async def nothing(server: Server) -> None:
    """The start is enough."""


def test_functions_at_module_level_are_named_as_they_are_written(tmp_path: Path) -> None:
    code = "async def fetch(request): pass\nasync def on_queue(batch): pass\n"

    _, said = run(tmp_path, code, nothing)
    assert "fetch, on_queue at module level works here; Cloudflare needs" in said
    assert "with fetch, queue as methods" in said


def test_a_constructor_that_cannot_be_called_is_named_at_start(tmp_path: Path) -> None:
    _, said = run(tmp_path, CLASS.format(handler="def __init__(self): pass"), nothing)
    assert "Default.__init__ is called with two arguments: write `def __init__(self, ctx, env):`" in said


def test_a_constructor_with_two_arguments_is_right(tmp_path: Path) -> None:
    _, said = run(tmp_path, CLASS.format(handler="def __init__(self, *given): super().__init__(*given)"), nothing)
    assert "__init__" not in said


def test_only_what_the_worker_itself_imports_must_be_declared(tmp_path: Path) -> None:
    installed = (
        tmp_path / ".venv" / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    )
    vendored = tmp_path / "python_modules"
    for folder, name in ((installed, "installed_by_us"), (vendored, "vendored_by_us")):
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text("import hypothesis\n")
    code = "import installed_by_us, vendored_by_us\nimport pytest\n" + CLASS.format(handler="pass")
    _, said = run(tmp_path, code, nothing)
    assert [line.split("'")[1] for line in said.splitlines() if "declares" in line] == ["pytest"]


def test_process_env_holds_the_texts_of_the_variables(tmp_path: Path) -> None:
    code = "import js\n" + CLASS.format(
        handler="async def fetch(self): return Response(js.JSON.stringify(js.process.env))"
    )
    compat = Compat("2026-08-01", frozenset({"python_workers", "nodejs_compat"}))
    shown, _ = run(tmp_path, code, text, compat, vars={"WORD": "é", "NUMBER": 1})
    assert shown == '{"WORD":"é"}'


@pytest.mark.parametrize("line", ["sys.exit(3)", "await asyncio.create_task(leave())"])
def test_sys_exit_ends_the_event_and_not_the_server(tmp_path: Path, line: str) -> None:
    code = "import asyncio, sys\nasync def leave(): sys.exit(3)\n" + CLASS.format(
        handler=f"async def fetch(self): {line}"
    )

    async def twice(server: Server) -> list[str]:
        said = []
        for _ in range(2):
            with pytest.raises(RuntimeError) as caught:
                await get(server)
            said.append(str(caught.value))
        return said

    assert run(tmp_path, code, twice)[0] == ["SystemExit: 3"] * 2


def test_methods_may_have_the_names_of_old_before_the_date_that_ended_them(tmp_path: Path) -> None:
    code = CLASS.format(handler='async def on_fetch(self, request): return Response("old")')
    assert run(tmp_path, code, text, LEGACY)[0] == "old"
    with pytest.raises(JsException, match="does not export a fetch"):
        run(tmp_path, code, text)


def test_an_import_through_the_folder_of_main_is_told_how_to_write(tmp_path: Path) -> None:
    code = f"import {tmp_path.name}.utils\n"
    with pytest.raises(WorkerError) as caught:
        run(tmp_path, code, nothing)
    assert f"write `import module`, not `import {tmp_path.name}.module`" in caught.value.details


@pytest.mark.cloudflare("workers/runtime-apis/handlers (global scope)")
@pytest.mark.parametrize("line", ["run(env.SELF.fetch('http://x/'))", "run(env.KV.get('a'))"])
def test_the_global_scope_reaches_no_binding(tmp_path: Path, line: str) -> None:
    code = f"""
from workers import env, WorkerEntrypoint

def run(coroutine):
    coroutine.send(None)

{line}
"""
    sections = {"services": [{"binding": "SELF", "service": "w"}], "kv_namespaces": [{"binding": "KV", "id": "kv"}]}
    with pytest.raises(WorkerError, match="Disallowed operation called within global scope"):
        run(tmp_path, code, _nothing, sections=sections)


def test_a_hint_for_people_does_not_cross_a_call(tmp_path: Path) -> None:
    code = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        try:
            await self.env.SELF.missing_binding()
        except Exception as error:
            return Response(error.message)

    async def missing_binding(self):
        return self.env.ABSENT
"""
    sections = {"services": [{"binding": "SELF", "service": "w"}]}
    answer, _ = run(tmp_path, code, text, sections=sections)
    assert answer.splitlines()[-1] == "AttributeError: ABSENT"


@pytest.mark.parametrize(
    ("sections", "line"),
    [
        ({"queues": {"consumers": [{"queue": "jobs"}]}}, "`async def queue(self, batch, env, ctx):`"),
        ({"triggers": {"crons": ["0 1 * * *"]}}, "`async def scheduled(self, controller, env, ctx):`"),
    ],
)
def test_a_configured_event_without_its_handler_is_named_at_start(
    tmp_path: Path, sections: dict[str, Any], line: str
) -> None:
    code = CLASS.format(handler='async def fetch(self, request): return Response("ok")')
    _, logged = run(tmp_path, code, _nothing, sections=sections)
    assert line in logged


def test_a_handler_of_a_class_that_is_not_called_default_is_told_how_the_class_is_named(tmp_path: Path) -> None:
    code = CLASS.format(handler="async def queue(self, batch, env, ctx): ...").replace("Default", "Worker")
    _, logged = run(tmp_path, code, _nothing, sections={"queues": {"consumers": [{"queue": "jobs"}]}})
    assert "no queue handler: name the class Worker `Default`" in logged


def test_fetch_in_a_class_that_is_not_called_default_is_told_at_start(tmp_path: Path) -> None:
    code = CLASS.format(handler='async def fetch(self, request): return Response("ok")').replace("Default", "Main")
    _, logged = run(tmp_path, code, _nothing)
    assert "no class is called `Default`: requests get 500, only other workers can call Main" in logged
