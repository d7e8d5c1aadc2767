import asyncio
from typing import Any

import pytest

from pyflare.interop.convert import create_proxy
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.abort import AbortController, AbortSignal
from pyflare.interop.web.event_target import CustomEvent, Event, EventTarget, MessageEvent
from tests.support.web import NOTHING, Bag, inside_worker, js, run, thrown


def test_a_listener_hears_until_it_is_removed() -> None:
    seen: list[str] = []
    listener, target = create_proxy(lambda event: seen.append(event.type)), EventTarget.new()
    target.addEventListener("ring", listener)
    target.dispatchEvent(Event.new("ring"))
    target.removeEventListener("ring", listener)
    target.dispatchEvent(Event.new("ring"))
    assert seen == ["ring"]


def test_a_listener_added_twice_hears_once() -> None:
    seen: list[object] = []
    target = EventTarget.new()
    for _ in range(2):
        target.addEventListener("a", seen.append)
    target.dispatchEvent(Event.new("a"))
    assert len(seen) == 1


def test_once_means_once() -> None:
    seen: list[object] = []
    target = EventTarget.new()
    target.addEventListener("a", seen.append, once=True)
    for _ in range(2):
        target.dispatchEvent(Event.new("a"))
    assert len(seen) == 1


def test_an_object_with_handle_event_is_a_listener() -> None:
    seen: list[object] = []
    target = EventTarget.new()
    target.addEventListener("a", create_proxy(Bag(handleEvent=seen.append)))
    target.dispatchEvent(Event.new("a"))
    assert len(seen) == 1


def test_a_handler_property_hears_too() -> None:
    seen: list[object] = []
    target = EventTarget.new()
    target.onring = seen.append
    target.dispatchEvent(Event.new("ring"))
    assert len(seen) == 1


def test_preventing_the_default_shows_in_the_result() -> None:
    target = EventTarget.new()
    target.addEventListener("a", lambda event: event.preventDefault())
    event = Event.new("a", cancelable=True)
    assert target.dispatchEvent(event) is False
    assert event.defaultPrevented is True


def test_preventing_the_default_of_what_has_none_shows_in_the_result_alone() -> None:
    target, event = EventTarget.new(), Event.new("a")
    target.addEventListener("a", lambda event: event.preventDefault())
    assert (target.dispatchEvent(event), event.defaultPrevented) == (False, False)


def test_the_first_exception_ends_a_dispatch_and_is_raised_at_old_dates() -> None:
    seen: list[object] = []
    target = EventTarget.new()
    target.addEventListener("a", lambda _: NOTHING["x"])
    target.addEventListener("a", seen.append)
    with inside_worker(without={"spec_compliant_dispatch_exceptions"}), pytest.raises(KeyError):
        target.dispatchEvent(Event.new("a"))
    assert seen == []


def test_every_listener_hears_and_exceptions_are_reported_at_new_dates() -> None:
    seen: list[object] = []
    lines: list[tuple[str, str]] = []
    controller = AbortController.new()
    controller.signal.addEventListener("abort", lambda _: NOTHING["x"])
    controller.signal.addEventListener("abort", lambda _: NOTHING["y"])
    controller.signal.addEventListener("abort", seen.append)
    with inside_worker(console=lines):
        controller.abort()
    assert (len(seen), sorted(text.splitlines()[-1] for _, text in lines)) == (1, ["KeyError: 'x'", "KeyError: 'y'"])


def test_a_listener_that_is_removed_by_an_earlier_one_hears_nothing() -> None:
    seen: list[object] = []
    target = EventTarget.new()
    target.addEventListener("a", lambda _: target.removeEventListener("a", seen.append))
    target.addEventListener("a", seen.append)
    target.dispatchEvent(Event.new("a"))
    assert seen == []


def test_there_is_no_capturing() -> None:
    add = EventTarget.new().addEventListener
    assert thrown(lambda: add("a", print, True)) == "TypeError: addEventListener(): useCapture must be false."
    assert thrown(lambda: add("a", print, capture=True)) == (
        "TypeError: addEventListener(): options.capture must be false."
    )
    add("a", print, False)


def test_a_passive_listener_cannot_prevent_the_default() -> None:
    target, event = EventTarget.new(), Event.new("a", cancelable=True)
    target.addEventListener("a", lambda event: event.preventDefault(), passive=True)
    assert (target.dispatchEvent(event), event.defaultPrevented) == (True, False)
    target.addEventListener("a", lambda event: event.preventDefault())
    assert (target.dispatchEvent(event), event.defaultPrevented) == (False, True)


