"""What of Python's own library is not there on Cloudflare, or fails."""

import sys
from pathlib import Path

import pytest

from pyflare.config.model import WorkerConfig
from pyflare.worker.absent import FAILING, MISSING, absent
from pyflare.worker.source_names import names_of


def found(folder: Path, code: str) -> dict[str, str]:
    main = folder / "entry.py"
    main.write_text(code)
    return absent(WorkerConfig(name="w", root=folder, main=main), {main: names_of(main)})


def test_a_module_that_python_on_cloudflare_lacks_is_named_with_the_file(tmp_path: Path) -> None:
    assert found(tmp_path, "import json, curses.ascii\n") == {
        "curses": f"{tmp_path / 'entry.py'} imports 'curses', which Python on Cloudflare does not have"
    }


def test_one_of_that_name_in_the_worker_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "resource.py").write_text("")
    (tmp_path / "python_modules" / "grp").mkdir(parents=True)
    assert found(tmp_path, "import resource, grp\n") == {}


@pytest.mark.parametrize(
    ("code", "name", "why"),
    [
        ("import threading\nthreading.Thread(target=f).start()", "threading.Thread", "no thread can be started"),
        ("from subprocess import run\nrun(['ls'])", "subprocess.run", "no process can be started"),
        ("import os\nos.system('ls')", "os.system", "no process can be started"),
        ("from multiprocessing import Pool\nPool(4)", "multiprocessing.Pool", "no process can be started"),
    ],
)
def test_what_cannot_start_there_is_named_with_the_reason(tmp_path: Path, code: str, name: str, why: str) -> None:
    text = f"{tmp_path / 'entry.py'} uses {name}, which fails on Cloudflare: {why} there"
    assert found(tmp_path, code) == {name: text}


@pytest.mark.parametrize(
    "code",
    [
        "import threading\nlock, mine = threading.Lock(), threading.local()",
        "import multiprocessing\nn = multiprocessing.cpu_count()",
        "import asyncio\nasyncio.to_thread(f)",
        "import socket\nsocket.create_connection(('db.test', 5432))",
        "import os\nos.getenv('X')",
        "from threading import Thread\ndef f(thread: Thread): ...",
        "from concurrent.futures import ThreadPoolExecutor\nloop.run_in_executor(ThreadPoolExecutor(), f)",
    ],
)
def test_what_works_there_is_not_named(tmp_path: Path, code: str) -> None:
    assert found(tmp_path, code) == {}


def test_the_names_are_those_of_pythons_library() -> None:
    modules = {name.rpartition(".")[0].partition(".")[0] for name in FAILING}
    assert modules <= sys.stdlib_module_names
    assert MISSING - {"lib2to3"} <= sys.stdlib_module_names  # which went with Python 3.13
