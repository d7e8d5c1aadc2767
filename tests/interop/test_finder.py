"""The faces as `import` gives them."""

import importlib

import pytest

from pyflare.interop import finder

finder.install()


@pytest.mark.parametrize("module", sorted(set(finder.FACES) - {"pyodide_js", "_cloudflare_compat_flags"}))
def test_a_name_that_a_face_lacks_is_told_without_a_word_of_pyflare(module: str) -> None:
    with pytest.raises(ImportError) as raised:
        exec(f"from {module} import cachez")
    assert str(raised.value).startswith(f"cannot import name 'cachez' from '{module}' (unknown location)")


@pytest.mark.parametrize("module", finder.FACES)
def test_a_face_is_named_as_it_is_imported(module: str) -> None:
    assert importlib.import_module(module).__name__ == module
