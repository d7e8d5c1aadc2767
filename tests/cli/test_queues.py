"""`pyflare queues` and `pyflare trigger`: on the files while no server runs, else through the server."""

from __future__ import annotations

import datetime
import io
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pyflare.cli import local_api, main
from pyflare.storage.lock import Holder, StateLock
from tests.support.project import Project

QUEUES = {
    "producers": [{"binding": "JOBS", "queue": "jobs"}],
    "consumers": [{"queue": "jobs", "max_retries": 0, "dead_letter_queue": "dead"}],
}


@pytest.fixture
def site(project: Project) -> Project:
    project.configure(queues=QUEUES, triggers={"crons": ["0 1 * * *"]})
    return project


def run(project: Project, *args: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, [*args, "--cwd", str(project.root)], input=text)


def queues(project: Project, *args: str, text: str | None = None) -> Result:
    return run(project, "queues", *args, text=text)


def bodies(project: Project, queue: str = "jobs", *filters: str) -> list[str]:
    found = json.loads(queues(project, "messages", queue, "--json", *filters).stdout)
    return [message["preview"] for message in found]


# --- on the files -------------------------------------------------------------------------------------------------


def test_a_queue_gets_a_delay_of_its_own(site: Project) -> None:
    assert queues(site, "update", "jobs", "--delivery-delay-secs", "60").stdout == "Updated queue jobs.\n"
    queues(site, "send", "jobs", "1")
    queues(site, "send", "jobs", "2", "--delay", "0")
    assert bodies(site, "jobs", "--state", "delayed") == ["1"]


def test_a_queue_may_keep_messages_for_longer_or_shorter(site: Project) -> None:
    assert queues(site, "update", "jobs", "--message-retention-period-secs", "3600").exit_code == 0
    (jobs,) = [one for one in json.loads(queues(site, "list", "--json").stdout) if one["queue_name"] == "jobs"]
    assert jobs["settings"]["message_retention_period"] == 3600
    assert jobs["settings"]["delivery_delay"] == 0
    refused = queues(site, "update", "jobs")
    assert refused.exit_code == 2 and "Nothing to change" in refused.stderr


def test_a_message_that_is_sent_can_be_peeked_at(site: Project) -> None:
    sent = queues(site, "send", "jobs", '{"n": 1}')
    assert sent.exit_code == 0 and sent.stdout.startswith("Sent ")
    assert '{"n":1}' in queues(site, "peek", "jobs").stdout


def test_text_needs_its_type_or_its_quotes(site: Project) -> None:
    refused = queues(site, "send", "jobs", "hello")
    assert refused.exit_code == 1 and "a text needs its quotes" in refused.stderr
    queues(site, "send", "jobs", "hello", "--type", "text")
    assert bodies(site) == ["hello"]


def test_messages_can_be_filtered(site: Project) -> None:
    queues(site, "send", "jobs", "1")
    queues(site, "send", "jobs", "2", "--delay", "60")
    assert bodies(site, "jobs", "--state", "delayed") == ["2"]
    assert bodies(site, "jobs", "--contains", "1") == ["1"]


