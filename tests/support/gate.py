"""The gate of an object that has written and whose commit a test brings about."""

from __future__ import annotations

import asyncio


class Unconfirmed:
    def __init__(self) -> None:
        self.commit: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def waits(self) -> None:
        return None

    def unconfirmed(self) -> asyncio.Future[None]:
        return self.commit

    def hold(self, action: object) -> bool:
        return False

    def began(self, task: object) -> None:
        return

    def keep(self, channel: object) -> None:
        return
