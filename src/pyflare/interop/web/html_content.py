"""What the handlers of an HTMLRewriter are given: elements, end tags, comments, texts, the doctype, the end.

Valid only while the handler runs. Content that is inserted is escaped unless `{html: true}` is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from pyflare.interop.arguments import not_of_type
from pyflare.interop.containers import to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsProxy, get, jsnull, options
from pyflare.interop.web import html_tokens as tokens
from pyflare.interop.web.callback import is_function
from pyflare.interop.web.html_selector import fault
from pyflare.interop.web.iterator import JsIterator, pair_array
from pyflare.interop.web.readable import ReadableStream

INVALID = (
    "This content token is no longer valid. Content tokens are only valid during the execution of the relevant content "
    "handler."
)
VOID = frozenset(
    {
        "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link",
        "meta", "param", "source", "track", "wbr",
    }
)  # fmt: skip

CLOSES_A_COMMENT = re.compile("^-?>|--!?>")
_FORBIDDEN = re.compile(r"[\s\n\r\t\f/>=]")

Part = Any  # text of the output, or (stream, html) whose text belongs there


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def part(content: Any, settings: Any) -> Part:
    """What a handler inserts: a string, or the body of a stream or a response."""
    content, html = unwrap(content), bool(get(settings, "html", False))
    stream = content if isinstance(content, ReadableStream) else getattr(content, "body", None)
    if isinstance(stream, ReadableStream):
        return stream, html
    text = to_text(content)
    return text if html else escape(text)


class Content(JsProxy):
    """What all of them can do. `leading` and `trailing` go around the token's own source."""

    def __init__(self) -> None:
        self._live = True
        self._leading: list[Part] = []
        self._trailing: list[Part] = []
        self._removed = False
        self._replacement: list[Part] | None = None

    def js_properties(self) -> dict[str, Any]:
        return {}

    def finish(self) -> None:
        """The handlers are through."""
        self._live = False

    def _check(self) -> None:
        if not self._live:
            raise type_error(INVALID)

    @property
    def removed(self) -> bool:
        self._check()
        return self._removed

    @options
    def before(self, content: Any = None, settings: Any = None) -> Content:
        self._check()
        self._leading.append(part(content, settings))
        return self

    @options
    def after(self, content: Any = None, settings: Any = None) -> Content:
        self._check()
        self._trailing.insert(0, part(content, settings))
        return self

    @options
    def replace(self, content: Any = None, settings: Any = None) -> Content:
        self._check()
        self._removed, self._replacement = True, [part(content, settings)]
        return self

    def remove(self) -> Content:
        self._check()
        self._removed, self._replacement = True, None
        return self

    def source(self) -> str:
        """The token as it goes out."""
        raise NotImplementedError

    def output(self) -> list[Part]:
        middle = (self._replacement or []) if self._removed else [self.source()]
        return [*self._leading, *middle, *self._trailing]


class Comment(Content):
    js_name: ClassVar[str] = "Comment"

    def __init__(self, token: tokens.Comment) -> None:
        super().__init__()
        self._token, self._text = token, token.text

    @property
    def text(self) -> str:
        self._check()
        return self._text

    @text.setter
    def text(self, value: Any) -> None:
        self._check()
        text = to_text(value)
        if CLOSES_A_COMMENT.search(text):
            raise fault("Comment text shouldn't contain a comment-closing sequence.")
        self._text = text

    def source(self) -> str:
        return self._token.raw if self._text == self._token.text else f"<!--{self._text}-->"


class Text(Content):
    js_name: ClassVar[str] = "Text"

    def __init__(self, text: str, last: bool) -> None:
        super().__init__()
        self._text, self._last = text, last

    @property
    def text(self) -> str:
        self._check()
        return self._text

    @property
    def lastInTextNode(self) -> bool:
        self._check()
        return self._last

    def source(self) -> str:
        return self._text


class Doctype(Content):
    js_name: ClassVar[str] = "Doctype"

    def __init__(self, token: tokens.Doctype) -> None:
        super().__init__()
        self._token = token

    @property
    def name(self) -> Any:
        self._check()
        return jsnull if self._token.name is None else self._token.name

    @property
    def publicId(self) -> Any:
        self._check()
        return jsnull if self._token.public_id is None else self._token.public_id

    @property
    def systemId(self) -> Any:
        self._check()
        return jsnull if self._token.system_id is None else self._token.system_id

    def source(self) -> str:
        return self._token.raw


class DocumentEnd(Content):
    js_name: ClassVar[str] = "DocumentEnd"

    @options
    def append(self, content: Any = None, settings: Any = None) -> DocumentEnd:
        self._check()
        self._leading.append(part(content, settings))
        return self

    def source(self) -> str:
        return ""


class EndTag(Content):
    js_name: ClassVar[str] = "EndTag"

    def __init__(self, token: tokens.EndTag, renamed: str | None) -> None:
        super().__init__()
        self._token, self._name = token, renamed

    @property
    def name(self) -> str:
        self._check()
        return self._token.name if self._name is None else self._name.lower()

    @name.setter
    def name(self, value: Any) -> None:
        self._check()
        self._name = to_text(value)

    def source(self) -> str:
        return self._token.raw if self._name is None else f"</{self._name}>"


