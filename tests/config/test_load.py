"""All of it together: flags, several workers, every fault at once, the documents' snippets."""

import json
from pathlib import Path
from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.load import load_workers, read_workers, state_folder
from pyflare.config.model import WorkerConfig
from pyflare.config.options import DevOptions
from pyflare.config.schema import KEYS
from pyflare.errors import ConfigError
from tests.support.project import Project

ROOT = Path(__file__).parents[2]


def test_three_different_faults_are_told_at_once(project: Project) -> None:
    project.configure(name=5, main="gone.py", queues={"consumers": [{"queue": "q", "max_retries": "x"}]})
    assert [fault.split(": ")[1] for fault in project.faults()] == ["name", "queues.consumers[0].max_retries", "main"]


def test_faults_of_all_files_are_told_at_once(project: Project) -> None:
    first = project.configure("a.jsonc", vars=5)
    second = project.write("b.jsonc", "{")
    assert [fault.partition(":")[0] for fault in project.faults(configs=(first, second))] == ["b.jsonc", "a.jsonc"]


def test_an_engine_is_asked_for_further_faults(project: Project) -> None:
    def examine(config: WorkerConfig, diagnostics: Diagnostics) -> None:
        diagnostics.fault("queues", f"of {config.name}")

    project.configure(vars=5)
    with pytest.raises(ConfigError) as raised:
        load_workers(DevOptions(cwd=project.root), {}, examine)
    assert raised.value.faults == (
        "wrangler.jsonc: vars: expected an object, got 5",
        "wrangler.jsonc: queues: of shop",
    )


def test_an_engine_is_not_asked_where_nothing_is_wrong(project: Project) -> None:
    project.configure()
    assert load_workers(DevOptions(cwd=project.root), {}, lambda config, diagnostics: pytest.fail("asked"))


@pytest.mark.parametrize("date", ["2026-02-30", "yesterday", "2026-1-1"])
def test_a_date_that_is_none_is_a_fault(project: Project, date: str) -> None:
    project.configure(compatibility_date=date)
    [fault] = project.faults()
    assert fault == (
        f'wrangler.jsonc: compatibility_date: should be a valid ISO-8601 date (YYYY-MM-DD), but got "{date}"'
    )


def test_a_date_in_the_future_is_a_warning(project: Project) -> None:
    project.configure(compatibility_date="2999-01-01")
    [warning] = project.warnings()
    assert warning.startswith('wrangler.jsonc: Compatibility date "2999-01-01" is in the future')


def test_a_date_of_toml_is_told_to_need_quotes(project: Project) -> None:
    project.write("wrangler.toml", 'name = "x"\nmain = "src/entry.py"\ncompatibility_date = 2026-01-01\n')
    [fault] = project.faults()
    assert fault.endswith("compatibility_date: expected a string, got the TOML date 2026-01-01; put it in quotes")


def test_an_unknown_flag_is_a_warning(project: Project) -> None:
    project.configure(compatibility_flags=["python_workers", "pyhton_workers"])
    assert project.warnings() == ["wrangler.jsonc: No such compatibility flag: pyhton_workers"]


def test_flags_of_the_command_line_win(project: Project) -> None:
    project.configure()
    config = project.load(
        name="other",
        compatibility_date="2025-01-01",
        compatibility_flags=("python_workers", "nodejs_compat"),
        assets=Path("public"),
    )
    assert (config.name, config.compat.date) == ("other", "2025-01-01")
    assert config.compat.flags == {"python_workers", "nodejs_compat"}
    assert config.sections["assets"] == {"directory": str(project.root / "public")}


def test_a_wrong_name_on_the_command_line_is_a_fault(project: Project) -> None:
    project.configure()
    assert project.faults(name="A B")[0].startswith("wrangler.jsonc: --name: expected a string, alphanumeric")


def test_of_the_command_line_only_the_environment_reaches_the_other_workers(project: Project) -> None:
    first = project.configure("a.jsonc", env={"staging": {}})
    second = project.configure("b.jsonc", name="other", env={"staging": {"vars": {"A": "1"}}})
    options = DevOptions(cwd=project.root, configs=(first, second), env="staging", name="x", port=1, vars={"V": "1"})
    one, two = load_workers(options, {})
    assert (one.name, one.dev.port, one.vars) == ("x", 1, {"V": "1"})
    assert (two.name, two.dev.port, two.vars) == ("other-staging", None, {"A": "1"})


