"""`pyflare kv`: wrangler's commands on local namespaces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyflare.cli import main
from pyflare.clock import SystemClock
from pyflare.engines.kv.namespace import Namespace
from pyflare.engines.kv.store import open_namespace
from pyflare.storage.layout import Layout
from tests.support.project import Project


@pytest.fixture
def site(project: Project) -> Project:
    project.configure(
        kv_namespaces=[{"binding": "NOTES", "id": "notes-id"}, {"binding": "TWO", "id": "b", "preview_id": "p"}]
    )
    return project


def kv(project: Project, *args: str, cwd: Path | None = None, binding: str | None = "NOTES") -> Result:
    named = ["--binding", binding] if binding else []
    return CliRunner().invoke(main, ["kv", *args, *named, "--cwd", str(cwd or project.root)])


def value(project: Project, key: str, namespace: str = "notes-id", state: str = ".wrangler/state") -> bytes | None:
    store = open_namespace(Layout(project.root / state / "v3"), namespace)
    try:
        found = Namespace(store, SystemClock().now, print).get(key)
        return None if found is None else found.data
    finally:
        store.close()


def test_put_says_what_it_writes_and_where(site: Project) -> None:
    result = kv(site, "key", "put", "a", "héllo")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "Resource location: local ",
            "",
            'Writing the value "héllo" to key "a" on namespace binding: "NOTES" (id: "notes-id").',
        ],
    )
    assert value(site, "a") == "héllo".encode()


def test_put_takes_a_file(site: Project) -> None:
    site.write("value.bin", b"\x00\xff")
    assert "Writing the contents of value.bin to the key" in kv(site, "key", "put", "a", "--path", "value.bin").stdout
    assert value(site, "a") == b"\x00\xff"


def test_get_prints_the_bytes_as_they_are(site: Project) -> None:
    site.write("value.bin", b"\x00\xff\n")
    kv(site, "key", "put", "a", "--path", "value.bin")
    assert kv(site, "key", "get", "a").stdout_bytes == b"\x00\xff\n"


def test_get_as_text_ends_the_line(site: Project) -> None:
    kv(site, "key", "put", "a", "v")
    assert kv(site, "key", "get", "a", "--text").stdout == "v\n"


def test_get_of_a_missing_key_says_so(site: Project) -> None:
    result = kv(site, "key", "get", "a")
    assert (result.exit_code, result.stdout) == (0, "Value not found\n")


def test_list_is_json(site: Project) -> None:
    kv(site, "key", "put", "a/1", "v", "--metadata", '{"n": 1}', "--ttl", "60")
    kv(site, "key", "put", "b", "v")
    [found] = json.loads(kv(site, "key", "list", "--prefix", "a/").stdout)
    assert (found["name"], found["metadata"]) == ("a/1", {"n": 1})
    assert found["expiration"] > 0


def test_delete_removes_a_key(site: Project) -> None:
    kv(site, "key", "put", "a", "v")
    result = kv(site, "key", "delete", "a")
    assert 'Deleting the key "a" on namespace binding: "NOTES" (id: "notes-id").' in result.stdout
    assert value(site, "a") is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("key", "put", "a", "v", "--ttl", "59"), "error: KV PUT failed: 400 Invalid expiration_ttl of 59."),
        (("key", "put", "a"), "Missing required option: exactly one of <value> and --path must be provided"),
        (("key", "put", "a", "v", "--path", "x"), "Conflicting options: <value> and --path cannot be used together."),
        (("key", "put", "a", "v", "--namespace-id", "x"), "Conflicting options: --binding and --namespace-id cannot"),
        (("key", "put", "", "v"), "error: Key name cannot be empty."),
        (("key", "put", "a", "v", "--metadata", "[1]"), "--metadata must be a JSON object. Received: [1]"),
        (("key", "put", "a", "v", "--metadata", "x"), "--metadata must be valid JSON. Received: x"),
        (("key", "put", "a", "--path", "absent"), "Could not read file: absent"),
        (("key", "get", "a", "--remote"), "use the same command of wrangler"),
        (("key", "get", "a", "--remote", "--local"), "mutually exclusive"),
    ],
)
def test_what_is_refused_ends_with_1(site: Project, args: tuple[str, ...], message: str) -> None:
    result = kv(site, *args)
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_file_that_is_absent_is_not_said_to_be_written(site: Project) -> None:
    assert "Writing" not in kv(site, "key", "put", "a", "--path", "absent").stdout


def test_a_namespace_must_be_named(site: Project) -> None:
    message = "Missing required option: exactly one of --binding and --namespace-id must be provided"
    assert message in kv(site, "key", "get", "a", binding=None).stderr
    assert 'No KV namespace with binding "X"' in kv(site, "key", "get", "a", binding="X").stderr


def test_an_id_needs_no_binding(site: Project) -> None:
    result = kv(site, "key", "put", "a", "v", "--namespace-id", "other", binding=None)
    assert 'on namespace id: "other".' in result.stdout
    assert value(site, "a", "other") == b"v"


@pytest.mark.cloudflare("S11 of the reported problems")
def test_an_id_that_no_binding_has_is_named(site: Project) -> None:
    result = kv(site, "key", "get", "a", "--namespace-id", "other", binding=None)
    assert (result.exit_code, result.stdout) == (0, "Value not found\n")
    assert result.stderr == 'KV namespace "other" is not in the "kv_namespaces" section of your configuration.\n'
    assert kv(site, "key", "get", "a", "--namespace-id", "p", binding=None).stderr == ""


def test_the_namespace_is_the_one_that_dev_serves(site: Project) -> None:
    kv(site, "key", "put", "a", "v", binding="TWO")
    assert value(site, "a", "p") == b"v"
    kv(site, "key", "put", "a", "w", "--no-preview", binding="TWO")
    assert value(site, "a", "b") == b"w"


def test_commands_work_in_a_folder_below_and_with_a_state_of_their_own(site: Project) -> None:
    (site.root / "src/deep").mkdir(parents=True)
    kv(site, "key", "put", "a", "v", cwd=site.root / "src/deep")
    assert value(site, "a") == b"v"
    kv(site, "key", "put", "a", "w", "--persist-to", "elsewhere")
    assert value(site, "a", state="elsewhere") == b"w"


@pytest.mark.cloudflare("K2 of the reported problems")
def test_bulk_put_writes_pairs_and_decodes_base64(site: Project) -> None:
    pairs = [{"key": "a", "value": "text", "metadata": {"n": 1}}, {"key": "b", "value": "AP8=", "base64": True}]
    site.write("pairs.json", json.dumps(pairs))
    result = kv(site, "bulk", "put", "pairs.json")
    assert result.stdout.splitlines()[-1] == "Success!"
    assert (value(site, "a"), value(site, "b")) == (b"text", b"\x00\xff")


def test_bulk_put_names_what_is_wrong_and_writes_nothing(site: Project) -> None:
    site.write("pairs.json", json.dumps([{"key": "a", "value": "v", "ttl": 1}, {"key": "b"}]))
    result = kv(site, "bulk", "put", "pairs.json")
    assert result.exit_code == 1
    assert 'The item at index 1 is {"key":"b"}' in result.stderr
    assert 'The item at index 0 contains unexpected properties: ["ttl"].' in result.stderr
    assert value(site, "a") is None


def test_bulk_put_refuses_what_is_not_base64(site: Project) -> None:
    site.write("bad.json", '[{"key":"a","value":"!!","base64":true}]')
    assert kv(site, "bulk", "put", "bad.json").stderr == 'error: The value of "a" is not base64\n'


def test_bulk_get_prints_json(site: Project) -> None:
    kv(site, "key", "put", "a", "v")
    site.write("keys.json", '["a", {"name": "b"}]')
    assert json.loads(kv(site, "bulk", "get", "keys.json").stdout) == {"a": {"value": "v"}, "b": {"value": None}}


def test_bulk_delete_removes_keys(site: Project) -> None:
    kv(site, "key", "put", "a", "v")
    site.write("keys.json", '["a"]')
    assert kv(site, "bulk", "delete", "keys.json", "--force").stdout.endswith("Success!\n")
    assert value(site, "a") is None


def test_a_list_of_keys_must_hold_texts(site: Project) -> None:
    site.write("keys.json", '["a", 5]')
    result = kv(site, "bulk", "get", "keys.json")
    assert (result.exit_code, 'The item at index 1 is type: "number" - 5' in result.stderr) == (1, True)
