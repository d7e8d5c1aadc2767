"""`pyflare check`: warnings pass, faults exit with 1."""

from click.testing import CliRunner, Result

from pyflare.cli import main
from tests.support.project import Project


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
