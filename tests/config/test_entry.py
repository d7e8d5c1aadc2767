"""The entry module: missing, not Python, handlers that Cloudflare would not find."""

import pytest

from tests.support.project import ENTRY, Project

ON_FETCH = "from js import Response\n\nasync def on_fetch(request):\n    return Response.new('')\n"


def test_main_is_relative_to_the_configuration(project: Project) -> None:
    config = project.configure("deep/wrangler.jsonc", main="../src/entry.py")
    loaded = project.load(configs=(config,))
    assert (loaded.main, loaded.module_root) == (project.root / "src/entry.py", project.root / "src")


def test_base_dir_is_where_imports_begin(project: Project) -> None:
    project.configure(base_dir=".")
    assert project.load().module_root == project.root


def test_a_main_that_is_not_there_lists_the_python_files(project: Project) -> None:
    project.configure(main="src/wrong.py")
    assert project.faults() == ['wrangler.jsonc: main: "src/wrong.py" does not exist. The .py files here: src/entry.py']


def test_without_a_main_the_python_files_are_listed(project: Project) -> None:
    project.configure(main=None)
    assert project.faults() == [
        "wrangler.jsonc: main: is missing; name the worker's entry module. The .py files here: src/entry.py"
    ]


def test_a_worker_of_assets_alone_needs_no_main(project: Project) -> None:
    project.configure(main=None, assets={"directory": "public"}, compatibility_flags=None)
    config = project.load()
    assert config.main is None
    assert config.warnings == ()


@pytest.mark.parametrize("name", ["src/index.ts", "worker.js", "a.mjs"])
def test_javascript_is_refused(project: Project, name: str) -> None:
    project.write(name, "")
    project.configure(main=name)
    assert project.faults() == [
        f'wrangler.jsonc: main: "{name}": pyflare runs Python Workers; `main` has to be a .py file'
    ]


def test_a_folder_is_refused(project: Project) -> None:
    project.configure(main="src")
    assert '"src" is a folder; name the .py file in it. The .py files here: src/entry.py' in project.faults()[0]


def test_another_kind_of_file_is_refused(project: Project) -> None:
    project.write("entry.txt", "")
    project.configure(main="entry.txt")
    assert '"entry.txt" is no .py file' in project.faults()[0]


def strict_faults(project: Project, entry: str) -> list[str]:
    project.configure()
    project.write("src/entry.py", entry)
    project.write("pyproject.toml", "[tool.pyflare]\nstrict = true\n")
    return project.faults()


def test_strict_refuses_a_handler_outside_a_class(project: Project) -> None:
    assert strict_faults(project, ON_FETCH) == [
        "wrangler.jsonc: main: entry.py:3: `on_fetch` stands outside a class, where Cloudflare does not find it; "
        "write `class Default(WorkerEntrypoint):` with a method `fetch`"
    ]


def test_strict_names_every_such_handler(project: Project) -> None:
    faults = strict_faults(project, "def queue(batch): ...\nasync def scheduled(event): ...\ndef helper(): ...\n")
    assert [("`queue`" in fault, "`scheduled`" in fault) for fault in faults] == [(True, False), (False, True)]


@pytest.mark.parametrize(
    "entry",
    [
        ENTRY + "def fetch(request): ...\n",
        "Default = asgi.entrypoint(app)\ndef fetch(): ...\n",
        "from app import Worker as Default\ndef queue(): ...\n",
        "from workers import fetch\n",
        "this is no python",
    ],
)
def test_strict_takes_functions_that_are_no_handlers(project: Project, entry: str) -> None:
    project.configure()
    project.write("src/entry.py", entry)
    project.write("pyproject.toml", "[tool.pyflare]\nstrict = true\n")
    assert project.load().tool == {"strict": True}


@pytest.mark.cloudflare("workerd: compatibility-date.capnp python_no_global_handlers")
def test_strict_takes_old_handlers_under_the_dates_that_knew_them(project: Project) -> None:
    project.configure(compatibility_date="2025-08-01")
    project.write("src/entry.py", ON_FETCH)
    project.write("pyproject.toml", "[tool.pyflare]\nstrict = true\n")
    assert project.load().main is not None


def test_without_strict_every_handler_is_taken(project: Project) -> None:
    project.configure()
    project.write("src/entry.py", ON_FETCH)
    assert project.warnings() == []
