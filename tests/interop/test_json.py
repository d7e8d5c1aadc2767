import math

import pytest

from pyflare.interop.containers import JsArray, JsMap
from pyflare.interop.convert import to_js
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.json import parse, stringify
from pyflare.interop.proxy import JsObject, jsnull


def test_undefined_disappears_and_null_stays() -> None:
    assert stringify(JsObject.make({"a": None, "b": jsnull})) == '{"b":null}'
    assert stringify(JsArray.make([None, jsnull])) == "[null,null]"
    assert stringify(None) is None


def test_bytes_are_objects_and_maps_are_empty() -> None:
    assert stringify(to_js({"b": b"ab", "m": JsMap.make([(1, 2)])})) == '{"b":{"0":97,"1":98},"m":{}}'


def test_numbers_are_javascripts() -> None:
    assert stringify(JsArray.make([2.0, 1.5, math.nan, math.inf])) == "[2,1.5,null,null]"
    with pytest.raises(JsException, match="BigInt"):
        stringify(2**60)


def test_dates_are_iso_text() -> None:
    assert stringify(JsDate.make(0)) == '"1970-01-01T00:00:00.000Z"'


def test_indent_and_replacer() -> None:
    assert stringify(to_js({"a": 1}), None, 2) == '{\n  "a": 1\n}'
    assert stringify(to_js({"a": 1, "b": 2}), to_js(["b"])) == '{"b":2}'


def test_a_circle_is_a_type_error() -> None:
    value = JsObject.make()
    value.__dict__["self"] = value
    with pytest.raises(JsException, match="circular"):
        stringify(value)


def test_parse_gives_javascript_values() -> None:
    value = parse('{"a": [1, 3.0, null, "s"]}')
    assert value.a.to_py() == [1, 3, jsnull, "s"]
    assert type(value.a[1]) is int


@pytest.mark.parametrize("text", ["{bad", "", "NaN", "[1,]"])
def test_what_is_no_json_is_a_syntax_error(text: str) -> None:
    with pytest.raises(JsException) as caught:
        parse(text)
    assert caught.value.name == "SyntaxError"
