"""The process that holds the workers: `python -m pyflare.supervisor.runtime LINE LIFE`, started by the supervisor.

    supervisor                                    runtime
    start   options, the host's environment  →
                                             ←    configured   where to listen, what to watch, what to build
    load    port and lock are ours           →
                                             ←    prepared     everything is imported but the worker
    serve   the sockets                      →
                                             ←    serving
    stop    where connections go             →
                                             ←    stopped

`failed` in place of `configured` or `prepared`: the first start cannot go on. `crashed`: pyflare itself is at fault.
`unheard`: nobody reads what is printed any more.
LINE is a socket for these messages, LIFE a pipe that ends with the supervisor.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyflare import __version__, engines
from pyflare.clock import SystemClock, use_utc
from pyflare.config.load import Loaded, faults_of, guest_folders, load_workers, read_workers, state_folder
from pyflare.config.options import DevOptions
from pyflare.config.surroundings import ENVIRONMENT
from pyflare.dashboard import EXPLORER_ALIAS
from pyflare.errors import ConfigError
from pyflare.log import Log, take_terminal
from pyflare.supervisor.line import Line, Message, pass_on, receive_descriptors
from pyflare.supervisor.warm import packages_since, warm

if TYPE_CHECKING:
    import ssl

    from pyflare.config.model import WorkerConfig
    from pyflare.front.serving import Serving
    from pyflare.server import Server

INSTALLED = "site-packages"
LAST_WILL_S = 1.5  # for closing the state after the supervisor was killed


def main(arguments: list[str]) -> int:
    line = Line(socket.socket(fileno=int(arguments[0])))
    life = int(arguments[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # they reach the whole group; the supervisor decides
    use_utc()
    for name in list(os.environ):
        if name not in ENVIRONMENT:
            del os.environ[name]
    try:
        start, _ = line.wait()
        return Runtime(line, life, start).run()
    except EOFError:
        return 1
    except Exception as raised:
        line.send("crashed", trace="".join(traceback.format_exception(raised)).rstrip())  # the supervisor shows it
        return 1


@dataclass(frozen=True)
class Prepared:
    """What there is before the sockets: `serving`, or why there is nothing to serve."""

    configs: list[WorkerConfig]
    serving: Serving
    tls: ssl.SSLContext | None


class Runtime:
    """One life: configure, prepare, serve, stop."""

    def __init__(self, line: Line, life: int, start: Message) -> None:
        self._line, self._life = line, life
        self._options = DevOptions.from_json(start["options"])
        self._environ: Mapping[str, str] = start["environ"]
        self._first: bool = start["first"]
        self._crash: str | None = start["crash"]
        self._bytecode: bool = start["bytecode"]  # whether that of the worker's modules is kept
        self._warm: list[str] = start["warm"]  # packages that the runtime before this one used
        options = self._options
        self._log = Log(options.log_level, options.log_format, colour=options.color, said=start["said"])
        take_terminal(self._log, lambda: line.send("unheard"))
        self._clock = SystemClock()

    def run(self) -> int:
        configs = self._configure()
        if isinstance(configs, ConfigError) and self._first:
            self._line.send("failed", faults=list(configs.faults))
            return 1
        from pyflare.worker.loops import install_policy, new_event_loop  # noqa: PLC0415  (after `configured` was sent)

        load, _ = self._line.wait()
        if load["fault"] is not None and not isinstance(configs, ConfigError):
            configs = ConfigError(load["fault"])
        elif load["built"] and not isinstance(configs, ConfigError):
            configs = self._read_again()
        install_policy()
        loop = new_event_loop()
        asyncio.set_event_loop(loop)
        threading.Thread(target=self._outlive, args=(loop,), name="life", daemon=True).start()
        try:
            return loop.run_until_complete(self._live(configs, Path(load["state"])))
        finally:
            loop.close()

    # --- configuration ----------------------------------------------------------------------------------------------

    def _configure(self) -> list[WorkerConfig] | ConfigError:
        try:
            loaded = read_workers(self._options, self._environ)
        except ConfigError as faulty:
            if not self._first:
                self._line.send("configured", targets=None, builds=[])
            return faulty
        faults = faults_of(loaded, engines.examine)
        configs = [one.config for one in loaded]
        builds = [config.build for config in configs if config.build.command]
        if not (self._first and faults and not builds):
            self._line.send("configured", **_summary(self._options, loaded))
        return ConfigError(*faults) if faults and not builds else configs

    def _read_again(self) -> list[WorkerConfig] | ConfigError:
        """After `build.command`, which may have made `main`."""
        try:
            return load_workers(self._options, self._environ)
        except ConfigError as faulty:
            return faulty

    # --- life -------------------------------------------------------------------------------------------------------

    async def _live(self, configs: list[WorkerConfig] | ConfigError, state: Path) -> int:
        try:
            prepared = self._prepare(configs, state)
        except ConfigError as faulty:
            self._line.send("failed", faults=list(faulty.faults))
            return 1
        inbox: asyncio.Queue[tuple[Message, list[int]]] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._line.fileno(), self._receive, inbox)
        self._stop = lambda: inbox.put_nowait(({"kind": "stop", "seconds": 0.0}, []))
        self._line.send("prepared")
        message, fds = await inbox.get()
        if message["kind"] == "serve":
            await self._serve(prepared, message, fds)
            message, fds = await inbox.get()
            await self._leave(prepared.serving, message["seconds"], fds)
        loop.remove_reader(self._line.fileno())
        self._line.send("stopped")
        return 0

    def _prepare(self, configs: list[WorkerConfig] | ConfigError, state: Path) -> Prepared:
        """Import the server and its rooms. ConfigError on the first start only."""
        from pyflare.front.serving import Serving, broken_text  # noqa: PLC0415  (after `configured` was sent)
        from pyflare.server import Server  # noqa: PLC0415

        try:
            if isinstance(configs, ConfigError):
                raise configs
            server = Server(
                configs, state=state, options=self._options, clock=self._clock, log=self._log, dedicated=True
            )
            serving = Serving(server, self._options, self._clock, self._log)
            serving.broken = self._crash
            sys.dont_write_bytecode = not self._bytecode
            self._warm_up(server)
            return Prepared(configs, serving, tls_context(self._options, configs[0], state, self._environ))
        except ConfigError as faulty:
            if self._first:
                raise
            self._log.error(str(faulty))
            serving = Serving(None, self._options, self._clock, self._log)
            serving.broken = broken_text(faulty)
            return Prepared([], serving, None)

    def _warm_up(self, server: Server) -> None:
        """Import the packages of the worker while the runtime before this one still serves."""
        if not self._warm:
            return
        from pyflare.interop import finder  # noqa: PLC0415  (imported by the server)

        finder.install()
        path = [one for worker in server.workers.values() for one in worker.path if INSTALLED in one]
        warm(self._warm, path)

    async def _serve(self, prepared: Prepared, message: Message, fds: list[int]) -> None:
        serving = prepared.serving
        if self._first:
            self._log.plain(f"pyflare {__version__}")
        announce(self._log, prepared.configs)
        before = set(sys.modules)
        if serving.broken is None:
            await serving.start()
        if self._first and serving.broken is None:
            show_bindings(self._log, serving)
        count = message["listening"]
        await serving.open([socket.socket(fileno=fd) for fd in fds[:count]], message["token"], prepared.tls)
        for fd in fds[count:]:
            self._take_over(serving, socket.socket(fileno=fd))
        self._tell(message["ready"], message["url"], serving.broken is not None)
        packages = [*self._warm, *packages_since(before)]
        self._line.send("serving", said=sorted(self._log.said), packages=packages)

    def _tell(self, ready: str, url: str, broken: bool) -> None:
        """What is served now; `ready` is empty when it was said in a life before this one."""
        if ready:
            show_dashboard(self._log, self._options, url)
            self._log.info(ready)
        if broken:
            self._log.warn("Every request is answered with the error above until the next save")
        elif not ready:
            self._log.info("Local server updated and ready")

    def _take_over(self, serving: Serving, line: socket.socket) -> None:
        """Go on with the connections of the runtime before this one."""
        loop = asyncio.get_running_loop()
        tasks: set[asyncio.Task[None]] = set()

        def more() -> None:
            try:
                fds = receive_descriptors(line)
            except OSError:
                fds = None
            if fds is None:
                loop.remove_reader(line.fileno())
                line.close()
                return
            for fd in fds:
                task = loop.create_task(serving.adopt(fd))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

        loop.add_reader(line.fileno(), more)

    async def _leave(self, serving: Serving, seconds: float, fds: list[int]) -> None:
        if not fds:
            await serving.close(seconds)
            return
        with socket.socket(fileno=fds[0]) as line:
            await serving.close(seconds, functools.partial(pass_on, line))

    def _receive(self, inbox: asyncio.Queue[tuple[Message, list[int]]]) -> None:
        for arrived in self._line.receive():
            inbox.put_nowait(arrived)
        if self._line.ended:
            asyncio.get_running_loop().remove_reader(self._line.fileno())

    def _outlive(self, loop: asyncio.AbstractEventLoop) -> None:
        """A thread: when the supervisor is gone, close the state and go, also when worker code holds the loop."""
        os.read(self._life, 1)
        with contextlib.suppress(RuntimeError, AttributeError):
            loop.call_soon_threadsafe(self._stop)
        threading.Event().wait(LAST_WILL_S)
        os._exit(1)


def tls_context(
    options: DevOptions, primary: WorkerConfig, state: Path, environ: Mapping[str, str]
) -> ssl.SSLContext | None:
    if primary.dev.local_protocol != "https":
        return None
    from pyflare.front.tls import context  # noqa: PLC0415  (only for https)

    folder = state / "pyflare"
    folder.mkdir(parents=True, exist_ok=True)
    paths = (options.https_cert_path, options.https_key_path)
    return context(*paths, folder, SystemClock().now(), environ.get("PATH", ""))


def announce(log: Log, configs: list[WorkerConfig]) -> None:
    """Warnings and notes of the configurations, each a single time in the life of the supervisor."""
    for config in configs:
        for warning in config.warnings:
            log.once("warn", warning, warning)
        for note in config.notes:
            log.once("info", note, note)


def show_bindings(log: Log, serving: Serving) -> None:
    from pyflare.front.banner import bindings_table  # noqa: PLC0415  (imports the rooms' base)

    table = bindings_table(serving.rows())
    if table:
        log.plain(table)


def show_dashboard(log: Log, options: DevOptions, url: str) -> None:
    if options.explorer:
        log.info(f"Dashboard on {url}{EXPLORER_ALIAS}")


def _summary(options: DevOptions, loaded: list[Loaded]) -> dict[str, Any]:
    """What the supervisor must know of the configurations."""
    configs = [one.config for one in loaded]
    dev = configs[0].dev
    folders = [folder for config in configs for folder in config.build.watch_dir if config.build.command]
    folders += [config.root / directory for config in configs if (directory := _assets(config))]
    return {
        "ip": dev.ip,
        "port": dev.port,
        "protocol": dev.local_protocol,
        "state": state_folder(options, configs[0]),
        "guests": guest_folders(*configs),
        "targets": {
            "roots": sorted({str(config.root) for config in configs}),
            "files": sorted({str(path) for config in configs for path in config.watched}),
            "folders": sorted({str(folder.resolve()) for folder in folders}),
            "globs": sorted({glob for config in configs for rule in config.rules for glob in rule.globs}),
        },
        "builds": [
            {"command": config.build.command, "cwd": config.build.cwd, "watch": config.build.watch_dir}
            for config in configs
            if config.build.command
        ],
    }


def _assets(config: WorkerConfig) -> str | None:
    section = config.sections.get("assets")
    directory = section.get("directory") if isinstance(section, dict) else None
    return directory if isinstance(directory, str) else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
