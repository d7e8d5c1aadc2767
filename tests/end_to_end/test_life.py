"""How `pyflare dev` starts, reloads and ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.dev import Dev, is_running, project

HELLO = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("one " + str(getattr(self.env, "WORD", "")))
"""
BROKEN = "import nothing_of_this_name\n"
SLOW = """
import asyncio
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if "slow" in request.url:
            await asyncio.sleep(0.3)
        if "hang" in request.url:
            await asyncio.sleep(60)
        return Response("one")
"""


def test_a_saved_file_is_served_and_every_client_kept(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO)
    with Dev(folder) as dev:
        kept = dev.connect()
        kept.request("GET", "/")
        assert kept.getresponse().read() == b"one "
        (folder / "entry.py").write_text(HELLO.replace("one", "two"))
        dev.until("two")
        kept.auto_open = 0  # the very same connection, or an error
        kept.request("POST", "/", b"body")
        assert kept.getresponse().read() == b"two "
        kept.close()


def test_no_request_fails_while_files_are_saved(tmp_path: Path) -> None:
    folder = project(tmp_path, SLOW)
    with Dev(folder) as dev:
        over, answers, faults = threading.Event(), [], []

        def client(path: str) -> None:
            connection = dev.connect()
            connection.connect()
            connection.auto_open = 0
            while not over.is_set():
                try:
                    connection.request("POST", path, b"x" * 100)
                    response = connection.getresponse()
                    response.read()
                    answers.append(response.status)
                except OSError as fault:
                    faults.append(fault)
                    return
                time.sleep(0.02)
            connection.close()

        threads = [threading.Thread(target=client, args=(path,)) for path in ("/", "/", "/slow")]
        for thread in threads:
            thread.start()
        for number in range(4):
            (folder / "entry.py").write_text(SLOW.replace("one", f"save {number}"))
            dev.until(f"save {number}")
        over.set()
        for thread in threads:
            thread.join()
        assert not faults
        assert set(answers) == {200}


def test_a_broken_save_is_told_to_client_and_terminal_and_heals(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO)
    with Dev(folder) as dev:
        (folder / "entry.py").write_text(BROKEN)
        status, text = dev.until("nothing_of_this_name")
        assert status == 500
        assert "entry.py" in text
        assert dev.get("/__scheduled")[0] == 500
        dev.wait_for("ModuleNotFoundError")
        (folder / "entry.py").write_text(HELLO.replace("one", "healed"))
        assert dev.until("healed")[0] == 200


def test_a_worker_that_is_broken_from_the_start_heals_too(tmp_path: Path) -> None:
    folder = project(tmp_path, "def broken(:\n")
    with Dev(folder) as dev:
        assert "SyntaxError" in dev.get()[1]
        (folder / "entry.py").write_text(HELLO)
        assert dev.until("one")[0] == 200


def test_dev_vars_and_configuration_reload_and_a_fault_in_them_heals(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO)
    with Dev(folder) as dev:
        (folder / ".dev.vars").write_text("WORD=secret\n")
        dev.until("one secret")
        (folder / "wrangler.jsonc").write_text("{ nonsense")
        assert dev.until("wrangler.jsonc")[0] == 500
        project(folder, HELLO, vars={"WORD": "hidden by .dev.vars", "OTHER": "x"})
        assert dev.until("one secret")[0] == 200


def test_a_request_that_outlives_the_reload_is_503(tmp_path: Path) -> None:
    folder = project(tmp_path, SLOW)
    with Dev(folder) as dev:
        connection = dev.connect()
        connection.request("GET", "/hang")
        dev.get()  # by now the other one is in the worker
        (folder / "entry.py").write_text(SLOW.replace("one", "two"))
        response = connection.getresponse()
        assert (response.status, response.getheader("retry-after")) == (503, "0")
        connection.close()
        dev.until("two")


def test_a_save_that_hangs_while_it_is_imported_gives_way_to_the_next(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO)
    with Dev(folder) as dev:
        (folder / "entry.py").write_text("while True: pass\n")
        dev.wait_for("Reloading")
        time.sleep(0.7)  # by now it is being imported
        (folder / "entry.py").write_text(HELLO.replace("one", "healed"))
        assert dev.until("healed")[0] == 200


