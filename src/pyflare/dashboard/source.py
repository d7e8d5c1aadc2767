"""What the explorer asks of a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyflare.config.model import WorkerConfig
    from pyflare.engines.base import BindingRow
    from pyflare.log import Log


class Source(Protocol):
    """`engines`: the rooms that are awake, by name."""

    configs: Sequence[WorkerConfig]
    engines: dict[str, Any]
    log: Log

    def rows(self) -> list[BindingRow]: ...
