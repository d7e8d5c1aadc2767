"""Which configuration does `pyflare dev` mean? From `-c`, the positional argument, or upward from the folder."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyflare.config.options import DevOptions
from pyflare.errors import ConfigError

NAMES = ("wrangler.json", "wrangler.jsonc", "wrangler.toml")  # wrangler looks for each in all folders, in this order
DEPLOY = ".wrangler/deploy/config.json"  # where a build tool says which configuration it made
EXAMPLES = ("wrangler.example.jsonc", "wrangler.example.json", "wrangler.example.toml")
SCRIPT_SUFFIXES = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".wasm"})
_LISTED_FILES = 10
_LISTED_DEPTH = 4
_SEARCHED_FOLDERS = 500  # the search may begin at a home folder
_UNLISTED_FOLDERS = frozenset({"node_modules", "python_modules", "__pycache__", "dist", "build", "venv"})


@dataclass(frozen=True)
class Found:
    """One worker's configuration; without `path` the worker is a lone `script`, which else replaces `main`. `home` is
    the project's folder where a tool made the configuration: secrets and data lie there."""

    root: Path
    path: Path | None = None
    script: Path | None = None
    home: Path | None = None


class NoConfiguration(ConfigError):
    """There is none where one was looked for; `str()` says what to do for `pyflare dev`, `advice` for any command."""

    def __init__(
        self, sentence: str, example: str | None = None, copy: str | None = None, modules: Sequence[str] = ()
    ) -> None:
        self._sentence, self._example, self._copy, self._modules = sentence, example, copy, modules
        super().__init__(self.advice("dev", positional=True))

    def advice(self, command: str, positional: bool = False) -> str:
        """For `pyflare COMMAND`, which takes a module as its argument, or else with -c."""
        if self._example is not None:
            text = f"{self._sentence}\nThere is an example; use it with\n    pyflare {command} -c {self._example}"
            return f"{text}\nor make it yours with\n    cp {self._example} {self._copy}" if self._copy else text
        if not self._modules:
            new = f"{self._sentence}\nMake a new project with\n    pyflare init my-worker"
            return new if positional else f"{new}\nor name a configuration, or the folder of one, with -c"
        named = "".join(f"\n    pyflare {command} {'' if positional else '-c '}{module}" for module in self._modules)
        lone = "A lone module can be served too:"
        can = lone if command == "dev" else "Name a configuration, its folder or a lone module:"
        return f"{self._sentence}\n{can}{named}\nor make a new project with\n    pyflare init my-worker"


def find(options: DevOptions) -> list[Found]:
    """The configurations that the command line names, the primary first; at least one."""
    if options.configs:
        return _named(options)
    if options.script is not None:
        return [_positional(options.cwd / options.script, options.cwd)]
    path = upward(options.cwd, NAMES)
    redirect = upward(options.cwd, (DEPLOY,))
    if redirect is not None:
        return [_redirected(redirect, path, options.cwd)]
    if path is None:
        raise _nothing_found(options.cwd)
    return [Found(path.parent, path)]


def _redirected(redirect: Path, own: Path | None, cwd: Path) -> Found:
    """The configuration that a tool made of the project's `own` one (wrangler/configuration/#generated-wrangler-
    configuration)."""
    try:
        named = json.loads(redirect.read_text(encoding="utf-8"))["configPath"]
        path = (redirect.parent / named).resolve()
    except (OSError, ValueError, LookupError, TypeError) as fault:
        raise ConfigError(f"{shown(redirect, cwd)}: cannot be read: {type(fault).__name__}: {fault}") from None
    if not path.is_file():
        raise ConfigError(
            f'There is a deploy configuration at "{shown(redirect, cwd)}".\n'
            f'But the redirected configuration path it points to, "{shown(path, cwd)}", does not exist.'
        )
    home = redirect.parents[2]
    if own is not None and own.parent != home:
        raise ConfigError(
            f'Found both a user configuration file at "{shown(own, cwd)}" and a deploy configuration file at '
            f'"{shown(redirect, cwd)}".\nBut these do not share the same base path so it is not clear which should '
            "be used."
        )
    return Found(path.parent, path, home=home)


