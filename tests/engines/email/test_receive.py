"""The worker's `email` handler, through the hook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.email.engine import BadMessage, Email
from pyflare.engines.email.incoming import Delivery
from pyflare.interop.web.email_message import EmailMessage
from pyflare.interop.web.headers import Headers
from pyflare.worker.event import Handler
from tests.support.rooms import Bench, run

INCOMING = (
    b"From: Ada <ada@site.test>\r\nTo: inbox@worker.test\r\nMessage-ID: <1@site.test>\r\nSubject: Hi\r\n"
    b"X-Long: one\r\n two\r\n\r\nThe text.\r\n"
)
REPLY = (
    "From: inbox@worker.test\r\nTo: ada@site.test\r\nMessage-ID: <2@worker.test>\r\nIn-Reply-To: {id}\r\n\r\nBack.\r\n"
)


class Case:
    """One delivery to a handler that a test gives."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench(folder)

    def deliver(self, handler: Any, raw: bytes = INCOMING, sender: str = "ada@site.test") -> tuple[Delivery, Any]:
        async def answer(event: Handler) -> None:
            await handler(event.argument)

        self.bench.answers["w"] = answer
        self.room = self.bench.open(Email, {})
        try:
            return run(self.room.receive("w", sender, "inbox@worker.test", raw))
        finally:
            self.kinds = [kept.kind for kept in self.room.store.latest(10)]
            self.room.close()


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


async def nothing(message: Any) -> None:
    return None


def test_a_handler_sees_the_message(case: Case) -> None:
    seen: dict[str, Any] = {}

    async def handler(message: Any) -> None:
        raw = b"".join([chunk async for chunk in message.raw.drain()])
        seen.update(sender=message.from_, to=message.to, size=message.rawSize, raw=raw)
        seen.update(subject=message.headers.get("subject"), long=message.headers.get("x-long"))

    _, raised = case.deliver(handler)
    assert raised is None
    assert seen == {
        "sender": "ada@site.test",
        "to": "inbox@worker.test",
        "size": len(INCOMING),
        "raw": INCOMING,
        "subject": "Hi",
        "long": "one two",
    }
    assert case.kinds == ["received"]


def test_a_message_can_be_rejected(case: Case) -> None:
    async def handler(message: Any) -> None:
        message.setReject("no spam")

    delivery, _ = case.deliver(handler)
    assert (delivery.reject_reason, [event["type"] for event in delivery.events]) == ("no spam", ["reject"])
    assert case.kinds == ["rejected"]


def test_a_message_can_be_forwarded_with_headers(case: Case) -> None:
    async def handler(message: Any) -> None:
        assert (await message.forward("bob@other.test", Headers.make([("X-Own", "1")]))).messageId

    delivery, _ = case.deliver(handler)
    [forward] = delivery.forwards
    assert (forward["recipient"], forward["headers"]) == ("bob@other.test", [["x-own", "1"]])
    assert case.kinds == ["forwarded", "received"]


def test_a_reply_gets_its_references(case: Case) -> None:
    async def handler(message: Any) -> None:
        await message.reply(EmailMessage.new("inbox@worker.test", "ada@site.test", REPLY.format(id="<1@site.test>")))

    delivery, raised = case.deliver(handler)
    assert raised is None
    assert delivery.replies[0]["raw"].startswith("References: <1@site.test>\r\nFrom:")


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        (REPLY.format(id="<other@x>"), "In-Reply-To does not match original Message-ID"),
        (REPLY.format(id=""), "no In-Reply-To header found in reply message"),
        (REPLY.format(id="<1@site.test>").replace("From: inbox", "From: eve"), "From: header does not match mail from"),
        ("References: <9@x>\r\n" + REPLY.format(id="<1@site.test>"), "provided References header is invalid"),
    ],
)
def test_a_bad_reply_is_refused(case: Case, reply: str, refusal: str) -> None:
    async def handler(message: Any) -> None:
        await message.reply(EmailMessage.new("inbox@worker.test", "ada@site.test", reply))

    delivery, raised = case.deliver(handler)
    assert (refusal in str(raised), delivery.replies) == (True, [])


@pytest.mark.parametrize(
    "header",
    [b"Auto-Submitted: auto-replied", b"X-Auto-Response-Suppress: All", b"In-Reply-To: <0@x>", b"References: <0@x>"],
)
def test_some_messages_cannot_be_replied_to(case: Case, header: bytes) -> None:
    async def handler(message: Any) -> None:
        await message.reply(EmailMessage.new("inbox@worker.test", "a@b", REPLY.format(id="<1@site.test>")))

    _, raised = case.deliver(handler, header + b"\r\n" + INCOMING)
    assert "Original email is not replyable" in str(raised)


def test_what_the_handler_raises_is_told(case: Case) -> None:
    async def handler(message: Any) -> None:
        raise RuntimeError("boom")

    _, raised = case.deliver(handler)
    assert isinstance(raised, RuntimeError)
    assert "[wrangler:error] Uncaught (in email)\nTraceback" in case.bench.terminal.getvalue()


def test_another_envelope_than_the_headers_warns(case: Case) -> None:
    case.deliver(nothing, sender="bounce@site.test")
    assert "MAIL FROM: bounce@site.test" in case.bench.terminal.getvalue()


def test_a_message_without_an_id_is_refused(case: Case) -> None:
    with pytest.raises(BadMessage, match="no message id provided"):
        case.deliver(nothing, INCOMING.replace(b"Message-ID", b"X-ID"))


def test_a_message_over_25_mib_is_refused(case: Case) -> None:
    with pytest.raises(BadMessage, match="25MiB"):
        case.deliver(nothing, INCOMING + bytes(25 * 1024 * 1024))
