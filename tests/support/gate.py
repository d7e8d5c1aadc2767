"""Gates of objects for tests."""

from __future__ import annotations

import asyncio


class Open:
    """One that holds nothing."""

    def waits(self) -> asyncio.Future[None] | None:
        return None

    def unconfirmed(self) -> asyncio.Future[None] | None:
        return None

    def hold(self, action: object) -> bool:
        return False

    def began(self, task: object) -> None:
        return

    def keep(self, channel: object) -> None:
        return


class Unconfirmed(Open):
    """Of an object that has written and whose commit a test brings about."""

    def __init__(self) -> None:
        self.commit: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def unconfirmed(self) -> asyncio.Future[None]:
        return self.commit
