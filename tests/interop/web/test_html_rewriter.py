import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from pyflare.interop.convert import create_proxy
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.body import Body
from pyflare.interop.web.html_rewriter import HTMLRewriter
from pyflare.interop.web.response import Response
from tests.support.web import Bag, inside_worker, js, pairs, rejection, run

Act = Callable[[Any], Any]


def rewritten(page: str, selector: str, *acts: Act) -> str:
    """The page after `acts` were done to every element that `selector` selects."""

    def element(element: Any) -> None:
        for act in acts:
            act(element)

    return handled(page, selector, element=element)


def handled(page: str, selector: str | None, **handlers: Act) -> str:
    async def main() -> str:
        rewriter = HTMLRewriter.new()
        members = create_proxy(Bag(**handlers))
        if selector is None:
            rewriter.onDocument(members)
        else:
            rewriter.on(selector, members)
        return str(await rewriter.transform(Response.new(page)).text())

    return run(main)  # type: ignore[no-any-return]


def heard(page: str, selector: str, **names: str) -> list[Any]:
    """What handlers saw: `text="text"` notes the attribute `text` of each text."""
    seen: list[Any] = []
    handlers = {kind: (lambda token, name=name: seen.append(getattr(token, name))) for kind, name in names.items()}
    handled(page, selector, **handlers)
    return seen


def test_what_nobody_changes_stays_as_it_was() -> None:
    page = "<!doctype html><P CLASS=a  x>a < b &amp; <br/><!-- c --></ x></p\n><script>if (a<b) {}</script><a b='c>d'>"
    assert rewritten(page, "nothing", lambda element: element.remove()) == page


def test_changed_tags_are_written_anew_and_keep_the_other_attributes() -> None:
    page = '<p CLASS=a  id=\'b"c\' x  y="&amp;">t</p>'
    acts = (
        lambda element: element.setAttribute("class", 'n"w&'),
        lambda element: element.setAttribute("New", "1"),
        lambda element: element.removeAttribute("x"),
    )
    assert rewritten(page, "p", *acts) == '<p CLASS="n&quot;w&" id=\'b"c\' y="&amp;" new="1">t</p>'


def test_attributes_are_read_in_lower_case_and_not_decoded() -> None:
    seen: list[Any] = []

    def look(element: Any) -> None:
        seen.extend([pairs(element.attributes), element.getAttribute("HREF"), element.getAttribute("z")])
        seen.extend([element.hasAttribute("x"), element.tagName, element.namespaceURI])

    rewritten("<A HREF='/one?a&amp;b' x>", "a", look)
    assert seen == [
        [["href", "/one?a&amp;b"], ["x", ""]],
        "/one?a&amp;b",
        jsnull,
        True,
        "a",
        "http://www.w3.org/1999/xhtml",
    ]


def test_a_renamed_element_has_a_renamed_end_tag() -> None:
    assert rewritten("<P a=1>t</P>", "p", lambda element: setattr(element, "tagName", "DIV")) == "<DIV a=1>t</DIV>"


def test_insertions_stand_around_and_inside_in_their_order() -> None:
    acts = [
        lambda element, method=method, text=text: getattr(element, method)(text)
        for method, text in zip(
            ["before"] * 2 + ["after"] * 2 + ["prepend"] * 2 + ["append"] * 2, "12345678", strict=True
        )
    ]
    assert rewritten("<p>x</p>", "p", *acts) == "12<p>65x78</p>43"


def test_content_is_escaped_unless_it_is_html() -> None:
    acts = (lambda element: element.before("<i>&"), lambda element: element.setInnerContent("<b>new</b>", html=True))
    assert rewritten("<div>old</div>", "div", *acts) == "&lt;i&gt;&amp;<div><b>new</b></div>"


@pytest.mark.parametrize(
    ("method", "args", "page"),
    [
        ("remove", (), "aBAd"),
        ("removeAndKeepContent", (), "aBPb<p>c</p>QAd"),
        ("replace", ("R",), "aBRAd"),
        ("setInnerContent", ("I",), "aB<div>PIQ</div>Ad"),
    ],
)
def test_ways_to_take_out(method: str, args: tuple[str, ...], page: str) -> None:
    acts = (
        lambda element: getattr(element, method)(*args),
        lambda element: element.before("B"),
        lambda element: element.after("A"),
        lambda element: element.prepend("P"),
        lambda element: element.append("Q"),
    )
    assert rewritten("a<div>b<p>c</p></div>d", "div", *acts) == page


def test_an_element_without_content_takes_none() -> None:
    acts = (
        lambda element: element.append("X"),
        lambda element: element.setInnerContent("Z"),
        lambda element: element.before("b"),
        lambda element: element.after("a"),
    )
    assert rewritten("<br>y", "br", *acts) == "b<br>ay"


