"""The two gates by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pyflare.engines.durable_objects.gates import Gate, Starts, carried
from pyflare.interop.errors import JsException
from tests.engines.durable_objects.world import turns


def play(scene: Callable[[Gate], Awaitable[None]]) -> None:
    async def main() -> None:
        await scene(Gate())

    asyncio.run(main())


def test_an_open_gate_lets_everything_go_on() -> None:
    async def scene(gate: Gate) -> None:
        assert gate.waits() is None

    play(scene)


def test_a_section_keeps_out_what_does_not_carry_it() -> None:
    async def scene(gate: Gate) -> None:
        section = gate.begin()
        assert gate.waits() is not None
        assert section.context().run(gate.waits) is None
        gate.finish(section)
        assert gate.waits() is None

    play(scene)


def test_what_carries_the_section_of_another_object_is_kept_out_too() -> None:
    async def scene(gate: Gate) -> None:
        gate.begin()
        foreign = Gate().begin()
        assert foreign.context().run(gate.waits) is not None

    play(scene)


def test_sections_of_one_level_take_turns() -> None:
    async def scene(gate: Gate) -> None:
        first, second = gate.begin(), gate.begin()
        assert first.context().run(gate.waits) is None
        waiting = second.context().run(gate.waits)
        assert waiting is not None and not waiting.done()
        gate.finish(first)
        assert waiting.done()
        assert second.context().run(gate.waits) is None
        assert first.context().run(gate.waits) is not None

    play(scene)


def test_a_section_inside_keeps_out_the_one_around_it() -> None:
    async def scene(gate: Gate) -> None:
        outer = gate.begin()
        inner = outer.context().run(gate.begin)
        assert outer.context().run(gate.waits) is not None
        assert inner.context().run(gate.waits) is None
        gate.finish(inner)
        assert outer.context().run(gate.waits) is None
        assert gate.waits() is not None

    play(scene)


def test_a_section_left_open_inside_a_finished_one_takes_its_place() -> None:
    async def scene(gate: Gate) -> None:
        outer = gate.begin()
        inner = outer.context().run(gate.begin)
        queued = outer.context().run(gate.begin)
        gate.finish(outer)
        assert gate.waits() is not None
        gate.finish(inner)
        assert queued.context().run(gate.waits) is None
        gate.finish(queued)
        assert gate.waits() is None

    play(scene)


def test_code_of_a_finished_section_is_like_any_other() -> None:
    async def scene(gate: Gate) -> None:
        old = gate.begin()
        gate.finish(old)
        assert old.context().run(gate.waits) is None
        gate.begin()
        assert old.context().run(gate.waits) is not None

    play(scene)


@pytest.mark.cloudflare("workerd io/io-gate.c++, MAX_DEPTH")
def test_sections_nest_64_deep() -> None:
    async def scene(gate: Gate) -> None:
        context = gate.begin().context()
        for _ in range(63):
            context = context.run(gate.begin).context()
        with pytest.raises(JsException, match="nested too deeply"):
            context.run(gate.begin)

    play(scene)


def test_events_start_in_the_order_in_which_they_came() -> None:
    async def scene(gate: Gate) -> None:
        order: list[int] = []
        starts = Starts()

        async def event(number: int) -> None:
            start = starts.join()
            await starts.turn(start)
            await gate.passed()
            starts.leave(start)
            order.append(number)

        section = gate.begin()
        tasks = [asyncio.create_task(event(number)) for number in range(5)]
        await turns(3)
        gate.finish(section)
        tasks.append(asyncio.create_task(event(5)))
        await asyncio.gather(*tasks)
        assert order == [0, 1, 2, 3, 4, 5]

    play(scene)


def test_an_event_that_fails_before_its_start_leaves_the_line() -> None:
    async def scene(gate: Gate) -> None:
        starts = Starts()
        first, second, third = starts.join(), starts.join(), starts.join()
        starts.leave(second)
        waiting = asyncio.create_task(starts.turn(third))
        await turns(2)
        starts.leave(first)
        await waiting

    play(scene)


def test_nothing_is_unconfirmed_before_a_write() -> None:
    async def scene(gate: Gate) -> None:
        ran: list[str] = []
        assert gate.unconfirmed() is None
        assert gate.hold(lambda: ran.append("held")) is False
        assert ran == []

    play(scene)


def test_what_leaves_after_a_write_waits_for_the_commit_in_line() -> None:
    async def scene(gate: Gate) -> None:
        ran: list[str] = []
        gate.wrote()
        assert gate.hold(lambda: ran.append("first")) and gate.hold(lambda: ran.append("second"))
        confirmed = gate.unconfirmed()
        assert confirmed is not None and ran == []
        gate.confirm()
        assert ran == ["first", "second"] and confirmed.done()

    play(scene)


def test_a_dead_gate_lets_nothing_out_and_nothing_go_on() -> None:
    async def scene(gate: Gate) -> None:
        ran: list[str] = []
        gate.wrote()
        gate.hold(lambda: ran.append("held"))
        confirmed = gate.unconfirmed()
        assert confirmed is not None
        gate.die(RuntimeError("gone"))
        with pytest.raises(asyncio.CancelledError):
            await gate.passed()
        with pytest.raises(RuntimeError, match="gone"):
            await confirmed
        assert ran == []

    play(scene)


def test_a_dead_gate_wakes_what_waited_for_a_section() -> None:
    async def scene(gate: Gate) -> None:
        gate.begin()
        waiting = asyncio.create_task(gate.passed())
        await turns(2)
        gate.die(RuntimeError("gone"))
        with pytest.raises(asyncio.CancelledError):
            await waiting

    play(scene)


def test_the_section_is_carried_by_child_tasks() -> None:
    async def scene(gate: Gate) -> None:
        section = gate.begin()

        async def child() -> bool:
            return gate.waits() is None and carried.get() is section

        task = section.context().run(asyncio.get_running_loop().create_task, child())
        assert await task

    play(scene)
