"""Tests of workers with pytest; comes with the package, and imports it only when a test asks for it.

    pytestmark = pytest.mark.pyflare("wrangler.jsonc")

    async def test_a_greeting(worker):
        assert (await worker.fetch("/")).text == "Hello"

`worker` is a `pyflare.testing.Harness` on a state of its own. The marker takes the harness's arguments, such as
`migrations=True` for the tables of D1 and `cron=True` for triggers that fire by the clock; paths are relative to
pytest's root folder. A test that is marked and asynchronous is run by this plugin. The traceback of a failure shows the
test and the worker; --full-trace what lies between, too. What the server has said is a section of the report.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

import pytest

from pyflare.errors import PyflareError

if TYPE_CHECKING:
    from pyflare.testing import Harness


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "pyflare(*configs, **options): run the test with a worker (pyflare.testing.Harness)"
    )


@pytest.fixture
def worker(request: pytest.FixtureRequest) -> Harness:
    """The harness that the marker describes; it is open while an asynchronous test runs."""
    from pyflare.testing import Harness  # noqa: PLC0415  (most test runs never need it)

    marker = request.node.get_closest_marker("pyflare")
    if marker is None:
        pytest.fail('the fixture `worker` needs a marker: @pytest.mark.pyflare("wrangler.jsonc")', False)
    takes = [name for name in inspect.signature(Harness).parameters if name != "configs"]
    unknown = [name for name in marker.kwargs if name not in takes]
    if unknown:
        pytest.fail(f"@pytest.mark.pyflare has no {' and no '.join(unknown)}; it takes {', '.join(takes)}", False)
    root = request.config.rootpath
    for config in marker.args:
        if not (root / config).exists():
            pytest.fail(f"@pytest.mark.pyflare: {config} is not in {root}, pytest's root folder", False)
    return Harness(*(root / config for config in marker.args), **marker.kwargs)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    __tracebackhide__ = True
    if pyfuncitem.get_closest_marker("pyflare") is None:
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        if "worker" in names:
            pytest.fail(
                f"{pyfuncitem.originalname} uses `worker`: make the test async (`async def {pyfuncitem.originalname}`)",
                False,
            )
        return None
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in names}
    try:
        asyncio.run(_run(pyfuncitem.obj, arguments))
    except Exception as raised:
        from pyflare.interop import traces  # noqa: PLC0415  (imported by the harness)

        if not pyfuncitem.config.getoption("fulltrace"):
            raised.__traceback__ = traces.strip(raised.__traceback__)
        if "worker" in arguments:
            pyfuncitem.add_report_section("call", "terminal of pyflare", arguments["worker"].terminal)
        raise
    return True


async def _run(test: Any, arguments: dict[str, Any]) -> None:
    harness = arguments.get("worker")
    if harness is None:
        await test(**arguments)
        return
    async with contextlib.AsyncExitStack() as opened:
        refused = await _refusal(opened.enter_async_context(harness))
        if refused is not None:
            pytest.fail(f"@pytest.mark.pyflare: {refused}", False)
        await test(**arguments)


async def _refusal(opening: Awaitable[Any]) -> str | None:
    """Why the worker cannot be opened."""
    try:
        await opening
    except PyflareError as raised:
        from pyflare.front.serving import broken_text  # noqa: PLC0415  (imported by the harness)

        return broken_text(raised)
    return None
