"""Cloudflare's REST paths, as the front calls them."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.queues.rows import Draft
from pyflare.engines.queues.shapes import hex_id
from tests.engines.queues.bench import Broker, broker
from tests.support.rooms import NOW

SECTION = {
    "producers": [{"binding": "Q", "queue": "jobs"}],
    "consumers": [
        {
            "queue": "jobs", "type": "http_pull", "visibility_timeout_ms": 5000,
            "max_retries": 1, "dead_letter_queue": "dead",
        },
        {"queue": "pushed"},
    ],
}  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Broker]:
    made = broker(tmp_path, section=SECTION)
    yield made
    made.room.close()


def ask(made: Broker, method: str, path: str, request: Any = None) -> tuple[int, Any]:
    """Status and JSON of a path below the account; a query string is handed on as parameters."""
    path, _, query = f"/accounts/any/queues{path}".partition("?")
    for verb, template, handler in made.room.routes():
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template)
        match = re.fullmatch(pattern, path)
        if verb == method and match is not None:
            params = {**match.groupdict(), **dict(pair.split("=") for pair in query.split("&") if pair)}

            async def call() -> tuple[int, Any]:
                return await handler(request, params)  # noqa: B023

            status, answer = asyncio.run(call())
            json.dumps(answer)
            return status, answer
    raise AssertionError(f"no route for {method} {path}")


def pull(made: Broker, **request: Any) -> list[dict[str, Any]]:
    status, answer = ask(made, "POST", "/jobs/messages/pull", request)
    assert status == 200 and answer["success"]
    messages: list[dict[str, Any]] = answer["result"]["messages"]
    return messages


def ack(made: Broker, acks: list[str] | None = None, retries: list[dict[str, Any]] | None = None) -> Any:
    request = {"acks": [{"lease_id": lease} for lease in acks or []], "retries": retries or []}
    return ask(made, "POST", "/jobs/messages/ack", request)[1]["result"]


@pytest.mark.cloudflare("queues/configuration/pull-consumers")
def test_a_pulled_message_has_the_fields_of_the_page(made: Broker) -> None:
    made.send({"n": 1})
    (message,) = pull(made)
    assert base64.b64decode(message.pop("body")) == b'{"n":1}'
    assert message.pop("lease_id")
    assert message == {
        "id": f"{1:032x}",
        "timestamp_ms": NOW * 1000,
        "attempts": 1,
        "metadata": {"CF-Content-Type": "json", "CF-sourceMessageSource": "worker"},
    }


def test_text_is_pulled_as_it_is(made: Broker) -> None:
    made.send("héllo", contentType="text")
    assert pull(made)[0]["body"] == "héllo"


def test_five_messages_are_pulled_unless_asked_otherwise(made: Broker) -> None:
    made.send(*range(8))
    assert (len(pull(made)), len(pull(made, batch_size=2)), len(pull(made))) == (5, 2, 1)


def test_the_backlog_counts_what_is_not_acknowledged(made: Broker) -> None:
    made.send(1, 2, 3)
    _, answer = ask(made, "POST", "/jobs/messages/pull", {"batch_size": 1})
    assert answer["result"]["message_backlog_count"] == 3


def test_an_acknowledged_message_is_gone(made: Broker) -> None:
    made.send(1)
    (message,) = pull(made)
    assert ack(made, [message["lease_id"]]) == {"ackCount": 1, "retryCount": 0, "warnings": {}}
    made.clock.advance(60)
    assert pull(made) == []


def test_an_unacknowledged_message_comes_again_after_the_visibility_time_out(made: Broker) -> None:
    made.send(1)
    pull(made)
    made.clock.advance(4.9)
    assert pull(made) == []
    made.clock.advance(0.2)
    overview = made.room.overview("jobs")
    assert (overview.tally.waiting, overview.tally.leased) == (1, 0)
    assert pull(made)[0]["attempts"] == 2


def test_the_client_may_set_the_visibility_time_out(made: Broker) -> None:
    made.send(1)
    pull(made, visibility_timeout_ms=60_000)
    made.clock.advance(59)
    assert pull(made) == []
    made.clock.advance(2)
    assert len(pull(made)) == 1


@pytest.mark.cloudflare("queues/configuration/pull-consumers")
def test_a_late_acknowledgement_is_still_taken(made: Broker) -> None:
    made.send(1)
    (message,) = pull(made)
    made.clock.advance(6)
    pull(made)
    assert ack(made, [message["lease_id"]])["ackCount"] == 1
    assert made.room.messages("jobs") == []


def test_a_retried_message_comes_after_its_delay(made: Broker) -> None:
    made.send(1)
    (message,) = pull(made)
    assert ack(made, retries=[{"lease_id": message["lease_id"], "delay_seconds": 10}])["retryCount"] == 1
    made.clock.advance(9)
    assert pull(made) == []
    made.clock.advance(2)
    assert pull(made)[0]["attempts"] == 2


def test_leases_survive_a_restart(made: Broker) -> None:
    made.send(1)
    (message,) = pull(made)
    made.room.close()
    made.open()
    assert pull(made) == []
    assert ack(made, [message["lease_id"]])["ackCount"] == 1


def test_a_message_out_of_retries_goes_to_the_dead_letters_when_its_last_lease_lapses(made: Broker) -> None:
    async def scene() -> None:
        made.send(1)
        for _ in range(2):
            assert len(made.room.pull("jobs", 5)) == 1
            await made.advance(6)

    asyncio.run(scene())
    assert [message.origin for message in made.room.messages("dead")] == ["jobs"]


def test_a_lease_that_is_none_warns(made: Broker) -> None:
    answer = ack(made, ["bm9uc2Vuc2U=", "x"])
    assert (answer["ackCount"], list(answer["warnings"])) == (0, ["bm9uc2Vuc2U=", "x"])


@pytest.mark.cloudflare("queues/configuration/pause-purge")
def test_a_paused_queue_refuses_to_be_pulled(made: Broker) -> None:
    made.send(1)
    ask(made, "PATCH", "/jobs", {"settings": {"delivery_paused": True}})
    status, answer = ask(made, "POST", "/jobs/messages/pull", {})
    assert (status, answer["errors"][0]["message"]) == (409, "queue_delivery_paused")
    ask(made, "PATCH", "/jobs", {"settings": {"delivery_paused": False}})
    assert len(pull(made)) == 1


def test_a_queue_of_a_worker_cannot_be_pulled(made: Broker) -> None:
    status, answer = ask(made, "POST", "/pushed/messages/pull", {})
    assert (status, answer["success"]) == (405, False)
    assert "http_pull" in answer["errors"][0]["message"]


def test_a_queue_answers_to_its_name_and_to_its_id(made: Broker) -> None:
    assert ask(made, "GET", f"/{hex_id('jobs')}")[1]["result"]["queue_name"] == "jobs"
    assert ask(made, "GET", "/jobs")[1]["result"]["queue_id"] == hex_id("jobs")


def test_an_unknown_queue_is_not_found_and_the_known_ones_are_named(made: Broker) -> None:
    status, answer = ask(made, "GET", "/job")
    assert (status, answer["errors"][0]["code"]) == (404, 10104)
    assert "dead, jobs, pushed" in answer["errors"][0]["message"]


def test_the_list_shows_consumers_with_their_settings(made: Broker) -> None:
    _, answer = ask(made, "GET", "")
    found = {queue["queue_name"]: queue for queue in answer["result"]}
    assert list(found) == ["dead", "jobs", "pushed"]
    assert found["pushed"]["consumers"][0]["settings"]["max_wait_time_ms"] == 5000
    assert found["jobs"]["consumers"][0]["type"] == "http_pull"
    assert found["dead"]["consumers"] == []


def test_messages_can_be_pushed(made: Broker) -> None:
    status, answer = ask(made, "POST", "/jobs/messages", {"body": {"a": "é"}})
    assert status == 200 and answer["result"]["metadata"]["metrics"]["backlog_count"] == 1
    ask(made, "POST", "/jobs/messages", {"body": "plain", "content_type": "text", "delay_seconds": 9})
    batch = [{"body": "AP8=", "content_type": "bytes"}, {"body": None, "delay_seconds": 0}]
    ask(made, "POST", "/jobs/messages/batch", {"messages": batch, "delay_seconds": 5})
    found = [(m.content_type, m.body, m.due_at - NOW) for m in made.room.messages("jobs")]
    assert found == [
        ("json", '{"a":"é"}'.encode(), 0), ("text", b"plain", 9), ("bytes", b"\x00\xff", 5), ("json", b"null", 0),
    ]  # fmt: skip


@pytest.mark.cloudflare("queues/reference/error-codes")
@pytest.mark.parametrize(
    ("path", "request_", "code"),
    [
        ("/jobs/messages", {"body": "x" * 128_001, "content_type": "text"}, 10204),
        ("/jobs/messages", {"body": 1, "content_type": "text"}, 10207),
        ("/jobs/messages", {"body": 1, "content_type": "xml"}, 10203),
        ("/jobs/messages", {"body": 1, "delay_seconds": 86_401}, 10203),
        ("/jobs/messages", [1], 10207),
        ("/jobs/messages", {}, 10207),
        ("/jobs/messages/batch", {"messages": [{}]}, 10207),
        ("/jobs/messages/batch", {"messages": []}, 10206),
        ("/jobs/messages/batch", {"messages": [{"body": 1}] * 101}, 10206),
        ("/jobs/messages/batch", {"messages": [{"body": 1}], "delay_seconds": -1}, 10202),
        ("/jobs/messages/batch", {"messages": [{"body": "x" * 100_000}] * 3}, 10205),
        ("/jobs/messages/ack", {"acks": ["lease"]}, 10207),
        ("/jobs/messages/ack", {"acks": 5}, 10207),
        ("/jobs/retry", {"id": ["x"]}, 10207),
        ("/jobs/redrive", {"id": 5, "to": "dead"}, 10207),
        ("/jobs/messages/ack", {"retries": {"lease_id": "x"}}, 10207),
        ("/jobs/purge", {}, 10207),
    ],
)
def test_a_wrong_request_is_refused_with_its_code(made: Broker, path: str, request_: Any, code: int) -> None:
    status, answer = ask(made, "POST", path, request_)
    assert status >= 400 and not answer["success"]
    assert answer["errors"][0]["code"] == code
    assert made.room.messages("jobs") == []


def test_a_queue_may_delay_what_says_nothing_of_it(made: Broker) -> None:
    _, answer = ask(made, "PATCH", "/jobs", {"settings": {"delivery_delay": 30}})
    settings = {"delivery_delay": 30, "delivery_paused": False, "message_retention_period": 345_600}
    assert answer["result"]["settings"] == settings
    ask(made, "POST", "/jobs/messages", {"body": 1})
    ask(made, "POST", "/jobs/messages/batch", {"messages": [{"body": 2}, {"body": 3, "delay_seconds": 0}]})
    assert [message.due_at - NOW for message in made.room.messages("jobs")] == [30, 30, 0]


@pytest.mark.parametrize(
    "settings",
    [
        {"delivery_delay": 86_401},
        {"delivery_delay": -1},
        {"delivery_paused": "yes"},
        {"message_retention_period": 59},
        {"message_retention_period": 1_209_601},
        {"message_retention_period": True},
        5,
    ],
)
def test_wrong_settings_are_refused(made: Broker, settings: Any) -> None:
    before = ask(made, "GET", "/jobs")
    assert ask(made, "PATCH", "/jobs", {"settings": settings})[0] == 400
    assert ask(made, "GET", "/jobs") == before


@pytest.mark.cloudflare("queues/get-started")
def test_the_name_of_a_queue_cannot_be_changed(made: Broker) -> None:
    assert ask(made, "PATCH", "/jobs", {"queue_name": "new"})[0] == 400
    assert ask(made, "PATCH", "/jobs", {"queue_name": "jobs"})[0] == 200


@pytest.mark.cloudflare("api/resources/queues/methods/update")
def test_a_put_sets_what_it_does_not_give_to_the_default(made: Broker) -> None:
    ask(made, "PATCH", "/jobs", {"settings": {"delivery_delay": 30, "delivery_paused": True}})
    _, answer = ask(made, "PUT", "/jobs", {"settings": {"message_retention_period": 3600}})
    settings = {"delivery_delay": 0, "delivery_paused": False, "message_retention_period": 3600}
    assert answer["result"]["settings"] == settings


def test_a_purge_needs_its_confirmation(made: Broker) -> None:
    made.send(1, 2)
    _, answer = ask(made, "POST", "/jobs/purge", {"delete_messages_permanently": True})
    assert answer["result"]["purged"] == 2


def test_a_purge_may_be_asked_after(made: Broker) -> None:
    assert ask(made, "GET", "/jobs/purge")[1]["result"] == {"completed": "", "started_at": ""}
    ask(made, "POST", "/jobs/purge", {"delete_messages_permanently": True})
    found = ask(made, "GET", "/jobs/purge")[1]["result"]
    assert (found["completed"], found["started_at"][:4]) == ("true", "2023")


@pytest.mark.cloudflare("changelog/2026-04-15: unacknowledged messages")
def test_the_metrics_count_what_is_not_acknowledged(made: Broker) -> None:
    made.send("a", "bb", contentType="text")
    expected = {"backlog_count": 2, "backlog_bytes": 3, "oldest_message_timestamp_ms": NOW * 1000}
    assert ask(made, "GET", "/jobs/metrics")[1]["result"] == expected
    (message, _) = pull(made)
    assert ask(made, "GET", "/jobs/metrics")[1]["result"] == expected
    ack(made, [message["lease_id"]])
    assert ask(made, "GET", "/jobs/metrics")[1]["result"]["backlog_bytes"] == 2


def test_a_queue_tells_its_consumers(made: Broker) -> None:
    (pushed,) = ask(made, "GET", "/pushed/consumers")[1]["result"]
    assert (pushed["script_name"], pushed["queue_name"], pushed["dead_letter_queue"]) == ("w", "pushed", "")
    (pulled,) = ask(made, "GET", "/jobs/consumers")[1]["result"]
    assert (pulled["type"], pulled["dead_letter_queue"], "script" in pulled) == ("http_pull", "dead", False)
    assert "visibility_timeout_ms" in pulled["settings"] and "max_concurrency" not in pulled["settings"]
    assert ask(made, "GET", f"/jobs/consumers/{pulled['consumer_id']}")[1]["result"] == pulled
    assert ask(made, "GET", "/jobs/consumers/none")[0] == 404
    assert ask(made, "GET", "/dead/consumers")[1]["result"] == []


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", ""), ("DELETE", "/jobs"), ("POST", "/jobs/consumers"), ("DELETE", "/jobs/consumers/any")],
)
def test_what_the_configuration_says_is_not_changed_by_requests(made: Broker, method: str, path: str) -> None:
    status, answer = ask(made, method, path, {"queue_name": "new"})
    assert (status, answer["success"]) == (405, False)
    assert "configuration" in answer["errors"][0]["message"]


def test_what_is_left_of_a_queue_can_be_deleted(made: Broker) -> None:
    made.room._store.standings.set("former", "paused", True)
    made.room._store.send("former", [Draft("i", "text", b"x", 0)], NOW)
    assert ask(made, "DELETE", "/former")[0] == 200
    assert ask(made, "GET", "/former")[0] == 404
    assert ask(made, "DELETE", "/former")[0] == 404


def test_peeked_messages_can_be_purged_by_their_references(made: Broker) -> None:
    made.send(1, 2, 3)
    (first, _, _) = ask(made, "POST", "/jobs/messages/peek", {})[1]["result"]["messages"]
    assert first["metadata"]["CF-Content-Type"] == "json"
    request = {"refs": [{"ref": first["ref"]}, {"ref": "none"}]}
    answer = ask(made, "POST", "/jobs/messages/purge", request)[1]["result"]
    assert (answer["errors"], list(answer["warnings"])) == ([], ["none"])
    assert [message.body for message in made.room.messages("jobs")] == [b"2", b"3"]


def test_a_list_of_an_unknown_state_is_refused(made: Broker) -> None:
    status, answer = ask(made, "GET", "/jobs/messages?state=foo")
    assert (status, "waiting" in answer["errors"][0]["message"]) == (400, True)


@pytest.mark.parametrize("given", [43_200_001, -5, True, "soon"])
def test_a_visibility_time_out_beyond_its_bounds_is_refused(made: Broker, given: Any) -> None:
    made.send(1)
    assert ask(made, "POST", "/jobs/messages/pull", {"visibility_timeout_ms": given})[0] == 400
    assert len(pull(made)) == 1


def test_a_message_that_is_not_there_or_held_cannot_be_retried_or_moved(made: Broker) -> None:
    made.send(1, 2)
    (held,) = pull(made, batch_size=1)
    waiting = made.room.messages("jobs")[1].id
    for path in ("/jobs/retry", "/jobs/redrive"):
        assert ask(made, "POST", path, {"id": "none"})[0] == 404
        status, answer = ask(made, "POST", path, {"id": held["id"]})
        assert (status, "is with a consumer now" in answer["errors"][0]["message"]) == (409, True)
    status, answer = ask(made, "POST", "/jobs/redrive", {"id": waiting})
    assert (status, "died in no queue" in answer["errors"][0]["message"]) == (400, True)
    assert ask(made, "POST", "/jobs/redrive", {"id": waiting, "to": "dead"})[1]["result"] == {"moved": {"dead": 1}}


def test_messages_can_be_listed_and_previewed(made: Broker) -> None:
    made.send({"n": 1}, {"n": 2})
    _, answer = ask(made, "GET", "/jobs/messages?state=ready&limit=1")
    assert [message["preview"] for message in answer["result"]["messages"]] == ['{"n":1}']
    _, answer = ask(made, "POST", "/jobs/messages/preview", {"batch_size": 2})
    assert len(answer["result"]["messages"]) == 2


def test_delayed_messages_can_be_retried_now_and_dead_letters_moved_back(made: Broker) -> None:
    made.send(1, delaySeconds=60)
    assert ask(made, "POST", "/jobs/retry", {})[1]["result"] == {"retried": 1}
    assert ask(made, "POST", "/jobs/redrive", {"to": "dead"})[1]["result"] == {"moved": {"dead": 1}}


def action(made: Broker, name: str, **fields: Any) -> Any:
    return made.room.panel().actions[name].run(**fields)


def test_the_panel_s_actions_answer_in_the_same_shapes(made: Broker) -> None:
    action(made, "send", queue="jobs", body='{"n": 1}')
    action(made, "send", queue="jobs", body="later", content_type="text", delay_seconds=60)
    assert [m["preview"] for m in action(made, "peek", queue="jobs")["messages"]] == ['{"n":1}', "later"]
    assert [m["preview"] for m in action(made, "messages", queue="jobs", state="delayed")["messages"]] == ["later"]
    assert action(made, "retry", queue="jobs") == {"retried": 1}
    assert action(made, "redrive", queue="jobs", to="dead") == {"moved": {"dead": 2}}
    assert action(made, "pause", queue="jobs")["settings"]["delivery_paused"] is True
    assert action(made, "resume", queue="jobs")["settings"]["delivery_paused"] is False
    assert action(made, "purge", queue="dead")["purged"] == 2
    assert [queue["queue_name"] for queue in action(made, "list")] == ["dead", "jobs", "pushed"]


def test_a_body_that_is_no_json_is_refused_with_a_hint(made: Broker) -> None:
    with pytest.raises(Exception, match="a text needs its quotes"):
        action(made, "send", queue="jobs", body="hello")
