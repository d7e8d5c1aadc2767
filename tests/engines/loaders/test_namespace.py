"""Modules out of source text."""

from __future__ import annotations

import sys
import traceback

import pytest

from pyflare.engines.loaders.namespace import Namespace


def test_modules_see_each_other_and_nobody_sees_them() -> None:
    main = Namespace("n", {"main": "import helper\nresult = helper.double(4)", "helper": "def double(n): return 2 * n"})
    assert main.load("main").result == 8
    assert "helper" not in sys.modules and "main" not in sys.modules


def test_two_namespaces_have_modules_of_the_same_name() -> None:
    first, second = (Namespace(name, {"main": "import part", "part": f"name = {name!r}"}) for name in ("a", "b"))
    assert (first.load("main").part.name, second.load("main").part.name) == ("a", "b")


@pytest.mark.parametrize(
    "line",
    [
        "import pkg.inner as inner",
        "from pkg import inner",
        "import pkg.inner; inner = pkg.inner",
        "from pkg.sibling import inner",
    ],
)
def test_packages_are_imported_as_usual(line: str) -> None:
    sources = {"pkg": "", "pkg.inner": "here = True", "pkg.sibling": "from . import inner", "main": line}
    assert Namespace("n", sources).load("main").inner.here


def test_a_folder_needs_no_init() -> None:
    assert Namespace("n", {"main": "from pkg.inner import here", "pkg.inner": "here = True"}).load("main").here


def test_what_is_installed_is_imported() -> None:
    assert Namespace("n", {"main": "import json\nfrom os.path import join"}).load("main").json is sys.modules["json"]


def test_a_module_that_is_missing_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        Namespace("n", {"main": "import no_such_module"}).load("main")


def test_a_traceback_shows_the_line() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        Namespace("loaded", {"main": "\n1 / 0  # oops"}).load("main")
    assert "loaded/main.py" in (text := "".join(traceback.format_exception(raised.value))) and "# oops" in text


def test_a_module_that_failed_is_run_again() -> None:
    namespace = Namespace("n", {"main": "raise ValueError"})
    for _ in range(2):
        with pytest.raises(ValueError):
            namespace.load("main")
