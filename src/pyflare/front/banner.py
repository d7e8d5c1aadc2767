"""What the terminal shows when a server starts."""

from __future__ import annotations

from collections.abc import Sequence

from pyflare.engines.base import BindingRow


def bindings_table(rows: Sequence[BindingRow]) -> str:
    """`env.NAME (resource)`, its kind and where it lives; empty without bindings."""
    if not rows:
        return ""
    cells = [("Binding", "Resource", "Mode")]
    for row in rows:
        resource = f" ({row.resource})" if row.resource else ""
        cells.append((f"env.{row.name}{resource}", row.kind, row.where))
    widths = [max(len(line[column]) for line in cells) for column in range(2)]
    lines = [f"{line[0]:<{widths[0]}}   {line[1]:<{widths[1]}}   {line[2]}".rstrip() for line in cells]
    return "\n".join(["Your Worker has access to the following bindings:", *lines, ""])
