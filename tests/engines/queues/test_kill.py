"""A killed process loses nothing: a child sends, delivers and acknowledges, and says so; SIGKILL ends it anywhere."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from pyflare.engines.queues.store import Store

ROUNDS = int(os.environ.get("PYFLARE_KILL_ROUNDS", "5"))

CHILD = """
import itertools, sys
from pyflare.engines.queues.rows import Draft, Fate
from pyflare.engines.queues.store import Store

store = Store(sys.argv[1])
fate = Fate(max_retries=100)
for turn in itertools.count(int(sys.argv[2])):
    ids = [f"{turn}-{n}" for n in range(3)]
    store.send("q", [Draft(id, "text", b"x" * 50, 0) for id in ids], float(turn))
    print("sent", *ids, flush=True)
    rows = store.take("q", 4, fate, turn, float(turn)).rows
    half = len(rows) // 2
    print("trying", *[row.id for row in rows[:half]], flush=True)
    store.settle("q", turn, rows[:half], [(row, 0.0) for row in rows[half:]], fate, float(turn))
    print("acked", *[row.id for row in rows[:half]], flush=True)
"""


def test_what_was_accepted_is_there_and_what_was_acknowledged_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "queues.sqlite"
    said: dict[str, set[str]] = {"sent": set(), "trying": set(), "acked": set()}
    chance = random.Random(7)
    for round in range(ROUNDS):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(file), str(1 + round * 100_000)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(chance.randrange(1, 40))]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.read().splitlines()
        child.wait()
        child.stdout.close()
        for line in lines:
            word, *ids = line.split()
            said[word].update(ids)
        store = Store(file)
        store.recover(1e9)
        kept = {message.id for message in store.messages("q", 1e9, limit=-1)}
        store.close()
        assert said["sent"] - said["trying"] <= kept
        assert not said["acked"] & kept
