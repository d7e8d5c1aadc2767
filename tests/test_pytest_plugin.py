"""The plugin, as a project uses it: pytest in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WORKER = """
from workers import Response, WorkerEntrypoint

ticks = 0


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/ticks"):
            return Response(str(ticks))
        found = await self.env.DB.prepare("SELECT name FROM people").all()
        return Response.json([row.name for row in found.results])

    async def scheduled(self, controller, env, ctx):
        global ticks
        ticks += 1
"""
CONFIGURATION = """
name = "w"
main = "entry.py"
compatibility_date = "2026-08-01"
compatibility_flags = ["python_workers"]
d1_databases = [{binding = "DB", database_name = "people", database_id = "x"}]
triggers = {crons = ["* * * * *"]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "entry.py").write_text(WORKER)
    (tmp_path / "wrangler.toml").write_text(CONFIGURATION)
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations/0001_people.sql").write_text("CREATE TABLE people (name TEXT);")
    (tmp_path / "migrations/0002_ada.sql").write_text("INSERT INTO people VALUES ('Ada');")
    return tmp_path


def ran(project: Path, test: str, *flags: str) -> str:
    """What pytest says of a module with `test`."""
    (project / "test_it.py").write_text(f"import pytest\n\n{test}\n")
    # without the summary, which is longer where the variable CI is set
    command = [sys.executable, "-m", "pytest", "-q", "-rN", "--color=no", "-p", "no:cacheprovider", *flags]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False).stdout


def test_migrations_are_applied_on_request(project: Path) -> None:
    test = """
@pytest.mark.pyflare(".", migrations=True)
async def test_people(worker):
    assert (await worker.fetch("/")).json() == ["Ada"]
    assert await worker.migrate() == []


@pytest.mark.pyflare(".")
async def test_by_hand(worker):
    assert await worker.migrate("people") == ["0001_people.sql", "0002_ada.sql"]
    assert (await worker.fetch("/")).json() == ["Ada"]
"""
    assert "2 passed" in ran(project, test)


def test_crons_fire_on_request(project: Path) -> None:
    test = """
@pytest.mark.pyflare(".", cron=True)
async def test_with(worker):
    await worker.advance(180)
    assert (await worker.fetch("/ticks")).text == "3"


@pytest.mark.pyflare(".")
async def test_without(worker):
    await worker.advance(180)
    assert (await worker.fetch("/ticks")).text == "0"
"""
    assert "2 passed" in ran(project, test)


def test_a_synchronous_test_is_told_to_be_async(project: Path) -> None:
    said = ran(project, '@pytest.mark.pyflare(".")\ndef test_sync(worker):\n    worker.fetch("/")')
    assert "test_sync uses `worker`: make the test async (`async def test_sync`)" in said
    assert "1 failed" in said


def test_a_failure_shows_the_test_and_the_worker_alone(project: Path) -> None:
    test = '@pytest.mark.pyflare(".")\nasync def test_it(worker):\n    await worker.fetch("/")'
    said = ran(project, test)
    places = [line.split(":")[0] for line in said.splitlines() if ".py:" in line and "::" not in line]
    assert places == ["test_it.py", "entry.py"]
    assert "no such table: people" in said
    assert "src/pyflare" in ran(project, test, "--full-trace")


def test_a_failing_assertion_keeps_its_line(project: Path) -> None:
    said = ran(project, '@pytest.mark.pyflare(".")\nasync def test_it(worker):\n    n = 1\n    assert n == 2')
    assert "test_it.py:6: AssertionError" in said
    assert "assert 1 == 2" in said


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ('("nofolder")', "@pytest.mark.pyflare: nofolder is not in /"),
        ('(".", migration=True)', "@pytest.mark.pyflare has no migration; it takes state, clock, vars, secrets,"),
        (None, "the fixture `worker` needs a marker"),
    ],
)
def test_a_wrong_marker_is_told_in_a_line(project: Path, marker: str | None, said: str) -> None:
    marked = f"@pytest.mark.pyflare{marker}\n" if marker else ""
    shown = ran(project, f"{marked}async def test_it(worker):\n    pass").splitlines()
    assert any(line.startswith(said) for line in shown)
    assert len(shown) < 10


def test_code_that_cannot_be_imported_is_shown_with_its_lines_alone(project: Path) -> None:
    (project / "entry.py").write_text("import nothing_of_that_name\n")
    shown = ran(project, '@pytest.mark.pyflare(".")\nasync def test_it(worker):\n    pass')
    assert "ModuleNotFoundError: No module named 'nothing_of_that_name'" in shown
    assert [line for line in shown.splitlines() if line.startswith(("  File", "src/", "/"))] == [
        f'  File "{project}/entry.py", line 1, in <module>'
    ]


def test_a_failure_shows_what_the_server_has_said(project: Path) -> None:
    (project / "entry.py").write_text(WORKER.replace("ticks += 1", "raise ValueError('no tick')"))
    test = """
@pytest.mark.pyflare(".", cron=True)
async def test_it(worker):
    await worker.advance(60)
    assert (await worker.fetch("/ticks")).text == "1"
"""
    said = ran(project, test)
    assert "terminal of pyflare" in said
    assert "ValueError: no tick" in said
