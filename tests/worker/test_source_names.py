"""Which imports and calls are read from a text."""

from pathlib import Path

import pytest

from pyflare.worker.source_names import Names, names_of


def read(folder: Path, code: str) -> Names:
    file = folder / "entry.py"
    file.write_text(code)
    return names_of(file)


@pytest.mark.parametrize(
    ("code", "imports"),
    [
        ("import b, a.c\nfrom d.e import f\nfrom . import g\nfrom .h import i", ["b", "a", "d"]),
        ("def handler():\n    import late", ["late"]),
        ("try:\n    import a\nexcept ImportError:\n    import b", ["b"]),
        ("try:\n    import a\nexcept (ValueError, ModuleNotFoundError):\n    a = None\nelse:\n    import c", ["c"]),
        ("try:\n    import a\nexcept:\n    a = None", []),
        ("try:\n    import a\nexcept ValueError:\n    pass\nfinally:\n    import b", ["a", "b"]),
        ("with contextlib.suppress(ImportError):\n    import a", []),
        ("with contextlib.suppress(KeyError):\n    import a", ["a"]),
        ("if TYPE_CHECKING:\n    import a", []),
        ("if typing.TYPE_CHECKING:\n    import a", []),
        ('if __name__ == "__main__":\n    import a', []),
        ('if sys.platform == "emscripten":\n    import a\nelse:\n    import b', []),
        ("if debug:\n    import a", ["a"]),
        ("import (", []),
    ],
)
def test_imports_are_those_that_the_code_cannot_do_without(tmp_path: Path, code: str, imports: list[str]) -> None:
    assert list(read(tmp_path, code).imports) == imports


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("import threading\nthreading.Thread()", "threading.Thread"),
        ("import threading as t\nt.Thread()", "threading.Thread"),
        ("from threading import Thread as T\nT()", "threading.Thread"),
        ("import concurrent.futures\nconcurrent.futures.Future()", "concurrent.futures.Future"),
        ("import concurrent.futures as f\nf.Future()", "concurrent.futures.Future"),
        ("from concurrent import futures\nfutures.Future()", "concurrent.futures.Future"),
        ("self.threading.Thread()", ".Thread"),
        ("run()", None),
    ],
)
def test_calls_are_named_from_their_module(tmp_path: Path, code: str, call: str | None) -> None:
    assert list(read(tmp_path, code).calls) == ([call] if call else [])


def test_a_long_expression_is_not_too_deep(tmp_path: Path) -> None:
    assert list(read(tmp_path, f"import a\nx = {' + '.join(['a'] * 2000)}").imports) == ["a"]
