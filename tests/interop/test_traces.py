"""What the author of a worker reads when something is raised."""

from pathlib import Path

import pytest

from pyflare.interop import traces
from pyflare.interop.errors import JsException
from pyflare.interop.json import parse
from pyflare.interop.proxy import JsObject


def compiled(file: Path, source: str) -> SyntaxError:
    try:
        compile(source, str(file), "exec")
    except SyntaxError as raised:
        return raised.with_traceback(None)
    raise AssertionError(f"{source} is no mistake")


def test_a_syntax_error_begins_with_the_file_of_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "is_inner", lambda filename: True)
    try:
        raise compiled(tmp_path / "entry.py", "class X(\n")
    except SyntaxError as raised:
        shown = traces.render(raised)
    assert shown.startswith(f'  File "{tmp_path / "entry.py"}", line 1')
    assert shown.endswith("SyntaxError: '(' was never closed")


def test_the_frames_below_a_javascript_error_are_not_shown() -> None:
    try:
        text_of("no json")
    except JsException as raised:
        shown = traces.render(raised)
    assert [line.split('"')[1] for line in shown.splitlines() if line.startswith("  File")] == [__file__] * 2
    assert shown.splitlines()[-1].startswith("pyodide.ffi.JsException: SyntaxError: ")


def text_of(text: str) -> object:
    return parse(text)


def test_a_body_that_the_sdk_refuses_is_told_how_to_write() -> None:
    assert traces.render(TypeError("Unsupported type in Response: dict")).endswith(f"dict\n{traces.BODY_HINT}")


def asked(env: JsObject, name: str) -> str:
    """What is shown for `env.<name>` in a worker."""
    try:
        getattr(env, name)
    except AttributeError as raised:
        traces.explain_env(raised, env)
        return traces.render(raised).splitlines()[-1]
    raise AssertionError(f"there is a {name}")


def test_a_binding_that_is_not_configured_is_named_with_those_that_are() -> None:
    assert asked(JsObject.make({"DB": 1, "Q": 2}), "NOTES") == "env has no NOTES; the configuration gives: DB, Q"


def test_a_binding_of_nearly_that_name_is_suggested() -> None:
    assert asked(JsObject.make({"DB": 1, "NOTES": 2}), "NOTE") == "env has no NOTE; did you mean NOTES?"


def test_another_attribute_error_is_shown_as_it_is() -> None:
    assert traces.render(AttributeError("x")) == "AttributeError: x"
