"""AWS Signature Version 4, as S3 uses it: in the Authorization header or in the query of a presigned URL.

docs.aws.amazon.com, "Signature Version 4 signing process". Refusals are those of R2's endpoint.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from pyflare.engines.r2.config import Credentials
from pyflare.engines.r2.faults import R2Fault
from pyflare.engines.r2.http import Call

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
MAX_EXPIRES_SECONDS = 604_800
MAX_SKEW_SECONDS = 15 * 60
FIELD = re.compile(r"(\w+)=([^,\s]+)")


def _argument(message: str) -> R2Fault:
    return R2Fault(400, 10029, "InvalidArgument", message)


def unauthorized() -> R2Fault:
    return R2Fault(401, 10002, "Unauthorized", "Unauthorized")


@dataclass(frozen=True)
class Signed:
    """What a request says of its signature."""

    scope: str  # date/region/s3/aws4_request
    headers: Sequence[str]
    signature: str
    date: str  # 20260102T030405Z
    payload: str  # hash of the body, or one of the words that stand for it


def is_signed(call: Call) -> bool:
    return call.header("authorization") is not None or call.has("X-Amz-Credential")


def verify(call: Call, credentials: Credentials, now: float) -> None:
    """Raises unless the request is signed with these credentials."""
    if not is_signed(call):
        raise _argument("Authorization")
    read = _presigned if call.header("authorization") is None else _in_header
    signed = read(call, credentials, now)
    if "host" not in signed.headers:
        raise unauthorized()
    expected = signature(
        credentials.secret_access_key,
        call.method,
        call.raw_path,
        [pair for pair in call.query if pair[0] != "X-Amz-Signature"],
        {name: call.headers.get(name, "") for name in signed.headers},
        signed.payload,
        signed.date,
        signed.scope,
    )
    if not hmac.compare_digest(expected.encode(), signed.signature.encode()):
        raise R2Fault(
            403,
            10035,
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check your secret access "
            "key and signing method.",
        )


def signature(
    secret: str,
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    headers: Mapping[str, str],
    payload: str,
    date: str,
    scope: str,
) -> str:
    """The signature of a request whose path is encoded already."""
    pairs = sorted((_encode(name), _encode(value)) for name, value in query)
    request = "\n".join(
        (
            method,
            path,
            "&".join(f"{name}={value}" for name, value in pairs),
            "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in sorted(headers)),
            ";".join(sorted(headers)),
            payload,
        )
    )
    text = "\n".join((ALGORITHM, date, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _encode(text: str) -> str:
    return quote(text, safe="-_.~")


def _in_header(call: Call, credentials: Credentials, now: float) -> Signed:
    payload = call.header("x-amz-content-sha256")
    if payload is None:
        raise R2Fault(400, 10029, "InvalidRequest", "Missing x-amz-content-sha256")
    source = "date" if call.header("x-amz-date") is None else "x-amz-date"
    date = call.header(source)
    if date is None:
        raise _argument("No date provided in x-amz-date nor date header")
    if abs(_seconds(date, f"'{source}' header") - now) > MAX_SKEW_SECONDS:
        message = "The difference between the request time and the server's time is too large."
        raise R2Fault(403, 10036, "RequestTimeTooSkewed", message)
    header = call.header("authorization") or ""
    fields = dict(FIELD.findall(header)) if header.startswith(f"{ALGORITHM} ") else {}
    if not fields.keys() >= {"Credential", "SignedHeaders", "Signature"}:
        raise _other_algorithm()
    scope = _scope(fields["Credential"], date, credentials)
    return Signed(scope, _names(fields["SignedHeaders"]), fields["Signature"], date, payload)


def _presigned(call: Call, credentials: Credentials, now: float) -> Signed:
    names = [f"X-Amz-{name}" for name in ("Algorithm", "Signature", "Date", "SignedHeaders", "Expires")]
    missing = [name for name in names if not call.has(name)]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        raise _argument(f"Required search parameter{plural} {',  '.join(missing)} missing")
    algorithm, signed, date, headers, expires = (call.parameter(name) or "" for name in names)
    if algorithm != ALGORITHM:
        raise _other_algorithm()
    begins = _seconds(date, "X-Amz-Date")
    scope = _scope(call.parameter("X-Amz-Credential") or "", date, credentials)
    seconds = _number(expires)
    if seconds > MAX_EXPIRES_SECONDS:
        raise _argument(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than "
            f"{MAX_EXPIRES_SECONDS} seconds"
        )
    if seconds < 1 or now > begins + seconds:
        raise R2Fault(403, 10018, "ExpiredRequest", "Request has expired")
    return Signed(scope, _names(headers), signed, date, UNSIGNED)


def _other_algorithm() -> R2Fault:
    return R2Fault(400, 10029, "InvalidRequest", f"Please use {ALGORITHM}")


def _names(signed_headers: str) -> Sequence[str]:
    return signed_headers.lower().split(";")


def _number(expires: str) -> float:
    try:
        return float(expires)
    except ValueError:
        raise _argument("X-Amz-Expires should be a number") from None


def _scope(text: str, date: str, credentials: Credentials) -> str:
    """The scope of a credential, which must be the one that is known."""
    parts = text.split("/")
    if len(parts) < 5:
        raise _argument(f"Credential sigv4 header should have at least 5 slash-separated parts, not {len(parts)}")
    day, _, service, end = parts[-4:]
    if service != "s3":
        raise _argument(f"Credential service should be s3, not {service}")
    if end != "aws4_request":
        raise _argument(f"Credential termination string should be aws4_request, not {end}")
    if not date.startswith(day):
        raise _argument(f"Credential signed date {day} does not match {date[:8]} from 'x-amz-date' header")
    if not hmac.compare_digest("/".join(parts[:-4]).encode(), credentials.access_key_id.encode()):
        raise unauthorized()
    return "/".join(parts[-4:])


def _seconds(date: str, source: str) -> float:
    try:
        return dt.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=dt.UTC).timestamp()
    except ValueError:
        raise _argument(f"Date provided in {source} ({date}) didn't parse successfully") from None
