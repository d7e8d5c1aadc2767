"""`pyflare dev --no-reload`: everything in this process, for debuggers, profilers and containers."""

from __future__ import annotations

import asyncio
import functools
import os
import secrets
import signal
import socket

from pyflare import __version__
from pyflare.clock import SystemClock, use_utc
from pyflare.config.load import guest_folders, load_workers, read_workers, state_folder
from pyflare.config.model import WorkerConfig
from pyflare.config.options import DevOptions
from pyflare.errors import ConfigError
from pyflare.front.listen import listen, ready_line, url_of
from pyflare.front.serving import Serving
from pyflare.log import Log, take_terminal
from pyflare.server import Server
from pyflare.storage.lock import Holder, StateLock
from pyflare.supervisor.build import run_build
from pyflare.supervisor.runtime import announce, show_bindings, show_dashboard, tls_context
from pyflare.worker.loops import install_policy, new_event_loop

END_DRAIN_S = 0.8  # what is in flight at the end


def run_alone(options: DevOptions) -> int:
    """Serve until a signal comes or nobody reads the terminal; 1 when the worker's code is broken, since nothing here
    can mend it."""
    use_utc()
    install_policy()
    loop, stop = new_event_loop(), asyncio.Event()
    asyncio.set_event_loop(loop)
    log = Log(options.log_level, options.log_format, colour=options.color)
    take_terminal(log, functools.partial(loop.call_soon_threadsafe, stop.set))
    try:
        configs = _configs(options, log)
        lock = StateLock.take(state_folder(options, configs[0]))
        try:
            sockets = listen(configs[0].dev.ip, configs[0].dev.port)
            return loop.run_until_complete(_live(options, configs, lock, sockets, log, stop))
        finally:
            lock.release()
    finally:
        loop.close()


def _configs(options: DevOptions, log: Log) -> list[WorkerConfig]:
    builds = [one.config.build for one in read_workers(options, os.environ)]
    for build in builds:
        if build.command is not None and (fault := run_build(log, build.command, build.cwd)) is not None:
            raise ConfigError(fault)
    return load_workers(options, os.environ)


async def _live(
    options: DevOptions,
    configs: list[WorkerConfig],
    lock: StateLock,
    sockets: list[socket.socket],
    log: Log,
    stop: asyncio.Event,
) -> int:
    clock, dev, token = SystemClock(), configs[0].dev, secrets.token_hex(16)
    state = lock.folder.parent
    tls = tls_context(options, configs[0], state, os.environ)
    server = Server(configs, state=state, options=options, clock=clock, log=log)
    serving = Serving(server, options, clock, log)
    url, port = url_of(dev.local_protocol, dev.ip, sockets)
    log.plain(f"pyflare {__version__}")
    announce(log, configs)
    await serving.start()
    if serving.broken is not None:
        return 1
    show_bindings(log, serving)
    _stop_by_signal(stop)
    await serving.open(sockets, token, tls)
    lock.announce(Holder(os.getpid(), port, url, token, guest_folders(*configs)))
    show_dashboard(log, options, url)
    log.info(ready_line(dev.local_protocol, dev.ip, sockets))
    await stop.wait()
    log.info("Shutting down local server...")
    await serving.close(END_DRAIN_S)
    return 0


def _stop_by_signal(stop: asyncio.Event) -> None:
    """The first signal ends it in good order; a second one at once, for code that never comes back to the loop: a
    debugger's prompt, an endless `while`."""
    loop = asyncio.get_running_loop()

    def caught(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(stop.set)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, caught)
