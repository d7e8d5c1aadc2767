"""Which name of a queue looks misspelt: only all configurations together show that."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from pyflare.engines.queues.config import QueuesConfig

ALIKE = 0.75  # of `difflib`: one letter of four may be wrong


def misspelt(configs: Collection[QueuesConfig]) -> Mapping[str, str]:
    """queue that nobody consumes -> the consumed one of nearly that name into which nothing goes."""
    consumers = [consumer for config in configs for consumer in config.consumers]
    fed = {producer.queue for config in configs for producer in config.producers}
    fed |= {consumer.dead_letter_queue for consumer in consumers if consumer.dead_letter_queue}
    consumed = {consumer.queue for consumer in consumers}
    starved = sorted(consumed - fed)
    near = {queue: difflib.get_close_matches(queue, starved, 1, ALIKE) for queue in sorted(fed - consumed)}
    return {queue: found[0] for queue, found in near.items() if found}
