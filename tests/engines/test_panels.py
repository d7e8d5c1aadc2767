"""What every room offers to the dashboard and to commands."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from pyflare import engines
from tests.support.rooms import Bench


@pytest.mark.parametrize("name", engines.ENGINES)
def test_an_action_can_be_called_with_its_fields(tmp_path: Path, name: str) -> None:
    room = Bench(tmp_path).open(engines.load(name), {})
    for action in room.panel().actions.values():
        inspect.signature(action.run).bind(**dict.fromkeys(action.fields))
    room.close()
