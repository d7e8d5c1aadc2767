from typing import Any

import pytest

from pyflare.interop.containers import JsArray, JsMap, JsSet
from pyflare.interop.dates import JsDate
from pyflare.interop.promise import JsPromise
from pyflare.interop.web.console import Console, report
from pyflare.interop.web.console_format import format_values
from pyflare.interop.web.headers import Headers
from tests.support.web import inside_worker, js


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (js({"a": 1, "b": [1, 2, {"c": {"d": 1}}]}), "{ a: 1, b: [ 1, 2, { c: [Object] } ] }"),
        (js([1, "x", None]), "[ 1, 'x', undefined ]"),
        ({"a-b": "it's"}, "{ 'a-b': \"it's\" }"),
        (JsMap.make([(1, 2)]), "Map(1) { 1 => 2 }"),
        (JsSet.make([1]), "Set(1) { 1 }"),
        (JsDate.make(0.0), "1970-01-01T00:00:00.000Z"),
        (js(b"\x00\x01"), "Uint8Array(2) [ 0, 1 ]"),
        (js(b"\x00\x01").buffer, "ArrayBuffer { [Uint8Contents]: <00 01>, byteLength: 2 }"),
        (Headers.new(js({"a": "1"})), "Headers(1) { 'a' => '1' }"),
        (JsPromise.make(), "Promise { <pending> }"),
        (js([]), "[]"),
        (1.0, "1"),
        (True, "true"),
        (None, "undefined"),
    ],
)
def test_values_look_as_node_prints_them(value: Any, text: str) -> None:
    assert format_values((value,)) == text


def test_texts_are_printed_as_they_are_between_values() -> None:
    assert format_values(("a", js(["b"]), "c")) == "a [ 'b' ] c"


def test_a_value_that_holds_itself_does_not_run_for_ever() -> None:
    array = JsArray.make([])
    array.push(array)
    assert format_values((array,)) == "[ [Circular *1] ]"


def test_long_values_take_several_lines() -> None:
    assert format_values((js({"a": "x" * 40, "b": "y" * 40}),)) == f"{{\n  a: '{'x' * 40}',\n  b: '{'y' * 40}'\n}}"


def test_a_template_is_filled() -> None:
    line = format_values(("%s is %d years, %i, %f, %j, %%", "Bob", 42.5, 42.5, 1.5, js({"a": 1}), "extra"))
    assert line == 'Bob is 42.5 years, 42, 1.5, {"a":1}, % extra'


def test_lines_go_to_the_worker_with_their_level() -> None:
    lines: list[tuple[str, str]] = []
    with inside_worker(console=lines):
        console: Any = Console.make()
        assert [console.log("a", 1), console.warn("b"), console.error("c"), console.debug("d")] == [None] * 4
    assert lines == [("log", "a 1"), ("warn", "b"), ("error", "c"), ("debug", "d")]


def test_without_a_worker_lines_go_where_print_goes(capsys: pytest.CaptureFixture[str]) -> None:
    print("first")
    Console.make().log("second")
    assert capsys.readouterr().out == "first\nsecond\n"


def test_groups_indent_and_counters_count() -> None:
    lines: list[tuple[str, str]] = []
    with inside_worker(console=lines):
        console = Console.make()
        console.group("outer")
        console.count()
        console.count()
        console.groupEnd()
        console.assert_(False, "no")
        console.assert_(True, "yes")
    assert [text for _, text in lines] == ["outer", "  default: 1", "  default: 2", "Assertion failed: no"]


def test_a_reported_exception_shows_its_traceback() -> None:
    lines: list[tuple[str, str]] = []
    with inside_worker(console=lines):
        try:
            raise ValueError("why")
        except ValueError as raised:
            report(raised)
    assert lines[0][1].startswith("Uncaught Traceback")
    assert lines[0][1].endswith("ValueError: why")
