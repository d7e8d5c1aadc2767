"""`env.HYPERDRIVE`."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from pyflare.engines.hyperdrive.config import Connection
from pyflare.interop.errors import error
from pyflare.interop.proxy import JsProxy


class Hyperdrive(JsProxy):
    js_name: ClassVar[str] = "Hyperdrive"

    def __init__(self, connection: Connection) -> None:
        self.connectionString = connection.text
        self.host = connection.host
        self.port = connection.port
        self.user = connection.user
        self.password = connection.password
        self.database = connection.database

    def connect(self, *_: Any) -> NoReturn:
        raise error(
            "Hyperdrive's connect() gives a socket of JavaScript, which pyflare does not have; connect a driver of "
            "Python to `host` and `port`."
        )
