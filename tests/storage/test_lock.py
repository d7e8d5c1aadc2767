from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyflare.errors import ConfigError, StateInUse
from pyflare.storage.lock import Holder, StateLock, data_of, is_locked, read_holder


def test_a_second_one_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    lock = StateLock.take(tmp_path)
    lock.announce(Holder(os.getpid(), 8787, "http://localhost:8787", "token"))
    said = f"in use by pid {os.getpid()} on port 8787; stop it, give another --persist-to"
    with pytest.raises(StateInUse, match=said):
        StateLock.take(tmp_path)
    lock.release()


@pytest.fixture(params=["reaped", "zombie"])
def killed(request: pytest.FixtureRequest) -> Iterator[int]:
    """The number of a process that has ended, and whose parent has asked how, or has not."""
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | (os.WNOWAIT if request.param == "zombie" else 0))
    yield process.pid
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("ask", [lambda state: StateLock.take(state).release(), lambda state: not is_locked(state)])
def test_what_a_killed_server_has_left_running_is_waited_for(
    tmp_path: Path, killed: int, ask: Callable[[Path], bool | None]
) -> None:
    lock = StateLock.take(tmp_path)
    lock.announce(Holder(killed))
    ending = threading.Timer(0.1, os.close, [lock.fd])
    ending.start()
    assert ask(tmp_path) is not False
    ending.join()


def test_a_released_folder_is_free_and_nobody_is_announced(tmp_path: Path) -> None:
    lock = StateLock.take(tmp_path)
    lock.announce(Holder(os.getpid()))
    assert is_locked(tmp_path)
    lock.release()
    assert not is_locked(tmp_path)
    assert read_holder(tmp_path) is None
    StateLock.take(tmp_path).release()


def test_the_lock_is_held_while_any_copy_of_its_descriptor_is_open(tmp_path: Path) -> None:
    lock = StateLock.take(tmp_path)
    copy = os.dup(lock.fd)
    lock.release()
    assert is_locked(tmp_path)
    os.close(copy)
    assert not is_locked(tmp_path)


def test_what_a_killed_server_left_is_no_lock(tmp_path: Path) -> None:
    lock = StateLock.take(tmp_path)
    lock.announce(Holder(123, 8787))
    os.close(lock.fd)
    assert read_holder(tmp_path) == Holder(123, 8787)
    assert not is_locked(tmp_path)


def test_the_token_is_for_its_owner_only(tmp_path: Path) -> None:
    lock = StateLock.take(tmp_path)
    lock.announce(Holder(123, token="secret"))
    assert (tmp_path / "pyflare" / "server.json").stat().st_mode & 0o077 == 0
    lock.release()


def test_the_data_of_a_guest_are_with_its_host_while_that_runs_and_names_it(tmp_path: Path) -> None:
    host, guest = tmp_path / "a", tmp_path / "b"
    assert data_of(guest) == guest
    lock = StateLock.take(host)
    lock.announce(Holder(os.getpid(), guests=[str(guest)]))
    assert data_of(guest) == host
    own = StateLock.take(guest)  # a server of its own comes first
    assert data_of(guest) == guest
    own.release()
    lock.announce(Holder(os.getpid()))
    assert data_of(guest) == guest
    lock.announce(Holder(os.getpid(), guests=[str(guest)]))
    lock.release()
    assert data_of(guest) == guest


def test_a_folder_without_a_server_is_not_locked(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "nothing")
    assert read_holder(tmp_path / "nothing") is None


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file/v3: Not a directory; give another --persist-to"):
        StateLock.take(tmp_path / "file" / "v3")
