"""`html_handling` and `not_found_handling`: which file answers a path."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.engines.assets.pages import HTML_HANDLING, File, resolve

AUTO, FORCE, DROP, NONE = HTML_HANDLING


class Names:
    """Files by their path."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def find(self, path: str) -> File | None:
        return File(path, path, 0, path) if path in self.names else None


def answer(names: Collection[str], path: str, mode: str, not_found: str = "none") -> str | None:
    """The file, with its status when it is not 200, or "-> path"."""
    found = resolve(Names(names), path, mode, not_found)
    if found is None or found.file is None:
        return None if found is None else f"-> {found.redirect}"
    return found.file.path + (f" {found.status}" if found.status != 200 else "")


SITE = ("/index.html", "/about.html", "/docs/index.html", "/both.html", "/both/index.html", "/notes.txt", "/bin/index")


@pytest.mark.cloudflare("workers/static-assets/routing/advanced/html-handling")
@pytest.mark.parametrize(
    ("path", "auto", "force", "drop", "none"),
    [
        ("/", "/index.html", "/index.html", "/index.html", None),
        ("/index", "-> /", "-> /", "-> /", None),
        ("/index.html", "-> /", "-> /", "-> /", "/index.html"),
        ("/about", "/about.html", "-> /about/", "/about.html", None),
        ("/about/", "-> /about", "/about.html", "-> /about", None),
        ("/about.html", "-> /about", "-> /about/", "-> /about", "/about.html"),
        ("/about/index", "-> /about", "-> /about/", "-> /about", None),
        ("/about/index.html", "-> /about", "-> /about/", "-> /about", None),
        ("/docs", "-> /docs/", "-> /docs/", "/docs/index.html", None),
        ("/docs/", "/docs/index.html", "/docs/index.html", "-> /docs", None),
        ("/docs.html", "-> /docs/", "-> /docs/", "-> /docs", None),
        ("/docs/index", "-> /docs/", "-> /docs/", "-> /docs", None),
        ("/docs/index.html", "-> /docs/", "-> /docs/", "-> /docs", "/docs/index.html"),
        ("/both", "/both.html", "-> /both/", "/both.html", None),
        ("/both/", "/both/index.html", "/both/index.html", "-> /both", None),
        ("/both.html", "-> /both", "/both.html", "-> /both", "/both.html"),
        ("/both/index.html", "-> /both/", "-> /both/", "/both/index.html", "/both/index.html"),
        ("/notes.txt", "/notes.txt", "/notes.txt", "/notes.txt", "/notes.txt"),
        ("/notes.txt/", None, None, None, None),
        ("/bin/index", "/bin/index", "/bin/index", "/bin/index", "/bin/index"),
        ("/absent", None, None, None, None),
    ],
)
def test_a_path_in_each_mode(
    path: str, auto: str | None, force: str | None, drop: str | None, none: str | None
) -> None:
    assert [answer(SITE, path, mode) for mode in HTML_HANDLING] == [auto, force, drop, none]


def test_a_single_page_application_answers_everything_with_its_index() -> None:
    assert answer(SITE, "/users/5", AUTO, "single-page-application") == "/index.html"


def test_a_404_page_is_the_nearest_one_upward() -> None:
    site = ("/404.html", "/docs/404.html")
    assert answer(site, "/docs/a/b", AUTO, "404-page") == "/docs/404.html 404"
    assert answer(site, "/other", AUTO, "404-page") == "/404.html 404"


def test_the_404_page_itself_is_a_page() -> None:
    assert answer(("/404.html",), "/404", AUTO, "404-page") == "/404.html"


def test_without_a_404_page_nothing_answers() -> None:
    assert answer((), "/a", AUTO, "404-page") is None


PATHS = st.lists(st.sampled_from(["a", "b", "index", "a.html", "index.html"]), min_size=1, max_size=3).map(
    lambda parts: "/" + "/".join(parts)
)


@given(st.sets(PATHS, max_size=6), PATHS, st.sampled_from(["", "/"]), st.sampled_from(HTML_HANDLING))
def test_redirects_end_at_a_file(names: set[str], path: str, slash: str, mode: str) -> None:
    """Mostly at once; a page in a folder called index takes another turn."""
    found = resolve(Names(names), path + slash, mode, "none")
    redirects = 0
    while found is not None and found.redirect is not None:
        redirects += 1
        assert redirects <= 3
        found = resolve(Names(names), found.redirect, mode, "none")
    assert found is not None or not redirects
