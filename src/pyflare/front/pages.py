"""The 500 that a worker's exception becomes: HTML for browsers, text for everything else."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from pyflare.front.exchange import Exchange

if TYPE_CHECKING:
    from pyflare.front.live_reload import LiveReload

_FILE_LINE = re.compile(r'^\s+File "(?P<file>.+)", line \d+, in ')

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 60rem; padding: 0 1rem }}
h1 {{ font-size: 1.3rem; color: light-dark(#b00020, #ff8a80); overflow-wrap: anywhere }}
pre {{ background: light-dark(#f6f6f6, #1e1e1e); padding: 1rem; overflow: auto; line-height: 1.4 }}
.file {{ color: light-dark(#00558c, #80c0ff) }} .code {{ font-weight: bold }} small {{ opacity: .7 }}
</style></head><body>
<h1>{title}</h1><small>{request}</small>
<pre>{trace}</pre>
</body></html>
"""


def server_error(exchange: Exchange, trace: str, live: LiveReload | None = None) -> None:
    """Answer 500 with `trace`, whose last line (before notes) names the exception."""
    accepts = next((value for name, value in exchange.headers if name == "accept"), "")
    if "text/html" in accepts:
        kind, body = "text/html;charset=UTF-8", _html(f"{exchange.method} {exchange.target}", trace)
        body += live.tag if live is not None else ""
    else:
        kind, body = "text/plain;charset=UTF-8", trace + "\n"
    exchange.respond(500, "Internal Server Error", [("content-type", kind)], body.encode("utf-8", "replace"))


def plain(
    exchange: Exchange, status: int, reason: str, text: str, headers: list[tuple[str, str]] | None = None
) -> None:
    """Answer with one line of text."""
    kind = ("content-type", "text/plain;charset=UTF-8")
    exchange.respond(status, reason, [kind, *(headers or ())], text.encode())


def _html(request: str, trace: str) -> str:
    title = _title(trace)
    lines = [_line(line) for line in trace.split("\n")]
    return _PAGE.format(title=html.escape(title), request=html.escape(request), trace="\n".join(lines))


def _title(trace: str) -> str:
    """The line after the last frame: `ValueError: on purpose`."""
    lines = trace.split("\n")
    frames = [at for at, line in enumerate(lines) if line.startswith(" ")]
    after = lines[frames[-1] + 1 :] if frames else lines
    return next((line for line in after if line.strip()), "Error")


def _line(line: str) -> str:
    escaped = html.escape(line)
    if _FILE_LINE.match(line):
        return f'<span class="file">{escaped}</span>'
    if line.startswith("    "):
        return f'<span class="code">{escaped}</span>'
    return escaped
