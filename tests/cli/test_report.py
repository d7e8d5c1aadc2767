"""What commands on data say of the configuration."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner, Result

from pyflare.cli import main
from tests.support.project import Project

SECTIONS: dict[str, Any] = {
    "kv_namespaces": [{"binding": "NOTES", "id": "notes"}],
    "r2_buckets": [{"binding": "FILES", "bucket_name": "files"}],
    "d1_databases": [{"binding": "DB", "database_name": "db", "database_id": "db"}],
}
COMMANDS = pytest.mark.parametrize(
    "command",
    ["kv key list --binding NOTES", "r2 object put files/a --pipe", "d1 execute DB --command=select", "types"],
)


def staged(project: Project, command: str) -> Result:
    words = [*command.split(), "--cwd", str(project.root), "-e", "staging"]
    return CliRunner().invoke(main, words, input="text")


@COMMANDS
def test_an_environment_that_is_not_there_is_told(project: Project, command: str) -> None:
    project.configure(**SECTIONS)
    result = staged(project, command)
    assert result.stderr.startswith(
        'warning: wrangler.jsonc: No environment found in configuration with name "staging".\n'
    )


@COMMANDS
def test_where_there_are_others_it_is_an_error(project: Project, command: str) -> None:
    project.configure(**SECTIONS, env={"live": {}})
    result = staged(project, command)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith('The available configured environment names are: ["live"]\n')


@COMMANDS
def test_one_that_is_there_is_no_news(project: Project, command: str) -> None:
    project.configure(**SECTIONS, env={"staging": SECTIONS})
    assert "environment" not in staged(project, command).stderr
