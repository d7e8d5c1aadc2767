"""The messages on disk: no loop, `now` is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import apsw
import pytest

from pyflare.engines.queues.rows import Draft, Fate, Row, Standing, Tally
from pyflare.engines.queues.store import Store

FATE = Fate(max_retries=3)
DYING = Fate(max_retries=0, dead_letter_queue="dead")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "queues.sqlite")
    yield store
    store.close()


def drafts(*bodies: str, delay: float = 0) -> list[Draft]:
    return [Draft(f"id-{body}", "text", body.encode(), delay) for body in bodies]


def bodies(rows: object) -> list[str]:
    return [row.body.decode() for row in rows]  # type: ignore[attr-defined]


def take(
    store: Store, queue: str = "q", limit: int = 10, now: float = 100.0, lease: int = 1, fate: Fate = FATE
) -> list[Row]:
    return list(store.take(queue, limit, fate, lease, now).rows)


def test_a_batch_holds_the_oldest_messages_in_order(store: Store) -> None:
    store.send("q", drafts("a", "b", "c"), 100.0)
    assert bodies(take(store, limit=2)) == ["a", "b"]


def test_a_leased_message_is_not_taken_twice(store: Store) -> None:
    store.send("q", drafts("a", "b"), 100.0)
    take(store, limit=1)
    assert bodies(take(store, lease=2)) == ["b"]


def test_a_delayed_message_is_taken_when_it_is_due(store: Store) -> None:
    store.send("q", drafts("a", delay=5), 100.0)
    assert take(store, now=104.9) == []
    assert bodies(take(store, now=105.0)) == ["a"]


def test_queues_do_not_see_each_other(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    store.send("r", drafts("b"), 100.0)
    assert bodies(take(store, "r")) == ["b"]


def test_the_first_delivery_is_attempt_one(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    assert take(store)[0].attempts == 1


def test_an_acknowledged_message_is_gone(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    store.settle("q", 1, take(store), [], FATE, 100.0)
    assert store.messages("q", 100.0) == []


def test_what_waits_goes_before_what_is_retried_in_the_same_moment(store: Store) -> None:
    store.send("q", drafts("a", "b", "c"), 100.0)
    store.settle("q", 1, [], [(row, 0) for row in take(store, limit=2)], FATE, 100.0)
    assert bodies(take(store, limit=2)) == ["c", "a"]


def test_a_retried_message_comes_again_after_its_delay(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    store.settle("q", 1, [], [(row, 7.0) for row in take(store)], FATE, 100.0)
    assert take(store, now=106.9) == []
    assert take(store, now=107.0)[0].attempts == 2


def test_a_message_out_of_retries_moves_to_the_dead_letters_with_its_identity(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    buried = store.settle("q", 1, [], [(row, 0) for row in take(store)], DYING, 160.0)
    assert [(message.id, message.attempts) for message in buried] == [("id-a", 1)]
    (dead,) = take(store, "dead", now=160.0)
    assert (dead.id, dead.body, dead.sent_at, dead.attempts) == ("id-a", b"a", 100.0, 1)


def test_a_message_out_of_retries_without_dead_letters_is_dropped_and_counted(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    store.settle("q", 1, [], [(row, 0) for row in take(store)], Fate(0), 100.0)
    assert store.messages("q", 100.0) == []
    assert store.standings.of("q") == Standing(dropped=1)


def test_dead_letters_are_counted_where_they_died(store: Store) -> None:
    store.send("q", drafts("a", "b"), 100.0)
    store.settle("q", 1, [], [(row, 0) for row in take(store)], DYING, 100.0)
    assert store.standings.of("q") == Standing(dead_lettered=2)


def test_a_crashed_delivery_counts(tmp_path: Path) -> None:
    first = Store(tmp_path / "q.sqlite")
    first.send("q", drafts("a"), 100.0)
    take(first)
    first.close()
    again = Store(tmp_path / "q.sqlite")
    assert again.recover(200.0) == 1
    assert take(again, now=200.0)[0].attempts == 2
    again.close()


def test_a_message_that_crashed_every_time_goes_to_the_dead_letters_without_another_delivery(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    take(store)
    store.recover(100.0)
    taken = store.take("q", 10, DYING, 2, 100.0)
    assert (taken.rows, [message.id for message in taken.buried]) == ([], ["id-a"])
    assert bodies(store.messages("dead", 100.0)) == ["a"]


def test_what_is_given_back_was_not_delivered(store: Store) -> None:
    store.send("q", drafts("a", delay=3), 100.0)
    store.give_back("q", 1, take(store, now=110.0))
    (row,) = take(store, now=110.0, lease=2)
    assert (row.attempts, row.due_at) == (1, 103.0)


def test_a_batch_that_lost_its_lease_settles_nothing(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    late = take(store)
    store.recover(100.0)
    take(store, lease=2)
    store.settle("q", 1, late, [], FATE, 100.0)
    assert store.tally("q") == Tally(bytes=1, leased=1)


def test_the_tally_follows_a_message_through_its_life(store: Store) -> None:
    store.send("q", drafts("four", "fives"), 100.0)
    assert store.tally("q") == Tally(waiting=2, bytes=9)
    rows = take(store)
    assert store.tally("q") == Tally(bytes=9, leased=2)
    store.settle("q", 1, rows[:1], [(rows[1], 0)], FATE, 100.0)
    assert store.tally("q") == Tally(waiting=1, bytes=5)


def test_the_tally_is_counted_again_at_the_next_start(tmp_path: Path) -> None:
    first = Store(tmp_path / "q.sqlite")
    first.send("q", drafts("four", "fives"), 100.0)
    take(first, limit=1)
    first.close()
    again = Store(tmp_path / "q.sqlite")
    assert again.tally("q") == Tally(waiting=1, bytes=9, leased=1)
    again.close()


def test_a_batch_is_sent_whole_or_not_at_all(store: Store) -> None:
    broken = [*drafts("a"), Draft(None, "text", b"b", 0)]  # type: ignore[arg-type]
    with pytest.raises(apsw.ConstraintError):
        store.send("q", broken, 100.0)
    assert store.messages("q", 100.0) == []


def test_the_store_knows_when_a_batch_will_be_full(store: Store) -> None:
    store.send("q", drafts("a", "b"), 100.0)
    store.send("q", drafts("c", delay=30), 100.0)
    assert store.full_at("q", 3) == 130.0
    assert store.full_at("q", 4) is None


def test_the_oldest_message_is_the_first_that_is_not_acknowledged(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    store.send("q", drafts("b"), 105.0)
    held = take(store, limit=1)
    assert store.oldest("q") == 100.0
    store.settle("q", 1, held, [], FATE, 106.0)
    assert store.oldest("q") == 105.0


def test_a_paused_queue_stays_paused_after_a_restart(tmp_path: Path) -> None:
    first = Store(tmp_path / "q.sqlite")
    first.standings.set("q", "paused", True)
    first.close()
    again = Store(tmp_path / "q.sqlite")
    assert again.standings.of("q").paused
    again.close()


def test_purging_deletes_what_waits_and_what_is_held(store: Store) -> None:
    store.send("q", drafts("a", "b"), 100.0)
    rows = take(store, limit=1)
    assert store.purge("q") == 2
    store.settle("q", 1, [], [(row, 0) for row in rows], FATE, 100.0)
    assert store.tally("q") == Tally()


def test_delayed_messages_can_be_hurried(store: Store) -> None:
    store.send("q", drafts("a", "b", delay=3600), 100.0)
    assert store.hurry("q", 101.0, "id-b") == 1
    assert bodies(take(store, now=101.0)) == ["b"]


def test_dead_letters_move_back_to_where_they_died(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    store.settle("q", 1, [], [(row, 0) for row in take(store)], DYING, 100.0)
    assert store.redrive("dead", 200.0) == {"q": 1}
    assert [(row.id, row.attempts) for row in take(store, now=200.0, lease=2)] == [("id-a", 1)]


def test_messages_that_died_nowhere_move_only_when_a_target_is_given(store: Store) -> None:
    store.send("dead", drafts("a"), 100.0)
    assert store.redrive("dead", 200.0) == {}
    assert store.redrive("dead", 200.0, to="q") == {"q": 1}


def test_retention_counts_from_the_arrival_in_the_queue(store: Store) -> None:
    store.send("q", drafts("old"), 100.0)
    store.send("q", drafts("new"), 150.0)
    assert store.expire("q", 120.0, 500.0) == 1
    assert bodies(store.messages("q", 150.0)) == ["new"]
    assert store.standings.of("q") == Standing(expired=1)


def test_a_held_message_does_not_expire(store: Store) -> None:
    store.send("q", drafts("a"), 100.0)
    take(store)
    assert store.expire("q", 500.0, 500.0) == 0


def test_a_message_whose_visibility_time_out_is_over_expires(store: Store) -> None:
    store.send("q", drafts("a", "b"), 100.0)
    store.take("q", 1, FATE, 1, 100.0, until=200.0)
    store.take("q", 1, FATE, 2, 100.0, until=900.0)
    assert store.expire("q", 150.0, 500.0) == 1
    assert bodies(store.messages("q", 500.0)) == ["b"]


def test_a_message_whose_visibility_time_out_is_over_waits(store: Store) -> None:
    store.send("q", drafts("a", "b", "c"), 100.0)
    store.take("q", 1, FATE, 1, 100.0, until=200.0)
    store.take("q", 1, FATE, 2, 100.0, until=900.0)
    kept, now = store.tally("q"), store.tally_at("q", 500.0)
    assert (kept.waiting, kept.leased) == (1, 2)
    assert (now.waiting, now.leased, now.bytes) == (2, 1, kept.bytes)


def test_a_dead_letter_whose_visibility_time_out_is_over_can_be_moved(store: Store) -> None:
    store.send("dead", drafts("a", "b"), 100.0)
    store.take("dead", 1, FATE, 1, 100.0, until=200.0)
    store.take("dead", 1, FATE, 2, 100.0, until=900.0)
    assert store.redrive("dead", 500.0, to="q") == {"q": 1}
    assert store.tally("dead").leased == 1


def test_the_delay_of_a_queue_survives_a_restart(tmp_path: Path) -> None:
    first = Store(tmp_path / "queues.sqlite")
    first.standings.set("q", "delivery_delay", 60)
    first.standings.set("q", "paused", True)
    first.close()
    again = Store(tmp_path / "queues.sqlite")
    assert again.standings.of("q") == Standing(paused=True, delivery_delay=60)
    again.close()


def test_listing_filters_by_state_id_and_content(store: Store) -> None:
    store.send("q", drafts("held"), 99.0)
    take(store, limit=1)
    store.send("q", drafts("ready"), 100.0)
    store.send("q", drafts("later", delay=60), 100.0)
    for state, found in {
        "all": ["held", "ready", "later"],
        "waiting": ["ready", "later"],
        "ready": ["ready"],
        "delayed": ["later"],
        "leased": ["held"],
    }.items():
        assert bodies(store.messages("q", 100.0, state=state)) == found
    assert bodies(store.messages("q", 100.0, id="id-later")) == ["later"]
    assert bodies(store.messages("q", 100.0, contains=b"ead")) == ["ready"]


def test_listing_goes_on_after_the_last_one_seen(store: Store) -> None:
    store.send("q", drafts("a", "b", "c"), 100.0)
    first = store.messages("q", 100.0, limit=2)
    assert bodies(store.messages("q", 100.0, after=first[-1].seq)) == ["c"]


def test_with_full_durability_what_is_sent_waits_for_the_disk_and_what_may_be_repeated_does_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "q.sqlite", "full")
    levels = []
    database = store._db
    transaction = database.transaction

    def noted() -> AbstractContextManager[object]:
        levels.append(database.value("PRAGMA synchronous"))
        return transaction()

    database.transaction = noted  # type: ignore[method-assign]
    store.send("q", drafts("a"), 100.0)
    store.settle("q", 1, take(store), [], FATE, 100.0)
    assert levels == [2, 1, 1]  # FULL, NORMAL, NORMAL
    assert database.value("PRAGMA synchronous") == 2
    store.close()


def test_a_listed_message_tells_its_state(store: Store) -> None:
    store.send("q", drafts("again", "held", "due"), 100.0)
    (again,) = take(store, limit=1)
    store.settle("q", 1, [], [(again, 30.0)], FATE, 100.0)
    take(store, limit=1, lease=2)
    store.send("q", drafts("later", delay=5), 100.0)
    states = {message.body.decode(): message.state for message in store.messages("q", 100.0)}
    assert states == {"again": "retry", "held": "leased", "due": "ready", "later": "delayed"}
    assert store.delayed("q", 100.0) == 2
    assert store.delayed("q", 130.0) == 0
