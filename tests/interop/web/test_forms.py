import pytest

from pyflare.interop.proxy import jsnull
from pyflare.interop.web.blob import Blob, File
from pyflare.interop.web.form_data import FormData, parse_form
from pyflare.interop.web.multipart import encode
from tests.support.web import inside_worker, js, pairs, run, thrown

PAGE = (
    b'--edge\r\nContent-Disposition: form-data; name="title"\r\n\r\nMy file\r\n'
    b'--edge\r\nContent-Disposition: form-data; name="upload"; filename="a.bin"\r\n'
    b"Content-Type: application/x-thing\r\n\r\n\x00\xff\r\n--edge--\r\n"
)


def test_a_blob_joins_texts_buffers_and_blobs() -> None:
    async def main() -> list[object]:
        blob = Blob.new(js(["é", b"b", Blob.make(b"c")]), type="Text/X")
        return [blob.size, blob.type, await blob.text(), (await blob.bytes()).to_bytes()]

    assert run(main) == [4, "text/x", "ébc", "ébc".encode()]


def test_a_blob_wants_an_array() -> None:
    assert "constructor parameter 1 is not of type 'Array'" in thrown(lambda: Blob.new("abc"))


@pytest.mark.parametrize(
    ("start", "end", "text"), [(0, 5, b"hello"), (6, None, b"world"), (-3, None, b"rld"), (4, 2, b"")]
)
def test_slices_count_bytes(start: int, end: int | None, text: bytes) -> None:
    part = Blob.make(b"hello world", "a/b").slice(start, end, "C/D")
    assert (part.data, part.type) == (text, "c/d")


def test_a_file_was_modified_now_unless_it_is_said() -> None:
    with inside_worker():
        assert File.new(js(["x"]), "n.txt").lastModified == 1_700_000_000_000
    file = File.new(js(["x"]), "n.txt", lastModified=77)
    assert (file.name, file.lastModified, file.constructor.name) == ("n.txt", 77, "File")


def test_a_form_keeps_the_order_and_repeated_names() -> None:
    form = FormData.new()
    for name, value in (("a", "1"), ("b", 2), ("a", "3")):
        form.append(name, value)
    assert pairs(form) == [["a", "1"], ["b", "2"], ["a", "3"]]
    assert (list(form.getAll("a")), form.get("z"), form.has("b")) == (["1", "3"], jsnull, True)


def test_set_replaces_all_values() -> None:
    form = FormData.new()
    for value in "12":
        form.append("a", value)
    form.set("a", "3")
    assert pairs(form) == [["a", "3"]]


def test_a_blob_in_a_form_becomes_a_file() -> None:
    form = FormData.new()
    form.append("note", Blob.make(b"hi", "text/plain"))
    form.append("note", Blob.make(b"hi"), "note.txt")
    first, second = form.getAll("note")
    assert (type(first), first.name, first.type, second.name) == (File, "note", "text/plain", "note.txt")


def test_a_form_survives_its_encoding() -> None:
    form = FormData.new()
    form.append("back\\slash", "line\nbreak")
    form.append("doc", File.make(b"\x00\x01", "résumé 1.pdf", "application/pdf"))
    back = parse_form(*encode(form.entries_list()))
    document = back.get("doc")
    assert back.get("back\\slash") == "line\nbreak"
    assert (document.name, document.type, document.data) == ("résumé 1.pdf", "application/pdf", b"\x00\x01")


def test_quotes_and_line_breaks_of_a_name_stay_escaped() -> None:
    form = FormData.new()
    form.append('quo"te\n', "x")
    back = parse_form(*encode(form.entries_list()))
    assert pairs(back) == [["quo%22te%0A", "x"]]


FORM = "multipart/form-data; boundary=b"
NAMED = b'Content-Disposition: form-data; name="a"'


