from __future__ import annotations

import resource
import signal
import subprocess
import sys

from pyflare.supervisor.child import how_it_ended
from pyflare.supervisor.supervisor import _concerns, raise_file_limit


def test_the_soft_limit_of_open_files_is_raised() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
    try:
        raise_file_limit()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft == min(65536, hard) if hard != resource.RLIM_INFINITY else soft == 65536
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_build_concerns_the_folders_it_watches() -> None:
    build = {"watch": ["/project/src"]}
    assert _concerns(build, {"/project/src/deep/a.ts"})
    assert not _concerns(build, {"/project/srcs/a.ts", "/project/made/entry.py"})


def test_the_end_of_a_process_is_told_in_words() -> None:
    assert how_it_ended(3 << 8) == "ended with status 3"
    assert how_it_ended(int(signal.SIGSEGV)) == "was ended by SIGSEGV"


def test_what_is_imported_before_the_runtime_starts_is_small() -> None:
    code = "import sys; import pyflare.supervisor.supervisor; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"asyncio", "uvloop", "watchfiles", "apsw", "pyflare.server", "subprocess"} & set(loaded)
