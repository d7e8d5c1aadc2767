"""Listening sockets: which addresses `--ip` means, and what happens when the port is taken."""

from __future__ import annotations

import errno
import socket

from pyflare.errors import ConfigError

DEFAULT_PORT = 8787  # wrangler's
TRIES = 100  # ports that are tried after the default one
BACKLOG = 2048  # clients that may wait to be accepted

LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
EVERYWHERE = ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"))


def listen(ip: str, port: int | None) -> list[socket.socket]:
    """Sockets that accept already, so that early clients wait instead of being refused.

    `port` None is 8787 or the next free one, 0 any. Raises ConfigError when the port that was asked for is taken.
    """
    if port is not None:
        try:
            return _bind_all(ip, port)
        except OSError as failed:
            raise _explained(failed, ip, port) from None
    for candidate in range(DEFAULT_PORT, DEFAULT_PORT + TRIES):
        try:
            return _bind_all(ip, candidate)
        except OSError as failed:
            if failed.errno != errno.EADDRINUSE:
                raise _explained(failed, ip, candidate) from None
    raise ConfigError(f"No port between {DEFAULT_PORT} and {DEFAULT_PORT + TRIES} is free; give one with --port")


def port_of(sockets: list[socket.socket]) -> int:
    return int(sockets[0].getsockname()[1])


def shown_host(ip: str) -> str:
    """What stands in the URL for people."""
    if ip in ("*", "0.0.0.0", "::"):
        return "localhost"
    return f"[{ip}]" if ":" in ip else ip


def lan_address() -> str | None:
    """This machine's address in its network, for `--ip *`; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.254.254.254", 1))
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


def url_of(protocol: str, ip: str, sockets: list[socket.socket]) -> tuple[str, int]:
    """The URL for people, and its port."""
    port = port_of(sockets)
    return f"{protocol}://{shown_host(ip)}:{port}", port


def ready_line(protocol: str, ip: str, sockets: list[socket.socket]) -> str:
    """The line that tools wait for."""
    url, port = url_of(protocol, ip, sockets)
    if ip in ("*", "0.0.0.0", "::") and (address := lan_address()) is not None:
        return f"Ready on {url} - {protocol}://{address}:{port}"
    return f"Ready on {url}"


def _bind_all(ip: str, port: int) -> list[socket.socket]:
    """One socket an address, all on the same port."""
    sockets: list[socket.socket] = []
    try:
        for family, address in _addresses(ip):
            bound = _bind(family, address, port_of(sockets) if sockets else port, optional=bool(sockets))
            if bound is not None:
                sockets.append(bound)
    except OSError:
        for one in sockets:
            one.close()
        raise
    return sockets


def _bind(family: int, address: str, port: int, optional: bool) -> socket.socket | None:
    """None: the machine does not have this kind of address, and another one is bound."""
    try:
        one = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        if optional:
            return None
        raise
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind((address, port))
        one.listen(BACKLOG)
    except OSError as failed:
        one.close()
        if optional and failed.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return None
        raise
    return one


def _addresses(ip: str) -> tuple[tuple[int, str], ...]:
    if ip == "localhost":
        return LOOPBACK
    if ip in ("*", "::"):
        return EVERYWHERE
    found = socket.getaddrinfo(ip, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _explained(failed: OSError, ip: str, port: int) -> ConfigError:
    if failed.errno == errno.EADDRINUSE:
        return ConfigError(f"Port {port} is in use on {ip}; stop what listens there or choose another with --port")
    if failed.errno == errno.EACCES:
        return ConfigError(f"Port {port} needs privileges that this user does not have; choose one above 1023")
    return ConfigError(f"Cannot listen on {ip}:{port}: {failed.strerror or failed}")
