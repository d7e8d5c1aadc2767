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


@pytest.mark.parametrize(
    ("command", "group"),
    [
        (["d1", "list"], "d1 has: execute, export, migrations"),
        (["kv", "namespace", "create", "x"], "kv has: bulk, key"),
    ],
)
def test_a_command_of_wranglers_that_a_group_lacks(command: list[str], group: str) -> None:
    result = CliRunner().invoke(main, command, prog_name="pyflare")
    assert result.exit_code == 2
    assert f"No such command '{command[1]}'. pyflare {group}. For what is on Cloudflare use wrangler." in result.stderr


@pytest.mark.parametrize(("typed", "meant"), [("queue", "queues"), ("wokflows", "workflows"), ("chek", "check")])
def test_a_command_that_is_nearly_one_is_guessed(typed: str, meant: str) -> None:
    result = CliRunner().invoke(main, [typed, "list"])
    assert result.exit_code == 2
    assert f"No such command '{typed}'. Did you mean '{meant}'?" in result.stderr


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


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["queues", "list"], "pyflare queues list -c hello.py"),
        (["queues", "peek", "jobs"], "pyflare queues peek -c hello.py"),
        (["check"], "pyflare check hello.py"),
        (["types"], "pyflare types -c hello.py"),
        (["d1", "migrations", "list", "DB"], "pyflare d1 migrations list -c hello.py"),
        (["kv", "key", "list", "--binding", "A"], "pyflare kv key list -c hello.py"),
    ],
)
def test_without_a_configuration_the_hint_fits_the_command(tmp_path: Path, command: list[str], hint: str) -> None:
    (tmp_path / "hello.py").touch()
    result = CliRunner().invoke(main, [*command, "--cwd", str(tmp_path)])
    assert result.exit_code == 1
    assert f"\n      {hint}\n" in result.stderr


def test_a_command_takes_a_folder_for_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w/wrangler.json").write_text('{"name": "w", "main": "hello.py", "compatibility_date": "2026-08-01"}')
    (tmp_path / "w/hello.py").touch()
    result = CliRunner().invoke(main, ["queues", "list", "--cwd", str(tmp_path), "-c", "w"])
    assert (result.exit_code, result.stdout) == (0, "There are no queues.\n")