def test_work_of_wait_until_ends_before_the_old_code_goes(tmp_path: Path) -> None:
    source = SLOW.replace(
        'return Response("one")',
        """
        async def later():
            await asyncio.sleep(0.5)
            print("done later")
        self.ctx.waitUntil(later())
        return Response("one")
        """,
    )
    folder = project(tmp_path, source)
    with Dev(folder) as dev:
        dev.get()
        (folder / "entry.py").write_text(SLOW.replace("one", "two"))
        dev.wait_for("done later")
        dev.until("two")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_within_two_seconds_even_with_a_request_in_flight(
    tmp_path: Path, number: signal.Signals
) -> None:
    folder = project(tmp_path, SLOW)
    with Dev(folder) as dev:
        connection = dev.connect()
        connection.request("GET", "/hang")
        dev.get()
        runtime = dev.runtime_pid()
        begun = time.monotonic()
        assert dev.stop(number) == 0
        assert time.monotonic() - begun < 2.0
        assert not is_running(runtime)
        assert not (folder / ".wrangler/state/v3/pyflare/server.json").exists()
        connection.close()
        with socket.create_server(("127.0.0.1", dev.port)):
            pass  # the port is free


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_whole_group_leaves_the_decision_to_the_supervisor(
    tmp_path: Path, number: signal.Signals
) -> None:
    with Dev(project(tmp_path, HELLO)) as dev:
        dev.get()
        os.kill(dev.runtime_pid(), number)
        assert dev.get() == (200, "one ")
        assert dev.stop(number) == 0
        assert "was ended by" not in dev.output


def test_a_killed_supervisor_takes_the_runtime_along_and_frees_the_state(tmp_path: Path) -> None:
    folder = project(tmp_path, "import time\n" + SLOW.replace("await asyncio.sleep(60)", "time.sleep(60)"))
    with Dev(folder) as dev:
        runtime = dev.runtime_pid()
        connection = dev.connect()
        connection.request("GET", "/hang")  # the loop is blocked by worker code
        time.sleep(0.1)
        dev.process.kill()
        deadline = time.monotonic() + 5
        while is_running(runtime) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not is_running(runtime)
        connection.close()
    with Dev(folder) as dev:
        assert dev.get()[0] == 200


def test_a_runtime_that_dies_is_started_again(tmp_path: Path) -> None:
    folder = project(
        tmp_path, "import os\n" + HELLO.replace("return", "if 'die' in request.url: os._exit(3)\n        return")
    )
    with Dev(folder) as dev:
        with pytest.raises(OSError):
            dev.get("/die")
        dev.wait_for("ended with status 3")
        (folder / "entry.py").write_text(HELLO)
        assert dev.until("one")[0] == 200


