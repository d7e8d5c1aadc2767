"""What clients hand back to us without looking into it: lease ids, references of messages."""

from __future__ import annotations

import base64


def sealed(*parts: object) -> str:
    """`parts` contain no dot."""
    return base64.urlsafe_b64encode(".".join(map(str, parts)).encode()).decode()


def opened(token: str) -> list[str]:
    """The parts; ValueError for what was not sealed."""
    return base64.urlsafe_b64decode(token.encode()).decode().split(".")
