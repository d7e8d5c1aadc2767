"""Which configuration the command line means."""

import json
import os
from pathlib import Path

import pytest

from pyflare.config.find import NoConfiguration, find, python_files
from pyflare.config.load import state_folder
from pyflare.config.options import DevOptions
from pyflare.errors import ConfigError
from tests.support.project import Project


def fault(options: DevOptions) -> str:
    with pytest.raises(ConfigError) as raised:
        find(options)
    return str(raised.value)


def test_the_configuration_is_searched_upward(project: Project) -> None:
    config = project.configure()
    deep = project.write("src/deep/x.txt", "").parent
    [found] = find(DevOptions(cwd=deep))
    assert (found.path, found.root) == (config, project.root)


@pytest.mark.cloudflare("workers-sdk: workers-utils/src/config/config-helpers.ts findWranglerConfig")
def test_json_wins_over_jsonc_over_toml_wherever_they_lie(project: Project) -> None:
    names = ("wrangler.json", "wrangler.jsonc", "src/wrangler.toml")
    for name in names:
        project.write(name, "")
    cwd = project.root / "src"
    order = []
    for name in names:
        order.append(find(DevOptions(cwd=cwd))[0].path)
        (project.root / name).unlink()
    assert order == [project.root / name for name in names]


def test_minus_c_names_files_in_order(project: Project) -> None:
    first, second = project.configure("a/one.jsonc"), project.configure("b/two.json")
    found = find(DevOptions(cwd=project.root, configs=(Path("a/one.jsonc"), Path("b/two.json"))))
    assert [one.path for one in found] == [first, second]


def test_minus_c_may_name_a_folder(project: Project) -> None:
    config = project.configure("a/wrangler.toml")
    assert find(DevOptions(cwd=project.root, configs=(Path("a"),)))[0].path == config


def test_the_argument_may_be_a_configuration_of_any_name(project: Project) -> None:
    config = project.configure("my-worker.config")
    assert find(DevOptions(cwd=project.root, script=Path("my-worker.config")))[0].path == config


def test_the_argument_may_be_a_folder_which_alone_is_looked_into(project: Project) -> None:
    project.configure()
    config = project.configure("a/wrangler.jsonc")
    (project.root / "b").mkdir()
    assert find(DevOptions(cwd=project.root, script=Path("a")))[0].path == config
    assert fault(DevOptions(cwd=project.root, script=Path("b"))).startswith(
        "No wrangler.json, wrangler.jsonc or wrangler.toml in the folder b."
    )


def test_a_python_file_without_a_configuration_stands_alone(project: Project) -> None:
    [found] = find(DevOptions(cwd=project.root, script=Path("src/entry.py")))
    assert (found.path, found.script, found.root) == (None, project.root / "src/entry.py", project.root / "src")


def test_a_python_file_below_a_configuration_replaces_its_main(project: Project) -> None:
    config = project.configure()
    other = project.write("src/other.py", "")
    [found] = find(DevOptions(cwd=project.root, script=Path("src/other.py")))
    assert (found.path, found.script) == (config, other)


def test_a_python_file_beside_minus_c_replaces_the_main_of_the_first(project: Project) -> None:
    config = project.configure()
    found = find(DevOptions(cwd=project.root, configs=(config, config), script=Path("src/entry.py")))
    assert [one.script for one in found] == [project.root / "src/entry.py", None]


def test_another_argument_beside_minus_c_is_refused(project: Project) -> None:
    config = project.configure()
    assert "only a .py file" in fault(DevOptions(cwd=project.root, configs=(config,), script=Path("src")))


@pytest.mark.parametrize("name", ["index.ts", "worker.mjs", "module.wasm"])
def test_javascript_is_refused(project: Project, name: str) -> None:
    assert fault(DevOptions(cwd=project.root, script=Path(name))) == (
        f"{name}: pyflare runs Python Workers; give a .py file or a configuration"
    )


@pytest.mark.parametrize("name", ["gone.py", "gone.jsonc", "gone"])
def test_a_file_that_is_not_there_is_named(project: Project, name: str) -> None:
    assert fault(DevOptions(cwd=project.root, script=Path(name))) == f"{name}: no such file"


def test_a_device_is_no_configuration(project: Project) -> None:
    assert fault(DevOptions(cwd=project.root, configs=(Path("/dev/null"),))).endswith("dev/null: no regular file")


