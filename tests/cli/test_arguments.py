"""A command line is read as wrangler's parser reads it."""

from pathlib import Path

import pytest

from pyflare.cli.arguments import normalised


def words(line: str) -> str:
    return " ".join(normalised(line.split()))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ""),
        ("dev", "dev"),
        ("dev --port 8787 src/entry.py", "dev --port 8787 src/entry.py"),
        ("--env staging dev --port 1", "dev --env staging --port 1"),
        ("-c a.jsonc --cwd=x dev", "dev -c a.jsonc --cwd=x"),
        ("--version", "--version"),
        ("--env", "--env"),
    ],
)
def test_flags_of_every_command_may_stand_before_it(given: str, expected: str) -> None:
    assert words(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("dev --testScheduled", "dev --test-scheduled"),
        ("dev --persistTo=myState", "dev --persist-to=myState"),
        ("dev --httpsKeyPath A.pem", "dev --https-key-path A.pem"),
        ("dev --var camelCase:xY", "dev --var camelCase:xY"),
    ],
)
def test_camel_case_is_a_spelling_of_dashes(given: str, expected: str) -> None:
    assert words(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("dev --live-reload=false", "dev --no-live-reload"),
        ("dev --live-reload=true --minify=true", "dev --live-reload --minify"),
        ("dev --show-interactive-dev-session false --port 1", "dev --no-show-interactive-dev-session --port 1"),
        ("dev --var A:true", "dev --var A:true"),
        ("dev --env=falsey", "dev --env=falsey"),
        ("dev true", "dev true"),
    ],
)
def test_a_switch_may_be_given_a_value(given: str, expected: str) -> None:
    assert words(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("dev --var A:1 B:2 --port 1", "dev --var A:1 --var B:2 --port 1"),
        ("dev --env-file a b c", "dev --env-file a --env-file b --env-file c"),
        ("dev --var A:1 src/entry.py", "dev --var A:1 src/entry.py"),
        (
            "dev src/x.jsonc --compatibility-flags a b",
            "dev src/x.jsonc --compatibility-flags a --compatibility-flags b",
        ),
        ("dev -c a b", "dev -c a b"),
    ],
)
def test_a_flag_may_be_followed_by_several_values(given: str, expected: str) -> None:
    assert words(given) == expected


def test_a_folder_is_the_worker_and_no_further_value(tmp_path: Path) -> None:
    assert normalised(["dev", "--var", "A:1", str(tmp_path)]) == ["dev", "--var", "A:1", str(tmp_path)]


def test_after_two_dashes_nothing_changes() -> None:
    assert words("dev --var A:1 -- --testScheduled=true b") == "dev --var A:1 -- --testScheduled=true b"
