import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.interop import json as js_json
from pyflare.interop.containers import JsArray, JsMap
from pyflare.interop.convert import create_proxy, to_js, to_py
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.json import dump, parse, stringify
from pyflare.interop.proxy import JsObject, jsnull
from pyflare.interop.web.url import URL


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


def test_urls_are_text() -> None:
    assert stringify(URL.new("https://a.example")) == '"https://a.example/"'


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


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e-7, "1e-7"),
        (0.00001, "0.00001"),
        (1e16, "10000000000000000"),
        (-(2.0**63), "-9223372036854776000"),
        (1e21, "1e+21"),
        (-0.0, "0"),
    ],
)
def test_a_float_is_written_as_javascript_writes_it(number: float, text: str) -> None:
    assert stringify(to_js({"n": number})) == f'{{"n":{text}}}'


def test_a_lone_surrogate_is_written_as_its_escape_and_a_pair_as_its_character() -> None:
    assert stringify(to_js(["\ud800", "\ud83d\ude00"])) == '["\\ud800","\U0001f600"]'
    assert dump("\udfff") == b'"\\udfff"'


def test_what_json_text_escapes_comes_back_even_a_lone_surrogate_or_a_number_beyond_a_float() -> None:
    assert parse(r'["\ud800", 1e400, 18446744073709551616]').to_py() == ["\ud800", math.inf, 2.0**64]


def test_to_json_gets_the_key_and_what_it_gives_goes_to_the_replacer() -> None:
    value = to_js({"a": {"toJSON": create_proxy(lambda key: f"json of {key}")}})
    seen = []
    assert stringify(value, lambda key, item: seen.append((key, item)) or item) == '{"a":"json of a"}'  # type: ignore[func-returns-value]
    assert seen[1] == ("a", "json of a")


def test_an_indent_is_ten_characters_at_most() -> None:
    assert stringify(to_js({"a": [1, {}], "b": []}), None, 1) == '{\n "a": [\n  1,\n  {}\n ],\n "b": []\n}'
    assert stringify(to_js([1]), None, 12) == f"[\n{' ' * 10}1\n]"
    assert stringify(to_js([1]), None, "->") == "[\n->1\n]"


def test_deep_values_go_both_ways() -> None:
    text = "[" * 300 + "]" * 300
    assert stringify(parse(text)) == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_the_quick_way_and_the_long_way_agree(value: object) -> None:
    made = parse(json.dumps(value))
    quick = js_json._quick(made)
    assert quick is not None
    assert quick.decode() == js_json._Writer(None, "").text("", made, "\n")
    assert to_py(parse(quick)) == to_py(made)
    assert json.loads(quick) == js_json._strictly(quick.decode()) == value


def test_keys_that_are_indices_come_first_when_json_is_read() -> None:
    value = parse('{"b": 1, "10": {"x": 0, "2": 0}, "2": 3, "01": 4, "4294967295": 5}')
    assert list(value.js_properties()) == ["2", "10", "b", "01", "4294967295"]
    assert list(value.js_properties()["10"].js_properties()) == ["2", "x"]


def test_a_reviver_that_gives_undefined_drops_the_property() -> None:
    value = parse('{"a": 1, "b": 2}', lambda name, item: None if name == "a" else item)
    assert value.js_properties() == {"b": 2}
