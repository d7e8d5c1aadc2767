from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pyflare.supervisor.warm import packages_since, warm


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "warm_probe.py").write_text("VALUE = 1")
    (folder / "warm_broken.py").write_text("raise ValueError")
    (tmp_path / "warm_own.py").write_text("")
    for name in ("warm_probe", "warm_broken", "warm_own"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


def test_installed_packages_are_told_and_the_workers_own_modules_are_not(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.syspath_prepend(str(installed.parent))
    __import__("warm_probe")
    __import__("warm_own")
    assert "warm_probe" in packages_since(before)
    assert "warm_own" not in packages_since(before)


def test_what_can_be_imported_is_and_the_path_stays(installed: Path) -> None:
    path = sys.path[:]
    warm(["warm_broken", "warm_missing", "warm_probe"], [str(installed)])
    assert sys.modules["warm_probe"].VALUE == 1
    assert "warm_broken" not in sys.modules
    assert sys.path == path
