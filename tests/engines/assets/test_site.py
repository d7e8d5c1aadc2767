"""A folder of files, answered as Cloudflare answers it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import Compat
from pyflare.config.options import DevOptions
from pyflare.engines.assets.content_types import content_type
from pyflare.engines.assets.engine import Assets
from pyflare.interop.errors import JsException
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from tests.support.rooms import Bench, faults, run

FILES = {
    "index.html": "home",
    "about.html": "about",
    "docs/index.html": "docs",
    "notes.txt": "plain notes",
    "two words.txt": "spaced",
    "thing.zzz": "?",
    "[a].txt": "brackets",
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name, text in FILES.items():
        write(tmp_path, name, text)
    return Bench(tmp_path)


def write(folder: Path, name: str, text: str) -> None:
    path = folder / "public" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def opened(bench: Bench, section: dict[str, Any] | None = None, **fields: Any) -> Assets:
    return bench.open(Assets, {"assets": {"directory": "public", **(section or {})}}, **fields)


def ask(room: Assets, path: str, method: str = "GET", **headers: str) -> Response | None:
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return run(room.route("w", Request.make(method, "http://site.test" + path, Headers.make(pairs))))


def answered(room: Assets, path: str, method: str = "GET", **headers: str) -> Response:
    response = ask(room, path, method, **headers)
    assert response is not None
    return response


def text(response: Response) -> str:
    return "" if response._body is None else run(response._body.gather()).decode()


def header(response: Response, name: str) -> str | None:
    value: str | None = response.headers.first(name)
    return value


@pytest.fixture
def room(bench: Bench) -> Assets:
    return opened(bench)


def test_a_file_is_answered_with_its_type(room: Assets) -> None:
    response = answered(room, "/notes.txt")
    assert (response.status, text(response)) == (200, "plain notes")
    assert header(response, "content-type") == "text/plain; charset=utf-8"
    assert header(response, "cache-control") == "public, max-age=0, must-revalidate"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/a.min.JS", "text/javascript; charset=utf-8"),
        ("/a.js.map", "application/json"),
        ("/a.svg", "image/svg+xml"),
        ("/a.pkpass", "application/vnd.apple.pkpass"),
        ("/a.srt", "application/x-subrip"),
        ("/a.wgsl", "text/wgsl; charset=utf-8"),
        ("/.json", None),
        ("/a.js/b", None),
        ("/a.", None),
    ],
)
def test_the_ending_of_a_name_tells_its_type(path: str, kind: str | None) -> None:
    assert content_type(path) == kind


def test_an_unknown_ending_has_no_type(room: Assets) -> None:
    assert header(answered(room, "/thing.zzz"), "content-type") is None


def test_what_is_no_asset_is_the_workers(room: Assets) -> None:
    assert ask(room, "/api/things") is None


def test_a_redirect_keeps_the_query(room: Assets) -> None:
    response = answered(room, "/about.html?x=1")
    assert (response.status, header(response, "location")) == (307, "/about?x=1")


def test_an_escaped_path_finds_its_file(room: Assets) -> None:
    assert text(answered(room, "/two%20words.txt")) == "spaced"


def test_a_path_is_redirected_to_its_canonical_escapes(room: Assets) -> None:
    assert header(answered(room, "/[a].txt"), "location") == "/%5Ba%5D.txt"
    assert text(answered(room, "/%5Ba%5D.txt")) == "brackets"
    assert header(answered(room, "/n%6Ftes.txt"), "location") == "/notes.txt"
    assert header(answered(room, "//notes.txt"), "location") == "/notes.txt"


@pytest.mark.parametrize(
    "path", ["/..%2f..%2fentry.py", "/%2e%2e%2fentry.py", "/docs/..%2f..%2fentry.py", "/%00", "/%ff"]
)
def test_a_path_cannot_leave_the_folder(room: Assets, bench: Bench, path: str) -> None:
    (bench.folder / "entry.py").write_text("secret")
    assert ask(room, path) is None


def test_a_path_with_a_doubled_slash_is_no_second_path_of_a_file(room: Assets) -> None:
    assert ask(room, "/.html") is None


def test_the_case_of_a_path_matters(room: Assets) -> None:
    assert ask(room, "/NOTES.txt") is None


def test_post_to_a_file_is_not_allowed(room: Assets) -> None:
    assert answered(room, "/notes.txt", "POST").status == 405


def test_head_knows_the_length(room: Assets) -> None:
    response = answered(room, "/notes.txt", "HEAD")
    assert response._body is not None and response._body.length == 11


def test_an_etag_gives_304(room: Assets) -> None:
    etag = header(answered(room, "/notes.txt"), "etag")
    assert etag is not None
    for given in (etag, f"W/{etag}"):
        response = answered(room, "/notes.txt", if_none_match=given)
        assert (response.status, text(response), header(response, "etag")) == (304, "", etag)
    assert answered(room, "/notes.txt", if_none_match='"other"').status == 200


def test_the_values_of_a_condition_that_is_given_twice_are_one_value(bench: Bench) -> None:
    room = opened(bench, {"not_found_handling": "single-page-application"})
    pairs = [("sec-fetch-mode", "navigate")] * 2
    assert run(room.route("w", Request.make("GET", "http://site.test/users/5", Headers.make(pairs)))) is None
    etag = str(header(answered(room, "/notes.txt"), "etag"))
    twice = Headers.make([("if-none-match", etag)] * 2)
    response = run(room.route("w", Request.make("GET", "http://site.test/notes.txt", twice)))
    assert response is not None and response.status == 200


def test_a_header_that_no_response_can_carry_is_a_500(room: Assets, bench: Bench) -> None:
    write(bench.folder, "_headers", "/notes.txt\n  X@A: 1\n")
    response = answered(room, "/notes.txt")
    assert (response.status, response.headers.pairs(), text(response)) == (500, [], "")
    assert ask(room, "/absent") is None


def test_a_range_gets_the_whole_file_uncached(room: Assets) -> None:
    response = answered(room, "/notes.txt", range="bytes=0-1")
    assert (response.status, text(response), header(response, "cache-control")) == (200, "plain notes", None)


def test_a_changed_file_is_seen_at_once(room: Assets, bench: Bench) -> None:
    before = header(answered(room, "/notes.txt"), "etag")
    path = bench.folder / "public/notes.txt"
    path.write_text("other notes")
    os.utime(path, ns=(1, 1))
    response = answered(room, "/notes.txt", if_none_match=str(before))
    assert (response.status, text(response)) == (200, "other notes")


def test_a_new_and_a_deleted_file_are_seen_at_once(room: Assets, bench: Bench) -> None:
    write(bench.folder, "new.txt", "new")
    assert text(answered(room, "/new.txt")) == "new"
    (bench.folder / "public/new.txt").unlink()
    assert ask(room, "/new.txt") is None


def test_a_large_file_comes_in_pieces(room: Assets, bench: Bench) -> None:
    write(bench.folder, "large.bin", "x" * 500_000)
    response = answered(room, "/large.bin")
    assert response._body is not None
    assert (response._body.known, response._body.length, len(text(response))) == (None, 500_000, 500_000)


def test_a_file_of_more_than_25_mib_is_refused(bench: Bench) -> None:
    path = bench.folder / "public/huge.bin"
    with path.open("wb") as file:
        file.truncate(25 * 1024 * 1024 + 1)
    room = opened(bench)
    assert "Asset too large" in bench.terminal.getvalue()
    assert answered(room, "/huge.bin").status == 500


def test_control_files_are_not_served(room: Assets, bench: Bench) -> None:
    for name in ("_headers", "_redirects", ".assetsignore"):
        write(bench.folder, name, "")
        assert ask(room, "/" + name) is None


def test_assetsignore_hides_files(room: Assets, bench: Bench) -> None:
    write(bench.folder, ".assetsignore", "*.txt\n!notes.txt\ndocs/\n")
    assert ask(room, "/two%20words.txt") is None
    assert ask(room, "/docs/") is None
    assert text(answered(room, "/notes.txt")) == "plain notes"


def test_headers_and_redirects_are_read_again_when_they_change(room: Assets, bench: Bench) -> None:
    assert header(answered(room, "/notes.txt"), "x-note") is None
    write(bench.folder, "_headers", "/notes.txt\n  X-Note: yes\n")
    write(bench.folder, "_redirects", "/old /about 301\n")
    assert header(answered(room, "/notes.txt"), "x-note") == "yes"
    response = answered(room, "/old?a=1")
    assert (response.status, header(response, "location")) == (301, "/about?a=1")


def test_a_fault_in_a_rule_file_is_reported_once(room: Assets, bench: Bench) -> None:
    write(bench.folder, "_headers", "X-Note: yes\n")
    for _ in range(2):
        answered(room, "/notes.txt")
    assert bench.terminal.getvalue().count("Path should come before header (x-note: yes)") == 1


def test_the_rule_files_are_told_at_the_start(bench: Bench) -> None:
    write(bench.folder, "_redirects", "/old /about\nonlyone\n")
    opened(bench).configure(DevOptions(cwd=bench.folder))
    assert bench.terminal.getvalue() == (
        "[wrangler:info] ✨ Parsed 1 valid redirect rule.\n"
        "[wrangler:warn] Found 1 invalid redirect rule:\n"
        "▶︎ Expected exactly 2 or 3 whitespace-separated tokens. Got 1.\n"
        "    at public/_redirects:2 | onlyone\n"
    )


def test_a_rule_file_is_told_again_when_it_changed(room: Assets, bench: Bench) -> None:
    for text in ("one\n", "one two three four\n"):
        write(bench.folder, "_redirects", text)
        answered(room, "/notes.txt")
    found = bench.terminal.getvalue()
    assert [count in found for count in ("Got 1.", "Got 4.")] == [True, True]


def test_a_rule_file_that_cannot_be_read_has_no_rules(bench: Bench) -> None:
    write(bench.folder, "_redirects/old", "")
    room = opened(bench)
    room.configure(DevOptions(cwd=bench.folder))
    assert text(answered(room, "/notes.txt")) == "plain notes"


@pytest.mark.parametrize(("name", "kind"), [("_worker.js", "file"), ("_worker.js/index.js", "directory")])
def test_the_code_of_a_worker_among_the_assets_is_told(bench: Bench, name: str, kind: str) -> None:
    write(bench.folder, name, "")
    opened(bench)
    assert f"Uploading a Pages _worker.js {kind} as an asset." in bench.terminal.getvalue()


def test_an_assetsignore_shows_that_it_is_meant(bench: Bench) -> None:
    write(bench.folder, "_worker.js", "")
    write(bench.folder, ".assetsignore", "")
    opened(bench)
    assert bench.terminal.getvalue() == ""


def test_a_redirect_to_what_is_no_url_is_a_500(room: Assets, bench: Bench) -> None:
    write(bench.folder, "_redirects", "/old https://example.com:99999/\n/page https://%zz/ 301\n")
    assert [answered(room, path).status for path in ("/old", "/page")] == [500, 500]


def test_a_redirect_with_a_query_of_its_own_loses_the_requests(room: Assets, bench: Bench) -> None:
    write(bench.folder, "_redirects", "/old /about?own=1#part\n/away https://example.com/x\n")
    assert header(answered(room, "/old?a=1"), "location") == "/about?own=1#part"
    assert header(answered(room, "/away?a=1"), "location") == "https://example.com/x?a=1"


def test_a_200_redirect_answers_with_another_file(room: Assets, bench: Bench) -> None:
    write(bench.folder, "_redirects", "/users/* /about 200\n/gone /absent 200\n")
    assert text(answered(room, "/users/5")) == "about"
    assert answered(room, "/gone").status == 404


# --- the worker -------------------------------------------------------------------------------------------------------


def test_run_worker_first_sends_everything_to_the_worker(bench: Bench) -> None:
    assert ask(opened(bench, {"run_worker_first": True}), "/notes.txt") is None


def test_run_worker_first_may_be_rules(bench: Bench) -> None:
    room = opened(bench, {"run_worker_first": ["/docs/*", "!/docs/public/*"]})
    assert ask(room, "/docs/") is None
    assert answered(room, "/docs/public/x").status == 404
    assert text(answered(room, "/about")) == "about"
    assert ask(room, "/absent") is None


def test_with_rules_a_single_page_application_answers_the_rest(bench: Bench) -> None:
    section = {"run_worker_first": ["/api/*"], "not_found_handling": "single-page-application"}
    room = opened(bench, section)
    assert text(answered(room, "/users/5")) == "home"
    assert ask(room, "/api/users") is None
    assert answered(room, "/users/5", "POST").status == 405


def test_a_navigation_prefers_the_single_page_application(bench: Bench) -> None:
    room = opened(bench, {"not_found_handling": "single-page-application"})
    assert text(answered(room, "/users/5", sec_fetch_mode="navigate")) == "home"
    assert ask(room, "/users/5", sec_fetch_mode="cors") is None
    assert ask(room, "/users/5") is None


def test_before_2025_04_a_navigation_is_nothing_special(bench: Bench) -> None:
    room = opened(bench, {"not_found_handling": "single-page-application"}, compat=Compat("2025-03-31"))
    assert ask(room, "/users/5", sec_fetch_mode="navigate") is None


def test_without_a_worker_assets_answer_everything(bench: Bench) -> None:
    room = opened(bench, {"not_found_handling": "404-page"}, main=None)
    assert (answered(room, "/absent").status, text(answered(room, "/absent"))) == (404, "")
    write(bench.folder, "404.html", "nothing here")
    response = answered(room, "/absent")
    assert (response.status, text(response)) == (404, "nothing here")


def test_a_worker_without_assets_is_left_alone(bench: Bench) -> None:
    room = bench.open(Assets, {})
    assert ask(room, "/") is None


# --- the binding ------------------------------------------------------------------------------------------------------


def fetched(room: Assets, *args: Any, **options: Any) -> Any:
    async def scenario() -> Any:
        return await room.bindings("w")["ASSETS"].fetch(*args, **options)

    return run(scenario())


def test_the_binding_answers_any_host(bench: Bench) -> None:
    response = fetched(opened(bench, {"binding": "ASSETS", "run_worker_first": True}), "http://any.test/notes.txt")
    assert (response.constructor.name, response.status, text(response)) == ("Response", 200, "plain notes")


def test_the_sdk_knows_the_binding_as_a_fetcher(bench: Bench) -> None:
    assert opened(bench, {"binding": "ASSETS"}).bindings("w")["ASSETS"].constructor.name == "Fetcher"


def test_the_binding_follows_its_own_redirects(bench: Bench) -> None:
    assert text(fetched(opened(bench, {"binding": "ASSETS"}), "http://any.test/about.html")) == "about"


@pytest.mark.cloudflare("workers/runtime-apis/response/#properties")
def test_what_the_binding_answers_tells_where_it_is_from(bench: Bench) -> None:
    room = opened(bench, {"binding": "ASSETS"})
    response = fetched(room, "http://any.test/notes.txt?a=1#part")
    assert (response.url, response.redirected) == ("http://any.test/notes.txt?a=1", False)
    response = fetched(room, "http://any.test/about.html")
    assert (response.url, response.redirected) == ("http://any.test/about", True)


@pytest.mark.cloudflare("workers/runtime-apis/headers")
def test_the_headers_of_what_the_binding_answers_cannot_be_changed(bench: Bench) -> None:
    response = fetched(opened(bench, {"binding": "ASSETS"}), "http://any.test/notes.txt")
    for received in (response, response.clone()):
        with pytest.raises(JsException, match="Can't modify immutable headers"):
            received.headers.set("x-a", "1")
    made = Response.new(response.body, response)
    made.headers.set("x-a", "1")
    assert made.headers.get("etag") == response.headers.get("etag")


def test_the_binding_follows_twenty_redirects(bench: Bench) -> None:
    steps = "".join(f"/step{number} /step{number - 1}\n" for number in range(1, 22))
    write(bench.folder, "_redirects", steps + "/step0 /notes.txt\n")
    room = opened(bench, {"binding": "ASSETS"})
    assert text(fetched(room, "http://any.test/step19")) == "plain notes"
    with pytest.raises(JsException, match=r"Too many redirects\.http://any\.test/step20, .+, http://any\.test/step0$"):
        fetched(room, "http://any.test/step20")


def test_the_binding_knows_http_alone(bench: Bench) -> None:
    with pytest.raises(JsException, match=r"Fetch API cannot load: ftp://any\.test/notes\.txt"):
        fetched(opened(bench, {"binding": "ASSETS"}), "ftp://any.test/notes.txt")


def test_the_binding_has_fetch_alone(bench: Bench) -> None:
    async def scenario() -> Any:
        await opened(bench, {"binding": "ASSETS"}).bindings("w")["ASSETS"].get("/notes.txt")

    with pytest.raises(JsException, match='The RPC receiver does not implement the method "get"'):
        run(scenario())


def test_the_binding_has_to_be_told_what_to_fetch(bench: Bench) -> None:
    with pytest.raises(JsException, match="parameter 1 is not of type 'Request or string'"):
        fetched(opened(bench, {"binding": "ASSETS"}))


def test_the_binding_says_404(bench: Bench) -> None:
    response = fetched(opened(bench, {"binding": "ASSETS"}), "http://any.test/absent")
    assert (response.status, text(response)) == (404, "")


def test_the_binding_gives_no_body_to_head(bench: Bench) -> None:
    response = fetched(opened(bench, {"binding": "ASSETS"}), "http://any.test/notes.txt", method="HEAD")
    assert (response.status, text(response)) == (200, "")


# --- configuration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({}, "missing the required `directory` property"),
        ({"directory": ""}, "The assets directory cannot be an empty string."),
        ({"directory": "absent"}, "does not exist:"),
        ({"directory": "public/notes.txt"}, "doesn't point to a directory:"),
        ({"directory": "public", "html_handling": "x"}, "assets.html_handling: expected one of"),
        ({"directory": "public", "run_worker_first": "x"}, "assets.run_worker_first"),
        ({"directory": "public", "run_worker_first": []}, "must provide at least 1 rule"),
    ],
)
def test_a_bad_section_is_a_fault(bench: Bench, section: dict[str, Any], message: str) -> None:
    assert message in "\n".join(faults(Assets, bench.config({"assets": section})).faults)


def test_run_worker_first_without_a_worker_is_a_fault(bench: Bench) -> None:
    config = bench.config({"assets": {"directory": "public", "run_worker_first": True}}, main=None)
    [fault] = faults(Assets, config).faults
    assert fault.startswith("assets.run_worker_first: Cannot set run_worker_first without a Worker script.\n")


def test_strict_refuses_what_a_deploy_would(bench: Bench) -> None:
    write(bench.folder, "_worker.js", "")
    config = bench.config({"assets": {"directory": "public"}}, strict=True)
    [fault] = faults(Assets, config).faults
    assert fault.startswith("assets.directory: Uploading a Pages _worker.js file as an asset.\n")


def test_a_worker_whose_main_is_at_fault_is_not_one_of_assets_only(bench: Bench) -> None:
    section = {"directory": "public", "binding": "ASSETS", "run_worker_first": True}
    told = Diagnostics()
    told.fault("main", "does not exist")
    Assets.parse(bench.config({"assets": section}, main=None), told)
    assert told.faults == ["main: does not exist"]


def test_a_binding_without_a_worker_is_a_fault(bench: Bench) -> None:
    config = bench.config({"assets": {"directory": "public", "binding": "ASSETS"}}, main=None)
    assert "assets-only Worker" in faults(Assets, config).faults[0]
