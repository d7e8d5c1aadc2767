"""`vars`, `.dev.vars`, `.env` files and `--var`: who wins."""

from pathlib import Path

import pytest

from tests.support.project import Project

pytestmark = pytest.mark.cloudflare("workers-sdk: wrangler/src/dev/dev-vars.ts")


def test_vars_keep_their_json(project: Project) -> None:
    project.configure(vars={"A": "text", "B": {"deep": [1, None]}, "C": 1.5})
    config = project.load()
    assert (config.vars, config.secrets) == ({"A": "text", "B": {"deep": [1, None]}, "C": 1.5}, frozenset())


def test_dev_vars_win_over_vars_and_are_secrets(project: Project) -> None:
    project.configure(vars={"A": "config", "B": "config"})
    project.write(".dev.vars", "A=secret\nC=new\n")
    config = project.load()
    assert config.vars == {"A": "secret", "B": "config", "C": "new"}
    assert config.secrets == {"A", "C"}
    assert config.notes == ["Using secrets defined in .dev.vars"]


def test_dev_vars_of_the_environment_are_read_in_their_place(project: Project) -> None:
    project.configure(vars={}, env={"staging": {"vars": {"A": "config"}}})
    project.write(".dev.vars", "A=plain\nB=plain")
    project.write(".dev.vars.staging", "A=staging")
    assert project.load(env="staging").vars == {"A": "staging"}
    assert project.load().vars == {"A": "plain", "B": "plain"}


def test_an_environment_without_dev_vars_of_its_own_gets_the_plain_ones(project: Project) -> None:
    project.configure(env={"staging": {}})
    project.write(".dev.vars", "A=plain")
    assert project.load(env="staging").vars == {"A": "plain"}


def test_env_files_are_merged_the_later_ones_winning(project: Project) -> None:
    project.configure(env={"staging": {}})
    for number, name in enumerate((".env", ".env.local", ".env.staging", ".env.staging.local")):
        project.write(name, "\n".join(f"{letter}={name}" for letter in "DCBA"[: 4 - number]))
    assert project.load().vars == {"D": ".env.local", "C": ".env.local", "B": ".env.local", "A": ".env"}
    assert project.load(env="staging").vars == {
        "D": ".env.staging.local", "C": ".env.staging", "B": ".env.local", "A": ".env",
    }  # fmt: skip


def test_dev_vars_make_env_files_unread(project: Project) -> None:
    project.configure()
    project.write(".dev.vars", "A=1")
    project.write(".env", "B=2")
    assert project.load().vars == {"A": "1"}


def test_references_are_expanded_in_env_files_and_not_in_dev_vars(project: Project) -> None:
    project.configure()
    project.write(".env", "A=1\nB=$A")
    assert project.load().vars == {"A": "1", "B": "1"}
    project.write(".dev.vars", "A=1\nB=$A")
    assert project.load().vars == {"A": "1", "B": "$A"}


def test_env_files_can_be_switched_off(project: Project) -> None:
    project.configure()
    project.write(".env", "A=1")
    assert project.load({"CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV": "false"}).vars == {}


def test_the_process_can_be_included_and_wins(project: Project) -> None:
    project.configure()
    project.write(".env", "A=file\nB=file")
    environ = {"CLOUDFLARE_INCLUDE_PROCESS_ENV": "true", "A": "process", "HOME": "/x"}
    variables = project.load(environ).vars
    assert {name: variables[name] for name in "AB"} == {"A": "process", "B": "file"}
    assert variables["HOME"] == "/x"


def test_the_process_is_left_out_otherwise(project: Project) -> None:
    project.configure()
    assert project.load({"A": "process"}).vars == {}


def test_a_switch_that_is_neither_true_nor_false_is_a_fault(project: Project) -> None:
    project.configure()
    [fault] = project.faults({"CLOUDFLARE_INCLUDE_PROCESS_ENV": "maybe"})
    assert fault.endswith('CLOUDFLARE_INCLUDE_PROCESS_ENV has to be "true" or "false", not "maybe"')


