import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.interop.web.html_tokens import Comment, Doctype, EndTag, StartTag, Text, Tokenizer


def kinds(page: str) -> list[str]:
    return [type(token).__name__ for token in Tokenizer().feed(page, final=True)]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("a < b", ["Text"]),
        ("<p", ["Token"]),
        ("</>", ["Token"]),
        ("</ x>", ["Comment"]),
        ("<!x>", ["Comment"]),
        ("<?php ?>", ["Comment"]),
        ("<!-->x", ["Comment", "Text"]),
        ("<!--a--!>x", ["Comment", "Text"]),
        ("<!doctype html>", ["Doctype"]),
        ("<a b=\"c>d\" e='>' f=g/h>", ["StartTag"]),
        ('<a "b>', ["StartTag"]),
        ("<p<b>", ["StartTag"]),
    ],
)
def test_odd_markup(page: str, expected: list[str]) -> None:
    assert kinds(page) == expected


def test_attributes_are_read_as_browsers_do() -> None:
    (tag,) = Tokenizer().feed("<A b c = d E=\"f>g\" h='' i=j/k =l />", final=True)
    assert isinstance(tag, StartTag)
    assert tag.name == "a"
    assert [attribute[:2] for attribute in tag.attributes] == [
        ("b", ""), ("c", "d"), ("E", "f>g"), ("h", ""), ("i", "j/k"), ("=l", ""),
    ]  # fmt: skip
    assert tag.self_closing is True


def test_a_slash_at_the_end_of_a_value_closes_nothing() -> None:
    (tag,) = Tokenizer().feed("<a href=/x/>", final=True)
    assert isinstance(tag, StartTag)
    assert (tag.self_closing, tag.attributes[0][1]) == (False, "/x/")


def test_a_doctype_has_a_name_and_ids() -> None:
    (doctype,) = Tokenizer().feed("<!DOCTYPE HTML SYSTEM 'about:legacy-compat'>", final=True)
    assert isinstance(doctype, Doctype)
    assert (doctype.name, doctype.public_id, doctype.system_id) == ("html", None, "about:legacy-compat")


def test_raw_text_ends_at_its_own_end_tag() -> None:
    tokenizer = Tokenizer()
    tokenizer.raw_text("script")
    tokens = list(tokenizer.feed("a</b></scripts></SCRIPT >", final=True))
    assert [type(token) for token in tokens] == [Text, EndTag]
    assert tokens[0].raw == "a</b></scripts>"


def test_a_comment_knows_its_text() -> None:
    (comment,) = Tokenizer().feed("<!-- a -- b -->", final=True)
    assert isinstance(comment, Comment)
    assert comment.text == " a -- b "


def test_a_tag_with_many_attributes_and_no_end_is_not_slow() -> None:
    assert kinds("<a " + "b " * 20_000) == ["Token"]


@given(
    st.lists(st.sampled_from(["<", ">", "/", "!", "--", "p", "script", " a=", '"', "'", "x", "é", "\n", "<!--", "-->"]))
)
def test_the_sources_of_all_tokens_are_the_page(parts: list[str]) -> None:
    tokenizer = Tokenizer()
    seen = [token.raw for part in parts for token in tokenizer.feed(part)]
    seen += [token.raw for token in tokenizer.feed("", final=True)]
    assert "".join(seen) == "".join(parts)


def test_an_attribute_without_its_value_keeps_its_name() -> None:
    tag = next(Tokenizer().feed("<p a=>x"))
    assert isinstance(tag, StartTag)
    assert tag.attributes == [("a", "", "a=")]


def test_a_comment_that_the_document_cuts_off_is_one() -> None:
    assert list(Tokenizer().feed("<!--a", final=True)) == [Comment("<!--a", "a")]
    assert kinds("a</") == ["Text", "Text"]
