"""Options survive the way into another process."""

from dataclasses import fields
from pathlib import Path

from pyflare.config.options import DevOptions

FULL = DevOptions(
    configs=(Path("a.jsonc"), Path("b/wrangler.toml")),
    script=Path("entry.py"),
    env="staging",
    env_files=(Path("x.env"),),
    vars={"A": "ő:1"},
    cwd=Path("/somewhere"),
    ip="::1",
    port=0,
    host="x.test",
    persist_to=Path("state"),
    compatibility_date="2026-01-01",
    compatibility_flags=("python_workers",),
    name="n",
    assets=Path("public"),
    local_protocol="https",
    https_key_path=Path("k.pem"),
    https_cert_path=Path("c.pem"),
    upstream_protocol="https",
    test_scheduled=False,
    cron=True,
    reload=False,
    evict_after=0.0,
    durability="full",
    log_level="debug",
    log_format="json",
    allow_hosts=("worker",),
    live_reload=True,
    explorer=False,
    color=False,
)


def test_every_field_survives() -> None:
    assert DevOptions.from_json(FULL.to_json()) == FULL


def test_the_test_above_sets_every_field() -> None:
    default = DevOptions()
    assert [field.name for field in fields(default) if getattr(default, field.name) == getattr(FULL, field.name)] == []


def test_defaults_survive() -> None:
    assert DevOptions.from_json(DevOptions().to_json()) == DevOptions()
