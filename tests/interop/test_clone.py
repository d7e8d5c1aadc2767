from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.interop.buffers import ArrayBuffer, Uint8Array
from pyflare.interop.clone import clone
from pyflare.interop.containers import JsArray, JsMap, JsSet
from pyflare.interop.convert import create_proxy, to_js
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import DOMException, Error, JsException, type_error
from pyflare.interop.globals import structuredClone
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsObject
from pyflare.interop.rpc import transfer
from pyflare.interop.web.blob import Blob, File
from pyflare.interop.web.readable import ReadableStream
from tests.support.web import thrown

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def normal(value: Any) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, list):
        return [normal(item) for item in value]
    return {key: normal(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(plain)
def test_a_clone_equals_what_it_was_made_of(value: Any) -> None:
    made = clone(to_js(value))
    back = made.to_py() if hasattr(made, "to_py") else made
    assert normal(back) == normal(value)


def test_a_clone_shares_nothing() -> None:
    first = JsObject.make({"list": JsArray.make([1]), "bytes": to_js(b"a")})
    second = clone(first)
    second.list.push(2)
    second.bytes[0] = 0
    assert first.list.to_py() == [1]
    assert first.bytes.to_bytes() == b"a"


def test_what_was_one_object_stays_one() -> None:
    shared = JsObject.make()
    value = clone(JsArray.make([shared, shared]))
    assert value[0] is value[1]


def test_whole_floats_are_integers_afterwards() -> None:
    assert [type(item) for item in clone(JsArray.make([2.0, 1.5]))] == [int, float]


def test_dates_maps_sets_and_errors_are_kept() -> None:
    value = clone(JsArray.make([JsDate.make(5), JsMap.make([(1, 2)]), JsSet.make([3]), type_error("bad")]))
    assert [item.constructor.name for item in value] == ["Date", "Map", "Set", "TypeError"]
    assert str(value[3]) == "TypeError: bad"


def test_a_view_takes_its_whole_buffer_along() -> None:
    view = Uint8Array.make(ArrayBuffer.make(bytearray(b"abcd")), 1, 2)
    assert clone(view).to_bytes() == b"bc"
    assert clone(view).buffer.byteLength == 4


@pytest.mark.parametrize("value", [create_proxy(print), create_proxy(object()), print])
def test_functions_and_python_objects_cannot_be_cloned(value: Any) -> None:
    with pytest.raises(JsException, match="could not be cloned") as caught:
        clone(JsArray.make([value]))
    assert caught.value.name == "DataCloneError"


def test_what_cannot_be_cloned_is_named() -> None:
    assert thrown(lambda: clone(JsPromise.resolve())) == "DataCloneError: #<Promise> could not be cloned."
    assert thrown(lambda: clone(Blob.new())) == (
        'DataCloneError: Could not serialize object of type "Blob". This type does not support serialization.'
    )
    assert thrown(lambda: clone(ReadableStream.new())) == (
        "DataCloneError: ReadableStream can only be serialized for RPC."
    )


def test_an_exception_of_the_dom_has_its_code() -> None:
    assert [DOMException.new("m", name).code for name in ("AbortError", "DataCloneError", "Mine")] == [20, 25, 0]
    assert clone(DOMException.new("m", "TimeoutError")).code == 23
    assert not hasattr(Error.new("m"), "code")


def test_a_blob_is_cloned_and_crosses_rpc_but_no_file() -> None:
    blob = Blob.make(b"x", "a/b")
    copy = structuredClone(JsArray.make([blob, blob]))
    assert (copy[0] is copy[1], copy[0] is blob, copy[0].data, copy[0].type) == (True, False, b"x", "a/b")
    assert transfer(blob) is blob
    file = File.make(b"x", "n")
    refused = [thrown(lambda: structuredClone(file)), thrown(lambda: transfer(file))]
    assert (
        refused
        == ['DataCloneError: Could not serialize object of type "File". This type does not support serialization.'] * 2
    )
