"""Objects, uploads and parts of one bucket, in the files of wrangler's local mode.

Everything here is a transaction over rows: a bucket shows a write or does not, however it ends. What becomes
superfluous is returned as blob ids, for the caller to remove. Times in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pyflare.engines.r2.conditional import Conditional
from pyflare.engines.r2.config import MIN_PART_BYTES
from pyflare.engines.r2.digests import multipart_etag
from pyflare.engines.r2.faults import bad_upload, invalid_part, no_such_upload, precondition_failed, too_small
from pyflare.storage.database import Database
from pyflare.storage.keyvalue import end_of_prefix

UNIQUE_KEY = "miniflare-R2BucketObject"

SCHEMA = """
CREATE TABLE IF NOT EXISTS _mf_objects (
    key TEXT PRIMARY KEY,
    blob_id TEXT,
    version TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    uploaded INTEGER NOT NULL,
    checksums TEXT NOT NULL,
    http_metadata TEXT NOT NULL,
    custom_metadata TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS _mf_multipart_uploads (
    upload_id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    http_metadata TEXT NOT NULL,
    custom_metadata TEXT NOT NULL,
    state TINYINT DEFAULT 0 NOT NULL
);
CREATE TABLE IF NOT EXISTS _mf_multipart_parts (
    upload_id TEXT NOT NULL REFERENCES _mf_multipart_uploads(upload_id),
    part_number INTEGER NOT NULL,
    blob_id TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    checksum_md5 TEXT NOT NULL,
    object_key TEXT REFERENCES _mf_objects(key) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (upload_id, part_number)
);
"""

# Rows of one query when a delimiter is given: behind a group the next query starts anew.
GROUPED_PAGE = 64

IN_PROGRESS, COMPLETED, ABORTED = 0, 1, 2

COLUMNS = "key, blob_id, version, size, etag, uploaded, checksums, http_metadata, custom_metadata"
GET = f"SELECT {COLUMNS} FROM _mf_objects WHERE key = ?"
PUT = f"""
INSERT INTO _mf_objects ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE
SET blob_id = excluded.blob_id, version = excluded.version, size = excluded.size, etag = excluded.etag,
    uploaded = excluded.uploaded, checksums = excluded.checksums, http_metadata = excluded.http_metadata,
    custom_metadata = excluded.custom_metadata
"""
DELETE = "DELETE FROM _mf_objects WHERE key = ? RETURNING blob_id"
LIST = f"""
SELECT {COLUMNS} FROM _mf_objects
WHERE key >= :first AND key > :after AND (:end IS NULL OR key < :end) ORDER BY key LIMIT :limit
"""
LAST_OF_GROUP = "SELECT max(key) FROM _mf_objects WHERE key >= :first AND (:end IS NULL OR key < :end)"
TOTALS = "SELECT count(*), coalesce(sum(size), 0) FROM _mf_objects"

PARTS_OF_OBJECT = "SELECT blob_id, size FROM _mf_multipart_parts WHERE object_key = ? ORDER BY part_number"
DELETE_PARTS_OF_OBJECT = "DELETE FROM _mf_multipart_parts WHERE object_key = ? RETURNING blob_id"
INSERT_UPLOAD = "INSERT INTO _mf_multipart_uploads (upload_id, key, http_metadata, custom_metadata) VALUES (?, ?, ?, ?)"
GET_UPLOAD = "SELECT http_metadata, custom_metadata, state FROM _mf_multipart_uploads WHERE upload_id = ? AND key = ?"
SET_UPLOAD_STATE = "UPDATE _mf_multipart_uploads SET state = ? WHERE upload_id = ?"
UPLOADS = """
SELECT upload_id, key FROM _mf_multipart_uploads
WHERE state = 0 AND key >= :prefix AND (:end IS NULL OR key < :end) ORDER BY key, upload_id
"""
GET_PART = "SELECT blob_id FROM _mf_multipart_parts WHERE upload_id = ? AND part_number = ?"
PUT_PART = """
INSERT OR REPLACE INTO _mf_multipart_parts (upload_id, part_number, blob_id, size, etag, checksum_md5)
VALUES (?, ?, ?, ?, ?, ?)
"""
PARTS_OF_UPLOAD = """
SELECT part_number, blob_id, size, etag, checksum_md5 FROM _mf_multipart_parts WHERE upload_id = ? ORDER BY part_number
"""
LINK_PART = "UPDATE _mf_multipart_parts SET object_key = ? WHERE upload_id = ? AND part_number = ?"
DELETE_LOOSE_PARTS = "DELETE FROM _mf_multipart_parts WHERE upload_id = ? AND object_key IS NULL RETURNING blob_id"


class ObjectRow(NamedTuple):
    """An object; `blob_id` None when it consists of parts, the last three columns are JSON text (`traits` says what
    is in `http_metadata`)."""

    key: str
    blob_id: str | None
    version: str
    size: int
    etag: str
    uploaded: int
    checksums: str = "{}"
    http_metadata: str = "{}"
    custom_metadata: str = "{}"


@dataclass(frozen=True, slots=True)
class Part:
    number: int
    blob_id: str
    size: int
    etag: str
    md5: str


@dataclass(frozen=True, slots=True)
class Listing:
    objects: Sequence[ObjectRow]
    prefixes: Sequence[str]  # what the delimiter cut off, each once
    last: str | None  # the key behind which the next page begins; None: this is the last page


class ObjectStore:
    """The database of one bucket."""

    def __init__(self, path: Path | str, durability: str = "normal") -> None:
        self.database = Database(path, schema=SCHEMA, durability=durability)

    # --- objects ------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> ObjectRow | None:
        row = self.database.one(GET, (key,))
        return None if row is None else ObjectRow(*row)

    def segments(self, row: ObjectRow) -> Sequence[tuple[str, int]]:
        """Blob ids and sizes of what an object consists of."""
        if row.blob_id is not None:
            return [(row.blob_id, row.size)]
        return [(blob_id, size) for blob_id, size in self.database.execute(PARTS_OF_OBJECT, (row.key,))]

    def put(self, row: ObjectRow, condition: Conditional | None = None) -> Sequence[str]:
        """Write an object in the place of an older one; raises when the condition does not hold."""
        with self.database.transaction():
            older = self.get(row.key)
            if condition is not None and not condition.holds(*_state(older)):
                raise precondition_failed()
            return self._replace(older, row)

    def _replace(self, older: ObjectRow | None, row: ObjectRow) -> Sequence[str]:
        superfluous: list[str] = []
        if older is not None and older.blob_id is not None:
            superfluous.append(older.blob_id)
        elif older is not None:
            superfluous += _ids(self.database.execute(DELETE_PARTS_OF_OBJECT, (row.key,)))
        values = (row.key, row.blob_id, row.version, row.size, row.etag, row.uploaded)
        self.database.execute(PUT, (*values, row.checksums, row.http_metadata, row.custom_metadata))
        return superfluous

    def delete(self, keys: Iterable[str]) -> Sequence[str]:
        superfluous: list[str] = []
        with self.database.transaction():
            for key in keys:
                for (blob_id,) in self.database.execute(DELETE, (key,)):
                    if blob_id is None:
                        superfluous += _ids(self.database.execute(DELETE_PARTS_OF_OBJECT, (key,)))
                    else:
                        superfluous.append(blob_id)
        return superfluous

    def list(self, prefix: str = "", delimiter: str = "", after: str = "", limit: int = 1000) -> Listing:
        """Objects behind `after` in byte order. With a delimiter, what has it behind the prefix is only named by the
        text up to it, and counts once."""
        objects: list[ObjectRow] = []
        prefixes: list[str] = []
        end, behind = end_of_prefix(prefix), after
        while True:
            # One more than there is room for tells whether there is another page.
            wanted = limit - len(objects) - len(prefixes) + 1
            wanted = min(wanted, GROUPED_PAGE) if delimiter else wanted
            rows = self.database.execute(LIST, {"first": prefix, "after": behind, "end": end, "limit": wanted})
            group: str | None = None
            for row in map(_object, rows):
                if len(objects) + len(prefixes) == limit:
                    return Listing(objects, prefixes, behind)
                at = row.key.find(delimiter, len(prefix)) if delimiter else -1
                if at >= 0:
                    group = row.key[: at + len(delimiter)]
                    prefixes.append(group)
                    behind = self._last_of_group(group)
                    break
                objects.append(row)
                behind = row.key
            if group is None and len(rows) < wanted:
                return Listing(objects, prefixes, None)

    def _last_of_group(self, group: str) -> str:
        return str(self.database.value(LAST_OF_GROUP, {"first": group, "end": end_of_prefix(group)}))

    def totals(self) -> tuple[int, int]:
        """How many objects, how many bytes."""
        row = self.database.one(TOTALS)
        return (0, 0) if row is None else (row[0], row[1])

    # --- multipart uploads --------------------------------------------------------------------------------------------

    def create_upload(self, upload_id: str, key: str, http_metadata: str, custom_metadata: str) -> None:
        self.database.execute(INSERT_UPLOAD, (upload_id, key, http_metadata, custom_metadata))

    def upload_metadata(self, upload_id: str, key: str) -> str:
        """What will be an object's HTTP metadata; raises unless the upload takes parts."""
        return self._upload(upload_id, key)[0]

    def _upload(self, upload_id: str, key: str) -> tuple[str, str]:
        row = self.database.one(GET_UPLOAD, (upload_id, key))
        if row is None or row[2] != IN_PROGRESS:
            raise no_such_upload()
        return row[0], row[1]

    def put_part(self, upload_id: str, key: str, part: Part) -> Sequence[str]:
        """Keep a part; one of the same number is replaced."""
        with self.database.transaction():
            self._upload(upload_id, key)
            older = self.database.value(GET_PART, (upload_id, part.number))
            self.database.execute(PUT_PART, (upload_id, part.number, part.blob_id, part.size, part.etag, part.md5))
        return [] if older is None else [older]

    def uploads(self, prefix: str = "") -> Sequence[tuple[str, str]]:
        """Ids and keys of the uploads that take parts."""
        rows = self.database.execute(UPLOADS, {"prefix": prefix, "end": end_of_prefix(prefix)})
        return [(upload_id, key) for upload_id, key in rows]

    def parts(self, upload_id: str, key: str) -> Sequence[Part]:
        self._upload(upload_id, key)
        return [Part(*row) for row in self.database.execute(PARTS_OF_UPLOAD, (upload_id,))]

    def complete(
        self,
        upload_id: str,
        key: str,
        chosen: Sequence[tuple[int, str]],
        version: str,
        now: int,
        least_part: int = MIN_PART_BYTES,
    ) -> tuple[ObjectRow, Sequence[str]]:
        """Make an object of the chosen parts (number and etag); the others are dropped."""
        with self.database.transaction():
            http_metadata, custom_metadata = self._upload(upload_id, key)
            uploaded = {row[0]: Part(*row) for row in self.database.execute(PARTS_OF_UPLOAD, (upload_id,))}
            parts = _chosen_parts(uploaded, chosen, least_part)
            row = ObjectRow(
                key=key,
                blob_id=None,
                version=version,
                size=sum(part.size for part in parts),
                etag=multipart_etag([part.md5 for part in parts]),
                uploaded=now,
                http_metadata=http_metadata,
                custom_metadata=custom_metadata,
            )
            superfluous = list(self._replace(self.get(key), row))
            for part in parts:
                self.database.execute(LINK_PART, (key, upload_id, part.number))
            superfluous += _ids(self.database.execute(DELETE_LOOSE_PARTS, (upload_id,)))
            self.database.execute(SET_UPLOAD_STATE, (COMPLETED, upload_id))
        return row, superfluous

    def abort(self, upload_id: str, key: str) -> Sequence[str]:
        """Drop an upload; one that is finished already stays as it is."""
        with self.database.transaction():
            row = self.database.one(GET_UPLOAD, (upload_id, key))
            if row is None:
                raise no_such_upload()
            if row[2] != IN_PROGRESS:
                return []
            superfluous = _ids(self.database.execute(DELETE_LOOSE_PARTS, (upload_id,)))
            self.database.execute(SET_UPLOAD_STATE, (ABORTED, upload_id))
        return superfluous

    def close(self) -> None:
        self.database.close()


def _chosen_parts(uploaded: dict[int, Part], chosen: Sequence[tuple[int, str]], least_part: int) -> Sequence[Part]:
    """The parts in their order, checked: known, and all of one size but the last, which may be smaller. Too small is
    what is so in the order that they were given in."""
    parts: list[Part] = []
    for number, etag in chosen:
        part = uploaded.get(number)
        if part is None or part.etag != etag:
            raise invalid_part()
        if part in parts:
            raise bad_upload()
        parts.append(part)
    if not parts:
        raise bad_upload()
    if any(part.size < least_part for part in parts[:-1]):
        raise too_small()
    parts.sort(key=lambda part: part.number)
    size = parts[0].size
    if any(part.size != size for part in parts[1:-1]) or parts[-1].size > size:
        raise bad_upload()
    return parts


def _state(row: ObjectRow | None) -> tuple[str | None, int | None]:
    return (None, None) if row is None else (row.etag, row.uploaded)


def _ids(rows: Iterable[Sequence[str]]) -> list[str]:
    return [row[0] for row in rows]


def _object(row: Sequence[Any]) -> ObjectRow:
    return ObjectRow(*row)