def test_env_files_that_are_named_replace_all_others(project: Project) -> None:
    project.configure()
    project.write(".dev.vars", "A=1")
    project.write(".env", "B=2")
    project.write("a.env", "C=3\nD=3")
    project.write("b.env", "D=4")
    assert project.load(env_files=(Path("a.env"), Path("b.env"))).vars == {"C": "3", "D": "4"}


def test_an_env_file_that_is_named_and_not_there_is_a_warning(project: Project) -> None:
    project.configure()
    [warning] = project.warnings(env_files=(Path("gone.env"),))
    assert "--env-file gone.env: there is no such file" in warning


def test_var_wins_over_everything_and_is_hidden(project: Project) -> None:
    project.configure(vars={"A": "config"})
    project.write(".dev.vars", "A=file")
    config = project.load(vars={"A": "flag"})
    assert (config.vars, config.secrets) == ({"A": "flag"}, frozenset({"A"}))


def test_a_name_that_is_another_binding_stays_that_binding(project: Project) -> None:
    project.configure(kv_namespaces=[{"binding": "CACHE", "id": "x"}])
    project.write(".dev.vars", "CACHE=text\nA=1")
    assert project.load().vars == {"A": "1"}


def test_with_required_secrets_only_these_and_configured_vars_are_loaded(project: Project) -> None:
    project.configure(vars={"A": "config"}, secrets={"required": ["TOKEN"]})
    project.write(".dev.vars", "A=file\nTOKEN=t\nOTHER=x")
    config = project.load()
    assert (config.vars, config.secrets) == ({"A": "file", "TOKEN": "t"}, frozenset({"A", "TOKEN"}))


def test_required_secrets_may_come_from_the_process(project: Project) -> None:
    project.configure(secrets={"required": ["TOKEN"]})
    assert project.load({"TOKEN": "t", "HOME": "/x"}).vars == {"TOKEN": "t"}


def test_required_secrets_that_are_missing_are_named(project: Project) -> None:
    project.configure(secrets={"required": ["A", "B", "C"]})
    project.write(".dev.vars", "B=1")
    assert project.warnings() == [
        "wrangler.jsonc: Missing required secrets: A, C. Add them to .dev.vars, .env, or set as environment variables."
    ]


def test_a_value_that_ends_at_a_hash_is_a_warning(project: Project) -> None:
    project.configure()
    project.write(".dev.vars", "PASSWORD=a#b")
    [warning] = project.warnings()
    assert warning.endswith(".dev.vars: the value of PASSWORD ends at its first #; put it in quotes to keep the rest")


def test_a_file_that_is_not_utf_8_is_a_fault(project: Project) -> None:
    project.configure()
    project.write(".dev.vars", b"A=caf\xe9")
    assert project.faults() == ["wrangler.jsonc: .dev.vars:1:6: byte 0xe9 is not UTF-8; save the file as UTF-8"]


def test_a_toml_date_is_a_fault(project: Project) -> None:
    project.write("wrangler.toml", 'name = "x"\nmain = "src/entry.py"\n[vars]\nSINCE = 2026-01-02\n')
    assert project.faults() == ['wrangler.toml: vars.SINCE: is a TOML date; write it as text: SINCE = "2026-01-02"']


def test_every_file_that_could_appear_is_watched(project: Project) -> None:
    project.configure(env={"staging": {}})
    names = {path.name for path in project.load(env="staging").watched}
    assert {"wrangler.jsonc", ".dev.vars", ".dev.vars.staging", ".env", ".env.local", ".env.staging.local"} <= names


def test_the_other_workers_read_their_own_files(project: Project) -> None:
    from pyflare.config.load import load_workers
    from pyflare.config.options import DevOptions

    configs = (project.configure("a/wrangler.jsonc"), project.configure("b/wrangler.jsonc", name="other"))
    for folder in "ab":
        project.write(f"{folder}/src/entry.py", "")
        project.write(f"{folder}/.dev.vars", f"FROM={folder}")
    workers = load_workers(DevOptions(cwd=project.root, configs=configs, vars={"X": "1"}), {})
    assert [worker.vars for worker in workers] == [{"FROM": "a", "X": "1"}, {"FROM": "b"}]
