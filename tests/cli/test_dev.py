"""`pyflare dev`: every flag becomes a field of `DevOptions`, and errors become lines."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from pyflare.cli import main
from pyflare.cli.ignored import IGNORED
from pyflare.config.options import DevOptions
from pyflare.errors import ConfigError, StateInUse, WorkerError

Run = Callable[[DevOptions], int]


class Dev:
    """Runs `pyflare dev …` with a supervisor that only notes its options."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.options: DevOptions | None = None
        self.run: Run = lambda options: 0
        supervisor = ModuleType("pyflare.supervisor.supervisor")
        supervisor.run = self._noted  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "pyflare.supervisor.supervisor", supervisor)

    def _noted(self, options: DevOptions) -> int:
        self.options = options
        return self.run(options)

    def result(self, *args: str) -> Result:
        return CliRunner().invoke(main, ["dev", *args])

    def parsed(self, *args: str) -> DevOptions:
        result = self.result(*args)
        assert result.exit_code == 0, result.output
        assert self.options is not None
        return self.options


@pytest.fixture
def dev(monkeypatch: pytest.MonkeyPatch) -> Dev:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return Dev(monkeypatch)


def test_without_flags_the_options_are_their_defaults(dev: Dev) -> None:
    assert dev.parsed() == DevOptions(cwd=Path.cwd().resolve())


def test_every_flag_is_a_field(dev: Dev, tmp_path: Path) -> None:
    options = dev.parsed(
        "entry.py", "-c", "a.jsonc", "--config", "b.jsonc", "-e", "staging", "--env-file", "x.env", "--var", "A:1:2",
        "--cwd", str(tmp_path), "--ip", "::1", "--port", "0", "--host", "x.test", "--persist-to", "state",
        "--compatibility-date", "2026-01-01", "--compatibility-flag", "python_workers", "--compatibility-flags", "b",
        "--name", "n", "--assets", "public", "--local-protocol", "https", "--https-key-path", "k.pem",
        "--https-cert-path", "/c.pem", "--upstream-protocol", "https", "--no-test-scheduled", "--cron", "--no-reload",
        "--evict-after", "1.5", "--durability", "full", "--log-level", "debug", "--log-format", "json",
        "--allow-host", "worker", "--allow-host", "proxy", "--live-reload", "--no-color",
    )  # fmt: skip
    assert options == DevOptions(
        configs=(Path("a.jsonc"), Path("b.jsonc")),
        script=Path("entry.py"),
        env="staging",
        env_files=(Path("x.env"),),
        vars={"A": "1:2"},
        cwd=tmp_path.resolve(),
        ip="::1",
        port=0,
        host="x.test",
        persist_to=Path("state"),
        compatibility_date="2026-01-01",
        compatibility_flags=("python_workers", "b"),
        name="n",
        assets=Path("public"),
        local_protocol="https",
        https_key_path=tmp_path.resolve() / "k.pem",
        https_cert_path=Path("/c.pem"),
        upstream_protocol="https",
        test_scheduled=False,
        cron=True,
        reload=False,
        evict_after=1.5,
        durability="full",
        log_level="debug",
        log_format="json",
        allow_hosts=("worker", "proxy"),
        live_reload=True,
        color=False,
    )


def test_test_scheduled_is_accepted(dev: Dev) -> None:
    assert dev.parsed("--test-scheduled").test_scheduled is True


@pytest.mark.cloudflare("workers-sdk: wrangler/src/dev/start-dev.ts (args.host ?? args.localUpstream)")
def test_local_upstream_is_another_word_for_host(dev: Dev) -> None:
    assert dev.parsed("--local-upstream", "x.test").host == "x.test"


@pytest.mark.parametrize("flag", IGNORED, ids=lambda flag: str(flag.names[0]))
def test_a_flag_without_effect_is_accepted_with_one_line(dev: Dev, flag: object) -> None:
    from pyflare.cli.ignored import Ignored

    assert isinstance(flag, Ignored)
    for name in flag.names:
        result = dev.result(name) if flag.switch else dev.result(name, "x")
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == f"{flag.names[0]} has no effect here: {flag.why}.\n"


def test_such_a_switch_may_be_turned_off(dev: Dev) -> None:
    assert dev.result("--show-interactive-dev-session=false", "--no-bundle").stderr.count("has no effect here") == 2


def test_nothing_is_said_of_flags_that_are_not_given(dev: Dev) -> None:
    assert dev.result().output == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--port", "70000"], "70000 is not in the range"),
        (["--port", "x"], "'x' is not a valid integer"),
        (["--local-protocol", "ftp"], "'ftp' is not one of 'http', 'https'"),
        (["--log-level", "loud"], "'loud' is not one of"),
        (["--var", "A"], '"A" has to be NAME:VALUE'),
        (["--evict-after", "-1"], "-1.0 is not in the range"),
        (["--https-key-path", "k.pem"], "--https-key-path and --https-cert-path belong together"),
        (["--cwd", "/no/such/folder"], "/no/such/folder: no such folder"),
        (["--no-such-flag"], "No such option"),
    ],
)
def test_a_wrong_flag_is_a_usage_error(dev: Dev, args: list[str], message: str) -> None:
    result = dev.result(*args)
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")
    assert dev.options is None


def test_the_exit_code_is_the_supervisors(dev: Dev) -> None:
    dev.run = lambda options: 3
    assert dev.result().exit_code == 3


def raising(error: Exception) -> Run:
    def run(options: DevOptions) -> int:
        raise error

    return run


def test_faults_of_the_configuration_are_lines_and_exit_1(dev: Dev) -> None:
    dev.run = raising(ConfigError("wrangler.jsonc: name: is wrong", "wrangler.jsonc: main: is missing\nmore"))
    result = dev.result()
    assert result.exit_code == 1
    assert result.stderr == "error: wrangler.jsonc: name: is wrong\nerror: wrangler.jsonc: main: is missing\n  more\n"


def test_a_state_folder_in_use_is_a_line_and_exit_1(dev: Dev) -> None:
    dev.run = raising(StateInUse(Path("/state"), 12, 8787))
    result = dev.result()
    assert result.exit_code == 1
    assert (
        result.stderr == "error: State folder /state is in use by pid 12 on port 8787; stop it, give another "
        "--persist-to, or serve several workers with one `pyflare dev -c … -c …`\n"
    )


def test_an_error_of_the_worker_shows_its_traceback(dev: Dev) -> None:
    dev.run = raising(WorkerError("entry.py cannot be imported", "Traceback of theirs"))
    assert dev.result().stderr == "error: entry.py cannot be imported\nTraceback of theirs\n"


@pytest.mark.parametrize(("name", "color"), [("NO_COLOR", False), ("FORCE_COLOR", True)])
def test_the_environment_decides_about_colours(
    dev: Dev, monkeypatch: pytest.MonkeyPatch, name: str, color: bool
) -> None:
    monkeypatch.setenv(name, "1")
    assert dev.parsed().color is color


def test_help_names_every_field_of_the_options(dev: Dev) -> None:
    text = dev.result("--help").output
    for flag in (
        "--persist-to",
        "--allow-host",
        "--evict-after",
        "--durability",
        "--cron",
        "--no-reload",
        "--log-format",
    ):
        assert flag in text
    assert "--minify" not in text


def test_help_names_the_dashboard(dev: Dev) -> None:
    assert "http://localhost:8787/cdn-cgi/explorer" in dev.result("--help").output