@pytest.mark.parametrize(
    ("body", "entries"),
    [
        (b"preamble --b\r\n" + NAMED + b"\r\n\r\nv\r\n--b--epilogue", [["a", "v"]]),
        (b"--b\n" + NAMED + b"\n\nv\n--b--", [["a", "v"]]),
        (b"--b\r\n" + NAMED + b"\r\n\r\nv --b\r\n--c\r\n--b--", [["a", "v --b\r\n--c"]]),
        (b"--b\r\n" + NAMED + b'; filename=""\r\n\r\nv\r\n--b--', [["a", "v"]]),
        (b"--b\r\n" + NAMED + b"; filename=f\r\n\r\nv\r\n--b--", [["a", "v"]]),
        (b'--b\r\nContent-Disposition: form-data; name="x\\"y"\r\n\r\nv\r\n--b--', [['x"y', "v"]]),
        (b"--b--", []),
    ],
)
def test_multipart_bodies_of_all_sorts(body: bytes, entries: list[list[str]]) -> None:
    assert pairs(parse_form(body, FORM)) == entries


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"--b", "No initial boundary string (or you have a truncated message)."),
        (b"--bx", "Boundary string was not succeeded by CRLF, LF, or '--'."),
        (b"--b\r\n" + NAMED + b"\r\n--b--", "No multipart message header termination found."),
        (b"--b\r\n" + NAMED + b"\r\n\r\nv--b--", "No subsequent boundary string after multipart message."),
        (b"--b\r\nno header\r\n\r\nv\r\n--b--", "FormData part had invalid headers."),
        (
            b"--b\r\nContent-Disposition: form-data; Name=a\r\n\r\nv\r\n--b--",
            "Content-Disposition header in FormData part is missing a name.",
        ),
        (
            b'--b\r\nContent-Disposition: attachment; name="a"\r\n\r\nv\r\n--b--',
            'Content-Disposition header for FormData part must have the value "form-data", possibly followed by '
            'parameters. Got: "attachment"',
        ),
    ],
)
def test_a_malformed_multipart_body_says_where(body: bytes, message: str) -> None:
    assert thrown(lambda: parse_form(body, FORM)) == f"TypeError: {message}"


def test_of_equal_boundaries_the_first_counts() -> None:
    body = b"--b\r\n" + NAMED + b"\r\n\r\nv\r\n--b--"
    assert pairs(parse_form(body, 'Multipart/Form-Data; x=y; Boundary="b"; boundary=c')) == [["a", "v"]]


def test_broken_escapes_of_a_posted_form_are_what_can_be_read() -> None:
    assert pairs(parse_form(b"a=%zz%4&b=%", "application/x-www-form-urlencoded")) == [["a", "zz\x04"], ["b", ""]]


def test_a_multipart_body_gives_texts_and_files() -> None:
    form = parse_form(PAGE, "multipart/form-data; boundary=edge")
    upload = form.get("upload")
    assert form.get("title") == "My file"
    assert (upload.name, upload.type, upload.data) == ("a.bin", "application/x-thing", b"\x00\xff")


def test_a_urlencoded_body_is_decoded() -> None:
    form = parse_form(b"name=Ada+L&city=Par%C3%ADs&tag=x&tag=y", "application/x-www-form-urlencoded")
    assert (form.get("name"), form.get("city"), list(form.getAll("tag"))) == ("Ada L", "París", ["x", "y"])


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"x", None, "Parsing a Body as FormData requires a Content-Type header."),
        (b"x", "text/plain", "Unrecognized Content-Type header value."),
        (b"x", "multipart/form-data", "No boundary string in Content-Type header."),
        (b"x", "multipart/form-data; boundary=b", "No initial boundary string (or you have a truncated message)."),
        (b"--b\r\n\r\nx", "multipart/form-data; boundary=b", "No multipart message header termination found."),
        (
            b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
            "multipart/form-data; boundary=b",
            "Content-Disposition header in FormData part is missing a name.",
        ),
        (
            b"--b\r\nA: b\r\n\r\nx\r\n--b--",
            "multipart/form-data; boundary=b",
            "No valid Content-Disposition header found in FormData part.",
        ),
    ],
)
def test_what_is_no_form_is_a_type_error(data: bytes, kind: str | None, message: str) -> None:
    assert thrown(lambda: parse_form(data, kind)).startswith(f"TypeError: {message}")
