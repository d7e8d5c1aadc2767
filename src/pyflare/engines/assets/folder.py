"""A folder of assets as it is on disk right now.

Nothing is indexed: a request costs a few `stat` calls, and a change is seen by the next one. What `.assetsignore`,
`_headers` and `_redirects` say is kept until the file changes.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from pyflare.engines.assets.ignore import Ignore
from pyflare.engines.assets.pages import File
from pyflare.engines.assets.rules import HeaderRules, Redirects, parse_headers, parse_redirects

MAX_FILES = 100_000  # developers.cloudflare.com/workers/platform/limits/#static-assets, with the paid plan
MAX_FILE_BYTES = 25 * 1024 * 1024

# Elsewhere `/NOTES.txt` would answer for `notes.txt`, and not after a deploy.
CASE_MATTERS = sys.platform not in ("win32", "darwin")

WORKER_JS = (
    "Uploading a Pages _worker.js {kind} as an asset.\n"
    "This could expose your private server-side code to the public Internet. Is this intended?\n"
    'If you do not want to upload this {kind}, either remove it or add an ".assetsignore" file, to the root of your '
    'asset directory, containing "_worker.js" to avoid uploading.\n'
    'If you do want to upload this {kind}, you can add an empty ".assetsignore" file, to the root of your asset '
    "directory, to hide this error."
)

T = TypeVar("T")
Stamp = tuple[int, int]  # time of change in nanoseconds, size in bytes


class ControlFile(Generic[T]):
    """What a file of rules says; read again when it changes, empty when it is not there or cannot be read. `heard` is
    told the path, the stamp and the value each time that it was read."""

    def __init__(
        self, path: Path, parse: Callable[[str], T], heard: Callable[[Path, Stamp, T], None] | None = None
    ) -> None:
        self._path = path
        self._parse = parse
        self._heard = heard
        self._stamp: Stamp | None = (-1, -1)
        self._value: T

    def value(self) -> T:
        try:
            state = os.stat(self._path)
            stamp = (state.st_mtime_ns, state.st_size)
            if stamp == self._stamp:
                return self._value
            text = self._path.read_text(encoding="utf-8-sig", errors="replace")
        except OSError:
            if self._stamp is not None:
                self._stamp, self._value = None, self._parse("")
            return self._value
        self._stamp, self._value = stamp, self._parse(text)
        if self._heard is not None:
            self._heard(self._path, stamp, self._value)
        return self._value


class Folder:
    """The assets below one directory."""

    def __init__(
        self,
        root: Path,
        html_handling: str,
        heard: Callable[[Path, Stamp, HeaderRules | Redirects], None] | None = None,
    ) -> None:
        self.root = root
        self._prefix = str(root)
        self._ignore = ControlFile(root / ".assetsignore", Ignore)
        self._headers = ControlFile(root / "_headers", parse_headers, heard)
        self._redirects = ControlFile(root / "_redirects", lambda text: parse_redirects(text, html_handling), heard)

    @property
    def headers(self) -> HeaderRules:
        return self._headers.value()

    @property
    def redirects(self) -> Redirects:
        return self._redirects.value()

    def read_rules(self) -> None:
        """Have what the files of rules say heard now, in place of at the first request."""
        self._redirects.value()
        self._headers.value()

    def find(self, path: str) -> File | None:
        """The file at a decoded path that starts with a slash; None for anything else, and for what is not served."""
        # The disk takes doubled slashes for one, but a file has a single path.
        if not path.startswith("/") or path.endswith("/") or "//" in path or "\0" in path:
            return None
        location = self._prefix + path
        try:
            state = os.stat(location)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(state.st_mode) or not self._served(path):
            return None
        # As wrangler does: cheaper than the content, and enough to notice a change.
        seed = f"{location}\0{state.st_mtime_ns}\0{state.st_size}"
        return File(path, location, state.st_size, hashlib.md5(seed.encode("utf-8", "replace")).hexdigest())

    def check(self) -> list[str]:
        """What would be refused by a deploy."""
        count, faults = 0, []
        ignoring = (self.root / ".assetsignore").exists()
        for folder, _, names in os.walk(self._prefix):
            for name in names:
                location = os.path.join(folder, name)
                path = location[len(self._prefix) :].replace(os.sep, "/")
                if not self._served(path):
                    continue
                count += 1
                if path.startswith("/_worker.js") and not ignoring:
                    ignoring = True  # told once
                    faults.append(WORKER_JS.format(kind="directory" if "/" in path[1:] else "file"))
                size = os.stat(location).st_size if os.path.exists(location) else 0
                if size > MAX_FILE_BYTES:
                    faults.append(
                        "Asset too large. Cloudflare Workers supports assets with sizes of up to 25 MiB. We found a "
                        f"file {location} with a size of {size / 1024 / 1024:.1f} MiB."
                    )
        if count > MAX_FILES:
            faults.append(
                f"Maximum number of assets exceeded. Cloudflare Workers supports up to {MAX_FILES:,} assets in a "
                f'version. We found {count:,} files in the specified assets directory "{self.root}".'
            )
        return faults

    def _served(self, path: str) -> bool:
        """Whether the path of an existing file stays inside the folder and is not ignored."""
        if "/." in path and any(part in (".", "..") for part in path.split("/")):
            return False
        if "\\" in path and os.sep == "\\":
            return False
        if self._ignore.value().ignores(path[1:]):
            return False
        return CASE_MATTERS or self._spelled_so(path)

    def _spelled_so(self, path: str) -> bool:
        folder = self._prefix
        for part in path[1:].split("/"):
            if part not in os.listdir(folder):
                return False
            folder = os.path.join(folder, part)
        return True
