"""What a deploy needs and pyflare does not: one warning each, with the line to add."""

import re
from pathlib import Path

from tests.support.project import Project


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


def test_in_toml_the_lines_are_toml(project: Project) -> None:
    project.write("shop/src/entry.py", "")
    config = project.load(configs=(project.write("shop/wrangler.toml", 'main = "src/entry.py"\n'),))
    added = [line.strip() for warning in config.warnings for line in warning.partition("Add:\n")[2].splitlines()]
    assert set(added) == {
        'name = "shop"',
        'compatibility_flags = ["python_workers"]',
        f'compatibility_date = "{config.compat.date}"',
    }


def test_a_lone_module_needs_no_advice(project: Project) -> None:
    project.write("my_worker.py", "")
    config = project.load(script=Path("my_worker.py"))
    assert (config.name, config.path, config.warnings) == ("my_worker", None, ())
    assert config.compat.enabled("python_workers")
