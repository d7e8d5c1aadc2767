"""`env.HYPERDRIVE`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.engines.hyperdrive.config import parse
from pyflare.engines.hyperdrive.engine import Hyperdrives
from tests.support.rooms import Bench, faults

TEXT = "postgres://ada:let%20me@db.test:6543/engine"


def section(text: str | None) -> dict[str, object]:
    entry = {"binding": "DB", "id": "x"}
    return {"hyperdrive": [entry if text is None else {**entry, "localConnectionString": text}]}


def test_the_parts_of_the_connection(tmp_path: Path) -> None:
    database = Bench(tmp_path).open(Hyperdrives, section(TEXT)).bindings("w")["DB"]
    assert (database.connectionString, database.host, database.port) == (TEXT, "db.test", 6543)
    assert (database.user, database.password, database.database) == ("ada", "let me", "engine")


@pytest.mark.parametrize(("scheme", "port"), [("postgres", 5432), ("postgresql", 5432), ("mysql", 3306)])
def test_the_usual_port(tmp_path: Path, scheme: str, port: int) -> None:
    room = Bench(tmp_path).open(Hyperdrives, section(f"{scheme}://a:b@h/d"))
    assert room.bindings("w")["DB"].port == port


def test_a_variable_of_the_environment_wins(tmp_path: Path) -> None:
    environ = {"CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_DB": "mysql://a:b@other/d"}
    [connection] = parse(Bench(tmp_path).config(section(TEXT)), Diagnostics(), environ)
    assert connection.host == "other"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_DB"),
        ("http://a:b@h/d", "Only PostgreSQL-compatible or MySQL-compatible databases are currently supported."),
        ("postgres://a:b@h", "You must provide a database name as the path component - e.g. /postgres"),
        ("postgres://h/d", "You must provide a username"),
        ("postgres://a@h/d", "You must provide a password"),
        ("postgres:///d", "You must provide a hostname or IP address"),
        ("postgres://a:b@h:x/d", "The connection string cannot be read"),
    ],
)
def test_a_bad_connection_string_is_a_fault(tmp_path: Path, text: str | None, message: str) -> None:
    assert message in faults(Hyperdrives, Bench(tmp_path).config(section(text))).faults[0]
