import asyncio
from typing import Any

from pyflare.storage.pieces import PIECES_PER_TURN, Pieces


def test_a_reader_that_is_cancelled_while_others_have_their_turn_leaves_nothing_behind() -> None:
    faults: list[dict[str, Any]] = []
    closed: list[bool] = []

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        pieces = Pieces(iter([b"x"] * 100), lambda: closed.append(True))

        async def read() -> None:
            async for _ in pieces:
                pass

        reader = asyncio.create_task(read())
        await asyncio.sleep(0)  # the reader waits for its next turn after some pieces
        reader.cancel()
        await asyncio.wait([reader])
        await asyncio.sleep(0)
        await pieces.aclose()

    asyncio.run(scene())
    assert (faults, closed) == ([], [True])


def test_all_pieces_come_however_many_turns_they_take() -> None:
    async def scene() -> bytes:
        return b"".join([piece async for piece in Pieces(iter([b"x"] * (3 * PIECES_PER_TURN + 1)))])

    assert asyncio.run(scene()) == b"x" * (3 * PIECES_PER_TURN + 1)
