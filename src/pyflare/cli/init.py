"""`pyflare init NAME`: a worker to begin with, which serves here and deploys with `pywrangler deploy`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from pathlib import Path

import click

from pyflare.clock import SystemClock
from pyflare.errors import ConfigError

CONFIGURATION = """\
{{
  "name": "{name}",
  "main": "src/entry.py",
  "compatibility_date": "{date}",
  "compatibility_flags": ["python_workers"]
}}
"""

ENTRY = """\
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("Hello from {name}!\\n")
"""

TEST = """\
import pytest

pytestmark = pytest.mark.pyflare(".")


async def test_it_greets(worker):
    assert (await worker.fetch("/")).text == "Hello from {name}!\\n"
"""

# pywrangler deploys `dependencies`; the group is for the developer. Only names that the index has stand in it.
PYPROJECT = """\
[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = []

# For the tests pyflare is needed too. It is not on the package index yet: install it from its checkout, with
#     pip install -e PATH/TO/pyflare
[dependency-groups]
dev = ["pytest>=8.3", "workers-py", "workers-runtime-sdk"]

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

GITIGNORE = """\
.wrangler/
.dev.vars*
.env*
.venv*/
__pycache__/
node_modules/
python_modules/
"""

FILES: Mapping[str, str] = {
    "wrangler.jsonc": CONFIGURATION,
    "src/entry.py": ENTRY,
    "tests/test_entry.py": TEST,
    "pyproject.toml": PYPROJECT,
    ".gitignore": GITIGNORE,
}


@click.command()
@click.argument("name")
def init(name: str) -> None:
    """Make the folder NAME with a new worker in it; nothing that exists is overwritten."""
    folder = Path(name)
    worker = folder.resolve().name
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", worker):
        raise ConfigError(f'"{worker}" cannot be a worker\'s name: use lower-case letters, digits and dashes')
    existing = [file for file in FILES if (folder / file).exists()]
    if existing:
        raise ConfigError(f"{folder} already has {', '.join(existing)}; nothing was written")
    today = datetime.datetime.fromtimestamp(SystemClock().now(), datetime.UTC).date()
    for file, text in FILES.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(name=worker, date=today), encoding="utf-8")
    click.echo(f"Made {worker}. Serve it, and test it, with\n    cd {folder} && pyflare dev\n    cd {folder} && pytest")
