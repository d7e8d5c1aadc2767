from __future__ import annotations

from pyflare.engines.base import BindingRow
from pyflare.front.banner import bindings_table


def test_bindings_are_a_table_with_where_each_lives() -> None:
    table = bindings_table(
        [BindingRow("KV", "KV Namespace", "abc"), BindingRow("JOBS", "Queue", where="not connected")]
    )
    assert table.splitlines() == [
        "Your Worker has access to the following bindings:",
        "Binding        Resource       Mode",
        "env.KV (abc)   KV Namespace   local",
        "env.JOBS       Queue          not connected",
    ]


def test_without_bindings_there_is_no_table() -> None:
    assert bindings_table([]) == ""
