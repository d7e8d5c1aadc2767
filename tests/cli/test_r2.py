"""`pyflare r2 object`: wrangler's commands on local buckets."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from pyflare.cli import main
from pyflare.engines.r2.store import UNIQUE_KEY, ObjectRow, ObjectStore
from pyflare.engines.r2.traits import storage_class
from pyflare.storage.layout import Layout
from tests.support.project import Project


@pytest.fixture
def site(project: Project) -> Project:
    project.configure(r2_buckets=[{"binding": "FILES", "bucket_name": "files"}])
    return project


def r2(project: Project, *args: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["r2", "object", *args, "--cwd", str(project.root)], input=given)


def row(project: Project, key: str) -> ObjectRow | None:
    layout = Layout(project.root / ".wrangler/state/v3")
    store = ObjectStore(layout.simulator("r2", UNIQUE_KEY, "files"))
    try:
        return store.get(key)
    finally:
        store.close()


def test_an_object_makes_a_round_trip(site: Project) -> None:
    data = bytes(range(256)) * 2000
    site.write("in.bin", data)
    result = r2(site, "put", "files/a/b.bin", "--file", "in.bin", "--content-type", "a/b", "--expires", "1000")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        ["Resource location: local ", "", 'Creating object "a/b.bin" in bucket "files".', "Upload complete."],
    )
    stored = row(site, "a/b.bin")
    assert stored is not None
    assert (stored.size, json.loads(stored.http_metadata)) == (len(data), {"contentType": "a/b", "cacheExpiry": 1000})
    assert r2(site, "get", "files/a/b.bin", "--file", "out/copy.bin").stdout.endswith("Download complete.\n")
    assert (site.root / "out/copy.bin").read_bytes() == data


def test_the_file_is_named_by_the_key_when_none_is_given(site: Project) -> None:
    r2(site, "put", "files/notes.txt", "--pipe", given=b"piped")
    r2(site, "get", "files/notes.txt")
    assert (site.root / "notes.txt").read_bytes() == b"piped"


def test_an_object_may_have_a_storage_class(site: Project) -> None:
    result = r2(site, "put", "files/a", "--pipe", "-s", "InfrequentAccess", given=b"x")
    assert 'Creating object "a" with InfrequentAccess storage class in bucket "files".' in result.stdout
    stored = row(site, "a")
    assert stored is not None
    assert storage_class(stored.http_metadata) == "InfrequentAccess"


def test_a_bucket_that_no_binding_has_is_named(site: Project) -> None:
    result = r2(site, "put", "other/a", "--pipe", given=b"x")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Upload complete.")
    assert result.stderr == 'Bucket "other" is not in the "r2_buckets" section of your configuration.\n'
    assert r2(site, "get", "files/a", "--pipe").stderr.startswith("error: ")


def test_nothing_is_said_to_be_created_of_a_file_that_is_absent(site: Project) -> None:
    assert "Creating" not in r2(site, "put", "files/a", "--file", "absent").stdout


def test_an_object_can_be_piped_out(site: Project) -> None:
    r2(site, "put", "files/a", "--pipe", given=b"\x00\xff")
    assert r2(site, "get", "files/a", "--pipe").stdout_bytes == b"\x00\xff"


def test_an_object_can_be_deleted(site: Project) -> None:
    r2(site, "put", "files/a", "--pipe", given=b"x")
    assert r2(site, "delete", "files/a").stdout.endswith("Delete complete.\n")
    assert row(site, "a") is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("get", "files/absent"), 'The specified key does not exist: "absent" in bucket "files".'),
        (("get", "files"), "The object path must be in the form of {bucket}/{key}"),
        (("put", "files/a"), "Either the --file or --pipe options are required."),
        (("put", "files/a", "--file", "absent"), 'The file "absent" does not exist.'),
        (("put", "files/" + "k" * 1025, "--pipe"), "error: The specified object name is not valid.\n"),
        (("put", "files/a", "--pipe", "-s", "Cold"), "The storage class specified is not valid."),
        (("put", "files/a", "--pipe", "--remote"), "use the same command of wrangler"),
    ],
)
def test_what_is_refused_ends_with_1(site: Project, args: tuple[str, ...], message: str) -> None:
    result = r2(site, *args, given=b"x")
    assert result.exit_code == 1
    assert message in result.stderr
