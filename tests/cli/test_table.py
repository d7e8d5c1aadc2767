"""Tables in a box."""

from pyflare.cli.table import table


def test_a_table_is_as_wide_as_its_cells() -> None:
    rows = [{"id": 1, "name": "a\nlong"}, {"id": 22, "name": "表"}]
    assert table(rows) == "\n".join(
        [
            "┌────┬──────┐",
            "│ id │ name │",
            "├────┼──────┤",
            "│ 1  │ a    │",
            "│    │ long │",
            "├────┼──────┤",
            "│ 22 │ 表   │",
            "└────┴──────┘",
        ]
    )
