from __future__ import annotations

import socket

import pytest

from pyflare.errors import ConfigError
from pyflare.front.listen import listen, port_of, ready_line, url_of


def close(sockets: list[socket.socket]) -> None:
    for one in sockets:
        one.close()


def test_localhost_is_both_loopback_addresses_on_one_port() -> None:
    sockets = listen("localhost", 0)
    port = port_of(sockets)
    for address in ("127.0.0.1", "::1")[: len(sockets)]:
        socket.create_connection((address, port), 1).close()
    assert {one.getsockname()[1] for one in sockets} == {port}
    close(sockets)


def test_a_client_that_comes_before_anybody_accepts_waits() -> None:
    sockets = listen("127.0.0.1", 0)
    with socket.create_connection(("127.0.0.1", port_of(sockets)), 1) as client:
        client.sendall(b"early")
        accepted, _ = sockets[0].accept()
        assert accepted.recv(5) == b"early"
        accepted.close()
    close(sockets)


def test_a_taken_port_that_was_asked_for_is_an_error_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"Port {port} is in use on localhost"):
            listen("localhost", port)


def test_without_a_wish_the_next_free_port_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        monkeypatch.setattr("pyflare.front.listen.DEFAULT_PORT", taken)
        sockets = listen("127.0.0.1", None)
        assert taken < port_of(sockets) < taken + 100
        close(sockets)


def test_an_address_that_is_not_of_this_machine_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"Cannot listen on 203\.0\.113\.1:0"):
        listen("203.0.113.1", 0)


@pytest.mark.parametrize(
    ("ip", "shown"), [("localhost", "localhost"), ("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("*", "localhost")]
)
def test_the_url_is_for_people(ip: str, shown: str) -> None:
    sockets = listen("127.0.0.1", 0)
    assert url_of("http", ip, sockets) == (f"http://{shown}:{port_of(sockets)}", port_of(sockets))
    assert ready_line("https", ip, sockets).startswith(f"Ready on https://{shown}:{port_of(sockets)}")
    close(sockets)