def test_self_closing_tags_stay_so() -> None:
    page = rewritten("<img src=x /><img>", "img", lambda element: element.setAttribute("a", "b"))
    assert page == '<img src=x a="b" /><img a="b">'


def test_handlers_run_inside_of_removed_elements_too() -> None:
    async def main() -> tuple[str, list[str]]:
        seen: list[str] = []
        rewriter = HTMLRewriter.new()
        rewriter.on("p", create_proxy(Bag(element=lambda element: element.remove())))
        rewriter.on("b", create_proxy(Bag(text=lambda text: seen.append(text.text))))
        return await rewriter.transform(Response.new("<p>x<b>y</b></p>z")).text(), seen

    assert run(main) == ("z", ["y", ""])


def test_each_text_node_ends_with_an_empty_chunk() -> None:
    assert heard("<p>a&amp;b<b>c</b></p>d", "p", text="text") == ["a&amp;b", "", "c", ""]
    assert heard("<p>hi</p>", "p", text="lastInTextNode") == [False, True]


def test_texts_can_be_replaced_and_removed() -> None:
    def act(text: Any) -> None:
        if text.text:
            text.before("<")
            text.replace("<x>", html=True)

    assert handled("<p>abc</p>", "p", text=act) == "<p>&lt;<x></p>"
    assert handled("<p>abc</p>", "p", text=lambda text: text.remove()) == "<p></p>"


def test_scripts_styles_and_textareas_are_text() -> None:
    page = '<script>a<b>"</scrip"</script><textarea><b></textarea><title>&lt;</title>'
    assert heard(page, "*", element="tagName") == ["script", "textarea", "title"]
    assert heard(page, "*", text="text") == ['a<b>"</scrip"', "", "<b>", "", "&lt;", ""]


def test_comments_can_be_read_changed_and_removed() -> None:
    page = "<p><!-- a --></p>"
    assert heard(page, "p", comments="text") == [" a "]
    assert handled(page, "p", comments=lambda comment: setattr(comment, "text", "new")) == "<p><!--new--></p>"
    assert handled(page, "p", comments=lambda comment: comment.remove()) == "<p></p>"


@pytest.mark.parametrize("text", ["-->", "a--!>b", ">", "->x"])
def test_a_comment_cannot_close_itself(text: str) -> None:
    seen: list[str] = []

    def act(comment: Any) -> None:
        try:
            comment.text = text
        except Exception as raised:
            seen.append(str(raised))

    assert handled("<p><!--a--></p>", "p", comments=act) == "<p><!--a--></p>"
    assert seen == ["TypeError: Parser error: Comment text shouldn't contain a comment-closing sequence."]


def test_a_comment_may_hold_what_only_looks_like_an_end() -> None:
    page = "<p><!--a--></p>"
    assert handled(page, "p", comments=lambda comment: setattr(comment, "text", "--x -> -")) == "<p><!----x -> ---></p>"


def test_the_document_has_a_doctype_texts_and_an_end() -> None:
    seen: list[Any] = []
    page = handled(
        '<!DOCTYPE html PUBLIC "p" "s"><p>x</p>',
        None,
        doctype=lambda doctype: seen.append([doctype.name, doctype.publicId, doctype.systemId]),
        text=lambda text: seen.append(text.text),
        end=lambda end: end.append("<!-- end -->", html=True),
    )
    assert page == '<!DOCTYPE html PUBLIC "p" "s"><p>x</p><!-- end -->'
    assert seen == [["html", "p", "s"], "x", ""]


def test_end_tags_can_be_renamed_removed_and_surrounded() -> None:
    def rename(tag: Any) -> None:
        tag.before("B")
        tag.after("A")
        tag.name = "z"

    assert rewritten("<p>x</p>", "p", lambda element: element.onEndTag(rename)) == "<p>xB</z>A"
    assert rewritten("<p>x</p>y", "p", lambda element: element.onEndTag(lambda tag: tag.remove())) == "<p>xy"


def test_an_element_without_an_end_tag_ends_with_its_parent() -> None:
    acts = (lambda element: element.append("A"), lambda element: element.after("F"))
    assert rewritten("<div><p>x</div>y", "p", *acts) == "<div><p>xA</div>Fy"
    assert rewritten("<p>x", "p", *acts) == "<p>x"


def test_a_token_is_dead_after_its_handler() -> None:
    kept: list[Any] = []
    rewritten("<p>", "p", kept.append)
    with pytest.raises(Exception, match="This content token is no longer valid"):
        kept[0].tagName  # noqa: B018


