"""Dates and flags."""

from collections.abc import Collection

import pytest

from pyflare.config.compat import enabled, flags, is_date, names
from pyflare.config.model import Compat

pytestmark = pytest.mark.cloudflare("workerd: src/workerd/io/compatibility-date.capnp")


@pytest.mark.parametrize(
    ("flag", "date"),
    [
        ("web_socket_auto_reply_to_close", "2026-04-07"),
        ("delete_all_deletes_alarm", "2026-02-24"),
        ("queue_expose_error_codes", "2026-03-12"),
        ("queues_json_messages", "2024-03-18"),
        ("enhanced_error_serialization", "2026-04-21"),
        ("websocket_standard_binary_type", "2026-03-17"),
        ("websocket_close_reason_byte_limit", "2026-03-03"),
        ("enable_ctx_exports", "2025-11-17"),
        ("assets_navigation_prefers_asset_serving", "2025-04-01"),
        ("python_no_global_handlers", "2025-08-14"),
        ("python_request_headers_preserve_commas", "2026-02-17"),
        ("enable_python_external_sdk", "2026-04-21"),
        ("python_process_pth_files", "2026-05-26"),
        ("python_workers_force_new_vendor_path", "2025-08-11"),
    ],
)
def test_a_flag_is_on_from_its_date(flag: str, date: str) -> None:
    assert enabled(date, (), flag)
    assert not enabled(date[:-2] + "00", (), flag)


@pytest.mark.parametrize(
    ("flag", "by", "date"),
    [
        ("python_workers_20250116", "python_workers", "2025-09-29"),
        ("python_workflows", "python_workers", "2025-09-20"),
        ("python_workflows_implicit_dependencies", "python_workers", "2026-02-25"),
        ("python_check_rng_state", "python_workers", "2025-12-16"),
        ("python_dedicated_snapshot", "python_workers_20250116", "2025-10-16"),
        ("python_workers", "python_workers_development", "2000-01-01"),
    ],
)
def test_a_flag_is_implied_by_another_from_its_date(flag: str, by: str, date: str) -> None:
    assert enabled(date, (by,), flag)
    assert not enabled(date[:-2] + "00", (by,), flag)
    assert not enabled(date, (), flag)


@pytest.mark.parametrize(
    ("date", "given", "flag", "on"),
    [
        ("2020-01-01", ["queues_json_messages"], "queues_json_messages", True),
        ("2026-08-01", ["no_queues_json_messages"], "queues_json_messages", False),
        ("2026-08-01", ["delete_all_preserves_alarm"], "delete_all_deletes_alarm", False),
        ("2026-08-01", ["python_workers", "disable_python_workflows"], "python_workflows", False),
        ("2026-08-01", ["python_workers", "no_python_workers_20250116"], "python_dedicated_snapshot", False),
        ("2026-08-01", ["python_workers"], "python_dedicated_snapshot", True),
        ("2026-08-01", [], "python_workers", False),
        ("2026-08-01", [], "python_workers_20260610", False),
        ("2020-01-01", [], "r2_public_beta_bindings", True),
        ("2026-08-01", [], "no_such_flag", False),
        ("2026-08-01", ["no_such_flag"], "no_such_flag", True),
    ],
)
def test_what_is_given_wins_over_the_date(date: str, given: Collection[str], flag: str, on: bool) -> None:
    assert enabled(date, given, flag) is on
    assert Compat(date, frozenset(given)).enabled(flag) is on


def test_python_flags_are_listed() -> None:
    assert {"python_workers", "python_no_global_handlers", "enable_python_external_sdk"} <= set(flags())


def test_names_hold_those_that_disable_too() -> None:
    assert {"nodejs_compat", "no_nodejs_compat"} <= names()
    assert "" not in names()


def test_what_implies_a_flag_is_a_flag() -> None:
    assert all(name in flags() for flag in flags().values() for name in flag.implied_by)


@pytest.mark.parametrize("text", ["2026-08-01", "2024-02-29"])
def test_a_day_is_a_date(text: str) -> None:
    assert is_date(text)


@pytest.mark.parametrize("text", ["", "2026-8-1", "20260801", "2026-02-30", "2026-W01-1", "today", "2026-08-01T00:00"])
def test_anything_else_is_none(text: str) -> None:
    assert not is_date(text)
