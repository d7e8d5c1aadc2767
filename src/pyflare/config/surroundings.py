"""What surrounds a worker on Cloudflare, and so here."""

from __future__ import annotations

from collections.abc import Mapping

ENVIRONMENT: Mapping[str, str] = {"HOME": "/session", "PYTHONHASHSEED": "111"}  # all that os.environ holds
