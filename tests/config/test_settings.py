"""`dev`, `rules`, `build` and the host of a route."""

from typing import Any

import pytest

from pyflare.config.model import Build, DevSettings, Rule
from pyflare.config.settings import route_host
from tests.support.project import Project


def test_defaults(project: Project) -> None:
    project.configure()
    config = project.load()
    assert config.dev == DevSettings("localhost", None, "http", "http", None)
    assert (config.rules, config.build) == ((), Build())


def test_dev_is_read(project: Project) -> None:
    project.configure(dev={"ip": "0.0.0.0", "port": 9000, "local_protocol": "https", "host": "x.test"})
    assert project.load().dev == DevSettings("0.0.0.0", 9000, "https", "https", "x.test")


def test_flags_win(project: Project) -> None:
    project.configure(dev={"ip": "0.0.0.0", "port": 9000, "host": "x.test", "upstream_protocol": "http"})
    dev = project.load(ip="::1", port=0, host="y.test", upstream_protocol="https", local_protocol="https").dev
    assert dev == DevSettings("::1", 0, "https", "https", "y.test")


@pytest.mark.cloudflare("workers-sdk: workers-utils/src/route-utils.ts getHostFromRoute")
@pytest.mark.parametrize(
    ("route", "host"),
    [
        ("example.com/*", "example.com"),
        ("https://api.example.com/v1/*", "api.example.com"),
        ("*.example.com/*", "example.com"),
        ("*example.com", "example.com"),
        ("*/path", None),
        ({"pattern": "a.example.com/*", "zone_name": "example.com"}, "a.example.com"),
        ({"pattern": "*/*", "zone_name": "example.com"}, "example.com"),
        ({"pattern": "shop.example.com", "custom_domain": True}, "shop.example.com"),
        (5, None),
    ],
)
def test_the_host_of_a_route(route: Any, host: str | None) -> None:
    assert route_host(route) == host


def test_the_first_route_is_the_host_of_requests(project: Project) -> None:
    project.configure(routes=["shop.example.com/*", "other.example.com/*"])
    assert project.load().dev.host == "shop.example.com"


def test_rules_are_read(project: Project) -> None:
    rules = [
        {"type": "Text", "globs": ["**/*.html", "**/*.sql"]},
        {"type": "Data", "globs": ["*.bin"], "fallthrough": False},
    ]
    project.configure(rules=rules)
    assert project.load().rules == (Rule("Text", ("**/*.html", "**/*.sql"), True), Rule("Data", ("*.bin",), False))


def test_build_is_read_relative_to_the_configuration(project: Project) -> None:
    project.configure(build={"command": "make", "cwd": "tools", "watch_dir": ["a", "b"]})
    root = project.root
    assert project.load().build == Build("make", root / "tools", (root / "a", root / "b"))


def test_build_watches_src_by_default(project: Project) -> None:
    project.configure(build={"command": "make"})
    assert project.load().build == Build("make", project.root, (project.root / "src",))


def test_an_empty_command_is_none(project: Project) -> None:
    project.configure(build={"command": ""})
    assert project.load().build == Build()
