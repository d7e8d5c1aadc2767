from datetime import datetime

import pytest

from pyflare.interop.buffers import Uint8Array
from pyflare.interop.containers import JsArray, JsMap, JsSet
from pyflare.interop.convert import (
    ConversionError,
    JsDoubleProxy,
    create_once_callable,
    create_proxy,
    from_entries,
    to_js,
)
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsObject, jsnull


def test_scalars_are_unchanged() -> None:
    assert [to_js(value) for value in (1, "s", True, None, 2.5, jsnull)] == [1, "s", True, None, 2.5, jsnull]


def test_containers_become_their_javascript_counterparts() -> None:
    values = [to_js(v) for v in ([1], (1, 2), {1}, b"x", bytearray(b"x"), {"a": 1})]
    assert [v.constructor.name for v in values] == ["Array", "Array", "Set", "Uint8Array", "Uint8Array", "Object"]


def test_keys_of_objects_become_text() -> None:
    assert to_js({1: "one", 2.5: "more"}, dict_converter=from_entries).js_properties() == {"1": "one", "2.5": "more"}


def test_depth_leaves_inner_objects_as_proxies() -> None:
    value = to_js([[1]], depth=1)
    assert isinstance(value[0], JsDoubleProxy)
    assert value[0].unwrap() == [1]


def test_a_list_that_contains_itself_keeps_its_shape() -> None:
    items: list[object] = []
    items.append(items)
    value = to_js(items)
    assert value[0] is value


def test_the_default_converter_may_refuse_or_convert() -> None:
    moment = datetime(2026, 1, 2)
    assert to_js([moment], default_converter=lambda obj, convert, cache: convert([obj.year]))[0].to_py() == [2026]


def test_no_proxies_are_made_when_they_are_not_wanted() -> None:
    with pytest.raises(ConversionError):
        to_js(object(), create_pyproxies=False)


def test_to_py_makes_python_containers_and_keeps_null() -> None:
    value = JsObject.make({"list": JsArray.make([1, jsnull]), "map": JsMap.make([("k", 1)]), "set": JsSet.make([1])})
    assert value.to_py() == {"list": [1, jsnull], "map": {"k": 1}, "set": {1}}


def test_buffers_come_back_as_a_copy() -> None:
    array: Uint8Array = to_js(b"ab")
    view = array.to_py()
    view[0] = 0
    assert array.to_bytes() == b"ab"


def test_a_proxy_calls_passes_attributes_and_unwraps() -> None:
    text = create_proxy("loud")
    assert text.upper() == "LOUD"
    assert create_proxy(str.upper)("x") == "X"
    assert text.unwrap() == "loud"


def test_a_destroyed_proxy_says_so() -> None:
    proxy = create_proxy(print)
    proxy.destroy()
    with pytest.raises(JsException, match="already been destroyed"):
        proxy()


def test_a_once_callable_is_called_once() -> None:
    once = create_once_callable(lambda: 1)
    assert once() == 1
    with pytest.raises(JsException, match="OnceProxy can only be called once"):
        once()


def test_the_buffer_of_bytes_is_seen_without_a_copy() -> None:
    data = b"abc"
    assert create_proxy(data).getBuffer().data.buffer._data is data
