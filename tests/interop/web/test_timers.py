import asyncio
from collections.abc import Callable
from typing import Any

from pyflare.interop.convert import create_once_callable
from pyflare.interop.web.abort import AbortSignal
from pyflare.interop.web.timers import Timers, queueMicrotask, scheduler
from tests.support.web import NOTHING, inside_worker, js, rejection, run, thrown


def heard(use: Callable[[Timers, Callable[[str], None], asyncio.Event], Any]) -> list[str]:
    """What a test's timers said until the event was set."""

    async def main() -> list[str]:
        log: list[str] = []
        done = asyncio.Event()
        use(Timers.make(), log.append, done)
        await asyncio.wait_for(done.wait(), 5)
        return log

    return run(main)  # type: ignore[no-any-return]


def test_timeouts_fire_in_the_order_of_their_delays() -> None:
    def use(timers: Timers, say: Callable[[str], None], done: asyncio.Event) -> None:
        timers.set_timeout(create_once_callable(lambda: say("late")), 8)
        timers.set_timeout(done.set, 9)
        timers.set_timeout(create_once_callable(lambda: say("soon")), 1)

    assert heard(use) == ["soon", "late"]


def test_a_cleared_timeout_does_not_fire() -> None:
    def use(timers: Timers, say: Callable[[str], None], done: asyncio.Event) -> None:
        timers.clear(timers.set_timeout(lambda: say("no"), 1))
        timers.set_timeout(done.set, 4)

    assert heard(use) == []


def test_an_interval_repeats_until_it_is_cleared() -> None:
    def use(timers: Timers, say: Callable[[str], None], done: asyncio.Event) -> None:
        count: list[int] = []

        def tick() -> None:
            say("tick")
            count.append(1)
            if len(count) == 3:
                timers.clear(number)
                timers.set_timeout(done.set, 5)

        number = timers.set_interval(tick, 1)

    assert heard(use) == ["tick"] * 3


def test_further_arguments_go_to_the_callback() -> None:
    def use(timers: Timers, say: Callable[[str], None], done: asyncio.Event) -> None:
        timers.set_timeout(say, 0, "argument")
        timers.set_timeout(done.set, 2)

    assert heard(use) == ["argument"]


def test_a_timer_never_fires_in_the_step_that_sets_it() -> None:
    async def main() -> list[list[str]]:
        log: list[str] = []
        Timers.make().set_timeout(lambda: log.append("fired"), 0)
        before = list(log)
        for _ in range(4):
            await asyncio.sleep(0)
        return [before, log]

    assert run(main) == [[], ["fired"]]


def test_an_exception_in_a_timer_is_reported_and_ends_nothing() -> None:
    lines: list[tuple[str, str]] = []

    async def main() -> None:
        done = asyncio.Event()
        with inside_worker(console=lines):
            timers = Timers.make()
            timers.set_timeout(lambda: NOTHING["missing"], 0)
            timers.set_timeout(done.set, 2)
            await asyncio.wait_for(done.wait(), 5)

    run(main)
    assert [(level, text.splitlines()[-1]) for level, text in lines] == [("error", "KeyError: 'missing'")]


def test_a_timer_wants_a_function() -> None:
    assert "parameter 1 is not of type 'function'" in thrown(lambda: Timers.make().set_timeout("code", 1))


def test_a_delay_is_refused_while_the_module_is_imported_but_0_is_not() -> None:
    async def main() -> tuple[str, int]:
        with inside_worker() as running:
            running.global_scope = True
            timers = Timers.make()
            message = thrown(lambda: timers.set_timeout(lambda: None, 5))
            number = timers.set_timeout(lambda: None, 0)
            timers.clear(number)
            return message, number

    message, number = run(main)
    assert message.startswith("Error: Disallowed operation called within global scope.")
    assert number == 1


def test_a_microtask_runs_before_the_next_await_is_over() -> None:
    async def main() -> list[list[str]]:
        seen: list[str] = []
        queueMicrotask(create_once_callable(lambda: seen.append("micro")))
        before = list(seen)
        await asyncio.sleep(0)
        return [before, seen]

    assert run(main) == [[], ["micro"]]


def test_the_scheduler_waits() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        before = loop.time()
        await scheduler.wait(5)
        return loop.time() - before

    assert run(main) >= 0.004


def test_the_scheduler_stops_waiting_at_a_signal() -> None:
    async def main() -> str:
        return await rejection(scheduler.wait(60_000, js({"signal": AbortSignal.abort()})))

    assert run(main) == "AbortError: The operation was aborted"