def test_without_a_configuration_the_example_and_its_command_are_named(project: Project) -> None:
    project.write("wrangler.example.jsonc", "{}")
    message = fault(DevOptions(cwd=project.root / "src"))
    assert f"in {project.root / 'src'} or in a folder above it" in message
    assert "pyflare dev -c ../wrangler.example.jsonc" in message
    assert "cp ../wrangler.example.jsonc ../wrangler.jsonc" in message


def test_without_a_configuration_python_files_are_offered(project: Project) -> None:
    assert "\n    pyflare dev src/entry.py" in fault(DevOptions(cwd=project.root))


def test_an_empty_folder_is_told_of_init(tmp_path: Path) -> None:
    assert "pyflare init my-worker" in fault(DevOptions(cwd=tmp_path))


def test_python_files_of_packages_and_hidden_folders_are_not_listed(project: Project) -> None:
    for name in ("node_modules/a.py", ".venv/b.py", "env/pyvenv.cfg", "env/c.py", "__pycache__/d.py", "main.py"):
        project.write(name, "")
    assert python_files(project.root) == ["main.py", "src/entry.py"]


def test_at_most_ten_python_files_are_listed(project: Project) -> None:
    for number in range(20):
        project.write(f"many/f{number:02}.py", "")
    assert len(python_files(project.root)) == 10


def test_a_search_does_not_follow_links_in_a_circle(project: Project) -> None:
    os.symlink(project.root, project.root / "src" / "again")
    assert python_files(project.root) == ["src/entry.py"]


def redirected(project: Project, target: str = "../../dist/wrangler.json", below: str = "") -> None:
    project.write(f"{below}.wrangler/deploy/config.json", json.dumps({"configPath": target}))


@pytest.mark.cloudflare("developers.cloudflare.com/workers/wrangler/configuration/#generated-wrangler-configuration")
def test_a_build_tool_may_redirect_to_the_configuration_that_it_made(project: Project) -> None:
    project.configure()
    made = project.configure("dist/wrangler.json")
    redirected(project)
    [found] = find(DevOptions(cwd=project.root))
    assert (found.path, found.root, found.home) == (made, made.parent, project.root)


def test_minus_c_is_not_redirected(project: Project) -> None:
    own = project.configure()
    redirected(project)
    assert find(DevOptions(cwd=project.root, configs=(own,)))[0].path == own


def test_a_redirection_to_nothing_is_a_fault(project: Project) -> None:
    redirected(project)
    assert '"dist/wrangler.json", does not exist.' in fault(DevOptions(cwd=project.root))


def test_a_redirection_that_cannot_be_read_is_a_fault(project: Project) -> None:
    project.write(".wrangler/deploy/config.json", "{}")
    assert ".wrangler/deploy/config.json: cannot be read: KeyError" in fault(DevOptions(cwd=project.root))


def test_a_redirection_of_another_folder_is_a_fault(project: Project) -> None:
    project.configure()
    project.configure("app/dist/wrangler.json")
    redirected(project, below="app/")
    assert "do not share the same base path" in fault(DevOptions(cwd=project.root / "app"))


def test_data_and_secrets_stay_where_the_project_is(project: Project) -> None:
    project.configure()
    project.configure("dist/wrangler.json")
    project.write("dist/src/entry.py", "class Default:\n    pass\n")
    project.write(".dev.vars", "SECRET=1")
    redirected(project)
    config = project.load()
    assert config.vars["SECRET"] == "1"
    assert state_folder(DevOptions(cwd=project.root), config) == project.root / ".wrangler/state/v3"
    assert config.notes[0] == "Using redirected Wrangler configuration: dist/wrangler.json"


def test_a_configuration_may_be_a_python_file_too(project: Project) -> None:
    [found] = find(DevOptions(cwd=project.root, configs=(Path("src/entry.py"),)))
    assert (found.path, found.script) == (None, project.root / "src/entry.py")


def test_what_is_missing_is_advised_for_each_command(project: Project) -> None:
    with pytest.raises(NoConfiguration) as raised:
        find(DevOptions(cwd=project.root))
    assert "\n    pyflare queues list -c src/entry.py" in raised.value.advice("queues list")
    assert "\n    pyflare check src/entry.py" in raised.value.advice("check", positional=True)
