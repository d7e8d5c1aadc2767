"""`pyflare types`: what `self.env` holds, as a stub that type checkers and editors read."""

from __future__ import annotations

import keyword
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from pyflare.cli.common import PATH, config_options, options_of
from pyflare.cli.report import show_missing_environments
from pyflare.config.find import shown
from pyflare.config.load import check_loaded, read_workers
from pyflare.config.model import WorkerConfig
from pyflare.engines.remote.config import PRODUCTS
from pyflare.errors import ConfigError

FILE = "worker_env.pyi"
MADE_BY = "# Made by `pyflare types`"  # how the file begins; another one is never written over
PROTOCOLS = Path(__file__).with_name("binding_types.pyi")

# Key of the configuration -> the field that names a binding, and its class. Lists of objects, or a single object.
BINDINGS: Mapping[str, tuple[str, str]] = {
    "kv_namespaces": ("binding", "KVNamespace"),
    "d1_databases": ("binding", "D1Database"),
    "r2_buckets": ("binding", "R2Bucket"),
    "queues.producers": ("binding", "Queue"),
    "durable_objects.bindings": ("name", "DurableObjectNamespace"),
    "workflows": ("binding", "Workflow"),
    "services": ("binding", "Fetcher"),
    "assets": ("binding", "Fetcher"),
    "ratelimits": ("name", "RateLimit"),
    "analytics_engine_datasets": ("binding", "AnalyticsEngineDataset"),
    "send_email": ("name", "SendEmail"),
    "secrets_store_secrets": ("binding", "SecretsStoreSecret"),
    "hyperdrive": ("binding", "Hyperdrive"),
    "pipelines": ("binding", "Pipeline"),
    "version_metadata": ("binding", "VersionMetadata"),
    "images": ("binding", "Images"),
    "worker_loaders": ("binding", "WorkerLoader"),
    **dict.fromkeys(PRODUCTS, ("binding", "Any")),
}


@click.command()
@click.argument("path", type=PATH, required=False)
@config_options
@click.option("--env-interface", default="Env", show_default=True, metavar="NAME", help="Name of the class.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when the file is out of date.")
def types(path: Path | None, env_interface: str, check: bool, **given: Any) -> None:
    """Write the type of self.env to PATH, a .pyi file (default: worker_env.pyi beside the entry module).

    \b
    if TYPE_CHECKING:
        from worker_env import Env
    """
    options = options_of(given)
    loaded = read_workers(options, os.environ)
    show_missing_environments(loaded)
    check_loaded(loaded)
    config = loaded[0].config
    file = options.cwd / path if path else (config.main.parent if config.main else config.root) / FILE
    text, name = stub(config, env_interface), shown(file, options.cwd)
    _refuse_other(file, name)
    if check:
        if file.exists() and file.read_text(encoding="utf-8") == text:
            click.echo(f"{name} is up to date")
            return
        raise ConfigError(f"{name} is out of date; run pyflare types")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    click.echo(f"Wrote {name}")


def _refuse_other(file: Path, name: Path) -> None:
    """ConfigError when `file` is not one of ours to write."""
    if file.suffix != ".pyi":
        raise ConfigError(f"{name} does not end in .pyi; PATH is the file to write, and -c names the configuration")
    if file.exists() and not file.read_text(encoding="utf-8", errors="replace").startswith(MADE_BY):
        raise ConfigError(f"{name} was not made by `pyflare types`, so it is left as it is; give another PATH")


def stub(config: WorkerConfig, class_name: str = "Env") -> str:
    """The text of the file."""
    if not class_name.isidentifier() or keyword.iskeyword(class_name):
        raise ConfigError(f'"{class_name}" cannot be the name of a class')
    source = config.path.name if config.path else config.name
    head = f"{MADE_BY} from {source}; run it again when that changes.\n"
    fields = [f"    {name}: {kind}" for name, kind in sorted(members(config).items()) if name.isidentifier()]
    protocols = PROTOCOLS.read_text(encoding="utf-8").partition("\n\n")[2]
    return f"{head}\n{protocols}\nclass {class_name}(Protocol):\n" + "\n".join(fields or ["    ..."]) + "\n"


def members(config: WorkerConfig) -> dict[str, str]:
    """Names in env and their types."""
    found = {name: _type(value) for name, value in config.vars.items()}
    for key, (field, kind) in BINDINGS.items():
        found.update((entry[field], kind) for entry in _entries(config.sections, key) if field in entry)
    return found


def _entries(sections: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    value: Any = sections
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    yield from value if isinstance(value, list) else [value] if isinstance(value, Mapping) else []


def _type(value: Any) -> str:
    names = {str: "str", bool: "bool", int: "float", float: "float"}
    return names.get(type(value), "Any")
