"""`env.EMAIL.send`."""

from __future__ import annotations

import email
import email.policy
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from pyflare.engines.email.engine import Email
from pyflare.interop.errors import JsException
from pyflare.interop.web.email_message import EmailMessage
from pyflare.interop.web.readable import ReadableStream
from tests.support.rooms import Bench, js, run, settle

HEADERS = "From: Ada <ada@site.test>\r\nTo: bob@other.test\r\nMessage-ID: <1@site.test>\r\nSubject: Hello\r\n"
MIME = HEADERS + "\r\nThe text.\r\n"


@pytest.fixture
def room(bench: Bench) -> Iterator[Email]:
    room = bench.open(
        Email,
        {
            "send_email": [
                {"name": "ANY"},
                {"name": "ONE", "destination_address": "bob@other.test"},
                {"name": "SOME", "allowed_destination_addresses": ["a@b.test"]},
                {"name": "MINE", "allowed_sender_addresses": ["me@site.test"]},
            ]
        },
    )
    yield room
    room.close()


def send(room: Email, message: Any, binding: str = "ANY") -> Any:
    return settle(room.bindings("w")[binding].send(message))


def mail(sender: str = "ada@site.test", recipient: str = "bob@other.test", raw: Any = MIME) -> Any:
    return EmailMessage.new(sender, recipient, raw)


def test_a_message_is_kept_as_a_file_and_listed(room: Email, bench: Bench) -> None:
    message_id = send(room, mail()).messageId
    assert message_id.endswith("@site.test>") and len(message_id) == 36 + len("<@site.test>")
    [kept] = room.store.latest(10)
    assert (kept.kind, kept.sender, kept.recipients, kept.subject) == (
        "sent", "ada@site.test", ["bob@other.test"], "Hello",
    )  # fmt: skip
    assert room.store.raw(kept.id) == MIME.encode()
    assert f"{kept.id}.eml" in bench.terminal.getvalue()


def test_a_message_may_be_a_stream(room: Email) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield MIME.encode()[:20]
        yield MIME.encode()[20:]

    async def scenario() -> None:
        await room.bindings("w")["ANY"].send(mail(raw=ReadableStream.of(pieces())))

    run(scenario())
    assert room.store.raw(room.store.latest(1)[0].id) == MIME.encode()


@pytest.mark.parametrize(
    ("message", "binding", "refusal"),
    [
        (mail(recipient="eve@other.test"), "ONE", "email to eve@other.test not allowed"),
        (mail(), "SOME", "email to bob@other.test not allowed"),
        (mail(), "MINE", "email from ada@site.test not allowed"),
        (mail(sender="eve@site.test"), "ANY", "From: header does not match mail from"),
        (mail(raw=MIME.replace("Message-ID", "X-ID")), "ANY", "invalid message-id"),
        (mail(raw="Received: from x\r\n" + MIME), "ANY", "invalid headers set"),
    ],
)
def test_what_is_refused_is_not_kept(room: Email, message: Any, binding: str, refusal: str) -> None:
    with pytest.raises(JsException, match=refusal):
        send(room, message, binding)
    assert room.store.latest(10) == []


def test_a_described_message_becomes_mime(room: Email, bench: Bench) -> None:
    description = {
        "from": {"name": "Ada", "email": "ada@site.test"},
        "to": ["bob@other.test", "Eve <eve@other.test>"],
        "cc": "carl@other.test",
        "subject": "Grüße",
        "text": "plain",
        "html": "<p>rich</p>",
        "headers": {"X-Own": "1"},
        "attachments": [{"filename": "a.bin", "type": "application/x-a", "content": b"\x00\x01"}],
    }
    send(room, js(description))
    [kept] = room.store.latest(1)
    assert kept.recipients == ["bob@other.test", "eve@other.test"]
    parsed = email.message_from_bytes(room.store.raw(kept.id) or b"", policy=email.policy.default)
    assert (parsed["subject"], parsed["cc"], parsed["x-own"]) == ("Grüße", "carl@other.test", "1")
    assert "Eve <eve@other.test>" in parsed["to"]
    kinds = [part.get_content_type() for part in parsed.walk()]
    assert kinds[-3:] == ["text/plain", "text/html", "application/x-a"]
    assert 'From: "Ada" <ada@site.test>' in bench.terminal.getvalue()


def test_a_described_message_may_be_a_dict_of_python(room: Email) -> None:
    send(room, {"from": "ada@site.test", "to": "bob@other.test", "subject": "s", "html": "<p>only</p>"})
    parsed = email.message_from_bytes(room.store.raw(room.store.latest(1)[0].id) or b"")
    assert parsed.get_content_type() == "text/html"


def test_a_described_message_needs_a_subject(room: Email) -> None:
    with pytest.raises(JsException, match="The message has no subject"):
        send(room, js({"from": "a@b.test", "to": "c@d.test"}))


def test_a_message_of_something_else_is_refused() -> None:
    with pytest.raises(JsException, match="constructor parameter 3 is not of type"):
        mail(raw=5)
