"""Operations that S3 has and R2's endpoint, or the local one, has not: recognised by their query, to name them.

What R2 implements and has no meaning for local buckets (CORS, life cycles, making and deleting buckets) is among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflare.engines.r2.faults import R2Fault
from pyflare.engines.r2.http import Call, Reply
from pyflare.engines.r2.s3_headers import invalid_argument, not_implemented
from pyflare.engines.r2.s3_xml import reply

OF_BUCKET = {
    "accelerate": "BucketAccelerateConfiguration",
    "acl": "BucketAcl",
    "analytics": "BucketAnalyticsConfiguration",
    "cors": "BucketCors",
    "encryption": "BucketEncryption",
    "intelligent-tiering": "BucketIntelligentTieringConfiguration",
    "inventory": "BucketInventoryConfiguration",
    "lifecycle": "BucketLifecycleConfiguration",
    "logging": "BucketLogging",
    "metrics": "BucketMetricsConfiguration",
    "notification": "BucketNotificationConfiguration",
    "object-lock": "ObjectLockConfiguration",
    "ownershipControls": "BucketOwnershipControls",
    "policy": "BucketPolicy",
    "policyStatus": "GetBucketPolicyStatus",  # R2 says GetGetBucketPolicyStatus
    "publicAccessBlock": "PublicAccessBlock",
    "replication": "BucketReplication",
    "requestPayment": "BucketRequestPayment",
    "tagging": "BucketTagging",
    "versioning": "BucketVersioning",
    "website": "BucketWebsite",
}
OF_OBJECT = {
    "acl": "ObjectAcl",
    "attributes": "ObjectAttributes",
    "legal-hold": "ObjectLegalHold",
    "retention": "ObjectRetention",
    "tagging": "ObjectTagging",
    "torrent": "ObjectTorrent",
}
VERBS = {"GET": "Get", "PUT": "Put", "DELETE": "Delete"}
# What R2 answers for every bucket.
ENCRYPTION = (
    "<Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>"
    "</ApplyServerSideEncryptionByDefault><BucketKeyEnabled>true</BucketKeyEnabled></Rule>"
)
ABSENT = {
    "object-lock": (
        "ObjectLockConfigurationNotFoundError",
        "Object Lock configuration does not exist for this bucket.",
    ),
    "replication": ("ReplicationConfigurationNotFoundError", "The replication configuration was not found."),
    "tagging": ("NoSuchTagSet", "The TagSet does not exist."),
}
LISTING = frozenset(("prefix", "delimiter", "max-keys", "encoding-type"))
LISTINGS = {
    "1": LISTING | {"marker"},
    "2": LISTING | {"list-type", "continuation-token", "start-after", "fetch-owner"},
}


def parameters(call: Call) -> Sequence[str]:
    """Names of the query, without those of signatures and clients."""
    return [name for name, _ in call.query if not name.startswith("X-Amz-") and name != "x-id"]


def refuse_of_bucket(call: Call) -> None:
    """Raises for an operation on a bucket that is not implemented."""
    for name in parameters(call):
        if name in OF_BUCKET and call.method in VERBS:
            raise not_implemented(f"{VERBS[call.method]}{OF_BUCKET[name]}")
    if call.has("versions"):
        raise not_implemented("ListObjectVersions")
    if call.method in ("PUT", "DELETE") and parameters(call):
        names = ", ".join(f'"{name}"' for name in dict.fromkeys(parameters(call)))
        raise invalid_argument(f"Unsupported search param(s) {names} on a {call.method} bucket route")


def refuse_of_object(call: Call) -> None:
    for name in parameters(call):
        if name in OF_OBJECT and call.method in VERBS:
            raise not_implemented(f"{VERBS[call.method]}{OF_OBJECT[name]}")


def configuration(call: Call) -> Reply | None:
    """What a bucket says of itself; None: the request does not ask for that."""
    for name in parameters(call):
        if name == "location":
            return reply("LocationConstraint", "auto")
        if name == "versioning":
            return reply("VersioningConfiguration", "")
        if name == "encryption":
            return reply("ServerSideEncryptionConfiguration", ENCRYPTION)
        if name in ABSENT:
            raise R2Fault(404, 10007, *ABSENT[name])
    return None


def check_listing(call: Call) -> None:
    """Raises unless the request is a listing that R2 has."""
    kind = call.parameter("list-type") or "1"
    if kind not in LISTINGS:
        raise not_implemented(f"ListObjectsV{kind}")
    if kind == "1" and call.has("continuation-token"):
        raise invalid_argument("continuation-token not supported in ListObjects")
    for name in parameters(call):
        if name not in LISTINGS[kind]:
            raise not_implemented(f"ListObjectsV{kind} search parameter {name}")
    encoding = call.parameter("encoding-type")
    if encoding not in (None, "url"):
        raise not_implemented(f'Unrecognized encoding-type "{encoding}"')
