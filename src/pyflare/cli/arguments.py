"""Accept a command line as wrangler's own parser (yargs) does, so that scripts run unchanged.

--env staging dev              ->  dev --env staging            what belongs to every command may stand before it
--testScheduled                ->  --test-scheduled
--live-reload=false            ->  --no-live-reload             also `--live-reload false`
--var A:1 B:2                  ->  --var A:1 --var B:2          several values after one flag
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_GLOBAL = frozenset({"-c", "--config", "-e", "--env", "--cwd", "--env-file"})
_SEVERAL = frozenset(
    {
        "--env-file",
        "--var",
        "--compatibility-flag",
        "--compatibility-flags",
        "--define",
        "--alias",
        "--route",
        "--routes",
        "--site-include",
        "--site-exclude",
    }
)
_CAPITAL = r"(?<=[a-z])[A-Z]"
_BOOLEANS = {"true": "--", "false": "--no-"}


def normalised(args: Sequence[str]) -> list[str]:
    """The arguments as click takes them. After `--` and for what is no flag nothing changes."""
    words = list(args)
    end = words.index("--") if "--" in words else len(words)
    ours, rest = _globals_last(words[:end]), words[end:]
    return _several(_booleans([_kebab(word) for word in ours])) + rest


def _globals_last(words: list[str]) -> list[str]:
    """Move flags that stand before the command behind it."""
    index = 0
    while index < len(words) and words[index].partition("=")[0] in _GLOBAL:
        index += 1 if "=" in words[index] else 2
    return words[index : index + 1] + words[:index] + words[index + 1 :] if index < len(words) else words


def _kebab(word: str) -> str:
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    return re.sub(_CAPITAL, lambda match: "-" + match[0].lower(), name) + equals + value


def _booleans(words: list[str]) -> list[str]:
    """`--x=false`, `--x false` and the like; only a flag that is a switch is ever given such a value."""
    result: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.startswith("--") and value in _BOOLEANS:
            result.append(_BOOLEANS[value] + name[2:])
        elif word in _BOOLEANS and result and result[-1].startswith("--") and "=" not in result[-1]:
            result.append(_BOOLEANS[word] + result.pop()[2:])
        else:
            result.append(word)
    return result


def _several(words: list[str]) -> list[str]:
    """Repeat a flag before each further value; a folder or a .py file is the worker to run, not a value."""
    result: list[str] = []
    flag = ""
    values = 0
    for word in words:
        if word.startswith("-"):
            flag, values = (word, 0) if word in _SEVERAL else ("", 0)
        elif flag and values and not _is_script(word):
            result.append(flag)
        result.append(word)
        values += not word.startswith("-")
    return result


def _is_script(word: str) -> bool:
    return word.endswith(".py") or os.path.isdir(word)
