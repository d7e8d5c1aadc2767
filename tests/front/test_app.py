"""What happens when all does not go well, and what the terminal says."""

from __future__ import annotations

import asyncio

import pytest

from pyflare.front.control import Control
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from tests.support.wire import Wire, Worker, response, talk, until


async def boom(request: Request) -> Response:
    raise ValueError("on <purpose>")


async def hang(request: Request) -> Response:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


def test_an_answered_request_is_a_line() -> None:
    async def client(wire: Wire) -> str:
        await wire.get("/path?query=1")
        return wire.out.getvalue()

    assert talk(client).startswith("[wrangler:info] GET /path 200 OK (")


def test_an_exception_is_500_with_the_traceback_and_a_line() -> None:
    async def client(wire: Wire) -> tuple[bytes, str]:
        return await wire.get("/"), wire.out.getvalue()

    raw, said = talk(client, boom)
    assert raw.startswith(b"HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain")
    assert b'test_app.py", line' in raw
    assert raw.endswith(b"ValueError: on <purpose>\n")
    assert "ValueError: on <purpose>" in said
    assert "GET / 500 Internal Server Error" in said


def test_a_browser_gets_the_traceback_as_a_page() -> None:
    async def client(wire: Wire) -> bytes:
        return await wire.get("/", "Accept: text/html,application/xhtml+xml")

    raw = talk(client, boom)
    assert b"content-type: text/html" in raw
    assert b"<h1>ValueError: on &lt;purpose&gt;</h1>" in raw


def test_notes_of_an_exception_are_shown() -> None:
    async def noted(request: Request) -> Response:
        raised = AttributeError("'NoneType' object has no attribute 'KV'")
        raised.add_note("env is None in class handlers: use self.env")
        raise raised

    async def client(wire: Wire) -> bytes:
        return await wire.get("/")

    assert b"use self.env" in talk(client, noted)


def test_a_head_request_to_a_raising_worker_is_500_without_a_body() -> None:
    async def client(wire: Wire) -> bytes:
        return await wire.get("/", method="HEAD")

    raw = talk(client, boom)
    assert raw.startswith(b"HTTP/1.1 500 ")
    assert raw.endswith(b"\r\n\r\n")


def test_an_error_response_cannot_be_sent() -> None:
    async def failed(request: Request) -> Response:
        return Response.error()

    async def client(wire: Wire) -> bytes:
        return await wire.get("/")

    raw = talk(client, failed)
    assert raw.startswith(b"HTTP/1.1 500 ")
    assert b"must not be an error response (like Response.error())" in raw


def test_the_next_request_on_the_connection_works() -> None:
    calls = []

    async def once(request: Request) -> Response:
        calls.append(request.url)
        if len(calls) == 1:
            raise ValueError("once")
        return response()

    async def client(wire: Wire) -> bytes:
        await wire.get("/")
        return await wire.get("/")

    assert b" 200 OK" in talk(client, once)


def test_a_client_that_goes_away_aborts_the_signal_and_cancels_the_handler() -> None:
    seen: list[str] = []

    async def handler(request: Request) -> Response:
        request.signal.when_aborted(lambda reason: seen.append(f"aborted: {reason.name}"))
        try:
            return await hang(request)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def client(wire: Wire) -> str:
        wire.send("/slow")
        await until(lambda: bool(worker.seen))
        wire.writer.close()
        await until(lambda: not wire.hub.running)
        return wire.out.getvalue()

    worker = Worker(handler)
    said = talk(client, worker=worker)
    assert seen == ["aborted: AbortError", "cancelled"]
    assert "GET /slow 499 Client Closed Request" in said


@pytest.mark.parametrize("signals", [True, False])  # False: without the compatibility flag
def test_the_signal_is_aborted_too_when_it_is_first_asked_for_after_the_client_left(signals: bool) -> None:
    seen: list[bool] = []

    async def handler(request: Request) -> Response:
        try:
            return await hang(request)
        finally:
            seen.append(request.signal.aborted)

    async def client(wire: Wire) -> None:
        wire.send("/slow")
        await until(lambda: bool(worker.seen))
        wire.writer.close()
        await until(lambda: not wire.hub.running)

    worker = Worker(handler)
    talk(client, worker=worker, signals=signals)
    assert seen == [signals]


def test_a_cancelled_task_of_the_worker_is_an_exception_like_any_other() -> None:
    async def handler(request: Request) -> Response:
        task = asyncio.ensure_future(asyncio.sleep(10))
        task.cancel()
        await task
        return response()

    async def client(wire: Wire) -> bytes:
        return await wire.get("/")

    assert b"CancelledError" in talk(client, handler)


def test_whatever_is_raised_is_answered() -> None:
    class Odd(BaseException):
        pass

    async def handler(request: Request) -> Response:
        raise Odd("no Exception")

    async def client(wire: Wire) -> bytes:
        return await wire.get("/")

    assert b"Odd: no Exception" in talk(client, handler)


def test_what_a_reload_cannot_wait_for_is_503() -> None:
    async def client(wire: Wire) -> bytes:
        wire.send("/")
        await until(lambda: bool(worker.seen))
        drained = asyncio.ensure_future(wire.hub.drain(0.0))
        raw = await wire.answer()
        await drained
        return raw

    worker = Worker(hang)
    raw = talk(client, worker=worker)
    assert raw.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"retry-after: 0\r\n" in raw


def test_broken_code_answers_every_request_with_why() -> None:
    async def client(wire: Wire) -> bytes:
        return await wire.get("/anything")

    assert b"SyntaxError: no" in talk(client, broken="SyntaxError: no")


def test_unknown_control_paths_are_the_workers() -> None:
    async def client(wire: Wire) -> bytes:
        return await wire.get("/cdn-cgi/local/unknown")

    assert b" 200 OK" in talk(client, control=Control())
