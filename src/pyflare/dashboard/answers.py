"""Cloudflare's envelope {success, errors, messages, result, result_info}, and how a request is refused in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pyflare.dashboard.panels import plain
from pyflare.interop.errors import JsException

INVALID, FAILED = 10001, 10000  # codes of what is wrong with a request, and of what went wrong here
MAX_PAGE = 1000  # entries of a list
NO_JSON = "Malformed JSON in request body"


class Refused(Exception):
    """A request that cannot be served."""

    def __init__(self, status: int, message: str, code: int = INVALID) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)


class Json(JSONResponse):
    """JSON that also knows dataclasses and bytes."""

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, default=plain, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def success(result: Any, info: Mapping[str, Any] | None = None) -> Response:
    more = {} if info is None else {"result_info": info}
    return Json({"success": True, "errors": [], "messages": [], "result": result, **more})


def failure(status: int, code: int, message: str) -> Response:
    errors = [{"code": code, "message": message}]
    return Json({"success": False, "errors": errors, "messages": [], "result": None}, status)


def listing(found: list[Any]) -> Response:
    """A list that comes whole."""
    return success(found, {"count": len(found)})


def paged(request: Request, found: list[Any]) -> Response:
    """A list by pages: ?page from 1 on, of ?per_page."""
    page, size = number(request, "page", 1, 1, MAX_SAFE), number(request, "per_page", MAX_PAGE, 1, MAX_PAGE)
    part = found[(page - 1) * size : page * size]
    return success(part, {"count": len(part), "page": page, "per_page": size, "total_count": len(found)})


# --- what is raised ---------------------------------------------------------------------------------------------------


async def refused(request: Request, raised: Exception) -> Response:
    assert isinstance(raised, Refused)
    return failure(raised.status, raised.code, raised.message)


async def not_served(request: Request, raised: Exception) -> Response:
    """No such path, or no such method on it."""
    assert isinstance(raised, HTTPException)
    return failure(raised.status_code, INVALID, raised.detail)


async def refused_by_a_room(request: Request, raised: Exception) -> Response:
    assert isinstance(raised, JsException)
    return failure(400, INVALID, raised.message)


# --- what is asked ----------------------------------------------------------------------------------------------------


async def body_of(request: Request, malformed: int = INVALID) -> Any:
    """The JSON of a request; None when there is no body. `malformed`: the code when it is no JSON."""
    text = await request.body()
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        raise Refused(400, NO_JSON, malformed) from None


async def fields_of(request: Request) -> Mapping[str, Any]:
    """The same of a request whose body must be an object."""
    body = await body_of(request)
    if not isinstance(body, dict):
        raise Refused(400, f"Invalid input: expected object, received {_kind(body)}")
    return body


def strings(fields: Mapping[str, Any], name: str) -> list[str]:
    """A field that is a list of texts."""
    found = fields.get(name)
    if not isinstance(found, list):
        received = _kind(found) if name in fields else "undefined"
        raise Refused(400, f"{name}: Invalid input: expected array, received {received}")
    for at, one in enumerate(found):
        if not isinstance(one, str):
            raise Refused(400, f"{name}.{at}: Invalid input: expected string, received {_kind(one)}")
    return found


def number(request: Request, name: str, default: int, least: int, greatest: int) -> int:
    """A whole number in the query."""
    given = request.query_params.get(name)
    if given is None:
        return default
    try:
        found = int(given)
    except ValueError:
        raise Refused(400, f'{name}: Expected query param to be number but received "{given}"') from None
    if found < least:
        raise Refused(400, f"{name}: Too small: expected number to be >={least}")
    if found > greatest:
        raise Refused(400, f"{name}: Too big: expected number to be <={greatest}")
    return found


def choice(request: Request, name: str, *allowed: str) -> str:
    """One of some words in the query; the first when it is not given."""
    given = request.query_params.get(name, allowed[0])
    if given not in allowed:
        options = "|".join(f'"{word}"' for word in allowed)
        raise Refused(400, f"{name}: Invalid option: expected one of {options}")
    return given


def _kind(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


# --- values of SQLite -------------------------------------------------------------------------------------------------

MAX_SAFE = 2**53 - 1


def cell(value: Any) -> Any:
    """A value of SQLite as JSON: a BLOB is a list of numbers, a whole REAL an integer, infinities are null."""
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return None
        return int(value) if value.is_integer() and abs(value) <= MAX_SAFE else value
    return value
