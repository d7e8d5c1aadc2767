"""Files on their way to a socket: an async iterator over a plain one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyflare.clock import turn

# So many pieces are given without a turn of the loop: others must live while something large is copied.
PIECES_PER_TURN = 8


class Pieces:
    """Gives the pieces of `source`, which reads files; calls `on_close` once: when it is read, closed or dropped."""

    def __init__(self, source: Iterator[bytes], on_close: Callable[[], None] | None = None) -> None:
        self._source = source
        self._on_close = on_close
        self._count = 0

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> bytes:
        if self._count == PIECES_PER_TURN:
            self._count = 0
            await turn()
        self._count += 1
        piece = next(self._source, None)
        if piece is None:
            self.close()
            raise StopAsyncIteration
        return piece

    def read(self) -> bytes:
        """Everything that is left, at once."""
        data = b"".join(self._source)
        self.close()
        return data

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        self._source = iter(())
        if self._on_close is not None:
            on_close, self._on_close = self._on_close, None
            on_close()

    def __del__(self) -> None:
        self.close()
