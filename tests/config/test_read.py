"""JSONC and TOML, always UTF-8, faults with line and column."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.read import parse_jsonc, parse_toml, read_config
from pyflare.errors import ConfigError

FILE = Path("wrangler.jsonc")


def parsed(text: str) -> dict[str, Any]:
    return parse_jsonc(text, FILE, Diagnostics())


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        parsed(text)
    return str(raised.value)


def fault_of_file(path: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        read_config(path, Diagnostics(Path(path.name)))
    return str(raised.value)


def test_comments_of_both_kinds_are_left_out() -> None:
    assert parsed('// first\n{ "a": /* one */ 1, // rest\n "b": 2 /* two\nlines */ }') == {"a": 1, "b": 2}


def test_trailing_commas_are_allowed_in_objects_and_arrays() -> None:
    assert parsed('{ "a": [1, 2, ], "b": {"c": 3,}, // end\n }') == {"a": [1, 2], "b": {"c": 3}}


def test_what_looks_like_a_comment_in_a_string_is_text() -> None:
    assert parsed(r'{ "a": "http://x", "b": "/* no */", "c": "\"//", "d": ",]" }') == {
        "a": "http://x",
        "b": "/* no */",
        "c": '"//',
        "d": ",]",
    }


def test_tabs_and_non_ascii_are_read() -> None:
    assert parsed('{\t"név"\t:\t"tűzőgép 🗜"\t}') == {"név": "tűzőgép 🗜"}


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "wrangler.jsonc"
    path.write_bytes(b'\xef\xbb\xbf{"name": "x"}')
    assert read_config(path, Diagnostics()) == {"name": "x"}


def test_a_fault_has_file_line_column_and_the_line() -> None:
    assert fault('{\n  "a": 1\n  "b": 2\n}') == "wrangler.jsonc:3:3: expecting ',' delimiter\n    \"b\": 2"


def test_comments_do_not_move_the_position_of_a_fault() -> None:
    assert fault('{ /* a\nb */ "a": oops }').startswith("wrangler.jsonc:2:11: ")


def test_a_comment_that_is_never_closed_is_named_where_it_begins() -> None:
    assert fault('{\n  "a": 1 /* and so on }').startswith("wrangler.jsonc:2:10: this comment is never closed")


def test_a_brace_that_is_never_closed_is_named_where_it_stands() -> None:
    assert fault('{\n  "a": "]",\n  "b": [{}') == 'wrangler.jsonc:3:8: this is never closed\n    "b": [{}'


@pytest.mark.parametrize("text", ["{'a': 1}", "{a: 1}", '{"a": 1,,}', '{"a": .5}', '{"a": 1} {"b": 2}', "", "{"])
def test_what_is_no_json_is_refused(text: str) -> None:
    assert "wrangler.jsonc:1:" in fault(text)


def test_nan_is_no_json() -> None:
    assert fault('{"a": NaN}') == "wrangler.jsonc: NaN is not JSON"


def test_the_outermost_value_has_to_be_an_object() -> None:
    assert fault("[1]") == "wrangler.jsonc: expected an object in braces, got list"


def test_of_a_key_that_stands_twice_the_last_counts_with_a_warning() -> None:
    diagnostics = Diagnostics()
    assert parse_jsonc('{"a": {"x": 1, "x": 2}}', FILE, diagnostics) == {"a": {"x": 2}}
    assert diagnostics.warnings == ['The key "x" stands twice in one object; the last one counts.']


def test_bytes_that_are_not_utf_8_are_named_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "wrangler.jsonc"
    path.write_bytes(b'{\n  "name": "caf\xe9"\n}')
    assert fault_of_file(path) == "wrangler.jsonc:2:15: byte 0xe9 is not UTF-8; save the file as UTF-8"


@pytest.mark.parametrize(("encoding", "name"), [("utf-16", "UTF-16 LE"), ("utf-32", "UTF-32 LE")])
def test_another_unicode_encoding_is_named(tmp_path: Path, encoding: str, name: str) -> None:
    path = tmp_path / "wrangler.jsonc"
    path.write_bytes('{"name": "x"}'.encode(encoding))
    assert fault_of_file(path) == f"wrangler.jsonc: is {name}; save it as UTF-8"


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    assert fault_of_file(tmp_path) == f"{tmp_path.name}: cannot be read: Is a directory"


def test_toml_is_read_by_its_ending(tmp_path: Path) -> None:
    path = tmp_path / "wrangler.toml"
    path.write_text('name = "x"\n[[queues.producers]]\nbinding = "Q"\nqueue = "q"\n')
    assert read_config(path, Diagnostics()) == {"name": "x", "queues": {"producers": [{"binding": "Q", "queue": "q"}]}}


def test_a_file_of_another_name_is_known_by_how_it_begins(tmp_path: Path) -> None:
    braces, table = tmp_path / "one.config", tmp_path / "two.config"
    braces.write_text('// hello\n{"name": "x"}')
    table.write_text('# hello\nname = "y"')
    assert (read_config(braces, Diagnostics()), read_config(table, Diagnostics())) == ({"name": "x"}, {"name": "y"})


def test_a_fault_in_toml_has_line_and_column() -> None:
    with pytest.raises(ConfigError) as raised:
        parse_toml('name = "x"\nmain =\n', Path("wrangler.toml"))
    assert str(raised.value).startswith("wrangler.toml:2:7: invalid value")


def test_a_fault_at_the_end_of_toml_points_to_the_last_line() -> None:
    with pytest.raises(ConfigError) as raised:
        parse_toml('name = "x"\nmain = [', Path("wrangler.toml"))
    assert str(raised.value).startswith("wrangler.toml:2:")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_plain_json_is_read_as_json_reads_it(data: dict[str, Any]) -> None:
    import json

    assert parsed(json.dumps(data)) == data
    assert parsed(json.dumps(data, ensure_ascii=False, indent="\t")) == data