def test_a_message_event_takes_its_origin_and_last_id() -> None:
    bare, full = MessageEvent.new("x"), MessageEvent.new("x", js({"data": 5, "origin": "o", "lastEventId": 1}))
    assert [bare.data, bare.origin, bare.lastEventId, bare.source] == [jsnull, "", "", jsnull]
    assert [full.data, full.origin, full.lastEventId, list(full.ports)] == [5, "o", "1", []]


def test_onabort_hears_where_it_was_set_first() -> None:
    seen: list[str] = []
    controller = AbortController.new()
    signal = controller.signal
    signal.onabort = 5
    assert signal.onabort is jsnull
    signal.addEventListener("abort", lambda _: seen.append("before"))
    signal.onabort = lambda _: seen.append("replaced")
    signal.addEventListener("abort", lambda _: seen.append("after"))
    signal.onabort = lambda _: seen.append("on")
    controller.abort()
    assert seen == ["before", "on", "after"]


def test_onabort_is_no_listener_that_can_be_removed() -> None:
    seen: list[object] = []
    controller = AbortController.new()
    controller.signal.onabort = seen.append
    controller.signal.removeEventListener("abort", seen.append)
    controller.abort()
    assert len(seen) == 1


def test_onabort_can_be_taken_back() -> None:
    seen: list[object] = []
    controller = AbortController.new()
    controller.signal.onabort = seen.append
    controller.signal.onabort = None
    controller.abort()
    assert (seen, controller.signal.onabort) == ([], jsnull)


def test_only_events_of_the_runtime_are_trusted() -> None:
    seen: list[Any] = []
    controller = AbortController.new()
    controller.signal.onabort = seen.append
    controller.abort()
    assert [seen[0].isTrusted, Event.new("abort").isTrusted] == [True, False]


def test_immediate_stop_keeps_the_event_from_later_listeners() -> None:
    seen: list[object] = []
    target = EventTarget.new()
    target.addEventListener("a", lambda event: event.stopImmediatePropagation())
    target.addEventListener("a", seen.append)
    target.dispatchEvent(Event.new("a"))
    assert seen == []


def test_an_exception_of_a_listener_is_raised_by_dispatch() -> None:
    target = EventTarget.new()
    target.addEventListener("a", lambda event: NOTHING["x"])
    with inside_worker(without={"spec_compliant_dispatch_exceptions"}), pytest.raises(KeyError):
        target.dispatchEvent(Event.new("a"))


def test_what_an_async_listener_raises_is_reported() -> None:
    lines: list[tuple[str, str]] = []

    async def fail(event: object) -> None:
        raise ValueError("later")

    async def main() -> None:
        with inside_worker(console=lines):
            target = EventTarget.new()
            target.addEventListener("a", fail)
            target.dispatchEvent(Event.new("a"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    run(main)
    assert [(level, text.splitlines()[-1]) for level, text in lines] == [("error", "ValueError: later")]


def test_a_custom_event_carries_its_detail() -> None:
    assert CustomEvent.new("x", js({"detail": 5})).detail == 5


def test_aborting_gives_an_abort_error_as_reason() -> None:
    controller = AbortController.new()
    before = controller.signal.aborted
    controller.abort()
    signal = controller.signal
    assert (before, signal.aborted, signal.reason.name, signal.reason.message) == (
        False,
        True,
        "AbortError",
        "The operation was aborted",
    )


def test_an_own_reason_is_kept_and_only_the_first_abort_counts() -> None:
    controller = AbortController.new()
    controller.abort("enough")
    controller.abort("more")
    assert controller.signal.reason == "enough"


def test_listeners_hear_of_the_abort() -> None:
    seen: list[str] = []
    controller = AbortController.new()
    controller.signal.addEventListener("abort", lambda event: seen.append(event.type))
    controller.signal.onabort = lambda event: seen.append("on")
    controller.abort()
    assert seen == ["abort", "on"]


def test_any_aborts_with_the_first() -> None:
    first, second = AbortController.new(), AbortController.new()
    signal = AbortSignal.any(js([first.signal, second.signal]))
    second.abort("second")
    first.abort("first")
    assert (signal.aborted, signal.reason) == (True, "second")


def test_a_timeout_aborts_by_itself() -> None:
    async def main() -> tuple[bool, str]:
        signal = AbortSignal.timeout(1)
        done = asyncio.Event()
        signal.addEventListener("abort", lambda event: done.set())
        await asyncio.wait_for(done.wait(), 5)
        return signal.aborted, signal.reason.name

    assert run(main) == (True, "TimeoutError")


def test_throw_if_aborted_raises_the_reason() -> None:
    assert thrown(AbortSignal.abort().throwIfAborted) == "AbortError: The operation was aborted"
    assert AbortController.new().signal.throwIfAborted() is None


def test_a_signal_has_no_constructor() -> None:
    assert thrown(AbortSignal.new) == "TypeError: Illegal constructor"
