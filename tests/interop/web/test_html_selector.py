import pytest

from pyflare.interop.web.html_selector import Selector
from tests.support.web import thrown


class Node:
    def __init__(self, name: str, index: int = 1, index_of_type: int = 1, **attributes: str) -> None:
        self.name, self.index, self.index_of_type = name, index, index_of_type
        self._attributes = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}

    def attribute(self, name: str) -> str | None:
        return self._attributes.get(name)


HTML = Node("html")
DIV = Node("div", class_="a b", id="top")


@pytest.mark.parametrize(
    ("selector", "node", "selected"),
    [
        ("*", DIV, True),
        ("div", DIV, True),
        ("DIV", DIV, True),
        ("p", DIV, False),
        (".a", DIV, True),
        (".a.b", DIV, True),
        (".a.c", DIV, False),
        (".A", DIV, False),
        ("#top", DIV, True),
        ("div#top.a", DIV, True),
        ("p, div", DIV, True),
        ("[id]", DIV, True),
        ("[x]", DIV, False),
        ("[data-x]", Node("p", data_x=""), True),
        ('[id="top"]', DIV, True),
        ("[id=top]", DIV, True),
        ("[id='TOP' i]", DIV, True),
        ('[id="TOP" s]', DIV, False),
        ('[class~="b"]', DIV, True),
        ('[class~="a b"]', DIV, False),
        ('[id^="to"]', DIV, True),
        ('[id$="op"]', DIV, True),
        ('[id*="o"]', DIV, True),
        ('[id*=""]', DIV, False),
        ('[lang|="en"]', Node("p", lang="en-GB"), True),
        ('[lang|="en"]', Node("p", lang="enough"), False),
        ("[type=text]", Node("input", type="TEXT"), True),
        ("[TYPE^=te]", Node("input", type="TEXT"), True),
        ("[type=text s]", Node("input", type="TEXT"), False),
        ("[title=text]", Node("input", title="TEXT"), False),
        (":not(.c)", DIV, True),
        ("div:not(.c, .a)", DIV, False),
        (":first-child", Node("p", 1), True),
        (":first-child", Node("p", 2), False),
        ("p:first-of-type", Node("p", 3, 1), True),
        (":nth-child(3)", Node("p", 3), True),
        (":nth-child(odd)", Node("p", 3), True),
        (":nth-child(even)", Node("p", 3), False),
        (":nth-child(2n+1)", Node("p", 5), True),
        (":nth-child(-n+2)", Node("p", 2), True),
        (":nth-child(-n+2)", Node("p", 3), False),
        (":nth-child( 3n - 1 )", Node("p", 2), True),
        ("p:nth-of-type(2)", Node("p", 9, 2), True),
    ],
)
def test_what_a_selector_selects(selector: str, node: Node, selected: bool) -> None:
    assert Selector(selector).matches([HTML, node]) is selected


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("html p", True),
        ("html > p", False),
        ("div > p", True),
        ("html > div > p", True),
        ("html>div>p", True),
        ("html div p", True),
        ("p div", False),
        (".a p", True),
        ("body p", False),
    ],
)
def test_selectors_look_at_the_ancestors(selector: str, selected: bool) -> None:
    assert Selector(selector).matches([HTML, DIV, Node("p")]) is selected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("", "The selector is empty."),
        ("a + b", "Unsupported combinator `+` in selector."),
        ("a ~ b", "Unsupported combinator `~` in selector."),
        ("p:last-child", "Unsupported pseudo-class or pseudo-element in selector."),
        ("p::before", "Unsupported pseudo-class or pseudo-element in selector."),
        ("p >", "Dangling combinator in selector."),
        ("[", "Unexpected end of selector."),
        ("[x=1]", "Unexpected token in the attribute selector."),
        ("svg|p", "Selectors with explicit namespaces are not supported."),
        ("a !", "Unexpected token in selector."),
    ],
)
def test_what_is_no_selector_is_a_type_error(selector: str, message: str) -> None:
    assert thrown(lambda: Selector(selector)) == f"TypeError: Parser error: {message}"


def test_the_case_of_an_attribute_does_not_matter() -> None:
    assert [Selector(text).matches([HTML, DIV]) for text in ("[id]", "[ID]", "div:not([Id])")] == [True, True, False]