class Element(Content):
    """An open element; also what selectors are matched against."""

    js_name: ClassVar[str] = "Element"

    def __init__(self, token: tokens.StartTag, namespace: str, index: int, index_of_type: int) -> None:
        super().__init__()
        self._token, self._namespace = token, namespace
        self.index, self.index_of_type = index, index_of_type
        self.name = token.name
        self.children = 0
        self.children_of_type: dict[str, int] = {}
        self.handlers: frozenset[int] = frozenset()  # numbers of the selectors that select it
        self._renamed: str | None = None
        self._attributes: list[tuple[str, str, str]] | None = None  # None: nothing was changed
        self._start: list[Part] = []
        self._end: list[Part] = []
        self._inner_removed = self._tags_removed = False
        self.end_handlers: list[Callable[..., Any]] = []
        can_self_close = namespace != tokens.HTML and token.self_closing
        self.has_content = not can_self_close and (namespace != tokens.HTML or token.name not in VOID)

    # --- for the rewriter -----------------------------------------------------------------------------------------

    def attribute(self, name: str) -> str | None:
        return next((value for known, value, _ in self._known() if known.lower() == name), None)

    def _known(self) -> list[tuple[str, str, str]]:
        return self._token.attributes if self._attributes is None else self._attributes

    @property
    def mutes(self) -> bool:
        """Whether what is inside does not go out."""
        return self.has_content and (self._inner_removed or (self._removed and not self._tags_removed))

    def source(self) -> str:
        if self._renamed is None and self._attributes is None:
            return self._token.raw
        name = self._token.raw[1 : 1 + len(self._token.name)] if self._renamed is None else self._renamed
        closing = " />" if self._token.self_closing else ">"
        return "".join([f"<{name}", *(f" {source}" for _, _, source in self._known()), closing])

    def output(self) -> list[Part]:
        """The start tag and what stands around it."""
        if self._removed:
            inside = [*(self._replacement or []), *(self._start if self._tags_removed else [])]
        else:
            inside = [self.source(), *(self._start if self.has_content else [])]
        return [*self._leading, *inside, *([] if self.has_content else self._trailing)]

    def closing(self) -> list[Part]:
        """What stands before the end tag."""
        return [] if self._removed and not self._tags_removed else self._end

    @property
    def trailing(self) -> list[Part]:
        return self._trailing

    @property
    def loses_end_tag(self) -> bool:
        return self._removed

    @property
    def renamed(self) -> str | None:
        return self._renamed

    # --- for the handlers -----------------------------------------------------------------------------------------

    @property
    def tagName(self) -> str:
        self._check()
        return self.name if self._renamed is None else self._renamed.lower()

    @tagName.setter
    def tagName(self, value: Any) -> None:
        self._check()
        name = _valid(to_text(value), "tag name", "Tag name")
        if not (name[0].isascii() and name[0].isalpha()):
            raise fault("The first character of the tag name should be an ASCII alphabetical character.")
        self._renamed = name

    @property
    def namespaceURI(self) -> str:
        self._check()
        return self._namespace

    @property
    def attributes(self) -> JsIterator:
        self._check()
        return JsIterator.make([pair_array(name.lower(), value) for name, value, _ in self._known()])

    def getAttribute(self, name: Any = None) -> Any:
        self._check()
        value = self.attribute(to_text(name).lower())
        return jsnull if value is None else value

    def hasAttribute(self, name: Any = None) -> bool:
        self._check()
        return self.attribute(to_text(name).lower()) is not None

    def setAttribute(self, name: Any = None, value: Any = None) -> Element:
        self._check()
        key = _valid(to_text(name), "attribute name", "Attribute name").lower()
        text, known = to_text(value), list(self._known())
        quoted = text.replace('"', "&quot;")
        at = next((at for at, attribute in enumerate(known) if attribute[0].lower() == key), len(known))
        written = known[at][0] if at < len(known) else key
        known[at : at + 1] = [(written, text, f'{written}="{quoted}"')]
        self._attributes = known
        return self

    def removeAttribute(self, name: Any = None) -> Element:
        self._check()
        key = to_text(name).lower()
        kept = [attribute for attribute in self._known() if attribute[0].lower() != key]
        if len(kept) != len(self._known()):
            self._attributes = kept
        return self

    @options
    def prepend(self, content: Any = None, settings: Any = None) -> Element:
        self._check()
        self._start.insert(0, part(content, settings))
        return self

    @options
    def append(self, content: Any = None, settings: Any = None) -> Element:
        self._check()
        self._end.append(part(content, settings))
        return self

    @options
    def setInnerContent(self, content: Any = None, settings: Any = None) -> Element:
        self._check()
        self._inner_removed = True
        self._start, self._end = [part(content, settings)], []
        return self

    def removeAndKeepContent(self) -> Element:
        self._check()
        self._removed = self._tags_removed = True
        return self

    def onEndTag(self, handler: Callable[..., Any]) -> None:
        self._check()
        if not is_function(handler):
            raise not_of_type(self, "onEndTag", 1, "function")
        if not self.has_content:
            raise fault("No end tag.")
        self.end_handlers = [handler]  # in the place of an earlier one


def _valid(name: str, what: str, capitalized: str) -> str:
    if not name:
        raise fault(f"{capitalized} can't be empty.")
    bad = _FORBIDDEN.search(name)
    if bad is not None:
        raise fault(f"`{bad[0]}` character is forbidden in the {what}")
    return name
