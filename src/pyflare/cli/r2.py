"""`pyflare r2`: the local R2 buckets, with wrangler's commands, flags and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import click

from pyflare.cli.common import PATH
from pyflare.cli.local_api import LocalApi
from pyflare.cli.place import Place, announce, place_options, refusals, warn
from pyflare.cli.served import ServedBucket
from pyflare.engines.r2.bucket import Bucket, PutOptions
from pyflare.engines.r2.store import UNIQUE_KEY, ObjectStore
from pyflare.engines.r2.traits import STANDARD
from pyflare.errors import ConfigError, EngineError
from pyflare.storage.blobs import CHUNK_BYTES, BlobStore

# The flag, wrangler's short form, R2's name.
HTTP_METADATA = (
    ("--content-type", "--ct", "contentType"),
    ("--content-disposition", "--cd", "contentDisposition"),
    ("--content-encoding", "--ce", "contentEncoding"),
    ("--content-language", "--cl", "contentLanguage"),
    ("--cache-control", "--cc", "cacheControl"),
)


@click.group()
def r2() -> None:
    """Work on local R2 buckets."""


@r2.group("object")
def object_() -> None:
    """Work on objects, named as BUCKET/KEY."""


class _Files:
    """A bucket whose files this process has opened."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def read(self, key: str) -> Iterator[bytes] | None:
        """The pieces of an object; None when there is none."""
        found = self._bucket.get(key)
        return None if found is None or found.body is None else _run(found.body)

    def write(self, key: str, source: BinaryIO, options: PutOptions) -> None:
        asyncio.run(self._bucket.put_stream(key, _pieces(source), None, options))

    def delete(self, keys: Sequence[str]) -> None:
        self._bucket.delete(keys)


def _run(pieces: AsyncIterator[bytes]) -> Iterator[bytes]:
    with asyncio.Runner() as runner:
        while (piece := runner.run(_next(pieces))) is not None:
            yield piece


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


@contextmanager
def _bucket(given: dict[str, Any], name: str) -> Iterator[_Files | ServedBucket]:
    """Of the server that holds it, else its files."""
    place = Place(given)
    place.expect("Bucket", name, "r2_buckets", "bucket_name", "preview_bucket_name", "binding")
    served = ServedBucket.of(LocalApi.of(place.layout.root), name)
    if served is not None:
        yield served
        return
    store = ObjectStore(place.layout.simulator("r2", UNIQUE_KEY, name))
    bucket = Bucket(store, BlobStore(place.layout.blobs("r2", name)), place.now, warn)
    try:
        with refusals():
            yield _Files(bucket)
    finally:
        bucket.close()


def _split(path: str) -> tuple[str, str]:
    """Bucket and key of `bucket/some/key`."""
    bucket, slash, key = path.partition("/")
    if not bucket or not slash or not key:
        raise ConfigError(f"The object path must be in the form of {{bucket}}/{{key}} you provided {path}")
    return bucket, key


@object_.command()
@click.argument("path", metavar="BUCKET/KEY")
@click.option("-f", "--file", type=PATH, help="The file to write (default: the key).")
@click.option("-p", "--pipe", is_flag=True, help="Write to the standard output.")
@click.option("-J", "--jurisdiction", hidden=True)
@place_options
def get(path: str, file: Path | None, pipe: bool, jurisdiction: str | None, **given: Any) -> None:
    """Copy an object into a file."""
    if file and pipe:
        raise ConfigError("Arguments pipe and file are mutually exclusive")
    name, key = _split(path)
    if not pipe:
        announce()
        click.echo(f'Downloading "{key}" from "{name}".')
    with _bucket(given, name) as bucket:
        pieces = bucket.read(key)
        if pieces is None:
            raise EngineError(f'The specified key does not exist: "{key}" in bucket "{name}".')
        first = next(pieces, b"")  # before a file is made: a server may be gone
        if pipe:
            _copy(first, pieces, sys.stdout.buffer)
        else:
            target = given["cwd"] / (file or key)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as output:
                _copy(first, pieces, output)
    if not pipe:
        click.echo("Download complete.")


def _copy(first: bytes, rest: Iterator[bytes], output: BinaryIO) -> None:
    output.write(first)
    for piece in rest:
        output.write(piece)
    output.flush()


def _metadata_options(command: Any) -> Any:
    for flag, short, name in reversed(HTTP_METADATA):
        command = click.option(flag, short, name)(command)
    return click.option("--expires", type=int, help="Milliseconds since the Unix epoch.")(command)


@object_.command()
@click.argument("path", metavar="BUCKET/KEY")
@click.option("-f", "--file", type=PATH, help="The file to store.")
@click.option("-p", "--pipe", is_flag=True, help="Store what comes on the standard input.")
@_metadata_options
@click.option("-J", "--jurisdiction", hidden=True)
@click.option("-s", "--storage-class", help="Standard (default) or InfrequentAccess.")
@click.option("-y", "--force", is_flag=True, hidden=True)
@place_options
def put(path: str, file: Path | None, pipe: bool, expires: int | None, **given: Any) -> None:
    """Store a file as an object."""
    if file and pipe:
        raise ConfigError("Arguments file and pipe are mutually exclusive")
    if not file and not pipe:
        raise ConfigError("Either the --file or --pipe options are required.")
    name, key = _split(path)
    metadata: dict[str, str | int] = {field: given[field] for *_, field in HTTP_METADATA if given[field] is not None}
    if expires is not None:
        metadata["cacheExpiry"] = expires
    if not pipe:
        announce()
    options = PutOptions(http_metadata=metadata, storage_class=given["storage_class"] or STANDARD)
    kind = f" with {given['storage_class']} storage class" if given["storage_class"] else ""
    with _source(given["cwd"], file) as source, _bucket(given, name) as bucket:
        click.echo(f'Creating object "{key}"{kind} in bucket "{name}".')
        bucket.write(key, source, options)
    click.echo("Upload complete.")


def _source(folder: Path, file: Path | None) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if file is None else _opened(folder / file, file)


def _opened(path: Path, given: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise ConfigError(f'The file "{given}" does not exist.') from None
    except OSError as fault:
        raise ConfigError(f'An error occurred while trying to read the file "{given}": {fault.strerror}') from None


async def _pieces(source: BinaryIO) -> AsyncIterator[bytes]:
    while piece := source.read(CHUNK_BYTES):
        yield piece


@object_.command()
@click.argument("path", metavar="BUCKET/KEY")
@click.option("-J", "--jurisdiction", hidden=True)
@click.option("-y", "--force", is_flag=True, hidden=True)
@place_options
def delete(path: str, jurisdiction: str | None, force: bool, **given: Any) -> None:
    """Remove an object."""
    name, key = _split(path)
    announce()
    click.echo(f'Deleting object "{key}" from bucket "{name}".')
    with _bucket(given, name) as bucket:
        bucket.delete([key])
    click.echo("Delete complete.")
