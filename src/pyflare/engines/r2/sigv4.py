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

    access_key: str
    scope: str  # date/region/s3/aws4_request
    headers: Sequence[str]
    signature: str
    date: str  # 20260102T030405Z
    payload: str  # hash of the body, or one of the words that stand for it


def verify(call: Call, credentials: Credentials, now: float) -> Signed:
    """The signature of a request, which must be one of these credentials."""
    signed = _presigned(call, now) if call.has("X-Amz-Signature") else _in_header(call, now)
    if not hmac.compare_digest(signed.access_key.encode(), credentials.access_key_id.encode()):
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
    return signed


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


def _in_header(call: Call, now: float) -> Signed:
    header = call.header("authorization")
    if header is None:
        raise _argument("Authorization")
    if not header.startswith(ALGORITHM):
        raise R2Fault(400, 10029, "InvalidRequest", f"Please use {ALGORITHM}")
    fields = dict(FIELD.findall(header))
    missing = [name for name in ("Credential", "SignedHeaders", "Signature") if name not in fields]
    if missing:
        raise _argument(f"{missing[0]} is missing in the authorization header")
    date = call.header("x-amz-date") or ""
    if abs(_seconds(date) - now) > MAX_SKEW_SECONDS:
        message = "The difference between the request time and the server's time is too large."
        raise R2Fault(403, 10036, "RequestTimeTooSkewed", message)
    payload = call.header("x-amz-content-sha256")
    if payload is None:
        raise _argument("x-amz-content-sha256 is missing")
    access_key, scope = _credential(fields["Credential"])
    signed_headers = fields["SignedHeaders"].split(";")
    return Signed(access_key, scope, signed_headers, fields["Signature"], date, payload)


def _presigned(call: Call, now: float) -> Signed:
    def field(name: str) -> str:
        value = call.parameter(f"X-Amz-{name}")
        if value is None:
            raise _argument(f"X-Amz-{name} is missing")
        return value

    if field("Algorithm") != ALGORITHM:
        raise R2Fault(400, 10029, "InvalidRequest", f"Please use {ALGORITHM}")
    date, expires = field("Date"), field("Expires")
    if not expires.isdecimal() or not 1 <= int(expires) <= MAX_EXPIRES_SECONDS:
        raise _argument(f"X-Amz-Expires must be between 1 and {MAX_EXPIRES_SECONDS} seconds")
    if now > _seconds(date) + int(expires):
        raise R2Fault(403, 10018, "ExpiredRequest", "Request has expired")
    access_key, scope = _credential(field("Credential"))
    payload = call.header("x-amz-content-sha256") or UNSIGNED
    return Signed(access_key, scope, field("SignedHeaders").split(";"), field("Signature"), date, payload)


def _credential(text: str) -> tuple[str, str]:
    """Access key and scope."""
    parts = text.split("/")
    if len(parts) < 5:
        raise _argument(f"Credential sigv4 header should have at least 5 slash-separated parts, not {len(parts)}")
    if parts[-2] != "s3":
        raise _argument(f"Credential service should be s3, not {parts[-2]}")
    if parts[-1] != "aws4_request":
        raise _argument(f"Credential termination string should be aws4_request, not {parts[-1]}")
    return "/".join(parts[:-4]), "/".join(parts[-4:])


def _seconds(date: str) -> float:
    try:
        return dt.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=dt.UTC).timestamp()
    except ValueError:
        raise _argument("The date must be of the form 20260102T030405Z") from None
