"""`pyflare dev` from outside: sockets, state lock and file watcher are here, the workers in a runtime process.

The supervisor imports next to nothing and starts the runtime at once; the two then work side by side (the messages are
in `runtime`). When a file changes a second runtime is prepared while the first still serves. Then the first stops
accepting, gets two seconds for what is in flight, passes its connections on and closes the state; the second opens it.
The sockets listen all the time, so a client waits, and is never refused.
"""

from __future__ import annotations

import functools
import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyflare.clock import SystemClock, monotonic
from pyflare.config.options import DevOptions
from pyflare.errors import ConfigError
from pyflare.front.listen import DEFAULT_PORT, listen, ready_line, url_of
from pyflare.log import Log, Terminal
from pyflare.storage.lock import Holder, StateLock
from pyflare.supervisor.child import Child
from pyflare.supervisor.line import Message

if TYPE_CHECKING:
    from pyflare.supervisor.watch import Watcher

DRAIN_S = 2.0  # what is in flight at a reload
END_DRAIN_S = 0.8  # what is in flight at the end: two seconds are all there is
END_S = 1.8  # until a runtime that does not end is killed
HAND_OVER_S = DRAIN_S + 2.5  # until one that does not stop is killed
STARTING_S = 3.0  # for importing a worker that was saved again meanwhile
STABLE_S = 2.0  # a runtime that served for so long is started again when it dies


def run(options: DevOptions) -> int:
    """Serve until a signal comes; the exit status. Raises what is wrong with configuration, port or state folder."""
    raise_file_limit()
    if not options.reload:
        from pyflare.supervisor.alone import run_alone  # noqa: PLC0415  (imports the whole server)

        return run_alone(options)
    return Supervisor(options).run()


