"""`.assetsignore`."""

from __future__ import annotations

import pytest

from pyflare.engines.assets.ignore import Ignore

pytestmark = pytest.mark.cloudflare("workers/static-assets/binding/#ignoring-assets")


@pytest.mark.parametrize(
    ("line", "ignored", "left"),
    [
        ("*.txt", ["a.txt", "deep/er/a.txt", "A.TXT"], ["a.txt.md"]),
        ("/a.txt", ["a.txt"], ["dir/a.txt"]),
        ("docs", ["docs", "docs/a", "x/docs/a/b", "Docs/a"], ["docs2", "mydocs"]),
        ("docs/", ["docs/a", "x/docs/a/b"], ["docs", "x/docs"]),
        ("a/b", ["a/b", "a/b/c"], ["x/a/b"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "x/a/b"]),
        ("**/b", ["b", "a/b", "a/c/b/d"], ["ab"]),
        ("a/**/d", ["a/d", "a/b/d", "a/b/c/d"], ["a/bd"]),
        ("a*c", ["ac", "abc", "x/abbc"], ["a/c"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("[a-c]x", ["ax", "Cx"], ["dx", "x"]),
        ("[!a]x", ["bx"], ["ax", "/x"]),
        ("a[b", ["a[b"], ["ab"]),
        ("a.b", ["a.b"], ["axb"]),
        ("\\#a", ["#a"], ["\\#a"]),
        ("\\!a", ["!a"], ["a"]),
        ("a\\*", ["a*"], ["ab"]),
        ("[a\\]&-]x", ["]x", "&x", "-x"], ["bx"]),
        ("a \t\r", ["a"], ["a "]),
        ("a\\ ", ["a "], ["a"]),
        ("  a", ["  a"], ["a"]),
    ],
)
def test_a_line_ignores(line: str, ignored: list[str], left: list[str]) -> None:
    rules = Ignore(line)
    assert [path for path in ignored + left if rules.ignores(path)] == ignored


@pytest.mark.parametrize("line", ["", "  ", "# a", "!", "/", "//", "[z-a]", "!!a"])
def test_a_line_says_nothing(line: str) -> None:
    assert not Ignore(line).ignores("a")


def kept(rules: Ignore, *paths: str) -> list[str]:
    return [path for path in paths if not rules.ignores(path)]


def test_the_last_line_that_matches_decides() -> None:
    rules = Ignore("*.txt\n!a.txt\n/dir/a.txt\n")
    assert kept(rules, "a.txt", "b.txt", "dir/a.txt", "x/a.txt") == ["a.txt", "x/a.txt"]


def test_a_file_in_an_ignored_folder_cannot_be_let_in() -> None:
    assert kept(Ignore("docs/\n!docs/a.txt\n"), "docs/a.txt") == []


def test_a_folder_that_is_let_in_does_not_let_its_files_in() -> None:
    assert kept(Ignore("*\n!*/\n!*.md\n"), "a.txt", "a.md", "docs/a.txt", "docs/a.md") == ["a.md", "docs/a.md"]


def test_the_files_of_rules_are_ignored_until_a_line_lets_them_in() -> None:
    assert kept(Ignore(""), "_headers", "_Redirects", ".assetsignore", "sub/_headers") == ["sub/_headers"]
    assert kept(Ignore("!/_headers"), "_headers") == ["_headers"]
