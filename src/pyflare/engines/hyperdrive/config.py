"""`hyperdrive` of the configuration, and the connection string that stands for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import entries
from pyflare.config.model import WorkerConfig

VARIABLE = "CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_"
OLD_VARIABLE = "WRANGLER_HYPERDRIVE_LOCAL_CONNECTION_STRING_"
PORTS = {"postgres": 5432, "postgresql": 5432, "mysql": 3306}


@dataclass(frozen=True)
class Connection:
    name: str
    text: str
    host: str
    port: int
    user: str
    password: str
    database: str


def parse(
    config: WorkerConfig, diagnostics: Diagnostics, environ: Mapping[str, str] = os.environ
) -> Sequence[Connection]:
    found = entries(
        config,
        "hyperdrive",
        diagnostics,
        required={"binding": str, "id": str},
        optional={"localConnectionString": str},
    )
    connections = []
    for path, entry in found:
        name = entry["binding"]
        text = environ.get(VARIABLE + name) or environ.get(OLD_VARIABLE + name) or entry.get("localConnectionString")
        if not text:
            diagnostics.fault(
                path,
                "When developing locally, you should use a local Postgres connection string to emulate Hyperdrive "
                f"functionality. Please setup Postgres locally and set the value of the '{VARIABLE}{name}' variable or "
                f'"{name}"\'s "localConnectionString" to the Postgres connection string.',
            )
            continue
        connection = _split(name, text)
        if isinstance(connection, str):
            diagnostics.fault(path, connection)
        else:
            connections.append(connection)
    return connections


def _split(name: str, text: str) -> Connection | str:
    """The parts of a connection string, or what is wrong with it."""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as wrong:
        return f"The connection string cannot be read: {wrong}."
    if url.scheme not in PORTS:
        return "Only PostgreSQL-compatible or MySQL-compatible databases are currently supported."
    if not url.hostname:
        return "You must provide a hostname or IP address in your connection string."
    if not url.path.strip("/"):
        return "You must provide a database name as the path component - e.g. /postgres"
    if not url.username:
        return "You must provide a username in your connection string."
    if not url.password:
        return "You must provide a password in your connection string."
    return Connection(
        name,
        text,
        url.hostname,
        PORTS[url.scheme] if port is None else port,
        unquote(url.username),
        unquote(url.password),
        unquote(url.path[1:]),
    )
