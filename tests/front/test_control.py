"""Control paths: who may use them, and the cron hooks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyflare.engines.base import Action, Panel, Table
from pyflare.front.control import Answer, Call, Control
from pyflare.front.panels import Panels
from pyflare.front.scheduled import Scheduled
from tests.support.wire import Wire, talk


def ask(
    control: Control, target: str, *headers: str, method: str = "GET", body: bytes = b"", broken: str | None = None
) -> tuple[int, str]:
    """(status, body) of one request; the worker would answer 200 "hello"."""

    async def client(wire: Wire) -> bytes:
        return await wire.get(target, *headers, method=method, body=body)

    raw = talk(client, control=control, broken=broken)
    head, _, text = raw.partition(b"\r\n\r\n")
    return int(head.split()[1]), text.decode()


async def echo(call: Call) -> Answer:
    return Answer.of_json({"method": call.method, "query": call.query, "body": call.body.decode()})


def echoing(*hosts: str) -> Control:
    control = Control(hosts)
    control.add("/cdn-cgi/local/echo", echo)
    return control


def test_a_route_gets_method_query_and_body() -> None:
    status, text = ask(echoing(), "/cdn-cgi/local/echo?a=1+2&b=%2B&a=no", method="POST", body=b"posted")
    assert status == 200
    assert json.loads(text) == {"method": "POST", "query": {"a": "1 2", "b": "+"}, "body": "posted"}


def test_a_route_is_its_exact_path() -> None:
    assert ask(echoing(), "/cdn-cgi/local/echo/more") == (200, "hello")


def test_an_unknown_handler_is_not_the_workers() -> None:
    status, text = ask(echoing(), "/cdn-cgi/handler/schedule")
    assert (status, text.partition(".")[0]) == (404, '"/cdn-cgi/handler/schedule" is not a valid handler')


@pytest.mark.parametrize("host", ["localhost:8787", "127.0.0.1", "[::1]:8787", "LOCALHOST"])
def test_this_machine_may_use_control_paths(host: str) -> None:
    assert ask(echoing(), "/cdn-cgi/local/echo", f"Host: {host}", f"Origin: http://{host}")[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "192.168.1.2:8787", "localhost@evil.example"]
)
def test_a_foreign_host_is_refused_under_cdn_cgi(host: str) -> None:
    for path in ("/cdn-cgi/local/echo", "/cdn-cgi/anything"):
        assert ask(echoing(), path, f"Host: {host}") == (403, "Invalid Host header")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost.evil.example"])
def test_a_foreign_origin_is_refused(origin: str) -> None:
    assert ask(echoing(), "/cdn-cgi/local/echo", f"Origin: {origin}") == (403, "Invalid Origin header")


def test_hosts_can_be_allowed() -> None:
    assert ask(echoing("web"), "/cdn-cgi/local/echo", "Host: web:8787", "Origin: http://web:8787")[0] == 200


def test_an_asgi_app_can_be_mounted_and_is_loaded_when_it_is_asked_for() -> None:
    loaded = []

    async def app(
        scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        message = await receive()
        text = f"{scope['root_path']} {scope['path']} {message['body'].decode()}".encode()
        await send({"type": "http.response.start", "status": 201, "headers": [(b"x-app", b"yes")]})
        await send({"type": "http.response.body", "body": text[:5], "more_body": True})
        await send({"type": "http.response.body", "body": text[5:]})

    def load() -> Any:
        loaded.append("once")
        return app

    control = Control()
    control.mount("/cdn-cgi/explorer", load)
    assert ask(control, "/cdn-cgi/explorer-not") == (200, "hello")
    assert not loaded
    answer = ask(control, "/cdn-cgi/explorer/a%20b", method="POST", body=b"posted")
    assert answer == (201, "/cdn-cgi/explorer /cdn-cgi/explorer/a b posted")
    ask(control, "/cdn-cgi/explorer", method="POST", body=b"x")
    assert loaded == ["once"]


# --- cron -------------------------------------------------------------------------------------------------------------


class Crons:
    """A server whose handler raises for the cron "fail"."""

    def __init__(self, handler: bool = True) -> None:
        self.calls: list[tuple[str, float | None]] = []
        self._handler = handler

    def has_handler(self, name: str) -> bool:
        return self._handler and name == "scheduled"

    async def scheduled(self, cron: str, time_ms: float | None = None) -> tuple[str, bool, BaseException | None]:
        self.calls.append((cron, time_ms))
        if cron == "fail":
            return "exception", True, ValueError("on purpose")
        return "ok", False, None


def scheduled(crons: Crons, *, dunder: bool = True, broken: str | None = None) -> Control:
    control = Control()
    Scheduled(crons, broken).add_to(control, dunder)
    return control


@pytest.mark.parametrize("cron", ["0+0+*+*+*", "0%200%20*%20*%20*"])
def test_dunder_scheduled_runs_the_handler(cron: str) -> None:
    crons = Crons()
    assert ask(scheduled(crons), f"/__scheduled?cron={cron}") == (200, "Ran scheduled event")
    assert crons.calls == [("0 0 * * *", None)]


def test_dunder_scheduled_takes_any_method_and_any_host() -> None:
    assert ask(scheduled(Crons()), "/__scheduled", "Host: web:8787", method="POST")[0] == 200
    assert ask(scheduled(Crons()), "/__scheduled", "Origin: http://evil.example")[0] == 403


def test_a_handler_that_raises_is_500_with_the_traceback() -> None:
    status, text = ask(scheduled(Crons()), "/__scheduled?cron=fail")
    assert status == 500
    assert text.endswith("ValueError: on purpose\n")


def test_without_a_handler_it_is_500_and_never_the_workers() -> None:
    status, text = ask(scheduled(Crons(handler=False)), "/__scheduled")
    assert status == 500
    assert "no scheduled handler" in text


def test_dunder_scheduled_can_be_turned_off() -> None:
    assert ask(scheduled(Crons(), dunder=False), "/__scheduled") == (200, "hello")


@pytest.mark.parametrize("kind", ["handler", "local", "mf"])
@pytest.mark.cloudflare("miniflare, core/scheduled.ts; recorded")
def test_the_hook_tells_the_outcome(kind: str) -> None:
    crons = Crons()
    path = f"/cdn-cgi/{kind}/scheduled"
    assert ask(scheduled(crons), f"{path}?cron=*%2F5+*+*+*+FRI&time=86400000") == (200, "ok")
    assert crons.calls == [("*/5 * * * FRI", 86_400_000.0)]
    assert ask(scheduled(crons), f"{path}?cron=fail") == (500, "exception")
    assert ask(scheduled(crons), f"{path}?cron=fail&format=json") == (500, '{"outcome":"exception","noRetry":true}')


def test_a_time_of_zero_is_a_time_and_one_that_is_no_number_is_500() -> None:
    crons = Crons()
    assert ask(scheduled(crons), "/cdn-cgi/handler/scheduled?time=0")[0] == 200
    assert crons.calls == [("", 0.0)]
    for wrong in ("soon", "NaN", "Infinity", "0x", "9000000000000000", "0x" + "f" * 500, "9" * 5_000):
        assert ask(scheduled(crons), f"/cdn-cgi/handler/scheduled?time={wrong}")[0] == 500


@pytest.mark.cloudflare("miniflare, core/scheduled.ts: parseInt, unless it is empty")
@pytest.mark.parametrize(
    ("given", "time_ms"), [("", None), ("1700000000123.7", 1_700_000_000_123), ("-5", -5), ("0x1F4g", 500)]
)
def test_a_time_is_read_as_parse_int_does(given: str, time_ms: float | None) -> None:
    crons = Crons()
    assert ask(scheduled(crons), f"/cdn-cgi/handler/scheduled?time={given}")[0] == 200
    assert crons.calls == [("", time_ms)]


def test_with_broken_code_the_hooks_tell_why() -> None:
    control = scheduled(Crons(), broken="SyntaxError: no")
    assert ask(control, "/__scheduled") == (500, "SyntaxError: no\n")
    assert ask(control, "/cdn-cgi/handler/scheduled") == (500, "SyntaxError: no\n")


# --- panels -----------------------------------------------------------------------------------------------------------


class Room:
    def panel(self) -> Panel:
        return Panel("A room", (Table("Rows", ("a", "b"), ((1, "x"),)),), {"add": Action("add", self.add, ("x", "y"))})

    def add(self, x: int, y: int) -> int:
        return x + y


class Rooms:
    def __init__(self) -> None:
        self.engines: dict[str, Any] = {"room": Room()}

    def room(self, name: str) -> Any:
        return self.engines.setdefault(name, Room())


def act(wanted: object, token: str = "secret") -> tuple[int, Any]:
    control = Control()
    Panels(Rooms(), "secret").add_to(control)
    status, text = ask(
        control,
        "/cdn-cgi/pyflare/do",
        f"Authorization: Bearer {token}",
        method="POST",
        body=json.dumps(wanted).encode(),
    )
    return status, json.loads(text)


def test_panels_are_shown_as_data() -> None:
    control = Control()
    Panels(Rooms(), "secret").add_to(control)
    shown = json.loads(ask(control, "/cdn-cgi/pyflare/rooms")[1])["room"]
    assert shown["title"] == "A room"
    assert shown["tables"][0]["rows"] == [[1, "x"]]
    assert list(shown["actions"]) == ["add"]


def test_an_action_runs_with_its_fields() -> None:
    assert act({"room": "room", "action": "add", "fields": {"x": 1, "y": 2}}) == (200, {"result": 3})


def test_an_action_needs_the_token() -> None:
    assert act({"room": "room", "action": "add", "fields": {"x": 1, "y": 2}}, token="guess")[0] == 401


def test_an_action_that_does_not_exist_or_fails_says_so() -> None:
    assert act({"room": "room", "action": "none"})[0] == 404
    status, answer = act({"room": "room", "action": "add", "fields": {"x": 1}})
    assert (status, answer["type"]) == (400, "TypeError")


def test_an_action_opens_a_room_that_no_worker_uses() -> None:
    assert act({"room": "workflows", "action": "add", "fields": {"x": 1, "y": 2}}) == (200, {"result": 3})


def test_what_commands_ask_is_no_line_on_the_terminal() -> None:
    control = Control()
    Panels(Rooms(), "secret").add_to(control)
    assert control.is_quiet("/cdn-cgi/pyflare/do")
    assert not control.is_quiet("/cdn-cgi/pyflare/other")
