"""What `pyproject.toml` says."""

from pyflare.config.project import normalised
from tests.support.project import Project


def test_without_a_file_nothing_is_known_of_dependencies(project: Project) -> None:
    project.configure()
    assert project.load().dependencies is None


def test_the_dependencies_that_are_deployed_are_normalised(project: Project) -> None:
    project.configure()
    project.write(
        "pyproject.toml",
        '[project]\nname = "x"\ndependencies = ["Foo_Bar>=1", "baz[extra]; python_version > \'3\'", "a.b @ file:///x"]\n'
        '[dependency-groups]\ndev = ["pytest"]\n[project.optional-dependencies]\nx = ["extra"]\n',
    )
    assert project.load().dependencies == frozenset({"foo-bar", "baz", "a-b"})


def test_a_file_above_the_configuration_counts(project: Project) -> None:
    project.write("pyproject.toml", "[tool.pyflare]\nlimits = 'warn'\n")
    config = project.configure("apps/a/wrangler.jsonc", main="../../src/entry.py")
    assert project.load(configs=(config,)).tool == {"limits": "warn"}


def test_a_file_above_the_repository_does_not(project: Project) -> None:
    project.write("pyproject.toml", "[tool.pyflare]\nlimits = 'warn'\n")
    project.write("repository/.git/config", "")
    config = project.configure("repository/wrangler.jsonc", main="../src/entry.py")
    assert project.load(configs=(config,)).tool == {}


def test_it_is_watched(project: Project) -> None:
    project.configure()
    path = project.write("pyproject.toml", "")
    assert path in project.load().watched


def test_a_wrong_setting_is_a_fault(project: Project) -> None:
    project.configure()
    project.write("pyproject.toml", '[tool.pyflare]\nstrict = "yes"\nlimits = "off"\n')
    assert project.faults() == [
        'wrangler.jsonc: pyproject.toml: tool.pyflare.strict: expected true or false, got "yes"',
        'wrangler.jsonc: pyproject.toml: tool.pyflare.limits: expected one of "error", "warn", got "off"',
    ]


def test_the_settings_of_rooms_are_known(project: Project) -> None:
    project.configure()
    project.write("pyproject.toml", "[tool.pyflare]\nevict_after = 1.5\n[tool.pyflare.queues]\nundecided = 'ack'\n")
    assert project.warnings() == []


def test_an_unknown_setting_is_a_warning(project: Project) -> None:
    project.configure()
    project.write("pyproject.toml", "[tool.pyflare]\nstrcit = true\n")
    [warning] = project.warnings()
    assert 'Unexpected fields found in [tool.pyflare] of pyproject.toml: "strcit"' in warning


def test_a_file_that_is_no_toml_is_a_fault(project: Project) -> None:
    project.configure()
    project.write("pyproject.toml", "[project\n")
    [fault] = project.faults()
    assert "pyproject.toml:1:" in fault


def test_names_are_compared_as_pypi_does() -> None:
    assert normalised("Foo__Bar.baz") == "foo-bar-baz"


def test_a_file_of_old_requirements_is_a_warning(project: Project) -> None:
    project.configure()
    project.write("cf-requirements.txt", "numpy")
    [warning] = project.warnings()
    assert "Found a `cf-requirements.txt` file. cf-requirements.txt is no longer used" in warning
