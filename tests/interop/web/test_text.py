from typing import Any

import pytest

from pyflare.interop.buffers import ArrayBuffer, Uint8Array, Uint16Array
from pyflare.interop.web.text import (
    TextDecoder,
    TextEncoder,
    atob,
    btoa,
    decodeURI,
    decodeURIComponent,
    encodeURI,
    encodeURIComponent,
)
from tests.support.web import js, thrown


def test_an_encoder_writes_utf8() -> None:
    assert TextEncoder.new().encode("hé").to_bytes() == b"h\xc3\xa9"


def test_a_lone_surrogate_is_encoded_as_a_replacement() -> None:
    assert TextEncoder.new().encode("a\ud800").to_bytes() == "a\ufffd".encode()


def test_encode_into_stops_before_a_character_that_does_not_fit() -> None:
    array = Uint8Array.new(3)
    result = TextEncoder.new().encodeInto("é€", array)
    assert (result.read, result.written, array.to_bytes()) == (1, 2, b"\xc3\xa9\x00")


@pytest.mark.parametrize("target", [None, 5, Uint16Array.new(2), ArrayBuffer.new(2)])
def test_encode_into_wants_an_array_of_bytes(target: Any) -> None:
    assert thrown(lambda: TextEncoder.new().encodeInto("a", target)) == (
        "TypeError: Failed to execute 'encodeInto' on 'TextEncoder': parameter 2 is not of type 'Uint8Array'."
    )


def test_decode_names_what_is_no_buffer() -> None:
    assert thrown(lambda: TextDecoder.new().decode(5)) == (
        "TypeError: Failed to execute 'decode' on 'TextDecoder': parameter 1 is not of type 'Array'."
    )


def test_a_decoder_drops_the_mark_and_replaces_what_is_wrong() -> None:
    assert TextDecoder.new().decode(js(b"\xef\xbb\xbfa\xff")) == "a\ufffd"
    assert TextDecoder.new("utf-8", ignoreBOM=True).decode(js(b"\xef\xbb\xbfa")) == "\ufeffa"


def test_a_decoder_goes_on_where_a_stream_was_cut() -> None:
    decoder = TextDecoder.new()
    assert decoder.decode(js(b"\xc3"), {"stream": True}) == ""
    assert decoder.decode(js(b"\xa9")) == "é"


def test_a_fatal_decoder_raises() -> None:
    decoder = TextDecoder.new("utf-8", fatal=True)
    assert thrown(lambda: decoder.decode(js(b"\xff"))) == "TypeError: Failed to decode input."


@pytest.mark.parametrize(
    ("label", "name"),
    [("latin1", "windows-1252"), ("utf-16", "utf-16le"), ("Shift_JIS", "shift_jis"), ("UTF8", "utf-8")],
)
def test_labels_stand_for_encodings(label: str, name: str) -> None:
    assert TextDecoder.new(label).encoding == name


def test_an_unknown_label_is_a_range_error() -> None:
    message = thrown(lambda: TextDecoder.new("no-such-encoding"))
    assert message == 'RangeError: "no-such-encoding" is not a valid encoding.'


def test_base64_of_byte_strings() -> None:
    assert (btoa("hello"), atob("aGVsbG8="), atob("aGVs bG8")) == ("aGVsbG8=", "hello", "hello")
    assert atob("/w==") == "\xff"


def test_base64_refuses_what_it_cannot_do() -> None:
    assert thrown(lambda: btoa("€")).startswith("InvalidCharacterError: btoa()")
    assert thrown(lambda: atob("a")).startswith("InvalidCharacterError: atob()")
    assert thrown(lambda: atob("a=b=")).startswith("InvalidCharacterError: atob()")


def test_uri_components_are_escaped_and_back() -> None:
    assert encodeURIComponent("a b&é/!'()*") == "a%20b%26%C3%A9%2F!'()*"
    assert decodeURIComponent("%C3%A9%2F+") == "é/+"


def test_whole_uris_keep_what_separates_their_parts() -> None:
    assert encodeURI("http://a/é b?x=1#y") == "http://a/%C3%A9%20b?x=1#y"
    assert decodeURI("%C3%A9%2F") == "é%2F"


@pytest.mark.parametrize("text", ["%", "%zz", "%C3"])
def test_malformed_escapes_are_a_uri_error(text: str) -> None:
    assert thrown(lambda: decodeURIComponent(text)) == "URIError: URI malformed"


def test_what_is_kept_of_a_uri_keeps_its_case() -> None:
    assert decodeURI("%2f%C3%A9%3F") == "%2fé%3F"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("latin1", "windows-1252"),
        (" UTF8\n", "utf-8"),
        ("iso88592", "iso-8859-2"),
        ("logical", "iso-8859-8-i"),
        ("unicodefffe", "utf-16be"),
    ],
)
def test_every_label_of_the_standard_has_its_name(label: str, name: str) -> None:
    assert TextDecoder.new(label).encoding == name


@pytest.mark.parametrize("label", ["utf-7", "rot13", "cp037", "utf_8"])
def test_what_only_python_knows_is_no_encoding(label: str) -> None:
    assert thrown(lambda: TextDecoder.new(label)) == f'RangeError: "{label}" is not a valid encoding.'


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("windows-1252", b"\x80\x81", "\u20ac\x81"),
        ("windows-874", b"\x80\x9f", "\u20ac\x9f"),
        ("gbk", b"\x80", "\u20ac"),
        ("gb2312", b"\x81\x30\x81\x30", "\x80"),
        ("shift_jis", b"\x87\x40", "\u2460"),
        ("euc-kr", b"\x82\xa0", "\uad87"),
        ("x-mac-cyrillic", b"\x80", "\u0410"),
    ],
)
def test_code_pages_are_read_as_the_web_has_them(label: str, data: bytes, text: str) -> None:
    assert TextDecoder.new(label, fatal=True).decode(Uint8Array.new(js(list(data)))) == text


def test_an_encoder_takes_undefined_for_no_text() -> None:
    assert TextEncoder.new("ignored").encode(None).to_bytes() == b""
