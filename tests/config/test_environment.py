"""`--env`: what is inherited, what is not, and wrangler's warnings."""

from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.environment import select
from pyflare.errors import ConfigError
from tests.support.project import Project

pytestmark = pytest.mark.cloudflare("workers-sdk: workers-utils/src/config/validation.ts")


def selected(raw: dict[str, Any], name: str | None) -> tuple[dict[str, Any], Diagnostics]:
    diagnostics = Diagnostics()
    return select(raw, name, diagnostics).sections, diagnostics


def test_without_a_name_the_top_level_counts() -> None:
    sections, _ = selected({"name": "x", "vars": {"A": 1}, "env": {"staging": {"vars": {"A": 2}}}}, None)
    assert sections == {"name": "x", "vars": {"A": 1}}


def test_bindings_and_vars_are_not_inherited() -> None:
    sections, _ = selected({"name": "x", "vars": {"A": 1}, "kv_namespaces": [], "env": {"staging": {}}}, "staging")
    assert sections == {"name": "x-staging"}


def test_the_rest_is_inherited() -> None:
    top = {"main": "a.py", "triggers": {"crons": ["* * * * *"]}, "migrations": [{"tag": "v1"}], "dev": {"port": 1}}
    sections, _ = selected({**top, "env": {"staging": {}}}, "staging")
    assert sections == top


def test_the_environment_wins_and_replaces_the_whole_section() -> None:
    raw = {"triggers": {"crons": ["1 * * * *"]}, "env": {"staging": {"triggers": {"crons": []}}}}
    assert selected(raw, "staging")[0]["triggers"] == {"crons": []}


def test_null_in_the_environment_means_inherited() -> None:
    raw = {"compatibility_date": "2026-01-01", "env": {"staging": {"compatibility_date": None}}}
    assert selected(raw, "staging")[0]["compatibility_date"] == "2026-01-01"


def test_the_environment_may_have_a_name_of_its_own() -> None:
    assert selected({"name": "x", "env": {"staging": {"name": "y"}}}, "staging")[0]["name"] == "y"


def test_each_binding_that_is_missing_is_a_warning() -> None:
    _, diagnostics = selected({"kv_namespaces": [{"binding": "A"}], "env": {"staging": {}}}, "staging")
    assert diagnostics.warnings == [
        '"kv_namespaces" exists at the top level, but not on "env.staging".\n'
        'This is not what you probably want, since "kv_namespaces" is not inherited by environments.\n'
        'Please add "kv_namespaces" to "env.staging".'
    ]


def test_vars_that_are_missing_are_listed() -> None:
    raw = {"vars": {"A": 1, "B": 2, "C": 3}, "env": {"staging": {"vars": {"B": 2}}}}
    [warning] = selected(raw, "staging")[1].warnings
    assert warning.startswith('The following vars exist at the top level, but not on "env.staging.vars".\n')
    assert warning.endswith('Please add these vars to "env.staging.vars":\n- A\n- C')


def test_an_unknown_name_is_a_fault_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError) as raised:
        selected({"env": {"staging": {}, "live": {}}}, "nope")
    [fault] = raised.value.faults
    assert fault.startswith('No environment found in configuration with name "nope".')
    assert fault.endswith('The available configured environment names are: ["staging", "live"]')


def test_an_unknown_name_is_a_warning_where_there_are_no_environments_and_nothing_is_lost() -> None:
    sections, diagnostics = selected({"name": "x", "vars": {"A": 1}}, "nope")
    assert sections == {"name": "x-nope", "vars": {"A": 1}}
    assert not diagnostics.faults and len(diagnostics.warnings) == 1


def test_a_fault_in_an_environment_has_its_path(project: Project) -> None:
    project.configure(env={"staging": {"kv_namespaces": [{}]}})
    assert project.faults(env="staging") == [
        "wrangler.jsonc: env.staging.kv_namespaces[0].binding: is a required field"
    ]


def test_the_environment_may_come_from_cloudflare_env(project: Project) -> None:
    project.configure(env={"staging": {}})
    assert project.load({"CLOUDFLARE_ENV": "staging"}).name == "shop-staging"


def test_the_flag_wins_over_cloudflare_env(project: Project) -> None:
    project.configure(env={"staging": {}, "live": {}})
    assert project.load({"CLOUDFLARE_ENV": "staging"}, env="live").name == "shop-live"


def test_an_empty_flag_asks_for_the_top_level(project: Project) -> None:
    project.configure(env={"staging": {}})
    assert project.load({"CLOUDFLARE_ENV": "staging"}, env="").name == "shop"


def test_a_worker_without_a_name_gets_the_environment_added_to_that_of_its_folder(project: Project) -> None:
    config = project.configure("shop/wrangler.jsonc", name=None, main="../src/entry.py", env={"staging": {}})
    assert project.load(configs=(config,), env="staging").name == "shop-staging"


def test_cloudflare_env_may_stand_in_the_env_file_of_the_working_directory(project: Project) -> None:
    project.configure(env={"staging": {}})
    project.write(".env", "CLOUDFLARE_ENV=staging\n")
    assert project.load().environment == "staging"