def test_two_workers_cannot_have_one_name(project: Project) -> None:
    configs = (project.configure("a.jsonc"), project.configure("b.jsonc"))
    assert project.faults(configs=configs) == ['b.jsonc: name: "shop" is also the name of the worker in a.jsonc']


def test_sections_hold_every_key_for_the_engines(project: Project) -> None:
    project.configure(kv_namespaces=[{"binding": "A", "id": "x"}], whatever=5)
    assert {"kv_namespaces", "whatever", "main"} <= set(project.load().sections)


def test_the_state_lies_beside_the_configuration(project: Project) -> None:
    config = project.configure("deep/wrangler.jsonc", main="../src/entry.py")
    options = DevOptions(cwd=project.root, configs=(config,))
    assert state_folder(options, load_workers(options, {})[0]) == project.root / "deep/.wrangler/state/v3"


def test_the_state_may_lie_elsewhere_relative_to_the_working_directory(project: Project) -> None:
    config = project.configure("deep/wrangler.jsonc", main="../src/entry.py")
    options = DevOptions(cwd=project.root, configs=(config,), persist_to=Path("data"))
    assert state_folder(options, load_workers(options, {})[0]) == project.root / "data/v3"


def test_reading_gives_a_worker_even_with_faults(project: Project) -> None:
    project.configure(name=5, vars=5)
    [loaded] = read_workers(DevOptions(cwd=project.root), {})
    assert len(loaded.diagnostics.faults) == 2
    assert loaded.config.main == project.root / "src/entry.py"


# The snippets of the user's documents, with their comments.
SNIPPETS = {
    "queues, batches of fifty": """{
      "queues": {
        "producers": [{ "binding": "JOBS", "queue": "jobs" }],
        "consumers": [{
          "queue": "jobs",
          "max_batch_size": 50,        // legfeljebb ennyi…
          "max_batch_timeout": 5,      // …vagy ennyi mp után
          "max_retries": 5,
          "retry_delay": 120,          // újrapróbálás előtt (mp)
          "max_concurrency": 10,       // felső korlát
          "dead_letter_queue": "jobs-dlq"
        }]
      }
    }""",
    "two crons": '{ "triggers": { "crons": ["0 1 * * *", "*/15 * * * *"] } }',
    "no crons": '{ "triggers": { "crons": [] } }',
    "a workflow": '{ "workflows": [{ "name": "onboarding", "binding": "ONBOARDING", "class_name": "Onboarding" }] }',
    "a durable object": """{
      "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] },
      "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Counter"] }]
    }""",
    "a deleted class": """{
      // SAI: xóa class trong migration
      "migrations": [
        { "tag": "v1", "new_classes": ["Counter"] },
        { "tag": "v2", "deleted_classes": ["Counter"] }  // XÓA HẾT DATA
      ]
    }""",
}


@pytest.mark.parametrize("snippet", SNIPPETS.values(), ids=SNIPPETS)
def test_a_snippet_of_the_documents_starts_with_main_alone_added(project: Project, snippet: str) -> None:
    project.write("wrangler.jsonc", snippet.replace("{", '{ "main": "src/entry.py",', 1))
    config = project.load()
    assert config.main is not None
    assert len(config.warnings) == 3  # name, date, flag


def test_the_example_names_every_key() -> None:
    text = (ROOT / "wrangler.example.jsonc").read_text(encoding="utf-8")
    assert [key for key in KEYS if f'"{key}":' not in text] == []


@pytest.mark.parametrize("env", [None, "staging"])
def test_the_example_loads_without_a_warning(env: str | None) -> None:
    options = DevOptions(cwd=ROOT, configs=(Path("wrangler.example.jsonc"),), env=env)
    [config] = load_workers(options, {})
    assert config.warnings == ()
    assert config.main == ROOT / "fixtures/example/src/entry.py"


def test_the_example_binds_what_its_worker_needs() -> None:
    def bindings(path: str) -> dict[str, Any]:
        [config] = load_workers(DevOptions(cwd=ROOT, configs=(Path(path),)), {})
        keys = ("vars", "kv_namespaces", "d1_databases", "queues", "triggers", "durable_objects", "migrations")
        dropped = json.loads(json.dumps({key: config.sections.get(key) for key in keys}))
        for database in dropped["d1_databases"] or ():
            database.pop("migrations_dir", None)
        return dict(dropped)

    assert bindings("wrangler.example.jsonc") == bindings("fixtures/example/wrangler.jsonc")
