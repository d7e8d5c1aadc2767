"""`pyflare secrets-store secret`: wrangler's commands on the local stores."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyflare.cli import main
from tests.support.dev import Dev, project
from tests.support.project import Project

BOUND = [{"binding": "TOKEN", "store_id": "demo", "secret_name": "API_KEY"}]
SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(await self.env.TOKEN.get())
"""


@pytest.fixture
def site(project: Project) -> Project:
    project.configure(secrets_store_secrets=BOUND)
    return project


def run(site: Project, *args: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["secrets-store", "secret", *args, "--cwd", str(site.root)], input=text)


def create(site: Project, name: str, *args: str, text: str | None = None) -> Result:
    return run(site, "create", "demo", "--name", name, "--scopes", "workers", *args, text=text)


def id_of(result: Result) -> str:
    found = re.search(r"Created secret! \(ID: (\w{32})\)", result.stdout)
    assert found is not None, result.output
    return found[1]


def test_create_shows_what_it_made_and_not_its_value(site: Project) -> None:
    made = create(site, "API_KEY", "--value", "s3cret", "--comment", "mine")
    assert "🔐 Creating secret... (Name: API_KEY, Value: REDACTED, Scopes: workers, Comment: mine)" in made.stdout
    assert "s3cret" not in made.stdout
    row = re.search(r"│ API_KEY │ (\w{32}) │ demo    │ mine    │ workers │ pending │", made.stdout)
    assert row is not None and row[1] == id_of(made)


def test_a_value_comes_from_the_standard_input(site: Project) -> None:
    kept = id_of(create(site, "API_KEY", text="from a pipe\n"))
    assert "API_KEY" in run(site, "get", "demo", "--secret-id", kept).stdout


def test_a_secret_needs_a_value(site: Project) -> None:
    assert "Need to pass in a value when creating a secret." in create(site, "API_KEY", text=" \n").stderr


def test_a_value_has_its_limit(site: Project) -> None:
    refused = create(site, "API_KEY", "--value", "x" * 65_537)
    assert "Secret value cannot exceed 65536 bytes (got 65537)." in refused.stderr


def test_a_name_has_its_letters(site: Project) -> None:
    assert "may only contain alphanumeric characters" in create(site, "a b", "--value", "x").stderr


def test_secrets_are_listed_updated_duplicated_and_deleted(site: Project) -> None:
    kept = id_of(create(site, "API_KEY", "--value", "1"))
    assert f"✅ Updated secret! (ID: {kept})" in run(site, "update", "demo", "--secret-id", kept, "--value", "2").stdout
    twice = run(site, "duplicate", "demo", "--secret-id", kept, "--name", "COPY", "--scopes", "workers")
    assert "✅ Duplicated secret!" in twice.stdout
    assert f"✅ Deleted secret! (ID: {kept})" in run(site, "delete", "demo", "--secret-id", kept).stdout
    shown = run(site, "list", "demo").stdout
    assert "COPY" in shown and "API_KEY" not in shown


def test_an_empty_store_and_an_unknown_id_are_errors(site: Project) -> None:
    empty = run(site, "list", "demo")
    assert (empty.exit_code, empty.stderr) == (1, "error: List request returned no secrets.\n")
    assert run(site, "get", "demo", "--secret-id", "x").stderr == "error: Secret not found\n"


def test_an_update_without_anything_new(site: Project) -> None:
    refused = run(site, "update", "demo", "--secret-id", "x")
    assert "Need to pass in a new field using `--value`, `--scopes`, or `--comment`" in refused.stderr


def test_nothing_is_done_on_an_account(site: Project) -> None:
    assert "use the same command of wrangler" in run(site, "list", "demo", "--remote").stderr


def test_a_running_server_is_asked(tmp_path: Path) -> None:
    folder = project(tmp_path, SOURCE, secrets_store_secrets=BOUND)
    with Dev(folder) as dev:
        made = create_there(folder)
        assert made.exit_code == 0, made.output
        assert dev.get("/") == (200, "live")
        listed = CliRunner().invoke(main, ["secrets-store", "secret", "list", "demo", "--cwd", str(folder)])
        assert id_of(made) in listed.stdout


def create_there(folder: Path) -> Result:
    given = ["--name", "API_KEY", "--scopes", "workers", "--value", "live", "--cwd", str(folder)]
    return CliRunner().invoke(main, ["secrets-store", "secret", "create", "demo", *given])
