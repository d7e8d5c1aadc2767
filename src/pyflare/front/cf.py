"""`request.cf`: what Cloudflare's edge knows of a connection. Here the placeholder that wrangler falls back to when it
is offline (miniflare, `cf.ts`): nothing is fetched from the network."""

from __future__ import annotations

from typing import Any

from pyflare.interop.proxy import JsObject

_TLS_CLIENT_AUTH = {
    "certIssuerDNLegacy": "", "certIssuerDN": "", "certPresented": "0", "certSubjectDNLegacy": "",
    "certSubjectDN": "", "certNotBefore": "", "certNotAfter": "", "certSerial": "",
    "certFingerprintSHA1": "", "certVerified": "NONE",
}  # fmt: skip
_BOT_MANAGEMENT = {
    "corporateProxy": False, "verifiedBot": False, "ja3Hash": "25b4882c2bcb50cd6b469ff28c596742", "score": 99,
    "staticResource": False,
}  # fmt: skip
_CONNECTION = {
    "asOrganization": "", "asn": 395747, "colo": "DFW", "city": "Austin", "region": "Texas", "regionCode": "TX",
    "metroCode": "635", "postalCode": "78701", "country": "US", "continent": "NA", "timezone": "America/Chicago",
    "latitude": "30.27130", "longitude": "-97.74260", "clientTcpRtt": 0, "httpProtocol": "HTTP/1.1",
    "requestPriority": "weight=192;exclusive=0", "tlsCipher": "AEAD-AES128-GCM-SHA256", "tlsVersion": "TLSv1.3",
    "clientTrustScore": 99, "edgeRequestKeepAliveStatus": 0,
}  # fmt: skip


def placeholder(client_accept_encoding: str) -> Any:
    """A fresh object, since worker code may change it."""
    return JsObject.make(
        {
            **_CONNECTION,
            "clientAcceptEncoding": client_accept_encoding,
            "tlsClientAuth": JsObject.make(_TLS_CLIENT_AUTH),
            "botManagement": JsObject.make(_BOT_MANAGEMENT),
        }
    )
