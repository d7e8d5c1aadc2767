"""Rows of instances, steps and events."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.engines.workflows.rows import DO, DONE, ERRORED, FAILED, IN_FLIGHT, RETRYING, RUNNING, Fault, Step
from pyflare.engines.workflows.store import Store

FAULT = Fault("Error", "no")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "workflows.sqlite")


def instance(store: Store, name: str = "i", now: float = 100.0) -> int:
    made = store.create("flow", name, b"params", now)
    assert made is not None
    return made


def step(store: Store, id: int, name: str = "s", position: int = 0, now: float = 100.0) -> Step:
    made = store.add_do(id, DO, name, 1, position, now + 600, None, now)
    found = store.step(made)
    assert found is not None
    return found


def test_an_id_exists_once_in_a_workflow(store: Store) -> None:
    instance(store)
    assert store.create("flow", "i", b"", 100.0) is None
    assert store.create("other", "i", b"", 100.0) is not None


def test_a_new_instance_has_to_be_in_memory(store: Store) -> None:
    id = instance(store)
    assert store.awake() == [id]
    store.park(id)
    assert store.awake() == []


def test_a_step_in_flight_is_due_when_its_time_is_over(store: Store) -> None:
    step(store, instance(store))
    assert store.first_due() == 700.0


def test_a_step_that_succeeds_keeps_its_result_and_is_never_due(store: Store) -> None:
    made = step(store, instance(store))
    store.succeed(made, b"result", 101.0)
    found = store.step(made.id)
    assert found is not None
    assert (found.state, found.ended_at, store.result(made.id), store.first_due()) == (DONE, 101.0, b"result", None)


def test_a_failed_attempt_is_due_again(store: Store) -> None:
    made = step(store, instance(store))
    store.retry(made, 1, FAULT, 110.0, 101.0)
    [due] = store.due(110.0, 10)
    assert (due.state, due.attempt) == (RETRYING, 1)
    assert store.due(109.9, 10) == []


def test_a_failed_step_keeps_its_error(store: Store) -> None:
    made = step(store, instance(store))
    store.fail(made, 1, FAULT, 101.0)
    found = store.step(made.id)
    assert found is not None and found.error is not None
    assert (found.state, Fault.from_json(found.error)) == (FAILED, FAULT)


def test_an_attempt_that_is_given_back_does_not_count(store: Store) -> None:
    id = instance(store)
    made = step(store, id)
    store.give_back(id, 105.0)
    found = store.step(made.id)
    assert found is not None
    assert (found.state, found.attempt, found.due_at) == (RETRYING, 0, 105.0)


def test_a_pause_moves_deadlines_by_its_length(store: Store) -> None:
    id = instance(store)
    store.add_sleep(id, "nap", 1, 0, 150.0, 100.0)
    store.pause(id, 120.0)
    assert store.first_due() is None
    store.resume(id, 1000.0)
    assert store.first_due() == 1030.0


def test_an_event_goes_to_the_wait_that_began_first(store: Store) -> None:
    id = instance(store)
    first, _ = store.add_wait(id, "a", 1, 0, "go", 200.0, 100.0)
    second, _ = store.add_wait(id, "b", 1, 1, "go", 200.0, 100.0)
    assert [store.send_event(id, "go", b"1", 101.0), store.send_event(id, "go", b"2", 102.0)] == [first, second]


def test_a_wait_takes_what_came_before_it(store: Store) -> None:
    id = instance(store)
    assert store.send_event(id, "go", b"early", 99.0) is None
    made, event = store.add_wait(id, "a", 1, 0, "go", 200.0, 100.0)
    assert event is not None and event.payload == b"early"
    taken = store.event_of(made)
    assert taken is not None and taken.payload == b"early"
    assert store.first_due() is None


def test_each_event_is_taken_once(store: Store) -> None:
    id = instance(store)
    store.send_event(id, "go", b"1", 99.0)
    store.add_wait(id, "a", 1, 0, "go", 200.0, 100.0)
    _, event = store.add_wait(id, "b", 1, 1, "go", 200.0, 100.0)
    assert event is None


def test_an_event_for_a_parked_instance_wakes_it(store: Store) -> None:
    id = instance(store)
    found = store.instance(id)
    assert found is not None
    store.begin(found, 100.0)
    store.add_wait(id, "a", 1, 0, "go", 200.0, 100.0)
    store.park(id)
    store.send_event(id, "go", b"1", 101.0)
    assert store.awake() == [id]


def test_the_end_of_an_instance_stops_what_was_in_flight(store: Store) -> None:
    id = instance(store)
    made = step(store, id)
    store.finish(id, ERRORED, 105.0, fault=FAULT)
    found, ended = store.step(made.id), store.instance(id)
    assert found is not None and ended is not None
    assert (found.state, found.due_at, ended.status, ended.awake) == (FAILED, None, ERRORED, 0)


def test_a_restart_from_a_step_forgets_it_and_what_followed(store: Store) -> None:
    id = instance(store)
    for position, name in enumerate("abc"):
        store.succeed(step(store, id, name, position), b"", 101.0)
    store.restart(id, 200.0, 1)
    assert [found.name for found in store.steps(id)] == ["a"]


def test_it_keeps_the_events_of_earlier_waits(store: Store) -> None:
    id = instance(store)
    store.send_event(id, "go", b"1", 99.0)
    made, _ = store.add_wait(id, "a", 1, 0, "go", 200.0, 100.0)
    store.send_event(id, "go", b"2", 101.0)
    store.restart(id, 200.0, 1)
    assert [event[3] for event in store.catalogue.events(id)] == [made]


def test_deleting_leaves_nothing(store: Store) -> None:
    id = instance(store)
    step(store, id)
    store.chunks.add(step(store, id, "t", 1).id, 0, b"data")
    store.send_event(id, "go", b"1", 101.0)
    store.delete(id)
    for table in ("instances", "steps", "chunks", "events", "log"):
        assert store._db.value(f"SELECT count(*) FROM {table}") == 0


def test_a_waiting_instance_is_counted_as_such(store: Store) -> None:
    id = instance(store)
    found = store.instance(id)
    assert found is not None
    store.begin(found, 100.0)
    assert store.catalogue.counts("flow") == {RUNNING: 1}
    store.add_sleep(id, "nap", 1, 0, 150.0, 100.0)
    assert store.catalogue.counts("flow") == {"waiting": 1}
    assert [one.status for one in store.catalogue.list("flow", "waiting")] == ["waiting"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["send a", "send b", "wait a", "wait b"]), max_size=25))
def test_events_and_waits_meet_in_order_like_two_lists(moves: list[str]) -> None:
    """A model with lists: each event goes to the oldest wait of its type, each wait takes the oldest event."""
    store = Store(":memory:")
    id = instance(store)
    buffered: dict[str, list[bytes]] = {"a": [], "b": []}
    waiting: dict[str, list[int]] = {"a": [], "b": []}
    for number, move in enumerate(moves):
        verb, kind = move.split()
        payload = str(number).encode()
        if verb == "send":
            step_id = store.send_event(id, kind, payload, 100.0)
            assert step_id == (waiting[kind].pop(0) if waiting[kind] else None)
            if step_id is None:
                buffered[kind].append(payload)
        else:
            step_id, event = store.add_wait(id, move, number, number, kind, 200.0, 100.0)
            assert (event.payload if event else None) == (buffered[kind].pop(0) if buffered[kind] else None)
            if event is None:
                waiting[kind].append(step_id)
    assert {step.id for step in store.steps(id) if step.state == "waiting"} == {*waiting["a"], *waiting["b"]}
    assert IN_FLIGHT not in {step.state for step in store.steps(id)}
    store.close()
