from typing import Any

import pytest

from pyflare.interop.containers import JsArray, JsMap, JsSet
from pyflare.interop.errors import JsException, RangeError, type_error
from pyflare.interop.proxy import JsFunction, JsObject, JsProxy, get, jsnull
from pyflare.interop.web.blob import Blob


def test_null_is_falsy_and_not_none() -> None:
    assert not jsnull
    assert jsnull is not None
    assert repr(jsnull) == "jsnull"


def test_the_type_of_every_object_is_named_jsproxy() -> None:
    assert [type(value).__name__ for value in (JsObject.make(), JsArray.make(), JsMap.make())] == ["JsProxy"] * 3


def test_constructor_name_tells_the_javascript_class() -> None:
    assert [v.constructor.name for v in (JsObject.make(), JsArray.make(), JsSet.make())] == ["Object", "Array", "Set"]


def test_properties_are_attributes_and_nothing_else() -> None:
    value: Any = JsObject.make({"a": 1})
    assert value.a == 1
    with pytest.raises(TypeError):
        value["a"]
    with pytest.raises(AttributeError, match="absent"):
        _ = value.absent


def test_names_that_python_reserves_take_an_underscore() -> None:
    assert JsObject.make({"from": 1}).from_ == 1


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (JsMap, "Constructor Map requires 'new'"),
        (
            Blob,
            "Failed to construct 'Blob': Please use the 'new' operator, this object constructor cannot be called as a "
            "function.",
        ),
    ],
)
def test_a_class_called_without_new_is_a_type_error_of_javascript(kind: type, text: str) -> None:
    with pytest.raises(JsException) as caught:
        kind()
    assert (caught.value.name, caught.value.message) == ("TypeError", text)


def test_keywords_become_one_options_object() -> None:
    seen = []
    JsFunction.make(lambda *args: seen.extend(args), "f")(1, b=2)
    assert seen[0] == 1
    assert seen[1].b == 2


def test_options_are_read_from_objects_dicts_and_nothing() -> None:
    assert [get(o, "a", "none") for o in (JsObject.make({"a": 1}), {"a": 2}, None, jsnull)] == [1, 2, "none", "none"]


def test_an_error_is_a_python_exception_that_prints_name_and_message() -> None:
    error = RangeError.new("too far")
    assert isinstance(error, (JsException, Exception))
    assert isinstance(error, JsProxy)
    assert str(error) == "RangeError: too far"
    assert error.constructor is RangeError
    assert type(type_error("x")).__name__ == "JsException"
