"""Which file answers a path: `html_handling` and `not_found_handling`.

developers.cloudflare.com/workers/static-assets/routing/advanced/html-handling. A page has one canonical path per mode
(`/about` or `/about/` for `about.html`); other spellings are redirected there, but only when the canonical path really
leads to the same file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

HTML_HANDLING: Sequence[str] = ("auto-trailing-slash", "force-trailing-slash", "drop-trailing-slash", "none")
NOT_FOUND_HANDLING: Sequence[str] = ("none", "single-page-application", "404-page")


class Files(Protocol):
    """What is asked for files; a path starts with a slash and is decoded."""

    def find(self, path: str) -> File | None: ...


@dataclass(frozen=True, slots=True)
class File:
    """A file that is served: two of them are the same file when their `etag` is the same."""

    path: str
    location: str  # on disk
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a path: a file with a status, or a redirect to another path."""

    file: File | None = None
    status: int = 200
    redirect: str | None = None


# A step is tried in its order. "serve" answers with the file; "move" redirects to the path, when that leads to the
# file. In the templates {path} is the whole path, {stem} the path without the ending that put it into its class,
# {folder} the stem with a slash behind.
Step = tuple[Literal["serve", "move"], str, str]

EXACT: Step = ("serve", "{path}", "")
PAGE_AT_PATH: Step = ("serve", "{path}.html", "")

# mode -> class of the path -> steps; then the steps of "" follow, whatever the class.
STEPS: dict[str, dict[str, Sequence[Step]]] = {
    "auto-trailing-slash": {
        "/index": (EXACT, ("move", "{path}.html", "{folder}"), ("move", "{stem}.html", "{stem}")),
        "/index.html": (("move", "{path}", "{folder}"), ("move", "{stem}.html", "{stem}")),
        "/": (("serve", "{folder}index.html", ""), ("move", "{stem}.html", "{stem}")),
        ".html": (("move", "{path}", "{stem}"), ("move", "{stem}/index.html", "{folder}")),
        "": (EXACT, PAGE_AT_PATH, ("move", "{path}/index.html", "{path}/")),
    },
    "force-trailing-slash": {
        "/index": (EXACT, ("move", "{path}.html", "{folder}"), ("move", "{stem}.html", "{folder}")),
        "/index.html": (("move", "{path}", "{folder}"), ("move", "{stem}.html", "{folder}")),
        "/": (("serve", "{folder}index.html", ""), ("serve", "{stem}.html", "")),
        ".html": (("move", "{path}", "{folder}"), EXACT, ("move", "{stem}/index.html", "{folder}")),
        "": (EXACT, ("move", "{path}.html", "{path}/"), ("move", "{path}/index.html", "{path}/")),
    },
    "drop-trailing-slash": {
        "/index": (EXACT, ("move", "{stem}.html", "{stem}"), ("move", "{path}.html", "{stem}")),
        "/index.html": (("move", "{path}", "{stem}"), EXACT, ("move", "{stem}.html", "{stem}")),
        "/": (("move", "{stem}.html", "{stem}"), ("move", "{stem}/index.html", "{stem}")),
        ".html": (("move", "{path}", "{stem}"), ("move", "{stem}/index.html", "{stem}")),
        "": (EXACT, PAGE_AT_PATH, ("serve", "{path}/index.html", "")),
    },
    "none": {"": (EXACT,)},
}

# The root keeps its slash where others lose theirs.
ROOT_STEPS: dict[str, Sequence[Step]] = {
    "/index": (EXACT, ("move", "/index.html", "/")),
    "/index.html": (("move", "/index.html", "/"),),
    "/": (("serve", "/index.html", ""),),
}


def resolve(files: Files, path: str, mode: str, not_found: str) -> Found | None:
    """What answers a decoded path; None: nothing does."""
    return _find(files, path, mode, moves=True) or _not_found(files, path, not_found)


def _find(files: Files, path: str, mode: str, *, moves: bool) -> Found | None:
    for action, file_template, target_template in _steps(path, mode):
        stem = path[: len(path) - len(_ending(path))]
        parts = {"path": path, "stem": stem, "folder": stem + "/"}
        name = file_template.format_map(parts)
        if action == "serve":
            file = files.find(name)
            if file is not None:
                return Found(file)
        elif moves:
            target = target_template.format_map(parts)
            if _leads_to(files, target, name, mode):
                return Found(redirect=target)
    return None


def _steps(path: str, mode: str) -> Sequence[Step]:
    classes = STEPS[mode]
    if mode == "drop-trailing-slash" and path in ROOT_STEPS:
        return (*ROOT_STEPS[path], *classes[""])
    ending = _ending(path)
    return (*classes[ending], *classes[""]) if ending and ending in classes else classes[""]


def _ending(path: str) -> str:
    for ending in ("/index", "/index.html", "/", ".html"):
        if path.endswith(ending):
            return ending
    return ""


def _leads_to(files: Files, target: str, name: str, mode: str) -> bool:
    """Whether the path `target`, which is no file itself, is answered with the file `name`."""
    file = files.find(name)
    if file is None or files.find(target) is not None:
        return False
    found = _find(files, target, mode, moves=False)
    return found is not None and found.file is not None and found.file.etag == file.etag


def _not_found(files: Files, path: str, handling: str) -> Found | None:
    if handling == "single-page-application":
        page = files.find("/index.html")
        return None if page is None else Found(page)
    if handling == "404-page":
        folder = path
        while folder:
            folder = folder[: folder.rfind("/")]
            page = files.find(folder + "/404.html")
            if page is not None:
                return Found(page, 404)
    return None
