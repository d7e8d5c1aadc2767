"""The `queues` section: what it means and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.engines.queues.config import Consumer, Producer, QueuesConfig, agree
from pyflare.engines.queues.engine import Queues
from pyflare.errors import ConfigError
from tests.support.rooms import Bench, faults


def parsed(folder: Path, section: Any, **options: Any) -> tuple[QueuesConfig, Diagnostics]:
    config = Bench(folder).config({"queues": section}, **options)
    diagnostics = Diagnostics()
    return Queues.parse(config, diagnostics), diagnostics


def one(folder: Path, **fields: Any) -> Consumer:
    config, diagnostics = parsed(folder, {"consumers": [{"queue": "jobs", **fields}]})
    diagnostics.check()
    return config.consumers[0]


def complaints(folder: Path, section: Any, **options: Any) -> list[str]:
    return faults(Queues, Bench(folder).config({"queues": section}, **options)).faults


@pytest.mark.cloudflare("queues/configuration/batching-retries")
def test_the_defaults_are_those_of_production(tmp_path: Path) -> None:
    consumer = one(tmp_path)
    assert (consumer.max_batch_size, consumer.max_batch_timeout, consumer.max_retries) == (10, 5, 3)


def test_the_document_s_numbers_are_read(tmp_path: Path) -> None:
    fields = {"max_batch_size": 50, "max_retries": 5, "retry_delay": 120, "max_concurrency": 10}
    consumer = one(tmp_path, **fields, max_batch_timeout=5, dead_letter_queue="jobs-dlq")
    assert consumer == Consumer("jobs", "worker", 50, 5, 5, 120, "jobs-dlq", 10)


@pytest.mark.cloudflare("queues/get-started")
@pytest.mark.parametrize(("name", "made"), [
    ("jobs", True), ("J-0", True), ("a" * 63, True), ("a" * 64, False), ("Orders Queue!", False), ("my_queue", False),
    ("-jobs", False), ("jobs-", False),
])  # fmt: skip
def test_a_name_that_cloudflare_makes_no_queue_of_is_warned_of(tmp_path: Path, name: str, made: bool) -> None:
    _, diagnostics = parsed(tmp_path, {"consumers": [{"queue": "x", "dead_letter_queue": name}]})
    assert diagnostics.faults == []
    assert [f'called "{name}"' in warning for warning in diagnostics.warnings] == [] if made else [True]


def test_null_means_the_default(tmp_path: Path) -> None:
    assert one(tmp_path, max_concurrency=None, dead_letter_queue=None) == Consumer("jobs")


def test_a_producer_may_delay_what_it_sends(tmp_path: Path) -> None:
    config, _ = parsed(tmp_path, {"producers": [{"binding": "Q", "queue": "jobs", "delivery_delay": 60}]})
    assert config.producers == (Producer("Q", "jobs", 60),)


def test_every_fault_carries_its_path(tmp_path: Path) -> None:
    section = {
        "producers": [{"queue": "jobs"}, "jobs"],
        "consumers": [
            {"queue": "jobs", "max_batch_size": 101, "max_batch_timeout": "5"},
            {"queue": "more", "max_retries": 2.5, "type": "http"},
        ],
    }
    assert complaints(tmp_path, section) == [
        "queues.producers[0].binding: is missing",
        "queues.producers[1]: must be an object, not a string",
        "queues.consumers[0].max_batch_size: must be between 1 and 100, not 101",
        "queues.consumers[0].max_batch_timeout: must be a number, not a string",
        'queues.consumers[1].type: must be "worker" or "http_pull", not \'http\'',
        "queues.consumers[1].max_retries: must be a whole number, not 2.5",
    ]


def test_a_section_of_the_wrong_type_is_a_fault(tmp_path: Path) -> None:
    assert complaints(tmp_path, ["jobs"]) == ['queues: must be an object with "producers" and "consumers", not a list']


def test_a_dead_letter_queue_may_not_be_the_queue_itself(tmp_path: Path) -> None:
    found = complaints(tmp_path, {"consumers": [{"queue": "jobs", "dead_letter_queue": "jobs"}]})
    assert found == ['queues.consumers[0].dead_letter_queue: Dead letter queue for queue "jobs" cannot be itself']


def test_two_queues_may_be_each_other_s_dead_letters(tmp_path: Path) -> None:
    section = {"consumers": [{"queue": "a", "dead_letter_queue": "b"}, {"queue": "b", "dead_letter_queue": "a"}]}
    config, diagnostics = parsed(tmp_path, section)
    diagnostics.check()
    agree({"w": config})


def test_two_consumers_of_one_queue_are_refused_with_both_workers() -> None:
    configs = {"first": QueuesConfig((), (Consumer("jobs"),)), "second": QueuesConfig((), (Consumer("jobs"),))}
    with pytest.raises(ConfigError, match='Multiple consumers defined for queue "jobs": "first" and "second"'):
        agree(configs)


def test_two_consumers_in_one_worker_are_refused_too() -> None:
    with pytest.raises(ConfigError, match='"first" and "first"'):
        agree({"first": QueuesConfig((), (Consumer("jobs"), Consumer("jobs", "http_pull")))})


def test_pyproject_may_say_what_becomes_of_the_undecided(tmp_path: Path) -> None:
    config, _ = parsed(tmp_path, {}, tool={"queues": {"undecided": "retry", "consumer_timeout": 30}})
    assert (config.undecided, config.consumer_timeout) == ("retry", 30)


def test_wrong_values_in_pyproject_are_faults(tmp_path: Path) -> None:
    assert complaints(tmp_path, {}, tool={"queues": {"undecided": "maybe", "consumer_timeout": 0}}) == [
        'tool.pyflare.queues.undecided: must be "ack" or "retry", not \'maybe\'',
        "tool.pyflare.queues.consumer_timeout: must be between 1 and 900, not 0",
    ]
