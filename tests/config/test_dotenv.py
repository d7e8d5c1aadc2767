"""The dialect of npm's dotenv 16.3, which wrangler reads; the expectations were taken from it by running it."""

import pytest

from pyflare.config.dotenv import expand, parse

NPM = pytest.mark.cloudflare("workers-sdk: wrangler/src/dev/dev-vars.ts uses npm's dotenv 16.3.1")


@NPM
@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1\nB = spaced  \n", {"A": "1", "B": "spaced"}),
        ("export A=1", {"A": "1"}),
        ("A: yaml", {"A": "yaml"}),
        ("A=a#b", {"A": "a"}),
        ("A=a # comment", {"A": "a"}),
        ("A=#x", {"A": ""}),
        ('A="a#b" # c', {"A": "a#b"}),
        ("A='a#b'", {"A": "a#b"}),
        ('A=`it\'s "both"`', {"A": 'it\'s "both"'}),
        (r'A="l1\nl2\t"', {"A": "l1\nl2\\t"}),
        (r"A='l1\nl2'", {"A": "l1\\nl2"}),
        (r"A=l1\nl2", {"A": "l1\\nl2"}),
        ('A="line 1\nline 2"\nB=2', {"A": "line 1\nline 2", "B": "2"}),
        (r'A="a\"b"', {"A": r"a\"b"}),
        ('A="unclosed\nB=2', {"A": '"unclosed', "B": "2"}),
        ("A='it's'", {"A": "it's"}),
        ('A="x" y', {"A": '"x" y'}),
        ("A==b", {"A": "=b"}),
        ("A=\n\nB=1", {"A": "", "B": "1"}),
        ("A=x\r\nB=y\rC=z", {"A": "x", "B": "y", "C": "z"}),
        ("A=1\nA=2", {"A": "2"}),
        ("A.B-c=d", {"A.B-c": "d"}),
        ("# comment\n=x\nnonsense\nA : 1", {}),
        ("A=ő ű 🗜", {"A": "ő ű 🗜"}),
        ("A=$B", {"A": "$B"}),
    ],
)
def test_assignments_are_read_as_npm_does(text: str, values: dict[str, str]) -> None:
    assert parse(text).values == values


def test_a_value_that_loses_its_end_to_a_hash_is_told() -> None:
    assert parse("A=a#b\nB=a #b\nC='a'#b\nD=#b\nE=\"a#b\"").cut == ("A",)


EXPAND = pytest.mark.cloudflare("workers-sdk: wrangler/src/config/dot-env.ts uses npm's dotenv-expand 12")


@EXPAND
@pytest.mark.parametrize(
    ("values", "expanded"),
    [
        ({"B": "1", "A": "$B"}, "1"),
        ({"B": "1", "A": "${B}x$B"}, "1x1"),
        ({"A": "$B", "B": "1"}, ""),
        ({"A": "${Q:-default}"}, "default"),
        ({"A": "${Q-default}"}, "default"),
        ({"B": "", "A": "${B:-default}"}, "default"),
        ({"B": "1", "A": "${B:+instead}"}, "instead"),
        ({"A": "${Q:+instead}"}, ""),
        ({"A": r"\$B", "B": "1"}, "$B"),
        ({"A": "pa$$word"}, "pa$"),
        ({"A": "$1"}, "$1"),
        ({"A": "$(cmd)"}, "$(cmd)"),
        ({"A": "$A"}, ""),
        ({"A": "$P"}, "from the process"),
    ],
)
def test_references_are_expanded_as_npm_does(values: dict[str, str], expanded: str) -> None:
    assert expand(values, {"P": "from the process"})["A"] == expanded


@EXPAND
def test_the_process_wins_over_a_file() -> None:
    assert expand({"A": "file", "B": "$A"}, {"A": "process"}) == {"A": "process", "B": "process"}


def test_references_in_a_circle_end() -> None:
    assert "A" in expand({"A": "z${P}"}, {"P": "${Q}a", "Q": "${P}b"})
