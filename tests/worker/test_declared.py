from pathlib import Path

from pyflare.config.model import WorkerConfig
from pyflare.worker.declared import undeclared


def worker(folder: Path, code: str, dependencies: frozenset[str] | None = None) -> WorkerConfig:
    main = folder / "entry.py"
    main.write_text(code)
    return WorkerConfig(name="w", root=folder, main=main, dependencies=dependencies)


def test_an_installed_package_that_nothing_declares_is_named_with_its_file(tmp_path: Path) -> None:
    config = worker(tmp_path, "import json, pytest\nfrom js import Response\n")
    assert undeclared(config, [tmp_path / "entry.py"]) == {"pytest": tmp_path / "entry.py"}


def test_a_declared_one_is_not_whatever_the_spelling(tmp_path: Path) -> None:
    config = worker(tmp_path, "import ada_url\n", frozenset({"ada-url"}))
    assert undeclared(config, [tmp_path / "entry.py"]) == {}


def test_local_and_vendored_modules_are_the_workers_own(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("")
    (tmp_path / "python_modules" / "rich").mkdir(parents=True)
    config = worker(tmp_path, "import click\nimport rich\n")
    assert undeclared(config, [tmp_path / "entry.py"]) == {}
