"""The command line as a whole."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pyflare.cli import COMMANDS, main


def test_help_lists_every_command() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    assert [name for name in COMMANDS if f"\n  {name} " not in text] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_can_be_imported_and_helps(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None and command.name == name
    assert CliRunner().invoke(main, [name, "--help"]).exit_code == 0


def test_an_unknown_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["deploy"])
    assert result.exit_code == 2
    assert "No such command 'deploy'" in result.output


def test_version_is_said() -> None:
    assert CliRunner().invoke(main, ["--version"]).output.startswith("pyflare, version ")


def test_the_command_line_starts_without_the_heavy_imports() -> None:
    script = "import pyflare.cli.dev, pyflare.config.load, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"asyncio", "rich", "json5", "dotenv", "uvicorn", "starlette", "apsw", "aiohttp", "tomllib", "ssl"}
    assert heavy.isdisjoint(done.stdout.split())


def test_the_package_can_be_run_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pyflare", "check"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: No wrangler.json")
    assert "Traceback" not in done.stderr
