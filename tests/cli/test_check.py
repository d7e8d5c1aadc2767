"""`pyflare check`: warnings pass, faults exit with 1."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pyflare.cli import main
from tests.support.project import COMPLETE, ENTRY, Project

COUNTER = ENTRY.replace("import ", "import DurableObject, ") + "\n\nclass Counter(DurableObject):\n    pass\n"


def check(project: Project, *args: str) -> Result:
    return CliRunner().invoke(main, ["check", "--cwd", str(project.root), *args])


def test_a_configuration_without_faults_is_one_line(project: Project) -> None:
    project.configure()
    result = check(project)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "shop: no faults (wrangler.jsonc, src/entry.py, 2026-08-01)\n"


def test_warnings_are_lines_on_stderr_and_pass(project: Project) -> None:
    project.configure(foo=1)
    result = check(project)
    assert result.exit_code == 0
    assert result.stderr == 'warning: wrangler.jsonc: Unexpected fields found in top-level field: "foo"\n'


def test_with_strict_warnings_of_configuration_and_code_fail_too(project: Project) -> None:
    project.configure(foo=1)
    project.write("src/entry.py", "import curses\n" + ENTRY)
    result = check(project, "--strict")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "imports 'curses', which Python on Cloudflare does not have\n" in result.stderr
    assert result.stderr.endswith("error: 2 warnings; with --strict there may be none\n")


def test_with_strict_a_worker_without_warnings_passes(project: Project) -> None:
    project.configure()
    assert check(project, "--strict").stdout == check(project).stdout != ""


MISSPELT = {
    "kv_namespaces": {"binding": "A", "idd": "x"},
    "r2_buckets": {"binding": "A", "bucket": "x"},
    "d1_databases": {"binding": "A", "database_idd": "x"},
    "analytics_engine_datasets": {"binding": "A", "datasett": "x"},
    "hyperdrive": {"binding": "A", "id": "x", "localConnectionString": "postgres://u:p@localhost:5432/d", "idd": "x"},
    "ratelimits": {"name": "A", "namespace_id": "1", "simple": {"limit": 1, "period": 10, "perid": 1}},
    "secrets_store_secrets": {"binding": "A", "store_id": "x", "secret_name": "y", "secret": "z"},
    "send_email": {"name": "A", "destination": "x"},
    "pipelines": {"binding": "A", "pipeline": "x", "pip": "x"},
    "tail_consumers": {"service": "shop", "servic": "x"},
    "worker_loaders": {"binding": "A", "bind": "x"},
}


@pytest.mark.parametrize("key", [*MISSPELT, "assets", "images", "version_metadata"])
def test_an_unknown_key_of_a_binding_is_told_once(project: Project, key: str) -> None:
    project.write("public/a.txt", "")
    single = {"binding": "A", "bindin": "x", **({"directory": "public"} if key == "assets" else {})}
    section: dict[str, Any] = {key: [MISSPELT[key]] if key in MISSPELT else single}
    project.configure(**section)
    told = [line for line in check(project).stderr.splitlines() if "Unexpected fields" in line]
    assert len(told) == 1
    assert told[0].startswith(f"warning: wrangler.jsonc: Unexpected fields found in {key}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", None),
        ("main", "src/entri.py"),
        ("main", None),
        ("compatibility_date", None),
        ("compatibility_flags", "python_workers"),
        ("compatibility_flags", [5]),
        ("kv_namespaces", [{"binding": ""}]),
        ("rules", [{"type": "Text", "globs": 5}]),
        ("migrations", [{"tag": "", "new_sqlite_classes": ["Counter"]}]),
    ],
)
def test_a_key_with_a_fault_has_no_other_faults_and_warnings_follow(project: Project, key: str, value: Any) -> None:
    project.write("public/a.txt", "")
    project.write("src/entry.py", COUNTER)
    sound = {
        "assets": {"directory": "public", "binding": "ASSETS", "run_worker_first": True},
        "durable_objects": {"bindings": [{"name": "C", "class_name": "Counter"}]},
        "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
    }
    project.write("wrangler.jsonc", json.dumps({**COMPLETE, **sound, key: value}))
    [fault] = check(project).stderr.splitlines()
    assert fault.startswith(f"error: wrangler.jsonc: {key}")


def test_every_fault_is_a_line_and_the_exit_code_is_1(project: Project) -> None:
    project.configure(name=5, main="gone.py", vars=[])
    result = check(project)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert [line.split(": ")[2] for line in result.stderr.splitlines()] == ["name", "vars", "main"]


def test_the_engines_look_at_their_sections_too(project: Project) -> None:
    project.configure(name=5, queues={"consumers": [{"queue": "q", "max_batch_size": 1000}]})
    result = check(project)
    assert [line.split(": ")[2] for line in result.stderr.splitlines()] == [
        "name",
        "queues.consumers[0].max_batch_size",
    ]


def test_a_class_without_a_migration_is_one_warning_with_the_line_to_add(project: Project) -> None:
    project.configure(durable_objects={"bindings": [{"name": "C", "class_name": "Counter"}]})
    project.write("src/entry.py", COUNTER)
    [warning] = check(project).stderr.splitlines()
    assert warning.endswith('"migrations": [{ "tag": "v1", "new_sqlite_classes": ["Counter"] }]')


def test_a_handler_outside_a_class_is_refused(project: Project) -> None:
    project.configure()
    project.write("src/entry.py", "async def fetch(request): ...\n")
    result = check(project)
    assert result.exit_code == 1
    assert "`fetch` stands outside a class" in result.stderr


def test_several_configurations_are_checked_in_one_go(project: Project) -> None:
    project.configure("a.jsonc")
    project.configure("b.jsonc", name="other")
    result = check(project, "-c", "a.jsonc", "-c", "b.jsonc")
    assert result.stdout.count("no faults") == 2


def test_a_lone_module_has_no_configuration(project: Project) -> None:
    result = check(project, "src/entry.py")
    assert result.stdout.startswith("entry: no faults (no configuration, src/entry.py, ")


def test_no_configuration_is_one_clear_error(project: Project) -> None:
    result = check(project)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: No wrangler.json, wrangler.jsonc or wrangler.toml in ")


def test_a_module_that_cannot_be_parsed_is_a_fault(project: Project) -> None:
    project.configure()
    project.write("src/entry.py", "def broken(:\n")
    result = check(project)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "entry.py cannot be imported: SyntaxError" in result.stderr


def test_a_module_that_is_missing_is_a_fault_with_the_line_that_imports_it(project: Project) -> None:
    project.configure()
    project.write("src/entry.py", "import nothing_of_this_name\n")
    result = check(project)
    assert result.exit_code == 1
    assert "ModuleNotFoundError: No module named 'nothing_of_this_name'" in result.stderr
    assert 'entry.py", line 1' in result.stderr


def test_a_class_of_a_binding_that_is_not_exported_is_a_fault(project: Project) -> None:
    project.configure(
        durable_objects={"bindings": [{"name": "C", "class_name": "Counter"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
    )
    result = check(project)
    assert result.exit_code == 1
    assert "Counter" in result.stderr


def test_a_package_that_nothing_declares_is_a_warning(project: Project) -> None:
    project.configure()
    project.write("src/entry.py", "import click\n" + ENTRY)
    result = check(project)
    assert result.exit_code == 0
    assert "entry.py imports 'click'" in result.stderr
    assert "missing on Cloudflare" in result.stderr


def test_an_invalid_line_of_a_rule_file_is_a_warning_with_its_place(project: Project) -> None:
    project.configure(assets={"directory": "public"})
    project.write("public/_headers", "NoColon\n")
    result = check(project)
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: Found 1 invalid header rule:\n"
        "  ▶︎ Expected a path beginning with at least one forward-slash\n"
        "      at public/_headers:1 | NoColon\n"
    )


def test_assets_that_a_deploy_would_refuse_are_faults(project: Project) -> None:
    project.configure(assets={"directory": "public"})
    project.write("public/_worker.js", "")
    result = check(project)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: wrangler.jsonc: assets.directory: Uploading a Pages _worker.js file")


def test_a_check_leaves_nothing_behind(project: Project) -> None:
    project.configure(kv_namespaces=[{"binding": "NOTES", "id": "n"}])
    assert check(project).exit_code == 0
    assert {path.name for path in project.root.iterdir()} == {".git", "src", "wrangler.jsonc"}


def test_what_the_code_prints_stays_out_of_the_answer(project: Project) -> None:
    project.configure()
    project.write("src/entry.py", ENTRY + "print('hello')\n")
    result = check(project)
    assert result.stdout.startswith("shop: no faults")
    assert "hello" in result.stderr
