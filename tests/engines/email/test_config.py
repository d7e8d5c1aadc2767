"""`send_email` of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyflare.engines.email.engine import Email
from tests.support.rooms import Bench, faults


@pytest.mark.cloudflare("workers-sdk: workers-utils/src/config/validation.ts")
def test_one_destination_and_a_list_of_them_exclude_each_other(tmp_path: Path) -> None:
    entry = {"name": "EMAIL", "destination_address": "a@b.test", "allowed_destination_addresses": ["a@b.test"]}
    assert faults(Email, Bench(tmp_path).config({"send_email": [entry]})).faults == [
        'send_email[0]: bindings should have either a "destination_address" or "allowed_destination_addresses" field, '
        "but not both."
    ]
