"""`env.SECRET`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.interop.errors import error
from pyflare.interop.promise import JsPromise, perform
from pyflare.interop.proxy import JsProxy

if TYPE_CHECKING:
    from pyflare.engines.secrets.config import Secret


class SecretsStoreSecret(JsProxy):
    js_name: ClassVar[str] = "SecretsStoreSecret"

    def __init__(self, secret: Secret, read: Callable[[Secret], str | None]) -> None:
        self._secret = secret
        self._read = read

    def js_properties(self) -> dict[str, Any]:
        return {}

    def get(self) -> JsPromise:
        return perform(self._get)

    def _get(self) -> str:
        value = self._read(self._secret)
        if value is None:
            raise error(f'Secret "{self._secret.name}" not found')
        return value
