"""A bucket's objects for everybody: `GET /cdn-cgi/local/r2/public/<bucket>/<key>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyflare.engines.r2.faults import R2Fault
from pyflare.engines.r2.http import Asgi, Call, Reply, app_of
from pyflare.engines.r2.serving import serve

if TYPE_CHECKING:
    from pyflare.engines.r2.engine import R2

CORS = (("access-control-allow-origin", "*"), ("access-control-expose-headers", "*"))


def public_app(room: R2) -> Asgi:
    async def answer(call: Call) -> Reply:
        bucket, key = call.bucket_and_key
        if bucket not in room.bucket_names or not key:
            return Reply(404, CORS)
        if call.method not in ("GET", "HEAD"):
            return Reply(401, CORS)
        try:
            reply = serve(room.bucket(bucket), key, call)
        except R2Fault as fault:
            return Reply(fault.status, CORS)
        return Reply(reply.status, [*reply.headers, *CORS], reply.body, reply.length)

    return app_of(answer)
