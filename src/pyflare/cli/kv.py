"""`pyflare kv`: the local KV namespaces, with wrangler's commands, flags and output."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pyflare.cli.common import PATH, Command
from pyflare.cli.local_api import LocalApi
from pyflare.cli.place import Place, announce, place_options, refusals, warn
from pyflare.cli.question import confirmed
from pyflare.cli.served import ServedNamespace
from pyflare.engines.kv.namespace import Namespace, described
from pyflare.engines.kv.store import open_namespace
from pyflare.errors import ConfigError

MAX_REPORTED = 12  # items of a file that are named when they are wrong
FIELDS = {"key", "value", "expiration", "expiration_ttl", "metadata", "base64"}
SHAPE = """Each item in the array should be an object that matches:

interface KeyValue {
  key: string;
  value: string;
  expiration?: number;
  expiration_ttl?: number;
  metadata?: object;
  base64?: boolean;
}
"""


@click.group()
def kv() -> None:
    """Work on local KV namespaces."""


@kv.group()
def key() -> None:
    """Work on single keys."""


@kv.group()
def bulk() -> None:
    """Work on many keys, named in a file."""


def _namespace_options(command: Command) -> Command:
    for option in (
        click.option("--preview/--no-preview", default=None, help="Use the preview_id of the binding."),
        click.option("--namespace-id", help="Id of the namespace."),
        click.option("--binding", help="Name of the binding."),
    ):
        option(command)
    return place_options(command)


def conflicting(first: str, second: str) -> str:
    return f"Conflicting options: {first} and {second} cannot be used together. Please provide only one."


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Target:
    """The namespace that a command works on."""

    def __init__(self, given: dict[str, Any]) -> None:
        if not given["binding"] and not given["namespace_id"]:
            raise ConfigError("Missing required option: exactly one of --binding and --namespace-id must be provided")
        if given["binding"] and given["namespace_id"]:
            raise ConfigError(conflicting("--binding", "--namespace-id"))
        self.place = Place(given)
        self.id, self.title = self._find(given["binding"], given["namespace_id"], given["preview"])

    def _find(self, binding: str | None, namespace_id: str | None, preview: bool | None) -> tuple[str, str]:
        """The id, and how wrangler calls the namespace."""
        if namespace_id:
            self.place.expect("KV namespace", namespace_id, "kv_namespaces", "id", "preview_id", "binding")
            return namespace_id, f'id: "{namespace_id}"'
        entries = [entry for config in self.place.configs for entry in config.sections.get("kv_namespaces") or ()]
        found = next((entry for entry in entries if entry.get("binding") == binding), None)
        if found is None:
            raise ConfigError(
                f'No KV namespace with binding "{binding}" was found in the "kv_namespaces" section of your '
                "configuration. Check the binding name is correct, or use `--namespace-id` instead."
            )
        if preview and not found.get("preview_id"):
            raise ConfigError(
                f'No preview namespace ID is configured for binding "{binding}". Add a "preview_id" to the '
                f'"{binding}" entry in your config\'s "kv_namespaces" section, or use `--namespace-id` to specify a '
                "preview namespace directly."
            )
        # Without a word on previews the namespace is the one that `pyflare dev` serves.
        names = (found.get("id"),) if preview is False else (found.get("preview_id"), found.get("id"))
        chosen = next((name for name in names if name), None) or str(found["binding"])
        return chosen, f'binding: "{binding}" (id: "{chosen}")'

    @contextmanager
    def open(self) -> Iterator[Namespace | ServedNamespace]:
        served = ServedNamespace.of(LocalApi.of(self.place.layout.root), self.id)
        if served is not None:
            yield served
            return
        store = open_namespace(self.place.layout, self.id)
        try:
            with refusals():
                yield Namespace(store, self.place.now, warn)
        finally:
            store.close()

    def read(self, path: Path) -> bytes:
        try:
            return (self.place.cwd / path).read_bytes()
        except OSError as fault:
            raise ConfigError(f"Could not read file: {path}: {fault.strerror}") from None

    def read_list(self, path: Path, kind: str) -> list[Any]:
        try:
            content = json.loads(self.read(path))
        except ValueError as fault:
            raise ConfigError(f"{path}: {fault}") from None
        if not isinstance(content, list):
            text = f'Unexpected JSON input from "{path}".\nExpected an array of {kind} but got:\n'
            raise ConfigError(text + _json(content))
        return content

    def read_keys(self, path: Path) -> list[str]:
        content = self.read_list(path, "strings")
        names: list[Any] = [item.get("name") if isinstance(item, dict) else item for item in content]
        wrong = [
            f'The item at index {at} is type: "{_typeof(content[at])}" - {_json(content[at])}'
            for at, name in enumerate(names)
            if not isinstance(name, str)
        ]
        if wrong:
            text = f'Unexpected JSON input from "{path}".\nExpected an array of strings or objects with a "name" key.\n'
            raise ConfigError(text + "\n".join(wrong))
        return names


# --- key --------------------------------------------------------------------------------------------------------------


@key.command()
@click.argument("name", metavar="KEY")
@click.argument("value", required=False)
@click.option("--path", type=PATH, help="Read the value from this file.")
@click.option("--ttl", type=int, help="Seconds that the entry lives.")
@click.option("--expiration", type=int, help="Seconds since the Unix epoch when the entry ends.")
@click.option("--metadata", help="A JSON object to keep with the value.")
@_namespace_options
def put(
    name: str,
    value: str | None,
    path: Path | None,
    ttl: int | None,
    expiration: int | None,
    metadata: str | None,
    **given: Any,
) -> None:
    """Write a value."""
    if value is None and path is None:
        raise ConfigError("Missing required option: exactly one of <value> and --path must be provided")
    if value is not None and path is not None:
        raise ConfigError(conflicting("<value>", "--path"))
    fields = _metadata(metadata)
    target = Target(given)
    announce()
    data = (value or "").encode() if path is None else target.read(path)
    what = f"the contents of {path} to the" if path is not None else f'the value "{value}" to'
    with_metadata = "" if fields is None else f' with metadata "{fields}"'
    click.echo(f'Writing {what} key "{name}" on namespace {target.title}{with_metadata}.')
    with target.open() as namespace:
        namespace.write(name, data, expiration, ttl, fields)


def _metadata(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        raise ConfigError(f"--metadata must be valid JSON. Received: {text}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"--metadata must be a JSON object. Received: {text}")
    return _json(value)


@key.command()
@click.argument("name", metavar="KEY")
@click.option("--text", is_flag=True, help="Print the value as text, with a line break behind.")
@_namespace_options
def get(name: str, text: bool, **given: Any) -> None:
    """Print a value."""
    with Target(given).open() as namespace:
        value = namespace.get(name)
    if value is None:
        click.echo("Value not found")
    elif text:
        click.echo(value.data.decode("utf-8", "replace"))
    else:
        sys.stdout.buffer.write(value.data)
        sys.stdout.buffer.flush()


@key.command("list")
@click.option("--prefix", default="", help="Only keys that begin so.")
@_namespace_options
def list_(prefix: str, **given: Any) -> None:
    """Print the keys as JSON."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    with Target(given).open() as namespace:
        while True:
            page = namespace.list(prefix, cursor=cursor)
            found += [described(entry, json.loads) for entry in page.entries]
            cursor = page.cursor
            if cursor is None:
                break
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))


