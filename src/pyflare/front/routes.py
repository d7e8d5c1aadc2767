"""The control routes of a server: cron and email hooks, the rooms' panels and mounts, the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyflare.config.options import DevOptions
from pyflare.dashboard import EXPLORER, EXPLORER_ALIAS, FOR_COMMANDS, OBJECTS
from pyflare.front.asgi import AsgiApp
from pyflare.front.control import Control
from pyflare.front.inbound_email import InboundEmail
from pyflare.front.live_reload import LiveReload
from pyflare.front.panels import Panels
from pyflare.front.scheduled import Scheduled
from pyflare.log import Log

if TYPE_CHECKING:
    from pyflare.server import Server


def control_of(server: Any, options: DevOptions, token: str, log: Log, broken: str | None) -> Control:
    """`server` None, or one whose code is `broken`: then only the hooks answer, with why."""
    dev = server.primary.dev if server is not None else None
    control = Control((*options.allow_hosts, *((dev.ip, dev.host or "") if dev is not None else ())))
    Scheduled(server, broken).add_to(control, options.test_scheduled)
    if options.live_reload:
        LiveReload().add_to(control)
    if broken is None:
        Panels(server, token).add_to(control)
        _mount_dashboard(control, server, options.explorer)
        InboundEmail(server).add_to(control)
        for prefix, load in server.mounts().items():
            control.mount(prefix, load)
    return control


def _mount_dashboard(control: Control, server: Server, for_people: bool) -> None:
    def explorer() -> AsgiApp:
        from pyflare.dashboard import app  # noqa: PLC0415  (Starlette, which few servers are asked for)

        return app.explorer(server)

    def objects() -> AsgiApp:
        from pyflare.dashboard import app  # noqa: PLC0415

        return app.objects(server)

    for prefix in (FOR_COMMANDS, *((EXPLORER, EXPLORER_ALIAS) if for_people else ())):
        control.mount(prefix, explorer, quiet=True)
    control.mount(OBJECTS, objects)
