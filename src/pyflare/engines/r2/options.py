"""The options objects of R2's methods, as the runtime reads and refuses them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyflare.engines.r2.bucket import PutOptions
from pyflare.engines.r2.conditional import Conditional, from_headers, http_time, single
from pyflare.engines.r2.digests import ALGORITHMS, Expected
from pyflare.engines.r2.objects import HTTP_METADATA
from pyflare.engines.r2.ranges import Range
from pyflare.engines.r2.traits import SSEC_KEY_BYTES, STANDARD
from pyflare.interop.arguments import optional_text, to_number, to_string
from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.containers import JsArray, number_text
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException, error, range_error, type_error
from pyflare.interop.proxy import JsProxy, get, is_nullish
from pyflare.interop.web.headers import Headers

MAX_TIME_MS = 9_223_372_036_854  # what the runtime keeps, in nanoseconds of 64 bits
NO_LIMIT = 2**63


def put_options(options: Any) -> PutOptions:
    if is_nullish(options):
        return PutOptions()
    return replace(
        _new_object(options, "PutOptions"),
        condition=conditional(get(options, "onlyIf"), "PutOptions"),
        expected=_expected(options),
    )


def multipart_options(options: Any) -> PutOptions:
    """The same of an upload, which knows no conditions and no checksums."""
    return PutOptions() if is_nullish(options) else _new_object(options, "MultipartOptions")


def _new_object(options: Any, kind: str) -> PutOptions:
    return PutOptions(
        http_metadata=http_metadata(get(options, "httpMetadata"), kind),
        custom_metadata=custom_metadata(get(options, "customMetadata"), kind),
        storage_class=optional_text(get(options, "storageClass")) or STANDARD,
        key_md5=ssec_key_md5(get(options, "ssecKey")),
    )


def text_field(options: Any, name: str, kind: str) -> str | None:
    """An optional text of an options object, which is not converted: null and numbers are refused."""
    value = get(options, name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise wrong_field(name, kind, "string")
    return to_string(value)


def wrong_field(name: str, kind: str, wanted: str) -> JsException:
    return type_error(
        f"Incorrect type for the '{name}' field on '{kind}': the provided value is not of type '{wanted}'."
    )


def _check_object(value: Any, name: str, kind: str, wanted: str) -> None:
    if isinstance(value, (str, int, float)):
        raise wrong_field(name, kind, wanted)


# --- metadata ---------------------------------------------------------------------------------------------------------


def http_metadata(value: Any, kind: str) -> dict[str, str | int]:
    """What is kept of an `httpMetadata`: an object with R2's names, or headers."""
    if is_nullish(value):
        return {}
    if isinstance(value, Headers):
        return metadata_of_headers(lambda name: _header(value, name), _header_time)
    _check_object(value, "httpMetadata", kind, "HttpMetadata or Headers")
    found: dict[str, str | int] = {}
    for name in HTTP_METADATA:
        field = get(value, name)
        if field is not None:
            found[name] = to_string(field)
    expiry = get(value, "cacheExpiry")
    if expiry is not None:
        found["cacheExpiry"] = _milliseconds(expiry, "cacheExpiry", "HttpMetadata")
    return found


def metadata_of_headers(
    header: Callable[[str], str | None], time: Callable[[str], int | None] = http_time
) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for name, header_name in HTTP_METADATA.items():
        text = header(header_name)
        if text is not None:
            found[name] = text
    expires = header("expires")
    expiry = None if expires is None else time(expires)
    if expiry is not None:
        found["cacheExpiry"] = expiry
    return found


def custom_metadata(value: Any, kind: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, (JsProxy, dict)) or isinstance(value, JsArray):
        raise wrong_field("customMetadata", kind, "object")
    properties = value if isinstance(value, dict) else value.js_properties()
    return {to_string(name): to_string(item) for name, item in properties.items()}


# --- conditions -------------------------------------------------------------------------------------------------------


def conditional(value: Any, kind: str) -> Conditional | None:
    """`onlyIf`: an object or the headers of a request."""
    if value is None:
        return None
    if isinstance(value, Headers):
        try:
            return from_headers(lambda name: _header(value, name), _header_time)
        except ValueError as refused:
            raise error(str(refused)) from None
    _check_object(value, "onlyIf", kind, "Conditional or Headers")
    whole_seconds = get(value, "secondsGranularity")
    return Conditional(
        matches=_etag(value, "etagMatches"),
        does_not_match=_etag(value, "etagDoesNotMatch"),
        uploaded_before=_time(value, "uploadedBefore"),
        uploaded_after=_time(value, "uploadedAfter"),
        whole_seconds=isinstance(whole_seconds, JsProxy) or bool(whole_seconds),
    )


def _etag(value: Any, name: str) -> Any:
    text = text_field(value, name, "Conditional")
    if text is None:
        return None
    if text.startswith('"') and text.endswith('"'):
        raise type_error(f"Conditional ETag should not be wrapped in quotes ({text}).")
    return single(text)


def _time(value: Any, name: str) -> int | None:
    moment = get(value, name)
    return None if moment is None else _milliseconds(moment, name, "Conditional")


def _milliseconds(value: Any, name: str, kind: str) -> int:
    number = value.getTime() if isinstance(value, JsDate) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise wrong_field(name, kind, "date")
    if not math.isfinite(number):
        raise type_error("The value cannot be converted because it is not a valid Date.")
    if abs(number) > MAX_TIME_MS:
        raise type_error(f"This API doesn't support dates {'after 2189' if number > 0 else 'before 1687'}.")
    return int(number)


def _header_time(text: str) -> int:
    """A time in a header, as the runtime reads it: what is none is the beginning of 1970."""
    milliseconds = JsDate.parse(text)
    return 0 if math.isnan(milliseconds) else int(milliseconds)


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
    _check_object(value, "range", "GetOptions", "Range or Headers")
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
    return Range(_whole(offset), _whole(length), _whole(suffix))


def _whole(value: float | None) -> int | None:
    return None if value is None else int(min(value, NO_LIMIT))


def _number(value: Any, name: str) -> float | None:
    part = get(value, name)
    return None if part is None else float(to_number(part))


def _check_whole(value: float, negative: str, fraction: str) -> None:
    if not value >= 0:
        shown = number_text(value) if math.isfinite(value) else str(value)
        raise range_error(f"{negative} ({shown}) must be greater than or equal to 0.")
    if math.isfinite(value) and not value.is_integer():
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
    expected: Expected | None = None
    for name in ALGORITHMS:
        value = get(options, name)
        if value is not None:
            if expected is not None:
                raise type_error("You cannot specify multiple hashing algorithms.")
            expected = _digest(name, value)
    return expected


def _digest(algorithm: str, value: Any) -> Expected:
    name, size = ALGORITHMS[algorithm]
    if is_buffer(value):
        data = as_bytes(value)
        if len(data) != size:
            raise type_error(f"{name} is {size} bytes, not {len(data)}")
        return Expected(algorithm, data.hex())
    if not isinstance(value, str):
        raise wrong_field(algorithm, "PutOptions", "BufferSource or string")
    length = len(value.encode())
    if length != size * 2:
        raise type_error(f"{name} is {size * 2} hex characters, not {length}")
    try:
        return Expected(algorithm, bytes.fromhex(value).hex())
    except ValueError:
        raise type_error(f"Provided {name} wasn't a valid hex string") from None
