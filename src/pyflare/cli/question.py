"""What is asked of a person before a command goes on, as wrangler asks it."""

from __future__ import annotations

import os
import sys

import click


def confirmed(question: str) -> bool:
    """What a person says; anything else says yes."""
    if os.environ.get("CI") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(f"? {question}")
        click.echo("🤖 Using fallback value in non-interactive context: yes")
        return True
    return click.confirm(question, default=True)
