from pathlib import Path

from pyflare.config.model import WorkerConfig
from pyflare.worker.declared import undeclared
from pyflare.worker.source_names import names_of


def found(folder: Path, code: str, dependencies: frozenset[str] | None = None) -> dict[str, Path]:
    main = folder / "entry.py"
    main.write_text(code)
    config = WorkerConfig(name="w", root=folder, main=main, dependencies=dependencies)
    return undeclared(config, {main: names_of(main)})


def test_an_installed_package_that_nothing_declares_is_named_with_its_file(tmp_path: Path) -> None:
    assert found(tmp_path, "import json, pytest\nfrom js import Response\n") == {"pytest": tmp_path / "entry.py"}


def test_a_declared_one_is_not_whatever_the_spelling(tmp_path: Path) -> None:
    assert found(tmp_path, "import ada_url\n", frozenset({"ada-url"})) == {}


def test_local_and_vendored_modules_are_the_workers_own(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("")
    (tmp_path / "python_modules" / "rich").mkdir(parents=True)
    assert found(tmp_path, "import click\nimport rich\n") == {}


def test_one_that_the_code_can_do_without_is_not_named(tmp_path: Path) -> None:
    assert found(tmp_path, "try:\n    import pytest\nexcept ImportError:\n    pytest = None\n") == {}
