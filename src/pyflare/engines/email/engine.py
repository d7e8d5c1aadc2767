"""The email room: keeps what is sent, and gives workers what comes in."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel, Table
from pyflare.engines.email.binding import SendEmail
from pyflare.engines.email.config import MAX_MESSAGE_BYTES, SendBinding, parse
from pyflare.engines.email.incoming import Delivery, ForwardableEmailMessage
from pyflare.engines.email.message import Description, build, fault_of, new_id, read
from pyflare.engines.email.store import EmailStore, Kept
from pyflare.interop import traces
from pyflare.interop.errors import error
from pyflare.worker.event import Handler

SHOWN_MESSAGES = 100
ALL = -1  # SQLite's word for no limit


class BadMessage(ValueError):
    """What came in is no message that a mail server would have taken."""


class Email(Engine):
    keys: ClassVar[Sequence[str]] = ("send_email",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[SendBinding]:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, Sequence[SendBinding] | None], ctx: EngineContext) -> None:
        self._configs = {worker: config or () for worker, config in configs.items()}
        self._ctx = ctx
        storage = ctx.storage
        self.store = EmailStore(storage.own("email"), storage.folder("pyflare", "email"), storage.durability)

    # --- what goes out ------------------------------------------------------------------------------------------------

    def _send_raw(self, binding: SendBinding, sender: str, recipient: str, raw: bytes) -> str:
        self._refuse(binding.refusal(sender, [recipient]))
        mime = read(raw)
        self._refuse(fault_of(mime, sender))
        if len(raw) > MAX_MESSAGE_BYTES:
            self._refuse(f"The message has {len(raw)} bytes; at most {MAX_MESSAGE_BYTES} can be sent")
        path = self._keep("sent", sender, [recipient], mime.subject, raw)
        self._ctx.log.info(f"send_email binding called with the following message:\nEmail: {path}")
        return new_id(sender)

    def _send_described(self, binding: SendBinding, description: Description) -> str:
        sender, recipients = description.sender[1], [address for _, address in description.to]
        self._refuse(binding.refusal(sender, recipients))
        message_id = new_id(sender)
        raw = build(description, message_id)
        path = self._keep("sent", sender, recipients, description.subject, raw)
        self._ctx.log.info(f"send_email binding called with MessageBuilder:\n{description.summary}\n\nEmail: {path}")
        return message_id

    def _refuse(self, reason: str | None) -> None:
        if reason is not None:
            raise error(reason)

    def _keep(self, kind: str, sender: str, recipients: Sequence[str], subject: str, raw: bytes) -> Path:
        message = Kept(self._ctx.new_id(), kind, sender, recipients, subject, self._ctx.clock.now())
        return self.store.add(message, raw)

    def sent(self) -> list[tuple[Kept, bytes]]:
        """What workers sent, the oldest first."""
        kept = [message for message in self.store.latest(ALL) if message.kind == "sent"]
        return [(message, self.store.raw(message.id) or b"") for message in reversed(kept)]

    # --- what comes in ------------------------------------------------------------------------------------------------

    async def receive(self, worker: str, sender: str, recipient: str, raw: bytes) -> tuple[Delivery, Exception | None]:
        """Give a message to the worker's `email` handler: what became of it, and what the handler raised."""
        if len(raw) > MAX_MESSAGE_BYTES:
            raise BadMessage("Email message size is bigger than the production size limit of 25MiB.")
        mime = read(raw)
        if not mime.message_id:
            raise BadMessage("Email could not be parsed: invalid or no message id provided")
        self._compare(sender, recipient, mime.sender, mime.recipients)
        delivery = Delivery(sender, recipient, raw, mime)
        kept = self._keep("received", sender, [recipient], mime.subject, raw).stem
        message = ForwardableEmailMessage.make(delivery, self._keep_outgoing, self._timestamp, self._ctx.log.info)
        try:
            await self._ctx.dispatch(worker, Handler("email", message))
        except Exception as raised:
            self._ctx.log.error(f"Uncaught (in email)\n{traces.render(raised)}")
            return delivery, raised
        finally:
            if delivery.reject_reason is not None:
                self.store.set_kind(kept, "rejected")
        return delivery, None

    def _compare(self, sender: str, recipient: str, header_from: str, header_to: Sequence[str]) -> None:
        """Envelope and headers may differ; in a test that is often a slip."""
        if sender != header_from:
            self._ctx.log.warn(
                "Provided MAIL FROM address doesn't match the email message's \"From\" header:\n"
                f'  MAIL FROM: {sender}\n  "From" header: {header_from}'
            )
        if recipient not in header_to:
            self._ctx.log.warn(
                'Provided RCPT TO address doesn\'t match any "To" header in the email message:\n'
                f'  RCPT TO: {recipient}\n  "To" header: {", ".join(header_to)}'
            )

    def _keep_outgoing(self, kind: str, sender: str, recipient: str, raw: bytes) -> str:
        path = self._keep(kind, sender, [recipient], read(raw).subject, raw)
        if kind == "replied":
            self._ctx.log.info(f"Email handler replied to sender with the following message:\n  {path}")
        return f"{path.stem}@{sender.rpartition('@')[2]}"

    def _timestamp(self) -> str:
        now = dt.datetime.fromtimestamp(self._ctx.clock.now(), dt.UTC)
        return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    # --- the room -----------------------------------------------------------------------------------------------------

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {
            binding.name: SendEmail.make(
                functools.partial(self._send_raw, binding), functools.partial(self._send_described, binding)
            )
            for binding in self._configs[worker]
        }

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(binding.name, "Send Email", binding.destination or "unrestricted")
            for binding in self._configs[worker]
        ]

    def panel(self) -> Panel:
        columns = ("timestamp", "kind", "sender", "recipients", "subject", "id")
        rows = [
            [kept.timestamp, kept.kind, kept.sender, kept.recipients, kept.subject, kept.id]
            for kept in self.store.latest(SHOWN_MESSAGES)
        ]
        return Panel("Email", [Table("Messages", columns, rows)])

    def close(self) -> None:
        self.store.close()
