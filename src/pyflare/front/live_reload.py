"""`--live-reload`: HTML pages get a script that loads them again when the worker was reloaded.

The script keeps a WebSocket open; a reload closes it (1012), and as soon as another one can be opened the page is
fetched anew.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from pyflare.front.control import Answer, Call, Control
from pyflare.front.exchange import Exchange
from pyflare.interop.web.body import Body
from pyflare.interop.web.channel import Channel
from pyflare.interop.web.response import Response
from pyflare.interop.web.websocket import WebSocket

SOCKET = "/cdn-cgi/live-reload"
SCRIPT_PATH = f"{SOCKET}.js"
TAG = f'<script defer src="{SCRIPT_PATH}"></script>'
SCRIPT = f"""(() => {{
  const url = location.origin.replace(/^http/, "ws") + "{SOCKET}";
  const open = (again) => {{
    const socket = new WebSocket(url);
    socket.onopen = () => {{ if (again) location.reload(); }};
    socket.onclose = () => setTimeout(() => open(true), 100);
  }};
  open(false);
}})();
"""


class LiveReload:
    """What the front does for `--live-reload`."""

    tag = TAG

    def add_to(self, control: Control) -> None:
        control.add(SCRIPT_PATH, self.script)

    async def script(self, call: Call) -> Answer:
        return Answer(SCRIPT, kind="text/javascript;charset=UTF-8")

    def socket_for(self, exchange: Exchange) -> Response | None:
        """The answer to the script's handshake."""
        if exchange.target != SOCKET or not exchange.upgrades:
            return None
        return Response.make(101, web_socket=WebSocket.make(Channel.pair()[0]))

    def with_script(self, response: Response) -> Response:
        """The same page with the script behind it; what is no page, or is compressed, stays as it is."""
        body = response._body
        kind = response.headers.first("content-type") or ""
        if body is None or "text/html" not in kind or response.headers.first("content-encoding") is not None:
            return response
        known = body.known
        response._body = Body.make(_followed(body.chunks())) if known is None else Body.make(known + TAG.encode())
        return response


async def _followed(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield chunk
    yield TAG.encode()