def test_a_port_that_was_asked_for_and_is_taken_ends_it(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        dev = Dev(folder, "--port", str(port), ready=False)
        assert dev.ended() == 1
        assert f"Port {port} is in use" in dev.output
        assert len(dev.lines) == 1


def test_a_second_server_on_the_same_state_is_refused_with_the_first_one_named(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO)
    with Dev(folder) as first:
        second = Dev(folder, ready=False)
        assert second.ended() == 1
        assert f"pid {first.process.pid} on port {first.port}" in second.output
        assert "--persist-to" in second.output
        with Dev(folder, "--persist-to", str(tmp_path / "other")) as third:
            assert third.get()[0] == 200


def test_faults_of_the_configuration_end_the_start_before_a_port_is_taken(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO, vars=3, compatibility_date="soon")
    dev = Dev(folder, ready=False)
    assert dev.ended() == 1
    assert "vars" in dev.output
    assert "compatibility_date" in dev.output
    assert "Ready" not in dev.output


def test_a_build_command_runs_before_the_start_and_when_its_folder_changes(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO, main="made/entry.py", build={"command": "mkdir -p made && cp src/*.py made"})
    (folder / "src").mkdir()
    (folder / "src/entry.py").write_text(HELLO)
    (folder / "entry.py").unlink()
    with Dev(folder) as dev:
        assert dev.get() == (200, "one ")
        (folder / "src/entry.py").write_text(HELLO.replace("one", "two"))
        dev.until("two")


def test_without_reload_one_process_does_everything(tmp_path: Path) -> None:
    folder = project(
        tmp_path, "import os, time\n" + HELLO.replace('"one "', "f'{os.getpid()} {time.strftime(\"%z\")}'")
    )
    with Dev(folder, "--no-reload") as dev:
        assert dev.get() == (200, f"{dev.process.pid} +0000")
        assert dev.stop() == 0


def test_without_reload_broken_code_ends_it(tmp_path: Path) -> None:
    folder = project(tmp_path, BROKEN)
    dev = Dev(folder, "--no-reload", ready=False)
    assert dev.ended() == 1
    assert "nothing_of_this_name" in dev.output


def test_without_reload_a_second_signal_ends_it_while_the_worker_blocks(tmp_path: Path) -> None:
    folder = project(
        tmp_path, "import time\n" + HELLO.replace("return", "print('blocks'); time.sleep(60)\n        return")
    )
    with Dev(folder, "--no-reload") as dev:
        connection = dev.connect()
        connection.request("GET", "/")
        dev.wait_for("blocks")
        while dev.process.poll() is None:
            dev.process.send_signal(signal.SIGINT)
            time.sleep(0.05)  # signals at the same time are one
        assert dev.ended() == -signal.SIGINT
        connection.close()


def test_server_json_tells_how_to_reach_it(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO)
    with Dev(folder) as dev:
        file = folder / ".wrangler/state/v3/pyflare/server.json"
        holder = json.loads(file.read_text())
        assert (holder["pid"], holder["port"]) == (dev.process.pid, dev.port)
        assert file.stat().st_mode & 0o077 == 0


def unimportable(folder: Path, name: str = "greenlet") -> None:
    """A module that shadows one which every runtime needs."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text("raise ImportError('no such luck')\n")


def test_a_runtime_that_cannot_be_imported_ends_the_first_start_with_one_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unimportable(tmp_path / "shadow")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    dev = Dev(project(tmp_path / "w", HELLO), ready=False)
    assert dev.ended() == 1
    assert dev.output.count("Traceback") == 1
    assert dev.output.count("ImportError: no such luck") == 1
    assert "The worker's process ended with status 1" in dev.output


def test_a_runtime_that_can_no_longer_be_imported_is_tried_again_at_the_next_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    folder = project(tmp_path / "w", HELLO)
    with Dev(folder) as dev:
        dev.get()  # by now the supervisor knows that it serves
        unimportable(tmp_path / "shadow")
        os.kill(dev.runtime_pid(), signal.SIGKILL)
        dev.wait_for("No other can be started; the next save tries it again")
        status, text = dev.get()
        assert (status, "ImportError: no such luck" in text) == (500, True)
        assert dev.children() == []
        (tmp_path / "shadow/greenlet.py").unlink()
        (folder / "entry.py").write_text(HELLO.replace("one", "healed"))
        assert dev.until("healed")[0] == 200
        assert dev.stop() == 0


def test_nothing_stays_when_no_runtime_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    with Dev(project(tmp_path / "w", HELLO)) as dev:
        dev.get()  # by now the supervisor knows that it serves
        unimportable(tmp_path / "shadow")
        os.kill(dev.runtime_pid(), signal.SIGKILL)
        dev.wait_for("No other can be started")
        assert dev.stop() == 0


def test_a_worker_that_ends_the_process_while_it_is_imported_is_told_and_heals(tmp_path: Path) -> None:
    folder = project(tmp_path, "import os\nos._exit(3)\n")
    with Dev(folder) as dev:
        assert "ended with status 3" in dev.get()[1]
        (folder / "entry.py").write_text(HELLO)
        assert dev.until("one")[0] == 200


def test_after_a_failed_reload_no_line_says_that_all_is_well(tmp_path: Path) -> None:
    folder = project(tmp_path, HELLO)
    with Dev(folder) as dev:
        (folder / "entry.py").write_text(BROKEN)
        dev.wait_for("Every request is answered with the error above until the next save")
        assert "Local server updated and ready" not in dev.output
        (folder / "entry.py").write_text(HELLO)
        dev.wait_for("Local server updated and ready")


def test_a_build_that_fails_ends_the_first_start(tmp_path: Path) -> None:
    dev = Dev(project(tmp_path, HELLO, build={"command": "exit 7"}), ready=False)
    assert dev.ended() == 1
    assert dev.lines[-1] == "error: build.command 'exit 7' failed with status 7"


def test_a_build_that_fails_ends_the_start_without_reload_too(tmp_path: Path) -> None:
    dev = Dev(project(tmp_path, HELLO, build={"command": "exit 7"}), "--no-reload", ready=False)
    assert dev.ended() == 1
    assert dev.lines[-1] == "error: build.command 'exit 7' failed with status 7"


def test_a_build_that_fails_later_is_told_to_clients_until_one_succeeds(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    folder = project(tmp_path, HELLO, build={"command": "! test -e broken"})
    with Dev(folder) as dev:
        (folder / "broken").touch()
        (folder / "src/a.py").touch()
        assert dev.until("build.command '! test -e broken' failed with status 1")[0] == 500
        (folder / "broken").unlink()
        (folder / "entry.py").write_text(HELLO.replace("one", "healed"))  # not what the build watches
        assert dev.until("healed")[0] == 200


@pytest.mark.parametrize("reader", ["head -1", "true"])
@pytest.mark.parametrize("flag", ["--reload", "--no-reload"])
def test_it_ends_without_a_traceback_when_nobody_reads_what_it_says(tmp_path: Path, flag: str, reader: str) -> None:
    folder = project(tmp_path, HELLO)
    command = f"{sys.executable} -m pyflare dev --port 0 {flag} | {reader}"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout[:8] == ("" if reader == "true" else "pyflare ")
    assert done.stderr == ""


def test_the_address_of_the_dashboard_is_told(tmp_path: Path) -> None:
    with Dev(project(tmp_path, HELLO)) as dev:
        [line] = [line for line in dev.lines if "Dashboard" in line]
        assert line.endswith(f"Dashboard on http://localhost:{dev.port}/cdn-cgi/explorer")
        assert dev.get("/cdn-cgi/explorer/")[0] == 200
