"""js.fetch over a network that a test makes up; the real one is in tests/end_to_end."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.interop.proxy import JsFunction
from pyflare.interop.web import outbound
from pyflare.interop.web.abort import AbortController, AbortSignal
from pyflare.interop.web.body import Body
from pyflare.interop.web.fetch import fetch as fetch_function
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from tests.support.web import Bag, inside_worker, js, rejection, run, thrown

fetch = JsFunction.make(fetch_function, "fetch")
URL = "https://origin.example/"


class Network:
    """What left, and what answers: `answer(request)`."""

    def __init__(self, answer: Callable[[Request], Response]) -> None:
        self.answer = answer
        self.sent: list[tuple[str, str, bytes | None]] = []

    async def send(self, request: Request, body: Body | None) -> Response:
        await asyncio.sleep(0)
        self.sent.append((request.method, request.url, None if body is None else await body.gather()))
        return self.answer(request)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    made = Network(lambda request: Response.make(200, "OK", None, Body.make(b"answer"), url=request.url))
    monkeypatch.setattr(outbound, "send", made.send)
    return made


def moved(status: int, location: str) -> Response:
    return Response.make(status, None, Headers.make([("location", location)]))


def test_a_fetch_sends_and_gives_the_answer(network: Network) -> None:
    async def main() -> list[object]:
        response = await fetch(URL, method="POST", body="hello")
        return [response.status, response.url, response.redirected, await response.text()]

    assert run(main) == [200, URL, False, "answer"]
    assert network.sent == [("POST", URL, b"hello")]


def test_redirects_are_followed(network: Network) -> None:
    answer = network.answer
    network.answer = lambda request: moved(302, "/next") if request.url == URL else answer(request)

    async def main() -> list[object]:
        response = await fetch(URL, method="POST", body="hello")
        return [response.url, response.redirected]

    assert run(main) == [URL + "next", True]
    assert network.sent == [("POST", URL, b"hello"), ("GET", URL + "next", None)]


def test_twenty_redirects_are_enough(network: Network) -> None:
    network.answer = lambda request: moved(302, "/again")

    async def main() -> str:
        return await rejection(fetch(URL))

    assert run(main) == "TypeError: Too many redirects." + ", ".join([URL] + [URL + "again"] * 20)
    assert len(network.sent) == 21


@pytest.mark.parametrize(
    ("resource", "settings", "message"),
    [
        ("/x", {}, "TypeError: Invalid URL: /x"),
        (URL, {"body": "x"}, "TypeError: Request with a GET or HEAD method cannot have a body."),
    ],
)
def test_a_bad_call_is_thrown(resource: str, settings: dict[str, str], message: str) -> None:
    assert thrown(lambda: fetch(resource, **settings)) == message


def test_an_unknown_scheme_is_a_rejection(network: Network) -> None:
    async def main() -> str:
        return await rejection(fetch("ftp://example.com/file"))

    assert run(main) == "TypeError: Fetch API cannot load: ftp://example.com/file"


def test_a_request_is_fixed_at_the_call(network: Network) -> None:
    async def main() -> list[object]:
        request = Request.new(URL, method="PUT", body="x")
        promise = fetch(request)
        used = request.bodyUsed
        await promise
        return [used, await rejection(fetch(request))]

    used, message = run(main)
    assert used is True
    assert message.startswith("TypeError: Body has already been used.")
    assert network.sent == [("PUT", URL, b"x")]


def test_an_aborted_signal_rejects_at_once_and_nothing_is_sent(network: Network) -> None:
    async def main() -> str:
        return await rejection(fetch(URL, signal=AbortSignal.abort()))

    assert run(main) == "AbortError: The operation was aborted"
    assert network.sent == []


def test_a_signal_stops_a_fetch_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(request: Request, body: Body | None) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(outbound, "send", hang)

    async def main() -> str:
        controller = AbortController.new()
        promise = fetch(URL, signal=controller.signal)
        await asyncio.sleep(0)
        controller.abort()
        return await rejection(promise)

    assert run(main) == "AbortError: The operation was aborted"


def test_fetch_is_refused_while_the_module_is_imported() -> None:
    with inside_worker() as running:
        running.global_scope = True
        assert thrown(lambda: fetch(URL)).startswith("Error: Disallowed operation called within global scope.")


def test_a_fetcher_in_the_options_gets_the_request() -> None:
    seen: list[Any] = []
    fetcher = Bag(fetch=seen.append)
    fetch(URL, fetcher=fetcher)
    assert [request.url for request in seen] == [URL]


def test_an_object_sends_after_its_writes_are_committed(network: Network) -> None:
    async def main() -> list[object]:
        committed = asyncio.get_running_loop().create_future()

        class Pending:
            def unconfirmed(self) -> Any:
                return committed

            def waits(self) -> None:
                return None

        with inside_worker() as running:
            running.gate = Pending()  # type: ignore[assignment]
            promise = fetch(URL)
        for _ in range(5):
            await asyncio.sleep(0)
        before = list(network.sent)
        committed.set_result(None)
        await promise
        return [before, len(network.sent)]

    assert run(main) == [[], 1]


def test_outgoing_headers_say_that_a_worker_sent_them_and_leave_the_connection_alone() -> None:
    given = {"Host": "evil", "Content-Length": "9", "CF-Connecting-IP": "1.2.3.4", "X": "y", "Connection": "close"}
    with inside_worker():
        pairs = outbound.outgoing_headers(Headers.new(js(given)))
    assert pairs == [("x", "y"), ("cf-worker", "shop.example.com"), ("accept-encoding", "gzip")]