def upward(folder: Path, names: Sequence[str]) -> Path | None:
    """The nearest file of the first name that any folder from `folder` up holds."""
    folders = (folder, *folder.parents)
    return next((path for name in names for above in folders if (path := above / name).is_file()), None)


def shown(path: Path, cwd: Path) -> Path:
    """`path` as a person standing in `cwd` would write it."""
    relative = Path(os.path.relpath(path, cwd))
    return path if ".." in relative.parts[2:] else relative


def python_files(root: Path) -> list[str]:
    """The .py files below `root` that may be a worker's, the shallow ones first, at most ten."""
    found: list[Path] = []
    for folder, folders, files in itertools.islice(os.walk(root), _SEARCHED_FOLDERS):
        depth = len(Path(folder).relative_to(root).parts)
        folders[:] = sorted(name for name in folders if depth < _LISTED_DEPTH and _listed(Path(folder) / name))
        found += [Path(folder, name).relative_to(root) for name in sorted(files) if name.endswith(".py")]
    found.sort(key=lambda path: len(path.parts))
    return [path.as_posix() for path in found[:_LISTED_FILES]]


def _listed(folder: Path) -> bool:
    return not folder.name.startswith(".") and folder.name not in _UNLISTED_FOLDERS and not _is_environment(folder)


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").is_file()


def _named(options: DevOptions) -> list[Found]:
    """What `-c` names; a .py file beside it replaces `main` of the first."""
    first, *others = (_positional(options.cwd / path, options.cwd) for path in options.configs)
    if options.script is None:
        return [first, *others]
    script = options.cwd / options.script
    if script.suffix != ".py":
        raise ConfigError(f"{options.script}: beside -c only a .py file can be given, in place of `main`")
    return [Found(first.root, first.path, _existing(script, options.cwd)), *others]


def _positional(path: Path, cwd: Path) -> Found:
    if path.suffix in SCRIPT_SUFFIXES:
        raise ConfigError(f"{shown(path, cwd)}: pyflare runs Python Workers; give a .py file or a configuration")
    if path.suffix != ".py":
        return _config(path, cwd)
    script = _existing(path, cwd).resolve()
    config = upward(script.parent, NAMES)
    return Found(config.parent if config else script.parent, config, script)


def _config(path: Path, cwd: Path) -> Found:
    """A configuration of any name, or the one in a folder."""
    if not path.is_dir():
        path = _existing(path, cwd).resolve()
        return Found(path.parent, path)
    inside = next((path / name for name in NAMES if (path / name).is_file()), None)
    if inside is None:
        raise _nothing_inside(path, cwd)
    return Found(path.resolve(), inside.resolve())


def _existing(path: Path, cwd: Path) -> Path:
    if not path.is_file():
        raise ConfigError(f"{shown(path, cwd)}: {'no regular file' if path.exists() else 'no such file'}")
    return path


def _nothing_found(cwd: Path) -> NoConfiguration:
    sentence = f"No {', '.join(NAMES[:-1])} or {NAMES[-1]} in {cwd} or in a folder above it."
    return _missing(sentence, upward(cwd, EXAMPLES), cwd, cwd, to_copy=True)


def _nothing_inside(folder: Path, cwd: Path) -> NoConfiguration:
    sentence = f"No {', '.join(NAMES[:-1])} or {NAMES[-1]} in the folder {shown(folder, cwd)}."
    example = next((folder / name for name in EXAMPLES if (folder / name).is_file()), None)
    return _missing(sentence, example, folder, cwd)


def _missing(sentence: str, example: Path | None, folder: Path, cwd: Path, to_copy: bool = False) -> NoConfiguration:
    if example is None:
        return NoConfiguration(sentence, modules=[str(shown(folder / name, cwd)) for name in python_files(folder)])
    copy = example.with_name(example.name.replace(".example", ""))
    return NoConfiguration(sentence, str(shown(example, cwd)), str(shown(copy, cwd)) if to_copy else None)
