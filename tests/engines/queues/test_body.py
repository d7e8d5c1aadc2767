"""What each content type makes of a body, there and back."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.engines.queues import body
from pyflare.interop.buffers import ArrayBuffer, Uint8Array
from pyflare.interop.containers import JsArray, JsMap
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsObject, jsnull
from tests.support.rooms import js


def back(value: Any, kind: str) -> Any:
    return body.decode(body.encode(value, kind), kind)


@pytest.mark.parametrize("value", ["é😀", 3, 1.5, True, jsnull])
def test_plain_values_come_back_from_json(value: Any) -> None:
    assert back(value, "json") == value


def test_containers_come_back_from_json_as_javascript_s_own() -> None:
    found = back(js({"list": [1, [2]], "none": None}), "json")
    assert isinstance(found, JsObject) and isinstance(found.list, JsArray)
    assert found.to_py()["list"] == [1, [2]]


def test_json_loses_what_javascript_s_json_loses() -> None:
    value = js({"bytes": b"bc", "set": {1}, "nan": float("nan"), "whole": 2.0})
    assert body.encode(value, "json") == b'{"bytes":{"0":98,"1":99},"set":{},"nan":null,"whole":2}'


def test_an_integer_beyond_53_bits_is_no_json() -> None:
    with pytest.raises(JsException, match="BigInt"):
        body.encode(2**60, "json")


def test_text_is_utf_8() -> None:
    assert (body.encode("é", "text"), back("é", "text")) == ("é".encode(), "é")


def test_bytes_come_back_as_an_array() -> None:
    found = back(Uint8Array.make(ArrayBuffer.make(b"\x00\xff")), "bytes")
    assert isinstance(found, Uint8Array) and found.to_bytes() == b"\x00\xff"


def test_a_view_is_stored_without_the_rest_of_its_buffer() -> None:
    view = Uint8Array.make(ArrayBuffer.make(b"abcd"), 1, 2)
    assert body.encode(view, "bytes") == b"bc"


def test_v8_keeps_dates_maps_and_bytes() -> None:
    value = JsObject.make({"when": JsDate.make(5.0), "map": JsMap.make([(1, "a")]), "raw": js(b"ab")})
    found = back(value, "v8")
    assert (found.when.getTime(), found.map.get(1), found.raw.to_bytes()) == (5, "a", b"ab")


@pytest.mark.parametrize(
    ("kind", "data", "line"),
    [
        ("json", b'{"a":\n 1}', '{"a": 1}'),
        ("text", b"x" * 300, "x" * 199 + "…"),
        ("bytes", b"\x00\xff", "00 ff"),
        ("v8", b"\xff\x0f0", "<3 bytes of V8 serialization>"),
    ],
)
def test_a_preview_is_one_short_line(kind: str, data: bytes, line: str) -> None:
    assert body.preview(data, kind) == line
