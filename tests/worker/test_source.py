import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import importlib, sys
from pathlib import Path
from pyflare.worker.source import import_from_source

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
import_from_source(folder)
import saved
print(saved.VALUE)
"""


def load(folder: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.strip()


def test_two_saves_of_one_size_within_one_second_are_both_seen(tmp_path: Path) -> None:
    module = tmp_path / "saved.py"
    for value in ("one", "two"):
        module.write_text(f"VALUE = {value!r}\n")
        os.utime(module, (1_700_000_000, 1_700_000_000))
        assert load(tmp_path) == value


def test_no_bytecode_is_left_in_the_worker(tmp_path: Path) -> None:
    (tmp_path / "saved.py").write_text("VALUE = 1\n")
    load(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["saved.py"]
