from __future__ import annotations

import io
import json
import os
from collections.abc import Callable

import pytest

from pyflare.log import Log, Spoken, Terminal


def test_a_line_names_its_level() -> None:
    out = io.StringIO()
    Log(out=out).warn("careful")
    assert out.getvalue() == "[wrangler:warn] careful\n"


def test_lines_below_the_level_are_not_made() -> None:
    out = io.StringIO()
    log = Log("warn", out=out)
    log.info("hidden")
    log.request("GET", "/", 200, "OK", 1.0)
    log.plain("banner")
    assert out.getvalue() == ""
    assert not log.enabled("info")


def test_none_silences_errors_too() -> None:
    out = io.StringIO()
    Log("none", out=out).error("quiet")
    assert out.getvalue() == ""


def test_json_lines_carry_their_fields() -> None:
    out = io.StringIO()
    log = Log(form="json", out=out)
    log.info("hello", port=8787)
    log.request("GET", "/a", 404, "Not Found", 1.25)
    log.plain("banner")
    first, second = map(json.loads, out.getvalue().splitlines())
    assert first == {"level": "info", "message": "hello", "port": 8787}
    assert (second["method"], second["path"], second["status"], second["ms"]) == ("GET", "/a", 404, 1.2)


def test_a_request_is_one_line_and_one_write() -> None:
    class Counting(io.StringIO):
        writes = 0

        def write(self, text: str) -> int:
            self.writes += 1
            return super().write(text)

    out = Counting()
    Log(out=out).request("GET", "/path", 200, "OK", 12.3)
    assert (out.getvalue(), out.writes) == ("[wrangler:info] GET /path 200 OK (12ms)\n", 1)


def test_colours_are_for_terminals_only() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    plain, terminal = io.StringIO(), Terminal()
    for out in (plain, terminal):
        log = Log(out=out)
        log.error("bad")
        log.request("GET", "/", 500, "Internal Server Error", 1.0)
    assert "\x1b" not in plain.getvalue()
    assert terminal.getvalue().count("\x1b[31m") == 2


def test_once_says_a_thing_a_single_time() -> None:
    out = io.StringIO()
    log = Log(out=out)
    log.once("warn", "key", "first")
    log.once("warn", "key", "second")
    assert out.getvalue() == "[wrangler:warn] first\n"


def test_lines_of_requests_leave_together_when_the_loop_turns() -> None:
    out = io.StringIO()
    log = Log(out=out)
    later: list[Callable[[], None]] = []
    log.defer = later.append
    log.request("GET", "/a", 200, "OK", 1.0)
    log.request("GET", "/b", 200, "OK", 1.0)
    assert out.getvalue() == ""
    assert len(later) == 1
    later[0]()
    assert out.getvalue().count("\n") == 2


def test_other_lines_do_not_overtake_those_of_requests() -> None:
    out = io.StringIO()
    log = Log(out=out)
    log.defer = lambda _: None
    log.request("GET", "/a", 200, "OK", 1.0)
    log.warn("after it")
    assert [line.split()[-1] for line in out.getvalue().splitlines()] == ["(1ms)", "it"]


def test_a_terminal_keeps_the_order_of_prints_and_requests(capfd: pytest.CaptureFixture[str]) -> None:
    log = Log()
    terminal = Terminal(1, log.flush, lambda: None)
    log._out = terminal
    log.defer = lambda _: None
    print("before", file=terminal)
    log.request("GET", "/a", 200, "OK", 1.0)
    print("after", file=terminal)
    assert [line.split()[-1] for line in capfd.readouterr().out.splitlines()] == ["before", "(1ms)", "after"]
    terminal.detach().close()


def test_what_is_printed_is_an_object_a_line_where_json_is_wanted() -> None:
    out = io.StringIO()
    log = Log("error", "json", out)
    printed = Spoken(log, Terminal(1, log.flush, lambda: None), "stdout")
    print("a", 1, file=printed)
    print("two\nlines and a", end="", file=printed)
    print(" half", file=printed)
    printed.say("warn", "x\ny")
    assert [(one["level"], one["message"]) for one in map(json.loads, out.getvalue().splitlines())] == [
        ("log", "a 1"), ("log", "two"), ("log", "lines and a half"), ("warn", "x\ny"),
    ]  # fmt: skip


def test_a_terminal_whose_reader_has_gone_says_so_and_drops_what_follows() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    said = []
    terminal = Terminal(writing, lambda: None, lambda: said.append("gone"))
    print("one", file=terminal)
    print("two", file=terminal)
    assert said == ["gone"]
    terminal.detach().close()
    os.close(writing)
