"""The options objects of R2's methods, as the runtime reads and refuses them."""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from pyflare.engines.r2.bucket import PutOptions
from pyflare.engines.r2.conditional import Conditional, from_headers, single
from pyflare.engines.r2.digests import ALGORITHMS, Expected
from pyflare.engines.r2.objects import HTTP_METADATA
from pyflare.engines.r2.ranges import Range
from pyflare.engines.r2.traits import SSEC_KEY_BYTES, STANDARD
from pyflare.interop.arguments import optional_text, to_number, to_string
from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.containers import number_text
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import error, range_error, type_error
from pyflare.interop.proxy import JsObject, get, is_nullish
from pyflare.interop.web.headers import Headers


def put_options(options: Any) -> PutOptions:
    if is_nullish(options):
        return PutOptions()
    return PutOptions(
        http_metadata=http_metadata(get(options, "httpMetadata")),
        custom_metadata=custom_metadata(get(options, "customMetadata")),
        condition=conditional(get(options, "onlyIf")),
        expected=_expected(options),
        storage_class=optional_text(get(options, "storageClass")) or STANDARD,
        key_md5=ssec_key_md5(get(options, "ssecKey")),
    )


# --- metadata ---------------------------------------------------------------------------------------------------------


def http_metadata(value: Any) -> dict[str, str | int]:
    """What is kept of an `httpMetadata`: an object with R2's names, or headers."""
    if is_nullish(value):
        return {}
    if isinstance(value, Headers):
        return metadata_of_headers(lambda name: _header(value, name))
    found: dict[str, str | int] = {}
    for name in HTTP_METADATA:
        field = get(value, name)
        if field is not None:
            found[name] = to_string(field)
    expiry = get(value, "cacheExpiry")
    if expiry is not None:
        found["cacheExpiry"] = _milliseconds(expiry, "cacheExpiry", "HttpMetadata")
    return found


def metadata_of_headers(header: Callable[[str], str | None]) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for name, header_name in HTTP_METADATA.items():
        text = header(header_name)
        if text is not None:
            found[name] = text
    expires = header("expires")
    if expires is not None:
        with contextlib.suppress(ValueError, TypeError):
            found["cacheExpiry"] = int(parsedate_to_datetime(expires).timestamp() * 1000)
    return found


def custom_metadata(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, (JsObject, dict)):
        raise type_error(
            "Incorrect type for the 'customMetadata' field on 'PutOptions': the provided value is not of type 'object'."
        )
    properties = value if isinstance(value, dict) else value.js_properties()
    return {to_string(name): to_string(item) for name, item in properties.items()}


# --- conditions -------------------------------------------------------------------------------------------------------


def conditional(value: Any) -> Conditional | None:
    """`onlyIf`: an object or the headers of a request."""
    if value is None:
        return None
    if isinstance(value, Headers):
        try:
            return from_headers(lambda name: _header(value, name))
        except ValueError as refused:
            raise error(str(refused)) from None
    return Conditional(
        matches=_etag(get(value, "etagMatches")),
        does_not_match=_etag(get(value, "etagDoesNotMatch")),
        uploaded_before=_time(value, "uploadedBefore"),
        uploaded_after=_time(value, "uploadedAfter"),
        whole_seconds=bool(get(value, "secondsGranularity")),
    )


def _etag(value: Any) -> Any:
    if value is None:
        return None
    text = to_string(value)
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        raise type_error(f"Conditional ETag should not be wrapped in quotes ({text}).")
    return single(text)


def _time(value: Any, name: str) -> int | None:
    moment = get(value, name)
    return None if moment is None else _milliseconds(moment, name, "Conditional")


def _milliseconds(value: Any, name: str, kind: str) -> int:
    number = value.getTime() if isinstance(value, JsDate) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise type_error(
            f"Incorrect type for the '{name}' field on '{kind}': the provided value is not of type 'date'."
        )
    return int(number)


def _header(headers: Headers, name: str) -> str | None:
    value = headers.get(name)
    return None if is_nullish(value) else str(value)


# --- ranges -----------------------------------------------------------------------------------------------------------


def byte_range(value: Any) -> Range | None:
    """`range`: an object or the headers of a request."""
    if value is None:
        return None
    if isinstance(value, Headers):
        header = _header(value, "range")
        return None if header is None else Range(header=header)
    offset, length, suffix = (_number(value, name) for name in ("offset", "length", "suffix"))
    if offset is not None:
        _check_whole(offset, "Invalid range. Starting offset", "Invalid range. Starting offset")
    if length is not None:
        _check_whole(length, "Invalid range. Length", "Invalid range. Length")
    if suffix is not None:
        if offset is not None:
            raise type_error("Suffix is incompatible with offset.")
        if length is not None:
            raise type_error("Suffix is incompatible with length.")
        _check_whole(suffix, "Invalid suffix. Suffix", "Invalid range. Suffix")
    if offset is length is suffix is None:
        return None
    return Range(_whole(offset), _whole(length), _whole(suffix))


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _number(value: Any, name: str) -> float | None:
    part = get(value, name)
    return None if part is None else float(to_number(part))


def _check_whole(value: float, negative: str, fraction: str) -> None:
    if value < 0:
        raise range_error(f"{negative} ({number_text(value)}) must be greater than or equal to 0.")
    if not value.is_integer():
        raise range_error(f"{fraction} ({number_text(value)}) must be an integer, not floating point.")


# --- encryption -------------------------------------------------------------------------------------------------------

HEX_DIGITS = re.compile("[0-9a-f]+")


def ssec_key_md5(value: Any) -> str | None:
    """The MD5, in hex, of an `ssecKey`: 32 bytes, or their 64 lower-case digits in hex."""
    if value is None:
        return None
    if is_buffer(value):
        key = as_bytes(value)
    else:
        digits = to_string(value)
        if HEX_DIGITS.fullmatch(digits) is None:
            raise error("SSE-C Key has invalid format")
        key = bytes.fromhex(digits) if len(digits) == 2 * SSEC_KEY_BYTES else b""
    if len(key) != SSEC_KEY_BYTES:
        raise error(f"SSE-C Key must be {SSEC_KEY_BYTES} bytes in length")
    return hashlib.md5(key, usedforsecurity=False).hexdigest()


# --- checksums --------------------------------------------------------------------------------------------------------


def _expected(options: Any) -> Expected | None:
    given = [(name, value) for name in ALGORITHMS if (value := get(options, name)) is not None]
    if len(given) > 1:
        raise type_error("You cannot specify multiple hashing algorithms.")
    return _digest(*given[0]) if given else None


def _digest(algorithm: str, value: Any) -> Expected:
    name, size = ALGORITHMS[algorithm]
    if is_buffer(value):
        data = as_bytes(value)
        if len(data) != size:
            raise type_error(f"{name} is {size} bytes, not {len(data)}")
        return Expected(algorithm, data.hex())
    if not isinstance(value, str):
        raise type_error(
            f"Incorrect type for the '{algorithm}' field on 'PutOptions': the provided value is not of type "
            "'ArrayBuffer or ArrayBufferView or string'."
        )
    if len(value) != size * 2:
        raise type_error(f"{name} is {size * 2} hex characters, not {len(value)}")
    try:
        return Expected(algorithm, bytes.fromhex(value).hex())
    except ValueError:
        raise type_error(f"Provided {name} wasn't a valid hex string") from None
