"""What R2 refuses: its code, its words, and the HTTP status that S3 gives for it.

Workers see `<operation>: <message> (<code>)`. developers.cloudflare.com/r2/api/error-codes
"""

from __future__ import annotations


class R2Fault(Exception):
    """One refusal; `name` is S3's."""

    def __init__(self, status: int, code: int, name: str, message: str) -> None:
        self.status, self.code, self.name, self.message = status, code, name, message
        super().__init__(f"{message} ({code})")


def no_such_key() -> R2Fault:
    return R2Fault(404, 10007, "NoSuchKey", "The specified key does not exist.")


def too_large() -> R2Fault:
    message = "Your proposed upload exceeds the maximum allowed object size."
    return R2Fault(400, 100100, "EntityTooLarge", message)


def too_small() -> R2Fault:
    message = "Your proposed upload is smaller than the minimum allowed object size."
    return R2Fault(400, 10011, "EntityTooSmall", message)


def metadata_too_large() -> R2Fault:
    message = "Your metadata headers exceed the maximum allowed metadata size."
    return R2Fault(400, 10012, "MetadataTooLarge", message)


def invalid_name() -> R2Fault:
    return R2Fault(400, 10020, "InvalidObjectName", "The specified object name is not valid.")


def invalid_max_keys() -> R2Fault:
    return R2Fault(400, 10022, "InvalidMaxKeys", "MaxKeys params must be positive integer <= 1000.")


def no_such_upload() -> R2Fault:
    return R2Fault(404, 10024, "NoSuchUpload", "The specified multipart upload does not exist.")


def invalid_part() -> R2Fault:
    return R2Fault(400, 10025, "InvalidPart", "One or more of the specified parts could not be found.")


def precondition_failed() -> R2Fault:
    message = "At least one of the pre-conditions you specified did not hold."
    return R2Fault(412, 10031, "PreconditionFailed", message)


def bad_digest(algorithm: str, given: str, actual: str) -> R2Fault:
    return R2Fault(
        400,
        10037,
        "BadDigest",
        f"The {algorithm} checksum you specified did not match what we received.\n"
        f"You provided a {algorithm} checksum with value: {given}\nActual {algorithm} was: {actual}",
    )


def invalid_range() -> R2Fault:
    return R2Fault(416, 10039, "InvalidRange", "The requested range is not satisfiable")


BAD_UPLOAD = 10048


def bad_upload() -> R2Fault:
    return R2Fault(400, BAD_UPLOAD, "InvalidPart", "There was a problem with the multipart upload.")


def unequal_parts() -> R2Fault:
    """What S3's clients are told of the same."""
    return R2Fault(400, BAD_UPLOAD, "InvalidPart", "All non-trailing parts must have the same length.")


def invalid_storage_class() -> R2Fault:
    return R2Fault(400, 10062, "InvalidStorageClass", "The storage class specified is not valid.")


# Of keys Cloudflare documents no refusals; these are S3's, as R2's known ones are. The codes of the Workers API are
# those of the nearest documented names.


def check_key(kept: str | None, given: str | None) -> None:
    """Raises unless the MD5 of the key that an object was written with is that of the key of its reader."""
    if kept == given:
        return
    if kept is None:
        raise _bad_request("The encryption parameters are not applicable to this object.")
    if given is None:
        raise _bad_request(
            "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to "
            "retrieve the object."
        )
    raise R2Fault(403, 10003, "AccessDenied", "Access Denied")


def check_part_key(kept: str | None, given: str | None) -> None:
    """The same of an upload and of one of its parts."""
    if kept == given:
        return
    if kept is None:
        raise _bad_request(
            "The multipart upload initiate did not request encryption. Please resend the request without sending "
            "encryption parameters."
        )
    if given is None:
        raise _bad_request(
            "The multipart upload initiate requested encryption. Subsequent part requests must include the "
            "appropriate encryption parameters."
        )
    raise _bad_request("The provided encryption parameters did not match the ones used originally.")


def _bad_request(message: str) -> R2Fault:
    return R2Fault(400, 10029, "InvalidRequest", message)


def incomplete_body(length: int, expected: int) -> R2Fault:
    message = f"The value has {length} bytes, but {expected} were announced."
    return R2Fault(400, 10013, "IncompleteBody", message)
