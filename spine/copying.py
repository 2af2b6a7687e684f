"""Copying: a whole log as lines of JSON, and back into an empty database, every byte that counts the same.

The first line says which log it is and where it ends, then comes a line an event in order of position, then one with
the number of events and a digest over all leaves, so that a file that was cut off is seen. What is derived from the log
(snapshots, followers, tables of grades) does not travel.
"""

import sqlite3
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Annotated, BinaryIO, Final, Literal, TypeVar
from uuid import UUID

import orjson
import psycopg
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.engine.interfaces import DBAPICursor

from spine.canonical import MAX_INTEGER
from spine.chain import Chain
from spine.database import Database
from spine.errors import InvalidInput, LogCorrupt
from spine.events import EventRow
from spine.identifiers import MAX_IDENTIFIER, check_identifier, check_stream, check_type
from spine.sql_log import SqlLog
from spine.vocabulary import ERASED

FORMAT: Final = "gradespine/log/1"

_LONGEST: Final = 128 * 1024 * 1024  # a line; 16 MiB of payload may be written with six bytes a character
_BATCH: Final = 500
_BATCH_BYTES: Final = 8 * 1024 * 1024

Progress = Callable[[int, int], None]
"""Told how many events are done, and of how many."""

_Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Uuid = Annotated[str, Field(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")]
_Time = Annotated[int, Field(ge=-MAX_INTEGER, le=MAX_INTEGER)]
_Number = Annotated[int, Field(ge=1, le=MAX_INTEGER)]


class _Line(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Head(_Line):
    format: Literal["gradespine/log/1"]
    log: str
    spec: Literal["gradespine/event/1"]
    created_at: _Time
    position: _Number
    leaf: _Hex


class _Event(_Line):
    position: _Number
    stream: str
    seq: _Number
    id: _Uuid
    type: str
    schema_version: Annotated[int, Field(ge=1, lt=2**31)]
    actor: Literal["agent", "human", "system"]
    principal: str
    time: _Time
    recorded_at: _Time
    correlation_id: str
    causation_id: _Uuid | None
    trace_id: str
    span_id: str
    origin: str
    payload_digest: _Hex
    metadata_digest: _Hex | None
    salt: _Hex | None
    payload: str | None
    metadata: str | None
    leaf: _Hex


class _End(_Line):
    events: _Number
    leaves: _Hex


_Parsed = TypeVar("_Parsed", bound=_Line)


def export(log: SqlLog, out: BinaryIO, *, progress: Progress | None = None) -> int:
    """Write the log as it stands now; returns the number of events. The same log gives the same bytes.

    Raises InvalidInput for a log without events.
    """
    count, total = 0, log.position()
    for count, line in enumerate(_lines(log)):
        out.write(line)
        if progress is not None and count % _BATCH == 0:
            progress(min(count, total), total)
    return count - 1


def import_log(source: BinaryIO, log: SqlLog, *, progress: Progress | None = None) -> int:
    """Put an exported log into an empty one; returns the number of events. All of it is verified on the way: it is one
    transaction, and the first fault leaves the target as empty as it was.

    Raises InvalidInput naming the line, for what is no whole, unchanged export and for a target that is not empty.
    """
    reading = _Reading(source)
    with log.database.write() as cursor:
        _require_empty(cursor)
        head = reading.head()
        inserting = _Inserting(log.database, cursor)
        cursor.execute(
            log.database.sql("INSERT INTO log (name, spec, created_at) VALUES (?, ?, ?)"),
            (head.log, head.spec, head.created_at),
        )
        for row in reading.events():
            inserting.add(row)
            if progress is not None and row.position % _BATCH == 0:
                progress(row.position, head.position)
        inserting.flush()
    log.database.announce()
    return head.position


def _lines(log: SqlLog) -> Iterator[bytes]:
    with log.database.read() as cursor:
        cursor.execute("SELECT name, spec, created_at FROM log")
        found = cursor.fetchone()
    last = next(log.read_all(backwards=True, limit=1), None)
    if found is None or last is None:
        raise InvalidInput("log", "it has no events: there is nothing to export")
    name, spec, created_at = found
    yield _line(
        format=FORMAT, log=name, spec=spec, created_at=created_at, position=last.position, leaf=last.row.leaf.hex()
    )
    leaves = sha256()
    for event in log.read_all(until=last.position):
        row = event.row
        leaves.update(row.leaf)
        yield _line(**row._asdict() | _as_text(row))
    yield _line(events=last.position, leaves=leaves.hexdigest())


def _as_text(row: EventRow) -> dict[str, str | None]:
    """The columns that are bytes."""
    return {
        "id": str(UUID(bytes=row.id)),
        "causation_id": None if row.causation_id is None else str(UUID(bytes=row.causation_id)),
        "payload_digest": row.payload_digest.hex(),
        "metadata_digest": None if row.metadata_digest is None else row.metadata_digest.hex(),
        "salt": None if row.salt is None else row.salt.hex(),
        "leaf": row.leaf.hex(),
    }


def _as_bytes(said: _Event) -> dict[str, bytes | None]:
    return {
        "id": UUID(said.id).bytes,
        "causation_id": None if said.causation_id is None else UUID(said.causation_id).bytes,
        "payload_digest": bytes.fromhex(said.payload_digest),
        "metadata_digest": None if said.metadata_digest is None else bytes.fromhex(said.metadata_digest),
        "salt": None if said.salt is None else bytes.fromhex(said.salt),
        "leaf": bytes.fromhex(said.leaf),
    }


def _line(**said: object) -> bytes:
    return orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE)


class _Reading:
    """The lines of an export, each checked; `number` is that of the line at hand."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._number = 0
        self._head: _Head | None = None

    def head(self) -> _Head:
        """The first line. Raises InvalidInput for what is not one of ours."""
        line = self._next()
        try:
            said = orjson.loads(line)["format"]
        except (ValueError, TypeError, KeyError):
            said = None
        if said != FORMAT:
            what = f"{said!r} is another version; use a program that knows it" if said else "it is no exported log"
            raise self._refused(f"{what}: `gradespine log export` writes {FORMAT}")
        head = self._parsed(_Head, line)
        if not head.log or any(character < " " for character in head.log):
            raise self._refused("the name of the log is not a name")
        self._head = head
        return head

    def events(self) -> Iterator[EventRow]:
        """The events, up to the last line, which has to be right too."""
        head = self._head or self.head()
        chain, leaves = Chain(head.log), sha256()
        recorded_at = -MAX_INTEGER
        erased: set[int] = set()
        leaf = b""
        for position in range(1, head.position + 1):
            row = self._event()
            if row.position != position:
                raise self._refused(f"position {row.position} stands where {position} has to be")
            if row.recorded_at < recorded_at:
                raise self._refused("it was recorded before the event in front of it")
            try:
                chain.take(row)
            except LogCorrupt as error:
                raise self._refused(str(error)) from None
            recorded_at, leaf = row.recorded_at, row.leaf
            leaves.update(leaf)
            if row.payload is None:
                erased.add(position)
            elif row.type == ERASED:
                erased.discard(orjson.loads(row.payload).get("position"))
            yield row
        end = self._parsed(_End, self._next())
        if leaf.hex() != head.leaf or end.events != head.position or end.leaves != leaves.hexdigest():
            raise self._refused("the end of the log is not the one that the first line names")
        if erased:
            raise self._refused(f"position {min(erased)} has no payload, and no {ERASED} behind it says why")
        if self._source.readline(1):
            self._number += 1
            raise self._refused("something follows the end")

    def _event(self) -> EventRow:
        said = self._parsed(_Event, self._next())
        try:
            check_stream(said.stream)
            check_type(said.type, "type")
            for name in ("principal", "correlation_id", "trace_id", "span_id", "origin"):
                check_identifier(getattr(said, name), name, MAX_IDENTIFIER)
        except InvalidInput as error:
            raise self._refused(str(error)) from None
        return EventRow(**said.model_dump() | _as_bytes(said))

    def _parsed(self, model: type[_Parsed], line: bytes) -> _Parsed:
        try:
            return model.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise self._refused(f"{place}: {first['msg'].lower()}" if place else first["msg"].lower()) from None

    def _next(self) -> bytes:
        self._number += 1
        line = self._source.readline(_LONGEST)
        if not line.endswith(b"\n"):
            raise self._refused(
                "the file ends here: it was cut off" if len(line) < _LONGEST else "the line is too long"
            )
        return line

    def _refused(self, reason: str) -> InvalidInput:
        return InvalidInput(f"line {self._number}", f"{reason}; nothing was imported")


class _Inserting:
    """Rows on their way into the tables, some hundred at a time."""

    def __init__(self, database: Database, cursor: DBAPICursor) -> None:
        self._database = database
        self._cursor = cursor
        self._streams: dict[str, int] = {}
        self._new: list[tuple[int, str]] = []
        self._rows: list[tuple[object, ...]] = []
        self._bytes = 0
        self._new_stream = database.sql("INSERT INTO streams (stream_id, name) VALUES (?, ?)")

    def add(self, row: EventRow) -> None:
        stream_id = self._streams.get(row.stream)
        if stream_id is None:
            stream_id = self._streams[row.stream] = len(self._streams) + 1
            self._new.append((stream_id, row.stream))
        self._rows.append((row.position, stream_id, *row[2:]))
        self._bytes += len(row.payload or "")
        if len(self._rows) >= _BATCH or self._bytes >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._rows:
            return
        if self._new:
            self._cursor.executemany(self._new_stream, self._new)
        try:
            self._database.insert_events(self._cursor, self._rows)
        except (sqlite3.IntegrityError, psycopg.IntegrityError) as error:
            first, last = self._rows[0][0], self._rows[-1][0]
            raise InvalidInput(
                f"positions {first} to {last}", f"the database refuses them ({_said(error)}); nothing was imported"
            ) from error
        self._new.clear()
        self._rows.clear()
        self._bytes = 0


def _said(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _require_empty(cursor: DBAPICursor) -> None:
    cursor.execute("SELECT (SELECT count(*) FROM log) + (SELECT count(*) FROM streams)")
    if cursor.fetchall()[0][0]:
        raise InvalidInput("database", "it holds a log already; a log is imported into an empty database only")