def raise_file_limit() -> None:
    """Each client is an open file, and the soft limit is often 1024 or 256."""
    import resource  # noqa: PLC0415  (not on every platform)

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Supervisor:
    def __init__(self, options: DevOptions) -> None:
        self._options = options
        terminal = Terminal(1, lambda: None, self._end_unheard)
        self._log = Log(options.log_level, options.log_format, terminal, options.color)
        self._status = 0
        self._token = os.urandom(16).hex()
        self._selector = selectors.DefaultSelector()
        self._watcher: Watcher | None = None
        self._current: Child | None = None
        self._next: Child | None = None
        self._again = False  # something changed while `_next` was on its way
        self._changed: set[str] = set()
        self._unbuilt: str | None = None  # why the last build failed
        self._said: list[str] = []
        self._packages: list[str] = []  # what the worker imports of others
        self._lock: StateLock | None = None
        self._sockets: list[socket.socket] = []
        self._baton: socket.socket | None = None  # where `_next` gets the connections of `_current` from
        self._since_ns = 0
        self._failure: ConfigError | None = None
        self._stranded = False  # no runtime can be started: we answer
        self._where: tuple[object, ...] = ()  # the address that was asked for
        self._ready = ""  # the line that says that it serves; empty once it was said
        self._url = ""
        self._ending: float | None = None  # when what still runs is killed

    def run(self) -> int:
        restore = self._catch_signals()
        self._since_ns = int(SystemClock().now() * 1e9)
        try:
            self._next = self._spawn()
            while self._current or self._next or self._stranded:
                for key, _ in self._selector.select(self._patience()):
                    key.data()
                self._kill_the_late()
            if self._failure is not None:
                raise self._failure
            return self._status
        finally:
            self._clean_up()
            restore()

    # --- processes --------------------------------------------------------------------------------------------------

    def _spawn(self, crash: str | None = None) -> Child:
        """Start a runtime; with `crash`, one that only tells why there is none."""
        child = Child.start(crash)
        child.line.send(
            "start",
            options=self._options.to_json(),
            environ=dict(os.environ),
            first=not self._sockets,
            crash=crash,
            said=self._said,
            warm=self._packages if crash is None else [],  # one of them may be the cause
            bytecode=not sys.dont_write_bytecode,
        )
        self._selector.register(child.line, selectors.EVENT_READ, lambda: self._hear(child))
        return child

    def _hear(self, child: Child) -> None:
        for message, _ in child.line.receive():
            if child.phase != "dead":  # what it said before may have been its end
                getattr(self, f"_on_{message['kind']}")(child, message)
        if child.line.ended and child.phase != "dead":
            self._bury(child)

    def _bury(self, child: Child) -> None:
        """A runtime has ended; ours to say why when nobody asked it to."""
        expected = child.phase == "stopping" or self._ending is not None or self._failure is not None
        served = child.phase == "serving" and monotonic() - child.served_at > STABLE_S
        phase, child.phase = child.phase, "dead"
        self._selector.unregister(child.line)
        child.line.close()
        os.close(child.life)
        _, status = os.waitpid(child.pid, 0)
        if child is self._current:
            self._current = None
            if self._next is not None and self._next.phase == "prepared":
                self._let_serve(self._next)
        if child is self._next:
            self._next = None
        if not expected and self._next is None:
            self._replace(child, phase, child.why_it_ended(status), served)
        elif child.trace:
            self._log.error(child.trace)

    def _replace(self, dead: Child, phase: str, text: str, served: bool) -> None:
        """A runtime died that nobody asked to: another one serves, or tells why none does. One that dies before it has
        served would do so again, so the next save is waited for; the first start fails."""
        begun = phase not in ("new", "configured")
        if served or (dead.crash is None and (begun or self._watcher is not None)):
            self._log.error(text)
            self._next = self._spawn(None if served else text)
        elif self._watcher is None:
            self._failure = ConfigError(text)
        else:
            self._log.error(f"{text}\nNo other can be started; the next save tries it again")
            self._strand(text)

    def _strand(self, text: str) -> None:
        from pyflare.supervisor.stranded import answer  # noqa: PLC0415  (for what should not happen)

        if self._ending is not None or (self._current is not None and self._current.phase == "serving"):
            return
        self._stranded = True
        for one in self._sockets:
            one.setblocking(False)
            self._selector.register(one, selectors.EVENT_READ, functools.partial(answer, one, text))

    def _end_stranding(self) -> None:
        if self._stranded:
            self._stranded = False
            for one in self._sockets:
                self._selector.unregister(one)

    def _kill(self, child: Child) -> None:
        os.kill(child.pid, signal.SIGKILL)
        child.phase = "stopping"
        self._bury(child)

    def _patience(self) -> float | None:
        deadlines = [child.deadline for child in (self._current, self._next) if child and child.deadline is not None]
        if self._ending is not None:
            deadlines.append(self._ending)
        return max(min(deadlines) - monotonic(), 0.0) if deadlines else None

    def _kill_the_late(self) -> None:
        now = monotonic()
        for child in (self._current, self._next):
            late = child is not None and child.deadline is not None and child.deadline <= now
            if child is not None and (late or (self._ending is not None and self._ending <= now)):
                self._kill(child)
        if self._again and self._next is None and self._ending is None:
            self._again = False
            self._reload()

    # --- what a runtime says ----------------------------------------------------------------------------------------

    def _on_failed(self, child: Child, message: Message) -> None:
        """The first start cannot go on."""
        self._failure = ConfigError(*message["faults"])

    def _on_crashed(self, child: Child, message: Message) -> None:
        """It is about to end."""
        child.trace = message["trace"]

    def _on_unheard(self, child: Child, message: Message) -> None:
        self._end_unheard()

    def _on_configured(self, child: Child, message: Message) -> None:
        child.phase, child.summary = "configured", message
        try:
            if not self._sockets:
                self._lock = StateLock.take(Path(message["state"]))
                self._sockets = listen(message["ip"], message["port"])
                self._announce(message)
            elif "port" in message and _where(message) != self._where:
                self._log.warn("Another address to listen on is taken up by a restart, not by a reload")
            built = self._build(message["builds"])
            if self._unbuilt is not None and self._watcher is None:
                raise ConfigError(self._unbuilt)
        except BaseException:
            self._kill(child)
            raise
        assert self._lock is not None
        fault = self._unbuilt if message["builds"] else None
        # The lock goes along: should we be killed, it is held until the runtime has closed the state.
        child.line.send("load", [self._lock.fd], state=self._lock.folder.parent, built=built, fault=fault)

    def _on_prepared(self, child: Child, message: Message) -> None:
        child.phase = "prepared"
        if self._current is None:
            self._let_serve(child)
            return
        ours, self._baton = socket.socketpair()
        self._current.phase, self._current.deadline = "stopping", monotonic() + HAND_OVER_S
        self._current.line.send("stop", [ours.fileno()], seconds=DRAIN_S)
        ours.close()

    def _on_stopped(self, child: Child, message: Message) -> None:
        """The state is closed and every connection passed on: the next one's turn, while the old process ends."""
        if child is self._current and self._next is not None and self._next.phase == "prepared":
            self._let_serve(self._next)

    def _on_serving(self, child: Child, message: Message) -> None:
        child.phase, child.served_at, child.deadline = "serving", monotonic(), None
        self._said, self._packages, self._ready = message["said"], message["packages"], ""
        old, self._current, self._next = self._current, child, None
        if old is not None and old is not child:
            self._kill(old)
        if child.summary.get("targets") is not None:
            self._watch(child.summary["targets"])
        if self._again:
            self._again = False
            self._reload()

    def _let_serve(self, child: Child) -> None:
        fds = [one.fileno() for one in self._sockets]
        baton, self._baton = self._baton, None
        child.phase = "starting"
        child.line.send(
            "serve",
            fds if baton is None else [*fds, baton.fileno()],
            listening=len(fds),
            token=self._token,
            ready=self._ready,
            url=self._url,
        )
        if baton is not None:
            baton.close()

    # --- changes ----------------------------------------------------------------------------------------------------

    def _watch(self, summary: Mapping[str, Sequence[str]]) -> None:
        from pyflare.supervisor.watch import Targets, Watcher  # noqa: PLC0415  (the first answer need not wait for it)

        if self._watcher is None:
            self._watcher = Watcher()
            self._selector.register(self._watcher, selectors.EVENT_READ, self._changes)
        targets = Targets(*(tuple(summary[name]) for name in ("roots", "files", "folders", "globs")))
        self._watcher.watch(targets, self._since_ns)

    def _changes(self) -> None:
        assert self._watcher is not None
        self._changed |= self._watcher.take()
        if self._watcher.failure is not None:
            self._log.warn(self._watcher.failure)
            self._selector.unregister(self._watcher)
        if self._changed and self._ending is None:
            self._reload()

    def _reload(self) -> None:
        if self._next is not None and self._next.phase in ("prepared", "starting"):
            self._again = True  # the hand-over has begun: it ends first, unless the old save hangs
            if self._next.phase == "starting" and self._next.deadline is None:
                self._next.deadline = monotonic() + STARTING_S
            return
        if self._next is not None:
            self._kill(self._next)
        self._end_stranding()
        self._log.info("Reloading local server...")
        self._next = self._spawn()

    def _build(self, builds: Sequence[Mapping[str, Any]]) -> bool:
        """Run the build commands that are due: all at the start, afterwards those whose folders changed, and all after
        a failure, which is kept in `_unbuilt`."""
        changed, self._changed = self._changed, set()
        anew = self._current is None or self._unbuilt is not None
        due = [build for build in builds if anew or _concerns(build, changed)]
        if due:
            self._unbuilt = None
            from pyflare.supervisor.build import run_build  # noqa: PLC0415  (few workers have a build)
        for build in due:
            self._unbuilt = self._unbuilt or run_build(self._log, build["command"], build["cwd"])
        if due and self._watcher is not None:
            self._watcher.take()  # what the command wrote is no change
        return bool(due)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _catch_signals(self) -> Callable[[], None]:
        """Signals become something to read; gives the function that undoes it."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        handlers = [signal.signal(number, lambda *_: None) for number in numbers]
        self._selector.register(reading, selectors.EVENT_READ, lambda: self._signalled(os.read(reading, 64)))

        def restore() -> None:
            signal.set_wakeup_fd(before)
            for number, handler in zip(numbers, handlers, strict=True):
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

        return restore

    def _signalled(self, numbers: bytes) -> None:
        if self._ending is not None:
            self._ending = 0.0  # twice is urgent
        else:
            self._log.info("Shutting down local server...")
            self._end()

    def _end_unheard(self) -> None:
        """Nobody reads what we say any more, as after `pyflare dev | head`: the end that a pipeline expects."""
        if self._ending is None:
            self._status = 1
            self._end()

    def _end(self) -> None:
        self._ending = monotonic() + END_S
        self._end_stranding()
        if self._next is not None:
            self._kill(self._next)
        if self._current is not None and self._current.phase == "serving":
            self._current.phase = "stopping"
            self._current.line.send("stop", seconds=END_DRAIN_S)

    def _clean_up(self) -> None:
        for child in (self._current, self._next):
            if child is not None:
                self._kill(child)
        if self._watcher is not None:
            self._watcher.stop()
        for one in self._sockets:
            one.close()
        if self._lock is not None:
            self._lock.release()
        self._selector.close()

    # --- who we are -------------------------------------------------------------------------------------------------

    def _announce(self, summary: Message) -> None:
        assert self._lock is not None
        self._where = _where(summary)
        url, port = url_of(summary["protocol"], summary["ip"], self._sockets)
        if summary["port"] is None and port != DEFAULT_PORT:
            self._log.warn(f"Port {DEFAULT_PORT} is in use; taking {port}")
        self._url, self._ready = url, ready_line(summary["protocol"], summary["ip"], self._sockets)
        self._lock.announce(Holder(os.getpid(), port, url, self._token, summary["guests"]))


def _where(summary: Message) -> tuple[object, ...]:
    return summary["ip"], summary["port"], summary["protocol"]


def _concerns(build: Mapping[str, Any], changed: set[str]) -> bool:
    folders = [str(Path(folder).resolve()) + os.sep for folder in build["watch"]]
    return any(path.startswith(folder) for path in changed for folder in folders)
