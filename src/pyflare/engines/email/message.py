"""MIME messages: reading them, checking what is sent, building one of a `MessageBuilder`."""

from __future__ import annotations

import email.policy
import secrets
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage as MimeMessage
from email.parser import BytesParser
from email.utils import getaddresses, parseaddr

from pyflare.engines.email.config import MAX_REFERENCES

ALPHABET = string.ascii_letters + string.digits
ID_CHARACTERS = 36


@dataclass(frozen=True)
class Mime:
    """A message as far as the rules look at it. Empty text: the header is not there."""

    sender: str
    recipients: Sequence[str]
    subject: str
    message_id: str
    in_reply_to: str
    references: str
    headers: Sequence[tuple[str, str]]

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name), None)


def read(raw: bytes) -> Mime:
    message = BytesParser(policy=email.policy.compat32).parsebytes(raw, headersonly=True)
    headers = [(name, str(value)) for name, value in message.items()]
    found = {name.lower(): " ".join(value.split()) for name, value in reversed(headers)}
    return Mime(
        sender=parseaddr(found.get("from", ""))[1],
        recipients=[address for _, address in getaddresses([found.get("to", "")]) if address],
        subject=found.get("subject", ""),
        message_id=found.get("message-id", ""),
        in_reply_to=found.get("in-reply-to", ""),
        references=found.get("references", ""),
        headers=headers,
    )


def fault_of(mime: Mime, sender: str) -> str | None:
    """What Cloudflare refuses in a message that is to be sent by `sender`."""
    if not mime.message_id:
        return "invalid message-id"
    if mime.sender != sender:
        return "From: header does not match mail from"
    if mime.header("received") is not None:
        return "invalid headers set"
    return None


def is_replyable(mime: Mime) -> bool:
    """Whether a worker may reply: developers.cloudflare.com/email-routing/email-workers/reply-email-workers."""
    if (mime.header("x-auto-response-suppress") or "none").lower() != "none":
        return False
    if (mime.header("auto-submitted") or "no").lower() != "no":
        return False
    # Within a thread both headers are needed.
    return bool(mime.in_reply_to) == bool(mime.references) and mime.references.count("@") < MAX_REFERENCES


def fault_of_reply(original: Mime, reply: Mime, sender: str) -> str | None:
    fault = fault_of(reply, sender)
    if fault is not None:
        return fault
    if not reply.in_reply_to:
        return "no In-Reply-To header found in reply message"
    if reply.in_reply_to != original.message_id:
        return "In-Reply-To does not match original Message-ID"
    known = original.message_id in reply.references and original.references in reply.references
    return None if not reply.references or known else "provided References header is invalid"


def with_references(original: Mime, reply: Mime, raw: bytes) -> bytes:
    """The reply with a References header, which it needs to stay in its thread."""
    if reply.references:
        return raw
    return f"References: {f'{original.message_id} {original.references}'.strip()}\r\n".encode() + raw


def new_id(sender: str) -> str:
    """A Message-ID as Cloudflare makes it: 36 letters and digits at the sender's domain."""
    name = "".join(secrets.choice(ALPHABET) for _ in range(ID_CHARACTERS))
    return f"<{name}@{sender.rpartition('@')[2]}>"


# --- messages that are described --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attachment:
    filename: str
    type: str
    content: bytes
    inline: bool = False
    content_id: str = ""


@dataclass(frozen=True)
class Description:
    """A message given by its parts; an address is `(name, address)`."""

    sender: tuple[str, str]
    to: Sequence[tuple[str, str]]
    subject: str
    cc: Sequence[tuple[str, str]] = ()
    bcc: Sequence[tuple[str, str]] = ()
    reply_to: tuple[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    html: str | None = None
    attachments: Sequence[Attachment] = ()

    @property
    def summary(self) -> str:
        lines = [f"From: {shown(self.sender)}", f"To: {', '.join(map(shown, self.to))}"]
        for name, addresses in (("Cc", self.cc), ("Bcc", self.bcc)):
            if addresses:
                lines.append(f"{name}: {', '.join(map(shown, addresses))}")
        return "\n".join([*lines, f"Subject: {self.subject}"])


def shown(address: tuple[str, str]) -> str:
    return f'"{address[0]}" <{address[1]}>' if address[0] else address[1]


def build(description: Description, message_id: str) -> bytes:
    """The MIME message of a description."""
    message = MimeMessage(policy=email.policy.SMTP)
    message["From"] = _header(description.sender)
    message["To"] = [_header(address) for address in description.to]
    if description.cc:
        message["Cc"] = [_header(address) for address in description.cc]
    if description.reply_to is not None:
        message["Reply-To"] = _header(description.reply_to)
    message["Subject"] = description.subject
    message["Message-ID"] = message_id
    for name, value in description.headers.items():
        if name not in message:
            message[name] = value
    message.set_content(description.text or "")
    if description.html is not None:
        if description.text is None:
            message.set_content(description.html, subtype="html")
        else:
            message.add_alternative(description.html, subtype="html")
    for attachment in description.attachments:
        main, _, sub = (attachment.type or "application/octet-stream").partition(";")[0].partition("/")
        message.add_attachment(
            attachment.content,
            maintype=main,
            subtype=sub or "octet-stream",
            filename=attachment.filename,
            disposition="inline" if attachment.inline else "attachment",
            cid=f"<{attachment.content_id}>" if attachment.content_id else None,
        )
    return message.as_bytes()


def _header(address: tuple[str, str]) -> Address:
    return Address(display_name=address[0], addr_spec=address[1])
