"""Producer and consumer in different workers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.engines.queues.engine import Queues
from pyflare.errors import ConfigError
from pyflare.worker.event import Event
from tests.engines.queues.bench import turns
from tests.support.rooms import Bench, settle

PRODUCER = {"producers": [{"binding": "Q", "queue": "jobs"}]}
CONSUMER = {"consumers": [{"queue": "jobs", "max_batch_timeout": 0}]}


def room(bench: Bench, **sections: Any) -> Queues:
    """The engine of several workers: name -> `queues` section."""
    configs = {}
    for worker, section in sections.items():
        configs[worker] = Queues.parse(bench.config({"queues": section}), Diagnostics())
    Queues.agree(configs)
    return Queues(configs, bench.context)


async def deliver(bench: Bench, made: Queues) -> list[tuple[str, list[Any]]]:
    """Run what is due; which worker got which bodies."""
    got: list[tuple[str, list[Any]]] = []

    def handler(worker: str) -> Any:
        async def handle(event: Event) -> None:
            got.append((worker, [message.body for message in event.batch.messages]))  # type: ignore[attr-defined]

        return handle

    bench.answers.update({worker: handler(worker) for worker in ("shop", "mailer")})
    while (due := made.next_due()) is not None and due <= bench.clock.now():
        made.run_due(bench.clock.now())
        await turns(4)
    return got


def test_the_worker_that_consumes_gets_what_another_sends(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    made = room(bench, shop=PRODUCER, mailer=CONSUMER)
    settle(made.bindings("shop")["Q"].send("hello"))
    assert asyncio.run(deliver(bench, made)) == [("mailer", ["hello"])]
    assert "no consumer" not in bench.terminal.getvalue()
    made.close()


def test_what_was_sent_before_the_consumer_ran_is_delivered_when_it_does(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    alone = room(bench, shop=PRODUCER)
    for number in range(5):
        settle(alone.bindings("shop")["Q"].send(number))
    assert bench.terminal.getvalue().count('Queue "jobs" has no consumer') == 1
    alone.close()
    both = room(bench, shop=PRODUCER, mailer=CONSUMER)
    assert asyncio.run(deliver(bench, both)) == [("mailer", [0, 1, 2, 3, 4])]
    both.close()


def test_each_worker_has_its_own_bindings(tmp_path: Path) -> None:
    made = room(Bench(tmp_path), shop=PRODUCER, mailer=CONSUMER)
    assert (list(made.bindings("shop")), list(made.bindings("mailer"))) == (["Q"], [])
    made.close()


def test_two_consumers_are_refused_before_a_file_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='"shop" and "mailer"'):
        room(Bench(tmp_path), shop=CONSUMER, mailer=CONSUMER)
    assert not (tmp_path / "v3").exists()


@pytest.mark.parametrize(
    ("sections", "queue", "near"),
    [
        ({"shop": {"producers": [{"binding": "Q", "queue": "jobz"}]}, "mailer": CONSUMER}, "jobz", "jobs"),
        ({"shop": PRODUCER, "mailer": {"consumers": [{"queue": "job"}]}}, "jobs", "job"),
        (
            {
                "shop": {**PRODUCER, "consumers": [{"queue": "jobs", "dead_letter_queue": "jobs-ded"}]},
                "mailer": {"consumers": [{"queue": "jobs-dead"}]},
            },
            "jobs-ded",
            "jobs-dead",
        ),
    ],
    ids=["producer", "consumer", "dead letters"],
)
def test_a_name_that_looks_misspelt_is_told(tmp_path: Path, sections: Any, queue: str, near: str) -> None:
    bench = Bench(tmp_path)
    made = room(bench, **sections)
    made.check({})
    assert f'Queue "{queue}" has no consumer, and into "{near}"' in bench.terminal.getvalue()
    made.close()


def test_a_dead_letter_queue_without_a_consumer_is_nothing_unusual(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    made = room(bench, shop={**PRODUCER, "consumers": [{"queue": "jobs", "dead_letter_queue": "jobs-dead"}]})
    made.check({})
    assert bench.terminal.getvalue() == ""
    made.close()


@pytest.mark.parametrize(
    ("others", "hint"), [({"mailer": {"consumers": [{"queue": "job"}]}}, 'did you mean "job"?'), ({}, "-c a -c b")]
)
def test_the_first_message_for_nobody_says_what_may_help(tmp_path: Path, others: Any, hint: str) -> None:
    bench = Bench(tmp_path)
    made = room(bench, shop=PRODUCER, **others)
    settle(made.bindings("shop")["Q"].send(1))
    assert hint in bench.terminal.getvalue()
    made.close()
