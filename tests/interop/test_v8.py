"""V8's serialization format. The hex is what workerd 1.20260822.1 wrote."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pytest
import v8serialize
from hypothesis import given, settings
from hypothesis import strategies as st
from v8serialize import JSRegExpFlag
from v8serialize.jstypes import JSErrorData, JSObject, JSRegExp

from pyflare.interop import v8
from pyflare.interop.buffers import ArrayBuffer, BufferView, DataView, Float64Array, Uint8Array, Uint16Array
from pyflare.interop.containers import JsArray, JsMap, JsSet
from pyflare.interop.convert import JsDoubleProxy, to_js
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException, range_error
from pyflare.interop.proxy import JsObject, jsnull

RECORDED: list[tuple[Any, str]] = [
    ("hello", "ff0f 22 05 68656c6c6f"),
    ("é😀", "ff0f 63 06 e9003dd800de"),
    (42, "ff0f 49 54"),
    (-1, "ff0f 49 01"),
    (2**30, "ff0f 4e 000000000000d041"),
    (2**60, "ff0f 5a 10 0000000000000010"),
    (1.5, "ff0f 4e 000000000000f83f"),
    (True, "ff0f 54"),
    (False, "ff0f 46"),
    (jsnull, "ff0f 30"),
    (None, "ff0f 5f"),
    (to_js(b"\x00\xff"), "ff0f 42 02 00ff 56 42 00 02 00"),
    (to_js([1, "two", jsnull]), "ff0f 41 03 4902 220374776f 30 24 00 03"),
    (to_js({"ab": "€"}), "ff0f 6f 22026162 00 6302ac20 7b 01"),
    (to_js({1}), "ff0f 27 4902 2c 01"),
    (JsDate.make(1893553445000.0), "ff0f 44 00808849098e7b42"),
]


# What workerd 1.20260426.1 wrote for values that only JavaScript can make, and what they are here.
OF_JAVASCRIPT: list[tuple[str, Any]] = [
    ("ff0f5a2100000000000000004000000000000000", (int, -(2**70))),
    ("ff0f41036e00000000000014407322017379240003", [(int, 5), "s", (bool, True)]),
    ("ff0f4203010203563f010200", ("DataView", b"\x02\x03")),
    ("ff0f42030102035642010200", ("Uint8Array", b"\x02\x03")),
    ("ff0f3b22016149026f22016f49027b01410149042400013a04", ("Map", [("a", (int, 1)), ({"o": (int, 1)}, [(int, 2)])])),
    ("ff0f6f4912220163491422016122016249047b03", {"9": "c", "10": "a", "b": (int, 2)}),
    ("ff0f522203612e6203", {"source": "a.b", "flags": "gi"}),
    ("ff0f41026f22016b49027b015e01240002", [{"k": (int, 1)}, {"k": (int, 1)}]),
    ("ff0f610649004902490a220178400206", [(int, 1), None, None, None, None, "x"]),
    ("ff0f6f2201755f22016e307b02", {"u": None, "n": jsnull}),
]


def plain(value: Any) -> Any:
    """A value that `==` can compare."""
    if isinstance(value, JsObject):
        return {name: plain(item) for name, item in value.js_properties().items()}
    if isinstance(value, JsArray):
        return [plain(item) for item in value]
    if isinstance(value, JsMap):
        return ("Map", [(plain(key), plain(item)) for key, item in value.items()])
    if isinstance(value, JsSet):
        return ("Set", [plain(item) for item in value])
    if isinstance(value, JsDate):
        return ("Date", value._ms)
    if isinstance(value, (ArrayBuffer, BufferView)):
        return (type(value).js_name, value.to_bytes())
    return (type(value), value) if isinstance(value, (bool, int, float)) else value


@pytest.mark.cloudflare("parity/state-sample")
@pytest.mark.parametrize(("value", "recorded"), RECORDED, ids=lambda item: str(item)[:20])
def test_bytes_are_those_of_the_runtime(value: Any, recorded: str) -> None:
    data = bytes.fromhex(recorded)
    assert v8.dumps(value) == data
    assert plain(v8.loads(data)) == plain(value)


@pytest.mark.cloudflare("workerd 1.20260426.1, through miniflare")
@pytest.mark.parametrize(("data", "value"), OF_JAVASCRIPT, ids=[data[4:16] for data, _ in OF_JAVASCRIPT])
def test_values_that_only_javascript_makes_are_read(data: str, value: Any) -> None:
    assert plain(v8.loads(bytes.fromhex(data))) == value


@pytest.mark.cloudflare("workerd 1.20260426.1, through miniflare")
def test_an_error_that_the_runtime_wrote_is_read() -> None:
    back = v8.loads(bytes.fromhex("ff0f5c0a022204626f6f6d6f2205737461636b220f547970654572726f723a20626f6f6d7b01"))
    assert (back.name, back.message, back.stack) == ("TypeError", "boom", "TypeError: boom")


def test_a_whole_float_is_written_as_a_small_integer() -> None:
    assert v8.dumps(3.0) == v8.dumps(3)


def test_minus_zero_is_written_as_a_double() -> None:
    assert v8.dumps(-0.0)[2:3] == b"N"


def test_the_largest_safe_integer_is_written_as_a_bigint_as_pyodide_makes_one_of_it() -> None:
    assert v8.dumps(2**53 - 1)[2:3] == b"Z"
    assert v8.dumps(2**53 - 2)[2:3] == b"N"


def test_a_cycle_keeps_its_shape() -> None:
    value: JsObject = JsObject.make({"list": JsArray.make([])})
    value.list.push(value)
    back = v8.loads(v8.dumps(value))
    assert back.list[0] is back


def test_an_object_met_twice_is_one_object() -> None:
    part: JsObject = JsObject.make({"n": 1})
    back = v8.loads(v8.dumps(JsArray.make([part, JsDate.make(0.0), part])))
    assert back[0] is back[2]


def test_two_views_share_their_buffer() -> None:
    buffer: ArrayBuffer = ArrayBuffer.make(bytearray(8))
    pair = JsArray.make([Uint8Array.make(buffer), Uint16Array.make(buffer, 2, 2)])
    first, second = v8.loads(v8.dumps(pair))
    assert first.buffer is second.buffer
    assert (second.byteOffset, second.length) == (2, 2)


def test_a_data_view_keeps_its_window() -> None:
    view = v8.loads(v8.dumps(DataView.make(ArrayBuffer.make(b"abcdef"), 1, 3)))
    assert (type(view), view.to_bytes()) == (DataView, b"bcd")


def test_floats_of_a_typed_array_survive() -> None:
    assert list(v8.loads(v8.dumps(Float64Array.of(1.5, math.inf)))) == [1.5, math.inf]


def test_map_keys_may_be_objects() -> None:
    back = v8.loads(v8.dumps(JsMap.make([(JsObject.make({"k": 1}), "v")])))
    assert [plain(pair) for pair in back.entries()] == [[{"k": (int, 1)}, "v"]]


def test_an_error_keeps_name_message_stack_and_properties() -> None:
    raised = range_error("too far")
    setattr(raised, "code", 7)  # noqa: B010  (a property of the value, not of the class)
    back = v8.loads(v8.dumps(raised))
    assert isinstance(back, JsException)
    assert (back.name, back.message, back.stack, back.code) == ("RangeError", "too far", raised.stack, 7)


def test_an_error_of_an_unknown_name_keeps_it() -> None:
    assert v8.loads(v8.dumps(JsException.make("no", "MyError"))).name == "MyError"


def test_an_error_in_the_older_form_is_read() -> None:
    back = v8.loads(v8serialize.dumps(JSErrorData("boom", name="TypeError", stack="at line 1", cause="why")))
    assert (back.name, back.message, back.stack, back.cause) == ("TypeError", "boom", "at line 1", "why")


def test_a_regular_expression_is_read_as_its_parts() -> None:
    back = v8.loads(v8serialize.dumps(JSObject(when=JSRegExp("a.b", JSRegExpFlag.Global), n=1, none=None)))
    assert (back.when.source, back.when.flags, back.n, back.none) == ("a.b", "g", 1, jsnull)


def test_a_date_beside_something_rare_is_read() -> None:
    moment = dt.datetime(2030, 1, 2, tzinfo=dt.UTC)
    back = v8.loads(v8serialize.dumps(JSObject(when=moment, re=JSRegExp("x"), data=b"ab")))
    assert (back.when.toISOString(), back.data.to_bytes()) == ("2030-01-02T00:00:00.000Z", b"ab")


def test_version_13_has_views_without_flags() -> None:
    assert v8.loads(bytes.fromhex("ff0d 42 02 00ff 56 42 00 02")).to_bytes() == b"\x00\xff"


def test_data_without_a_header_is_read() -> None:
    assert v8.loads(b"I\x02") == 1


def test_holes_are_undefined() -> None:
    assert list(v8.loads(bytes.fromhex("ff0f 41 02 2d 4902 24 00 02"))) == [None, 1]
    assert list(v8.loads(bytes.fromhex("ff0f 61 03 4902 4904 40 01 03"))) == [None, 2, None]


def test_numeric_property_names_are_text() -> None:
    assert v8.dumps(to_js({"10": 1})) == bytes.fromhex("ff0f 6f 4914 4902 7b 01")
    assert plain(v8.loads(bytes.fromhex("ff0f 6f 4914 4902 7b 01"))) == {"10": (int, 1)}


def test_a_python_object_cannot_be_cloned() -> None:
    with pytest.raises(JsException, match=r"^DataCloneError: \[object Object\] could not be cloned\.$"):
        v8.dumps(JsDoubleProxy.make(object()))


BROKEN = [
    "ff0f",
    "ff0f 22 05 61",
    "ff0f 5e 01",
    "ff0f 7e",
    "ff0f 56",
    "ff0f 41 ffffffff0f",
    "ff0f 61 ffffffff07 40 00 ffffffff07",  # two thousand million holes
    "ff0f 41 02 52 22 01 61 00 61 ffffffff07 40 00 ffffffff07 24 00 02",  # the same behind a regular expression
    "ff0f 41 02 52 22 01 61 00 44 ffffffffffffef7f 24 00 02",  # a date beyond all dates behind one
]


@pytest.mark.parametrize("data", BROKEN)
def test_broken_data_is_a_data_clone_error(data: str) -> None:
    with pytest.raises(JsException, match="Unable to deserialize cloned data"):
        v8.loads(bytes.fromhex(data))


scalars = (
    st.none()
    | st.just(jsnull)
    | st.booleans()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats(allow_nan=False).filter(lambda number: not number.is_integer())
    | st.text()
    | st.builds(lambda ms: JsDate.make(float(ms)), st.integers(-(10**15), 10**15))
    | st.binary(max_size=20).map(lambda data: to_js(data))
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: JsArray.make(items))
        | st.dictionaries(st.text(max_size=6), inner, max_size=4).map(lambda items: JsObject.make(items))
        | st.lists(st.tuples(st.text(max_size=3), inner), max_size=3).map(lambda items: JsMap.make(items))
        | st.lists(st.integers(0, 9), max_size=3).map(lambda items: JsSet.make(items))
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(values)
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    assert plain(v8.loads(v8.dumps(value))) == plain(value)


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        v8.loads(b"\xff\x0f" + data)
    except JsException as refused:
        assert refused.name == "DataCloneError"