def test_messages_show_their_state_and_when_they_are_due(site: Project) -> None:
    queues(site, "send", "jobs", "1")
    queues(site, "send", "jobs", "2", "--delay", "3600")
    found = json.loads(queues(site, "messages", "jobs", "--json").stdout)
    assert [message["state"] for message in found] == ["ready", "delayed"]
    due = datetime.datetime.fromtimestamp(found[1]["due_ms"] / 1000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
    for command in ("messages", "peek"):
        assert f"delayed │ {due}" in queues(site, command, "jobs").stdout


def test_the_list_counts_delayed_messages_apart(site: Project) -> None:
    queues(site, "send", "jobs", "1")
    queues(site, "send", "jobs", "2", "--delay", "3600")
    queues(site, "send", "jobs", "3", "--delay", "3600")
    heads, _, *rows = [line for line in queues(site, "list").stdout.splitlines() if "│" in line or "├" in line]
    (jobs,) = [row for row in rows if " jobs " in row]
    cells = dict(zip(_cells(heads), _cells(jobs), strict=True))
    assert (cells["ready"], cells["delayed"]) == ("1", "2")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_the_list_names_every_queue_of_the_configuration(site: Project) -> None:
    shown = queues(site, "list").stdout
    assert "jobs" in shown and "dead" in shown
    found = json.loads(queues(site, "list", "--json").stdout)
    assert [queue["queue_name"] for queue in found] == ["dead", "jobs"]


def test_pausing_lasts_until_resumed(site: Project) -> None:
    assert queues(site, "pause", "jobs").stdout == "Paused message delivery for queue jobs.\n"
    assert "paused" in queues(site, "list").stdout
    assert queues(site, "resume-delivery", "jobs").exit_code == 0
    assert "paused" not in queues(site, "list").stdout


def test_a_purge_asks_for_the_name(site: Project) -> None:
    queues(site, "send", "jobs", "1")
    assert queues(site, "purge", "jobs", text="job\n").exit_code == 1
    assert bodies(site) == ["1"]
    assert queues(site, "purge", "jobs", text="jobs\n").stdout.endswith("Purged queue 'jobs' (1 messages)\n")
    assert bodies(site) == []


def test_a_purge_may_be_forced(site: Project) -> None:
    queues(site, "send", "jobs", "1")
    assert queues(site, "purge", "jobs", "--force").exit_code == 0
    assert bodies(site) == []


def test_delayed_messages_can_be_made_due(site: Project) -> None:
    queues(site, "send", "jobs", "1", "--delay", "60")
    assert queues(site, "retry", "jobs").stdout == "1 message(s) are due now\n"


def test_messages_can_be_moved_to_another_queue(site: Project) -> None:
    queues(site, "send", "dead", "1")
    assert queues(site, "redrive", "dead").stdout == "There was nothing to move.\n"
    assert queues(site, "redrive", "dead", "--to", "jobs").stdout == "Moved 1 message(s) to jobs\n"
    assert bodies(site) == ["1"]


def test_an_unknown_queue_is_one_line(site: Project) -> None:
    result = queues(site, "peek", "job")
    assert result.exit_code == 1
    assert result.stderr == 'error: Queue "job" does not exist; there are: dead, jobs\n'


@pytest.mark.parametrize("command", [["retry", "jobs", "none"], ["redrive", "jobs", "--id", "none"]])
def test_a_message_that_is_not_there_is_an_error(site: Project, command: list[str]) -> None:
    result = queues(site, *command)
    assert (result.exit_code, result.stderr) == (1, 'error: Queue "jobs" has no message "none"\n')


def test_the_list_counts_what_expired(site: Project) -> None:
    assert " expired " in queues(site, "list").stdout


def test_the_state_may_lie_elsewhere(site: Project, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    queues(site, "send", "jobs", "1", "--persist-to", elsewhere)
    assert bodies(site) == []
    assert (tmp_path / "elsewhere/v3/pyflare/queues.sqlite").exists()


def test_a_faulty_configuration_is_refused(project: Project) -> None:
    project.configure(queues={"consumers": [{"queue": "jobs", "max_retries": 101}]})
    result = queues(project, "list")
    assert result.exit_code == 1
    assert "queues.consumers[0].max_retries: must be between 0 and 100, not 101" in result.stderr


# --- through the server -------------------------------------------------------------------------------------------

Answer = Callable[[dict[str, Any]], Any]


@pytest.fixture
def server(site: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """Someone holds the state folder; what it is asked. It answers with `site.answer`."""
    lock = StateLock.take(site.root / ".wrangler/state/v3")
    lock.announce(Holder(os.getpid(), 8799, "http://localhost:8799", "secret"))
    asked: list[dict[str, Any]] = []

    def open_url(request: urllib.request.Request) -> Any:
        assert request.full_url == "http://localhost:8799/cdn-cgi/pyflare/do"
        assert request.get_header("Authorization") == "Bearer secret"
        asked.append(json.loads(request.data or b""))  # type: ignore[arg-type]
        answer = ANSWERS[asked[-1]["action"]]
        if isinstance(answer, Exception):
            raise answer
        return io.BytesIO(json.dumps({"result": answer}).encode())

    monkeypatch.setattr(local_api, "open_url", open_url)
    yield asked
    lock.release()


FAILED = {
    "worker": "site", "outcome": "exception", "noRetry": True, "error": "ValueError: no",
    "configured": ["0 1 * * *"], "fault": None,
}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "purge": {"purged": 3},
    "pause": urllib.error.HTTPError("", 400, "", None, io.BytesIO(b'{"error": "No such queue"}')),  # type: ignore[arg-type]
    "resume": OSError("refused"),
    "trigger": FAILED,
}


def test_a_running_server_is_asked(site: Project, server: list[dict[str, Any]]) -> None:
    assert queues(site, "purge", "jobs", "-f").stdout == "Purged queue 'jobs' (3 messages)\n"
    assert server == [{"room": "queues", "action": "purge", "fields": {"queue": "jobs"}}]


def test_what_the_server_says_against_it_is_one_line(site: Project, server: list[dict[str, Any]]) -> None:
    assert queues(site, "pause", "jobs").stderr == "error: No such queue\n"


def test_a_server_that_does_not_answer_is_named(site: Project, server: list[dict[str, Any]]) -> None:
    text = f"error: The server at http://localhost:8799 (pid {os.getpid()}) does not answer: refused\n"
    assert queues(site, "resume", "jobs").stderr == text


def test_a_cron_that_fails_exits_with_1_and_its_traceback(site: Project, server: list[dict[str, Any]]) -> None:
    result = run(site, "trigger", "cron", "5 5 * * *", "--time", "1700000000000")
    assert (result.exit_code, result.stdout) == (1, "exception, noRetry\n")
    assert '"5 5 * * *" is not among the configured crons ("0 1 * * *"); the handler ran all the same' in result.stderr
    assert "The scheduled handler of site failed:\nValueError: no" in result.stderr
    assert server[0]["fields"] == {"cron": "5 5 * * *", "worker": None, "time_ms": 1_700_000_000_000}


def test_what_is_no_cron_expression_is_told_so(
    site: Project, server: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = {"outcome": "ok", "noRetry": False, "error": None, "configured": [], "fault": "five fields"}
    monkeypatch.setitem(ANSWERS, "trigger", done)
    result = run(site, "trigger", "cron", "bad")
    assert (result.exit_code, result.stdout) == (0, "ok\n")
    assert result.stderr == '"bad" is no cron expression: five fields; the handler ran all the same\n'


def test_in_the_folder_of_a_second_worker_its_own_handler_is_meant(
    site: Project, server: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    second = Project(tmp_path_factory.mktemp("second"))
    second.configure(name="second")
    own, held = second.root / ".wrangler/state/v3", site.root / ".wrangler/state/v3"
    StateLock(held / "pyflare", -1).announce(Holder(os.getpid(), 8799, "http://localhost:8799", "secret", [str(own)]))
    run(second, "trigger", "cron", "0 1 * * *")
    run(second, "trigger", "cron", "0 1 * * *", "--worker", "site")
    assert [asked["fields"]["worker"] for asked in server] == ["second", "site"]


def test_a_cron_needs_a_running_server(site: Project) -> None:
    result = run(site, "trigger", "cron", "0 1 * * *")
    assert result.exit_code == 1
    assert 'start "pyflare dev" first' in result.stderr
