"""`send_email` of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import entries
from pyflare.config.model import WorkerConfig

MAX_MESSAGE_BYTES = 25 * 1024 * 1024  # developers.cloudflare.com/email-routing/limits
MAX_REFERENCES = 100

EITHER = 'bindings should have either a "destination_address" or "allowed_destination_addresses" field, but not both.'


@dataclass(frozen=True)
class SendBinding:
    """Addresses are None where everything is allowed."""

    name: str
    destination: str | None = None
    destinations: Sequence[str] | None = None
    senders: Sequence[str] | None = None

    def refusal(self, sender: str, recipients: Sequence[str]) -> str | None:
        """Why a message may not be sent."""
        if self.senders is not None and sender not in self.senders:
            return f"email from {sender} not allowed"
        for recipient in recipients:
            if self.destination is not None and recipient != self.destination:
                return f"email to {recipient} not allowed"
            if self.destinations is not None and recipient not in self.destinations:
                return f"email to {recipient} not allowed"
        return None


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[SendBinding]:
    optional = {
        "destination_address": str,
        "allowed_destination_addresses": list,
        "allowed_sender_addresses": list,
    }
    bindings = []
    for path, entry in entries(config, "send_email", diagnostics, required={"name": str}, optional=optional):
        if "destination_address" in entry and "allowed_destination_addresses" in entry:
            diagnostics.fault(path, EITHER)
        bindings.append(
            SendBinding(
                entry["name"],
                entry.get("destination_address"),
                entry.get("allowed_destination_addresses"),
                entry.get("allowed_sender_addresses"),
            )
        )
    return bindings