@pytest.mark.parametrize(
    ("name", "message"), [("a b", "` ` character is forbidden in the attribute name"), ("", "can't be empty")]
)
def test_bad_attribute_names_are_refused(name: str, message: str) -> None:
    async def main() -> str:
        handlers = Bag(element=lambda element: element.setAttribute(name, "x"))
        return await rejection(HTMLRewriter.new().on("p", create_proxy(handlers)).transform(Response.new("<p>")).text())

    assert message in run(main)


def test_an_async_handler_is_waited_for() -> None:
    async def slow(element: Any) -> None:
        await asyncio.sleep(0)
        element.setInnerContent("waited")

    assert handled("<p>old</p>", "p", element=slow) == "<p>waited</p>"


def test_an_exception_of_a_handler_reaches_who_reads_the_body() -> None:
    def fail(element: Any) -> None:
        raise LookupError("in handler")

    with pytest.raises(LookupError):
        handled("<p>", "p", element=fail)


def test_handlers_run_in_the_event_that_transforms() -> None:
    from pyflare.interop import scope

    async def main() -> bool:
        seen: list[Any] = []
        handlers = create_proxy(Bag(element=lambda element: seen.append(scope.current.get())))
        with inside_worker() as running:
            response = HTMLRewriter.new().on("p", handlers).transform(Response.new("<p>"))
        await response.text()
        return seen == [running]

    assert run(main) is True


def test_status_and_headers_stay() -> None:
    response = HTMLRewriter.new().transform(Response.new("x", status=201, headers=js({"x": "y"})))
    assert (response.status, response.headers.get("x")) == (201, "y")
    assert HTMLRewriter.new().transform(Response.new(None)).body is jsnull


def test_markup_may_be_cut_anywhere_in_the_stream() -> None:
    page = "<div id='x'>é<p class=a>ab</p><script>1<2</script><!-- c --></div>".encode()

    async def main(size: int) -> str:
        async def chunks() -> AsyncIterator[bytes]:
            for at in range(0, len(page), size):
                yield page[at : at + size]

        rewriter = HTMLRewriter.new()
        rewriter.on("p.a", create_proxy(Bag(element=lambda element: element.setAttribute("b", "c"))))
        rewriter.on("script", create_proxy(Bag(element=lambda element: element.setInnerContent("x"))))
        response = Response.make(200, None, None, Body.make(chunks()))
        return str(await rewriter.transform(response).text())

    expected = "<div id='x'>é<p class=a b=\"c\">ab</p><script>x</script><!-- c --></div>"
    assert {run(partial(main, size)) for size in range(1, 12)} == {expected}


def test_bytes_that_are_no_text_pass_through() -> None:
    async def main() -> bytes:
        response = HTMLRewriter.new().on("p", Bag()).transform(Response.new(js(b"<p>\xff\xfe</p>")))
        return bytes((await response.bytes()).to_bytes())

    assert run(main) == b"<p>\xff\xfe</p>"


def test_a_stream_can_be_inserted() -> None:
    page = rewritten("<p>a</p>", "p", lambda element: element.replace(Response.new("<s>").body, html=True))
    assert page == "<s>"


def test_pages_flow_through_before_they_are_complete() -> None:
    async def main() -> bytes:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"<p>first"
            await asyncio.Event().wait()

        response = HTMLRewriter.new().transform(Response.make(200, None, None, Body.make(chunks())))
        read = await response.body.getReader().read()
        return bytes(read.value.to_bytes())

    assert run(main) == b"<p>first"


@pytest.mark.parametrize("name", ["noscript", "plaintext"])
def test_there_are_no_elements_in_text(name: str) -> None:
    page = f"<{name}><p>x</p>"
    assert rewritten(page, "p", lambda p: p.remove()) == page


def test_a_new_name_is_read_in_lower_case_and_written_as_given() -> None:
    seen: list[str] = []

    def rename(element: Any) -> None:
        element.tagName = "H1"
        seen.append(element.tagName)

    assert (rewritten("<p>x</p>", "p", rename), seen) == ("<H1>x</H1>", ["h1"])


def test_a_name_begins_with_a_letter() -> None:
    def rename(element: Any) -> None:
        element.tagName = "1a"

    async def main() -> str:
        rewriter = HTMLRewriter.new().on("p", create_proxy(Bag(element=rename)))
        return await rejection(rewriter.transform(Response.new("<p>")).text())

    assert run(main) == (
        "TypeError: Parser error: The first character of the tag name should be an ASCII alphabetical character."
    )


def test_a_later_handler_of_the_end_tag_takes_the_place_of_the_first() -> None:
    seen: list[int] = []

    def listen(element: Any) -> None:
        element.onEndTag(lambda _: seen.append(1))
        element.onEndTag(lambda _: seen.append(2))

    rewritten("<p>x</p>", "p", listen)
    assert seen == [2]
