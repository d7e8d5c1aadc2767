"""`env.ASSETS`."""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.engines.assets.site import Site
from pyflare.interop.errors import type_error
from pyflare.interop.rpc import Fetcher
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response


class AssetsFetcher(Fetcher):
    """`ASSETS.fetch(url or request)`: only the path counts, not the host."""

    js_name: ClassVar[str] = "Fetcher"

    def __init__(self, site: Site) -> None:
        self._site = site

    async def _js_fetch(self, request: Request) -> Response:
        return self._site.fetch(request)

    async def _js_call(self, method: str, args: tuple[Any, ...]) -> Any:
        raise type_error(f'The RPC receiver does not implement the method "{method}".')
