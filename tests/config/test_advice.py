"""What a deploy needs and pyflare does not: one warning each, with the line to add."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Project

DURABLE = {"bindings": [{"name": "A", "class_name": "Counter"}, {"name": "B", "class_name": "Room"}]}


def test_a_complete_configuration_has_no_warnings(project: Project) -> None:
    project.configure()
    assert project.warnings() == []


def test_a_missing_name_is_that_of_the_folder(project: Project) -> None:
    config = project.configure("My Shop/wrangler.jsonc", name=None, main="../src/entry.py")
    loaded = project.load(configs=(config,))
    assert loaded.name == "my-shop"
    [warning] = loaded.warnings
    assert warning.endswith('The worker is called "my-shop" here. Add:\n    "name": "my-shop",')


def test_a_missing_date_is_today(project: Project) -> None:
    project.configure(compatibility_date=None)
    config = project.load()
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", config.compat.date)
    [warning] = config.warnings
    assert warning.endswith(
        f'Using today\'s date: {config.compat.date}. Add:\n    "compatibility_date": "{config.compat.date}",'
    )


def test_a_missing_python_flag_is_on_all_the_same(project: Project) -> None:
    project.configure(compatibility_flags=["nodejs_compat"])
    config = project.load()
    assert config.compat.enabled("python_workers")
    [warning] = config.warnings
    assert warning.endswith('Add:\n    "compatibility_flags": ["nodejs_compat", "python_workers"],')


def test_classes_without_a_migration_get_one(project: Project) -> None:
    project.configure(durable_objects=DURABLE)
    [warning] = project.warnings()
    assert "No migration creates Counter, Room, which durable_objects names" in warning
    assert warning.endswith('"migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter", "Room"]}],')


def test_a_further_class_gets_a_further_step(project: Project) -> None:
    first = {"tag": "v1", "new_sqlite_classes": ["Counter"]}
    project.configure(durable_objects=DURABLE, migrations=[first])
    [warning] = project.warnings()
    assert warning.endswith('{"tag": "v2", "new_sqlite_classes": ["Room"]}],')


@pytest.mark.parametrize(
    "keys",
    [
        {"migrations": [{"tag": "v1", "new_classes": ["Counter", "Room"]}]},
        {"migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter", "Hall"]},
                        {"tag": "v2", "renamed_classes": [{"from": "Hall", "to": "Room"}]}]},
        {"exports": {"Counter": {"type": "durable-object"}, "Room": {"type": "durable-object"}}},
    ],
)  # fmt: skip
def test_classes_that_exist_need_nothing(project: Project, keys: dict[str, Any]) -> None:
    project.configure(durable_objects=DURABLE, **keys)
    assert project.warnings() == []


def test_a_class_that_was_deleted_exists_no_more(project: Project) -> None:
    steps = [{"tag": "v1", "new_classes": ["Counter", "Room"]}, {"tag": "v2", "deleted_classes": ["Room"]}]
    project.configure(durable_objects=DURABLE, migrations=steps)
    [warning] = project.warnings()
    assert "No migration creates Room," in warning


def test_a_class_of_another_worker_needs_nothing(project: Project) -> None:
    other = [{"name": "A", "class_name": "Counter", "script_name": "other"}]
    project.configure(durable_objects={"bindings": other})
    assert project.warnings() == []


def test_in_toml_the_lines_are_toml(project: Project) -> None:
    project.write("shop/src/entry.py", "")
    text = 'main = "src/entry.py"\n[[durable_objects.bindings]]\nname = "A"\nclass_name = "Counter"\n'
    config = project.load(configs=(project.write("shop/wrangler.toml", text),))
    added = [line.strip() for warning in config.warnings for line in warning.partition("Add:\n")[2].splitlines()]
    assert set(added) == {
        "[[migrations]]",
        'tag = "v1"',
        'new_sqlite_classes = ["Counter"]',
        'name = "shop"',
        'compatibility_flags = ["python_workers"]',
        f'compatibility_date = "{config.compat.date}"',
    }


def test_a_lone_module_needs_no_advice(project: Project) -> None:
    project.write("my_worker.py", "")
    config = project.load(script=Path("my_worker.py"))
    assert (config.name, config.path, config.warnings) == ("my_worker", None, ())
    assert config.compat.enabled("python_workers")