@key.command()
@click.argument("name", metavar="KEY")
@_namespace_options
def delete(name: str, **given: Any) -> None:
    """Remove a key."""
    target = Target(given)
    announce()
    click.echo(f'Deleting the key "{name}" on namespace {target.title}.')
    with target.open() as namespace:
        namespace.remove(name)


# --- bulk -------------------------------------------------------------------------------------------------------------


@bulk.command("put")
@click.argument("filename", type=PATH)
@_namespace_options
def bulk_put(filename: Path, **given: Any) -> None:
    """Write the pairs of a JSON file."""
    target = Target(given)
    announce()
    content = target.read_list(filename, "key-value objects")
    _check_pairs(content, filename)
    with target.open() as namespace:
        if isinstance(namespace, ServedNamespace):
            namespace.write_many(content)
        else:
            _write_many(namespace, content)
    click.echo("Success!")


def _write_many(namespace: Namespace, content: Sequence[Any]) -> None:
    for item in content:
        metadata = item.get("metadata")
        namespace.write(
            item["key"],
            _decoded(item) if item.get("base64") else item["value"].encode(),
            item.get("expiration"),
            item.get("expiration_ttl"),
            None if metadata is None else _json(metadata),
        )


def _decoded(item: dict[str, str]) -> bytes:
    try:
        return base64.b64decode(item["value"], validate=True)
    except ValueError:
        raise ConfigError(f'The value of "{item["key"]}" is not base64') from None


def _check_pairs(content: Sequence[Any], path: Path) -> None:
    wrong = [f"The item at index {at} is {_json(item)}" for at, item in enumerate(content) if not _is_pair(item)]
    unknown = [
        f"The item at index {at} contains unexpected properties: {json.dumps(extra)}."
        for at, item in enumerate(content)
        if isinstance(item, dict) and (extra := [name for name in item if name not in FIELDS])
    ]
    if unknown:
        warn(f'Unexpected key-value properties in "{path}".\n' + _some(unknown))
    if wrong:
        raise ConfigError(f'Unexpected JSON input from "{path}".\n{SHAPE}\n{_some(wrong)}')


def _some(lines: Sequence[str]) -> str:
    return "\n".join([*lines[:MAX_REPORTED], *(["..."] if len(lines) > MAX_REPORTED else [])])


def _is_pair(item: Any) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("key"), str) or not isinstance(item.get("value"), str):
        return False
    numbers = [item[name] for name in ("expiration", "expiration_ttl") if item.get(name) is not None]
    return (
        all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
        and isinstance(item.get("base64", False), bool)
        and isinstance(item.get("metadata") or {}, dict)
    )


@bulk.command("get")
@click.argument("filename", type=PATH)
@_namespace_options
def bulk_get(filename: Path, **given: Any) -> None:
    """Print the values of the keys that a JSON file lists."""
    target = Target(given)
    names = target.read_keys(filename)
    with target.open() as namespace:
        values = {name: namespace.get(name) for name in names}
    shown = {
        name: {"value": None if value is None else value.data.decode("utf-8", "replace")}
        for name, value in values.items()
    }
    click.echo(json.dumps(shown, indent=2, ensure_ascii=False))


@bulk.command("delete")
@click.argument("filename", type=PATH)
@click.option("-f", "--force", is_flag=True, help="Do not ask.")
@_namespace_options
def bulk_delete(filename: Path, force: bool, **given: Any) -> None:
    """Remove the keys that a JSON file lists."""
    target = Target(given)
    announce()
    question = f'Are you sure you want to delete all the keys read from "{filename}" from kv-namespace {target.title}?'
    if not force and not confirmed(question):
        click.echo(f'Not deleting keys read from "{filename}".')
        return
    names = target.read_keys(filename)
    with target.open() as namespace:
        for name in names:
            namespace.remove(name)
    click.echo("Success!")


def _typeof(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, (int, float)) else "string" if isinstance(value, str) else "object"
