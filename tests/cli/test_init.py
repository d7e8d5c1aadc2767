"""`pyflare init`: a worker to begin with."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import pyflare
from pyflare.cli import main
from pyflare.cli.init import FILES


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


TOLD = "Made my-worker. Serve it, and test it, with\n    cd my-worker && pyflare dev\n    cd my-worker && pytest\n"


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def test_it_makes_a_worker_that_passes_check(there: Path) -> None:
    result = run("init", "my-worker")
    assert (result.exit_code, result.output) == (0, TOLD)
    assert {str(path.relative_to(there / "my-worker")) for path in there.rglob("*") if path.is_file()} == set(FILES)
    checked = run("check", "my-worker")
    assert checked.exit_code == 0
    assert checked.stderr == ""


def test_the_entry_module_is_python() -> None:
    run("init", "my-worker")
    compile(Path("my-worker/src/entry.py").read_text(), "entry.py", "exec")


def test_nothing_that_exists_is_overwritten(there: Path) -> None:
    (there / "mine").mkdir()
    (there / "mine/pyproject.toml").write_text("mine")
    result = run("init", "mine")
    assert result.exit_code == 1
    assert result.stderr == "error: mine already has pyproject.toml; nothing was written\n"
    assert sorted(path.name for path in (there / "mine").iterdir()) == ["pyproject.toml"]


@pytest.mark.parametrize("name", ["My_Worker", "a b", "-x.y"])
def test_a_name_that_cloudflare_refuses_is_refused(there: Path, name: str) -> None:
    result = run("init", "--", name)
    assert result.exit_code == 1
    assert "cannot be a worker's name" in result.stderr
    assert list(there.iterdir()) == []


def test_the_folder_may_be_the_one_here(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (there / "shop").mkdir()
    monkeypatch.chdir(there / "shop")
    assert run("init", ".").exit_code == 0
    assert '"name": "shop"' in (there / "shop/wrangler.jsonc").read_text()


def test_its_own_test_passes(there: Path) -> None:
    run("init", "my-worker")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=there / "my-worker", capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout


def test_its_project_runs_wherever_pyflare_does_and_names_nothing_that_no_index_has(there: Path) -> None:
    run("init", "my-worker")
    made = tomllib.loads(Path("my-worker/pyproject.toml").read_text())
    ours = tomllib.loads(Path(pyflare.__file__).parents[2].joinpath("pyproject.toml").read_text())
    assert made["project"]["requires-python"] == ours["project"]["requires-python"]
    group = made["dependency-groups"]["dev"]
    assert "pytest>=8.3" in group
    assert not any(name.startswith("pyflare") for name in group)
