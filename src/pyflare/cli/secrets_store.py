"""`pyflare secrets-store`: the local secrets stores, with wrangler's commands, flags and texts.

Comments and scopes are shown, and kept by nobody: a local store holds names and values.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import click

from pyflare.cli.common import Command
from pyflare.cli.place import NO_REMOTE, place_options
from pyflare.cli.rooms import Rooms
from pyflare.cli.table import table
from pyflare.errors import ConfigError, EngineError

VALID_NAME = re.compile(r"[A-Za-z0-9_-]+")
MAX_VALUE_BYTES = 64 * 1024  # wrangler, `secrets-store/commands.ts`


@click.group("secrets-store")
def secrets_store() -> None:
    """Work on local secrets stores."""


@secrets_store.group()
def secret() -> None:
    """Work on the secrets of one store."""


def _act(given: dict[str, Any], action: str, **fields: Any) -> Any:
    if given["remote"]:
        raise ConfigError(NO_REMOTE)
    return Rooms(given).act("secrets", action, **fields)


def _id_option(command: Command) -> Command:
    return click.option("--secret-id", "id_", required=True, help="Id of the secret, as list shows it.")(command)


def _value_option(command: Command) -> Command:
    text = "The value; without it you are asked, or the standard input is read."
    return click.option("--value", help=text)(command)


def _label_options(required: bool) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        click.option("--comment", help="Shown once.")(command)
        text = 'Where the secret may be used, such as "workers"; separated by commas.'
        return click.option("--scopes", required=required, help=text)(command)

    return add


@secret.command()
@click.argument("store_id")
@click.option("--name", required=True, help="Name of the secret.")
@_value_option
@_label_options(required=True)
@place_options
def create(store_id: str, name: str, value: str | None, scopes: str, comment: str | None, **given: Any) -> None:
    """Set a secret in the store STORE_ID."""
    _check_name(name)
    value = value or _asked_for()
    if not value:
        raise ConfigError("Need to pass in a value when creating a secret.")
    _check_value(value)
    shown = f"(Name: {name}, Value: REDACTED, Scopes: {scopes}, Comment: {comment or 'undefined'})"
    click.echo(f"\n🔐 Creating secret... {shown}")
    kept = _act(given, "create", store=store_id, name=name, value=value)
    click.echo(f"✅ Created secret! (ID: {kept['id']})")
    _show(kept, store_id, comment or "", scopes, "pending")


@secret.command("list")
@click.argument("store_id")
@click.option("--page", type=int, default=1, hidden=True)
@click.option("--per-page", type=int, default=10, hidden=True)
@place_options
def list_(store_id: str, page: int, per_page: int, **given: Any) -> None:
    """The secrets of the store STORE_ID, without their values."""
    click.echo(f"🔐 Listing secrets... (store-id: {store_id}, page: {page}, per-page: {per_page})")
    found = _act(given, "list", store=store_id)
    if not found:
        raise EngineError("List request returned no secrets.")
    click.echo(table([_row(kept) for kept in found]))


@secret.command()
@click.argument("store_id")
@_id_option
@place_options
def get(store_id: str, id_: str, **given: Any) -> None:
    """One secret of the store STORE_ID, without its value."""
    click.echo(f"🔐 Getting secret... (ID: {id_})")
    _show(_act(given, "get", store=store_id, id=id_), store_id)


@secret.command()
@click.argument("store_id")
@_id_option
@_value_option
@_label_options(required=False)
@place_options
def update(store_id: str, id_: str, value: str | None, scopes: str | None, comment: str | None, **given: Any) -> None:
    """Change the value of a secret of the store STORE_ID."""
    if not value and sys.stdin.isatty() and click.confirm("Do you want to update the secret value?", default=False):
        value = _asked_for()
    if not value and not scopes and not comment:
        raise ConfigError("Need to pass in a new field using `--value`, `--scopes`, or `--comment` to update a secret.")
    _check_value(value or "")
    click.echo(f"🔐 Updating secret... (ID: {id_})")
    kept = _act(given, "update", store=store_id, id=id_, value=value or None)
    click.echo(f"✅ Updated secret! (ID: {id_})")
    _show(kept, store_id, comment or "", scopes or "")


@secret.command()
@click.argument("store_id")
@_id_option
@place_options
def delete(store_id: str, id_: str, **given: Any) -> None:
    """Remove a secret of the store STORE_ID."""
    click.echo(f"🔐 Deleting secret... (ID: {id_})")
    _act(given, "delete", store=store_id, id=id_)
    click.echo(f"✅ Deleted secret! (ID: {id_})")


@secret.command()
@click.argument("store_id")
@_id_option
@click.option("--name", required=True, help="Name of the new secret.")
@_label_options(required=True)
@place_options
def duplicate(store_id: str, id_: str, name: str, scopes: str, comment: str | None, **given: Any) -> None:
    """Give the value of a secret of the store STORE_ID a second name."""
    _check_name(name)
    click.echo(f"🔐 Duplicating secret... (ID: {id_})")
    kept = _act(given, "duplicate", store=store_id, id=id_, to=name)
    click.echo(f"✅ Duplicated secret! (ID: {kept['id']})")
    _show(kept, store_id, comment or "", scopes)


def _asked_for() -> str:
    """From a person, or from a pipe."""
    if sys.stdin.isatty():
        return str(click.prompt("Enter a secret value", hide_input=True, default="", show_default=False)).rstrip()
    return sys.stdin.read().rstrip()


def _check_name(name: str) -> None:
    if not VALID_NAME.fullmatch(name):
        raise ConfigError("Secret name may only contain alphanumeric characters, underscores, or dashes.")


def _check_value(value: str) -> None:
    size = len(value.encode())
    if size > MAX_VALUE_BYTES:
        raise ConfigError(
            f"Secret value cannot exceed {MAX_VALUE_BYTES} bytes (got {size}). The Cloudflare API rejects longer "
            "values, and a binding to such a secret will fail at deploy time."
        )


def _show(kept: dict[str, Any], store_id: str, comment: str = "", scopes: str = "", status: str = "active") -> None:
    row = _row(kept, comment, scopes, status)
    click.echo(table([{"Name": row.pop("Name"), "ID": row.pop("ID"), "StoreID": store_id, **row}]))


def _row(kept: dict[str, Any], comment: str = "", scopes: str = "", status: str = "active") -> dict[str, str]:
    return {
        "Name": kept["name"],
        "ID": kept["id"],
        "Comment": comment,
        "Scopes": ", ".join(scopes.split(",")),
        "Status": status,
    }
