"""HTMLRewriter: changes a page while it streams through.

developers.cloudflare.com/workers/runtime-apis/html-rewriter; behaves as lol-html, which Cloudflare's runtime uses. Of
the Python packages that bind lol-html none lets a handler be async or see end tags, so the tokens are cut here. The
handlers run as tasks of the event that called `transform`, a chunk of the page at a time; they may be async.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

from pyflare.interop.containers import to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsProxy
from pyflare.interop.web import html_tokens as tokens
from pyflare.interop.web.body import Body
from pyflare.interop.web.callback import Callback, call, member
from pyflare.interop.web.html_content import (
    Comment,
    Content,
    Doctype,
    DocumentEnd,
    Element,
    EndTag,
    Part,
    Text,
    escape,
)
from pyflare.interop.web.html_selector import Selector
from pyflare.interop.web.response import Response

Handler = Callable[..., Any]

STEP_BYTES = 65_536  # after so much the loop gets a turn

# Elements of svg whose content is HTML again.
_HTML_AGAIN = frozenset({"foreignobject", "desc", "title"})


class Handlers:
    """What was given to `on` (with a selector) or `onDocument` (without)."""

    def __init__(self, selector: Selector | None, members: Any) -> None:
        self.selector = selector
        self.element = member(members, "element")
        self.comments = member(members, "comments")
        self.text = member(members, "text")
        self.doctype = member(members, "doctype")
        self.end = member(members, "end")


class HTMLRewriter(JsProxy):
    js_name: ClassVar[str] = "HTMLRewriter"

    def __init__(self) -> None:
        self._handlers: list[Handlers] = []

    @classmethod
    def construct(cls, *_: Any) -> HTMLRewriter:
        return cls.make()

    def js_properties(self) -> dict[str, Any]:
        return {}

    def on(self, selector: Any = None, handlers: Any = None) -> HTMLRewriter:
        self._handlers.append(Handlers(Selector(to_text(selector)), handlers))
        return self

    def onDocument(self, handlers: Any = None) -> HTMLRewriter:
        self._handlers.append(Handlers(None, handlers))
        return self

    def transform(self, response: Any = None) -> Response:
        """A response like the given one, whose body goes through the handlers while it is read."""
        response = unwrap(response)
        if not isinstance(response, Response):
            raise type_error("Failed to execute 'transform' on 'HTMLRewriter': parameter 1 is not of type 'Response'.")
        body = None
        if response._body is not None:
            body = Body.make(_rewritten(response._body.chunks(), Rewriting(self._handlers)))
        made: Response = Response.make(
            response.status, response._status_text, response.headers.copy(), body, None, response._encode_body
        )
        made._cf = response._cf
        return made


async def _pieces(rewriting: Rewriting, chunks: AsyncIterator[bytes], step: Callback) -> AsyncIterator[bytes]:
    async for data in chunks:
        for at in range(0, len(data), STEP_BYTES):
            piece = await step.start(data[at : at + STEP_BYTES], False)
            if piece:
                yield piece
    piece = await step.start(b"", True)
    if piece:
        yield piece


def _rewritten(chunks: AsyncIterator[bytes], rewriting: Rewriting) -> AsyncIterator[bytes]:
    return _pieces(rewriting, chunks, Callback(rewriting.step))


class Rewriting:
    """One page on its way through the handlers."""

    def __init__(self, handlers: list[Handlers]) -> None:
        self._handlers = list(handlers)
        # Bytes that are no UTF-8 come out as they came in.
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._tokenizer = tokens.Tokenizer()
        self._open: list[Element] = []
        self._top = _root()
        self._muted = 0  # open elements whose content does not go out
        self._in_text = False
        self._out: list[Part] = []
        kinds = ("comments", "doctype", "text")
        self._kinds = {kind for kind in kinds if any(getattr(known, kind) is not None for known in handlers)}
        self._document = frozenset(at for at, known in enumerate(self._handlers) if known.selector is None)

    async def step(self, data: bytes, final: bool) -> bytes:
        """The output of the next bytes."""
        for token in self._tokenizer.feed(self._decoder.decode(data, final), final):
            await self._token(token)
        if final:
            await self._end_text()
            await self._end()
        out, self._out = self._out, []
        texts = [piece if isinstance(piece, str) else await _drained(*piece) for piece in out]
        return "".join(texts).encode("utf-8", "surrogateescape")

    def _emit(self, parts: list[Part]) -> None:
        if not self._muted:
            self._out.extend(parts)

    async def _token(self, token: tokens.Token) -> None:
        if isinstance(token, tokens.Text):
            await self._text(token.raw, last=False)
            return
        await self._end_text()
        if isinstance(token, tokens.StartTag):
            await self._start_tag(token)
        elif isinstance(token, tokens.EndTag):
            await self._end_tag(token)
        elif isinstance(token, tokens.Comment):
            await self._content(Comment.make(token), self._active("comments"))
        elif isinstance(token, tokens.Doctype):
            await self._content(Doctype.make(token), self._active("doctype"))
        else:
            self._emit([token.raw])

    # --- text, comments, the document -----------------------------------------------------------------------------

    def _active(self, name: str) -> list[Handler]:
        """The handlers of a kind that are in force here, in the order of registration."""
        if name not in self._kinds:
            return []
        numbers = self._document.union(*(element.handlers for element in self._open))
        found = (getattr(self._handlers[number], name) for number in sorted(numbers))
        return [handler for handler in found if handler is not None]

    async def _content(self, content: Content, handlers: list[Handler]) -> None:
        for handler in handlers:
            await call(handler, (content,))
        content.finish()
        self._emit(content.output())

    async def _text(self, text: str, last: bool) -> None:
        self._in_text = not last
        handlers = self._active("text")
        if handlers:
            await self._content(Text.make(text, last), handlers)
        else:
            self._emit([text])

    async def _end_text(self) -> None:
        """Each text node ends with an empty chunk."""
        if self._in_text:
            await self._text("", last=True)

    async def _end(self) -> None:
        self._muted = 0
        handlers = [known.end for known in self._handlers if known.selector is None and known.end is not None]
        await self._content(DocumentEnd.make(), handlers)

    # --- elements -------------------------------------------------------------------------------------------------

    async def _start_tag(self, token: tokens.StartTag) -> None:
        parent = self._open[-1] if self._open else self._top
        parent.children += 1
        parent.children_of_type[token.name] = parent.children_of_type.get(token.name, 0) + 1
        element = Element.make(token, self._namespace(token.name), parent.children, parent.children_of_type[token.name])
        path = [*self._open, element]
        element.handlers = frozenset(
            at for at, known in enumerate(self._handlers) if known.selector is not None and known.selector.matches(path)
        )
        for number in sorted(element.handlers):
            handler = self._handlers[number].element
            if handler is not None:
                await call(handler, (element,))
        element.finish()
        self._emit(element.output())
        if element.has_content:
            self._enter(element)

    def _namespace(self, name: str) -> str:
        parent = self._open[-1] if self._open else None
        if name == "svg":
            return tokens.SVG
        if name == "math":
            return tokens.MATHML
        if parent is None or (parent._namespace == tokens.SVG and parent.name in _HTML_AGAIN):
            return tokens.HTML
        return parent._namespace

    def _enter(self, element: Element) -> None:
        self._open.append(element)
        self._muted += element.mutes
        self._tokenizer.foreign = element._namespace != tokens.HTML
        if element._namespace == tokens.HTML and element.name in tokens.RAW_TEXT:
            self._tokenizer.raw_text(element.name)

    async def _end_tag(self, token: tokens.EndTag) -> None:
        at = next((at for at in range(len(self._open) - 1, -1, -1) if self._open[at].name == token.name), None)
        if at is None:
            self._emit([token.raw])
            return
        closed = self._open[at:][::-1]
        tag = EndTag.make(token, closed[-1].renamed)
        for element in closed:
            await self._close(element, tag)
        tag._removed = tag._removed or closed[-1].loses_end_tag
        tag.finish()
        self._emit(tag.output())
        del self._open[at:]
        self._tokenizer.foreign = bool(self._open) and self._open[-1]._namespace != tokens.HTML

    async def _close(self, element: Element, tag: EndTag) -> None:
        """Apply to the end tag what was asked of an element that it closes, also by the way."""
        self._muted -= element.mutes
        if not self._muted:
            tag._leading.extend(element.closing())
            tag._trailing.extend(element.trailing)
        for handler in element.end_handlers:
            await call(handler, (tag,))


def _root() -> Element:
    return Element.make(tokens.StartTag("", "", [], False), tokens.HTML, 0, 0)


async def _drained(stream: Any, html: bool) -> str:
    data = b"".join([chunk async for chunk in stream.drain()])
    text = data.decode("utf-8", "replace")
    return text if html else escape(text)
