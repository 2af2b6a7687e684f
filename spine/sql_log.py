"""SqlLog: the durable Log, on SQLite or Postgres."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID, uuid4

from sqlalchemy.engine.interfaces import DBAPICursor

from spine import admission, revisions
from spine.admission import EMPTY_STREAM, Admitted, Batch, StreamEnd, Tail
from spine.canonical import SPEC
from spine.clock import Clock, now
from spine.database import BUSY_SECONDS, Database, open_database
from spine.erasure import check_erasure, erasures
from spine.errors import InvalidInput, Refused
from spine.events import Actor, Event, EventRow, NewEvent
from spine.folds import check_snapshot
from spine.identifiers import checked_id
from spine.log import ANY, Append, Appended, Expect, Head, Snapshot
from spine.memory import random_salt
from spine.pages import Pages
from spine.reading import after_prefix, check_limit, check_name, check_range, check_snapshot_range

_CHUNK: Final = 500  # ids in one IN list
_BEFORE_TIME: Final = -(2**62)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a batch would go: the ends of its stream and of the log, and the events known under its ids."""

    stream_id: int | None
    end: StreamEnd
    log: str | None
    tail: Tail
    known: dict[bytes, EventRow]


def open_log(
    url: str,
    *,
    clock: Clock = now,
    salt: Callable[[], bytes] = random_salt,
    name: str | None = None,
    busy_seconds: float = BUSY_SECONDS,
) -> "SqlLog":
    """Open the log at `sqlite:///path` (made and brought up to date if need be) or `postgresql://…`.

    `clock`, `salt` and the `name` of a new log are given only where they have to be known beforehand. A writer waits up
    to `busy_seconds` for others. Raises LogUnavailable; SchemaOutdated says which command a Postgres database needs.
    """
    database = open_database(url, busy_seconds=busy_seconds)
    try:
        revisions.require(database)
    except BaseException:
        database.close()
        raise
    return SqlLog(database, clock=clock, salt=salt, name=name)


class SqlLog:
    """A Log in a database. Safe to use from many threads and processes at once."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock = now,
        salt: Callable[[], bytes] = random_salt,
        name: str | None = None,
    ) -> None:
        self.database: Final = database
        self._clock = clock
        self._salt = salt
        self._new_name = name or f"gradespine/{uuid4()}"
        self._name: str | None = None
        self._statements = _Statements(database)
        self._pages = Pages(database)

    @property
    def name(self) -> str | None:
        if self._name is None:
            with self.database.read() as cursor:
                self._name = self._stored_name(cursor)
        return self._name

    def append(self, stream: str, events: Sequence[NewEvent], expect: Expect | int = ANY) -> Appended:
        return self._commit_one(self.admit_one(Append(stream, events, expect)))[0]

    def append_all(self, appends: Sequence[Append]) -> list[Appended]:
        return self._commit_one(self.admit(appends))

    def admit_one(self, append: Append) -> Admitted:
        """Check and seal an append to one stream: all of it that needs no lock. Raises what `append` refuses there."""
        now = self._clock()
        return Admitted([admission.admit_one(append, now=now, salt=self._salt)], now)

    def admit(self, appends: Sequence[Append]) -> Admitted:
        """The same for an append to several streams."""
        now = self._clock()
        return Admitted(admission.admit(appends, now=now, salt=self._salt), now)

    def commit(self, appends: Sequence[Admitted]) -> list[list[Appended] | Refused]:
        """Decide on each append in order, as if each came alone, and make all of them durable in one commit.

        One that is refused (StreamConflict, IdentityClash) writes nothing, is answered with its error and leaves the
        others alone. Raises LogBusy, LogUnavailable: nothing was written; AppendOutcomeUnknown.
        """
        answers: list[list[Appended] | Refused] = []
        with self.database.write() as cursor:
            for append in appends:
                try:
                    answers.append(self._decide(cursor, append.batches, append.now))
                except Refused as refusal:
                    answers.append(refusal)
        self._announce(answers)
        return answers

    def read(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Sequence[str] | None = None,
        backwards: bool = False,
    ) -> Iterator[Event]:
        check_name(stream)
        check_range(after, until, limit, types)
        with self.database.read() as cursor:
            stream_id, end = self._end(cursor, stream)
        last = end.seq if until is None else min(until, end.seq)
        if stream_id is None:
            return iter(())
        return self._pages.of_stream(stream_id, after, last, limit, types, backwards)

    def read_all(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Sequence[str] | None = None,
        backwards: bool = False,
    ) -> Iterator[Event]:
        check_range(after, until, limit, types)
        head = self.position()
        last = head if until is None else min(until, head)
        return self._pages.of_log(after, last, limit, types, backwards)

    def streams(self, prefix: str = "", *, after: str = "", limit: int | None = None) -> Iterator[Head]:
        check_name(prefix, "prefix")
        check_name(after, "after")
        check_limit(limit)
        return self._pages.of_streams(prefix, after_prefix(prefix), after, limit, self.position())

    def head(self, stream: str) -> Head | None:
        check_name(stream)
        with self.database.read() as cursor:
            cursor.execute(self._statements.head, (stream,))
            row = cursor.fetchone()
        return None if row is None else Head(stream, row[0], row[1], row[2].hex())

    def find(self, stream: str, id: UUID) -> Event | None:
        check_name(stream)
        wanted = self.database.id_value(checked_id(id, "id"))
        with self.database.read() as cursor:
            cursor.execute(self._statements.find, (stream, wanted))
            row = cursor.fetchone()
        return None if row is None else Event(EventRow._make(row))

    def position(self) -> int:
        with self.database.read() as cursor:
            cursor.execute(self._statements.position)
            return int(cursor.fetchall()[0][0])

    def erase(self, stream: str, seqs: Sequence[int], *, reason: str, actor: Actor, principal: str) -> Appended:
        check_erasure(stream, seqs, reason=reason, actor=actor, principal=principal)
        now = self._clock()
        with self.database.write() as cursor:
            rows = [self._row(cursor, stream, seq) for seq in sorted(set(seqs))]
            kept = [row for row in rows if row.payload is not None]
            said = erasures(kept, reason=reason, actor=actor, principal=principal)
            if not said:
                return admission.appended(rows, new=False)
            batch = admission.admit_erasure(Append(stream, said), now=now, salt=self._salt)
            cursor.executemany(self._statements.erase, [(row.position,) for row in kept])
            answer = self._decide(cursor, [batch], now)
        self._announce([answer])
        return answer[0]

    def save_snapshot(self, snapshot: Snapshot) -> None:
        check_name(snapshot.stream)
        with self.database.write() as cursor:
            stream_id, end = self._end(cursor, snapshot.stream)
            check_snapshot(snapshot, end.seq)
            cursor.execute(
                self._statements.save_snapshot,
                (stream_id, snapshot.fold, snapshot.version, snapshot.seq, snapshot.state),
            )

    def latest_snapshot(self, stream: str, fold: str, version: int, *, until: int | None = None) -> Snapshot | None:
        check_snapshot_range(stream, fold, version, until)
        with self.database.read() as cursor:
            cursor.execute(self._statements.latest_snapshot, (stream, fold, version, 2**62 if until is None else until))
            row = cursor.fetchone()
        return None if row is None else Snapshot(stream, row[0], fold, version, bytes(row[1]))

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _commit_one(self, append: Admitted) -> list[Appended]:
        with self.database.write() as cursor:
            answer = self._decide(cursor, append.batches, append.now)
        self._announce([answer])
        return answer

    def _announce(self, answers: Sequence[list[Appended] | Refused]) -> None:
        """Wake whoever follows the log, when something new stands there."""
        if any(not isinstance(answer, Refused) and answer[0].new for answer in answers):
            self.database.announce()

    def _decide(self, cursor: DBAPICursor, batches: Sequence[Batch], now: int) -> list[Appended]:
        """Decide on the batches and insert what is new, under the lock that the cursor's transaction holds."""
        found = [self._find(cursor, batch) for batch in batches]
        answered = admission.answer_known(batches, [place.known for place in found])
        if answered is not None:
            return answered
        for batch, place in zip(batches, found, strict=True):
            admission.check_expected(batch, place.end.seq)
        tail = found[0].tail
        recorded_at = max(now, tail.recorded_at)
        name = found[0].log or self._name_log(cursor, recorded_at)
        position = tail.position + 1
        answers: list[Appended] = []
        for batch, place in zip(batches, found, strict=True):
            rows = admission.place(batch, log=name, end=place.end, position=position, recorded_at=recorded_at)
            stream_id = place.stream_id or self._new_stream(cursor, batch.stream)
            self._insert(cursor, stream_id, rows)
            answers.append(admission.appended(rows))
            position += len(rows)
        return answers

    def _find(self, cursor: DBAPICursor, batch: Batch) -> "_Place":
        """Where the log and the batch's stream end, and what of the batch is known, in one statement."""
        ids = [self.database.id_value(event.id) for event in batch.events]
        cursor.execute(self._statements.place(min(len(ids), _CHUNK)), (*ids[:_CHUNK], batch.stream))
        row = cursor.fetchall()[0]
        stream_id, seq, leaf, log, position, recorded_at, count = row
        known: dict[bytes, EventRow] = {}
        if count or (stream_id is not None and len(ids) > _CHUNK):
            known = self._known(cursor, stream_id, ids)
        return _Place(
            stream_id,
            EMPTY_STREAM if seq is None else StreamEnd(seq, bytes(leaf)),
            log,
            Tail(0, _BEFORE_TIME) if position is None else Tail(position, recorded_at),
            known,
        )

    def _insert(self, cursor: DBAPICursor, stream_id: int, rows: Sequence[EventRow]) -> None:
        value = self.database.id_value
        cursor.executemany(
            self._statements.insert,
            [
                (row.position, stream_id, row.seq, value(row.id), *row[4:11], value(row.causation_id), *row[12:])
                for row in rows
            ],
        )

    def _new_stream(self, cursor: DBAPICursor, stream: str) -> int:
        cursor.execute(self._statements.next_stream)
        stream_id = int(cursor.fetchall()[0][0])
        cursor.execute(self._statements.new_stream, (stream_id, stream))
        return stream_id

    def _name_log(self, cursor: DBAPICursor, recorded_at: int) -> str:
        """The name of a log that had none: its first append gives it."""
        cursor.execute(self._statements.new_log, (self._new_name, SPEC, recorded_at))
        return self._new_name

    def _stored_name(self, cursor: DBAPICursor) -> str | None:
        cursor.execute(self._statements.log_name)
        row = cursor.fetchone()
        return None if row is None else str(row[0])

    def _end(self, cursor: DBAPICursor, stream: str) -> tuple[int | None, StreamEnd]:
        cursor.execute(self._statements.end, (stream,))
        row = cursor.fetchone()
        if row is None:
            return None, EMPTY_STREAM
        return row[0], StreamEnd(row[1], row[2])

    def _known(self, cursor: DBAPICursor, stream_id: int, ids: Sequence[Any]) -> dict[bytes, EventRow]:
        known: dict[bytes, EventRow] = {}
        for start in range(0, len(ids), _CHUNK):
            chunk = ids[start : start + _CHUNK]
            cursor.execute(self._statements.known(len(chunk)), (stream_id, *chunk))
            known.update((row[3], EventRow._make(row)) for row in cursor.fetchall())
        return known

    def _row(self, cursor: DBAPICursor, stream: str, seq: int) -> EventRow:
        cursor.execute(self._statements.row, (stream, seq))
        row = cursor.fetchone()
        if row is None:
            raise InvalidInput("seqs", f"{stream} has no seq {seq!r}")
        return EventRow._make(row)


class _Statements:
    """The log's statements in the driver's own spelling."""

    def __init__(self, database: Database) -> None:
        columns = database.event_columns
        event = f"SELECT {columns} FROM events e JOIN streams s ON s.stream_id = e.stream_id"
        # The stream is found in a subquery of its own: joined, Postgres may walk the whole log for it.
        of_stream = "e.stream_id = (SELECT stream_id FROM streams WHERE name = ?)"
        last = f"FROM events e WHERE {of_stream} ORDER BY e.seq DESC LIMIT 1"
        sql = database.sql
        self._sql = sql
        self._event = event
        self._known: dict[int, str] = {}
        self._place: dict[int, str] = {}
        self.log_name = "SELECT name FROM log"
        self.new_log = sql("INSERT INTO log (name, spec, created_at) VALUES (?, ?, ?)")
        self.position = "SELECT coalesce(max(position), 0) FROM events"
        self.head = sql(f"SELECT e.seq, e.position, e.leaf {last}")
        self.end = sql(f"SELECT e.stream_id, e.seq, e.leaf {last}")
        self.find = sql(f"{event} WHERE {of_stream} AND e.id = ?")
        self.row = sql(f"{event} WHERE {of_stream} AND e.seq = ?")
        self.next_stream = "SELECT coalesce(max(stream_id), 0) + 1 FROM streams"
        self.new_stream = sql("INSERT INTO streams (stream_id, name) VALUES (?, ?)")
        self.insert = sql(
            "INSERT INTO events (position, stream_id, seq, id, type, schema_version, actor, principal, time, "
            "recorded_at, correlation_id, causation_id, trace_id, span_id, origin, payload_digest, metadata_digest, "
            f"salt, payload, metadata, leaf) VALUES ({', '.join('?' * 21)})"
        )
        self.erase = sql("UPDATE events SET payload = NULL, metadata = NULL, salt = NULL WHERE position = ?")
        self.save_snapshot = sql(
            "INSERT INTO snapshots (stream_id, fold, version, seq, state) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (stream_id, fold, version, seq) DO UPDATE SET state = excluded.state"
        )
        self.latest_snapshot = sql(
            "SELECT n.seq, n.state FROM snapshots n WHERE n.stream_id = (SELECT stream_id FROM streams WHERE name = ?) "
            "AND n.fold = ? AND n.version = ? AND n.seq <= ? ORDER BY n.seq DESC LIMIT 1"
        )

    def place(self, count: int) -> str:
        """The end of a stream and of the log, the log's name, and how many of `count` ids stand on the stream."""
        statement = self._place.get(count)
        if statement is None:
            marks = ", ".join("?" * count)
            statement = self._place[count] = self._sql(
                # Each of these is one step down an index; joined, Postgres would go through the stream for them.
                "SELECT s.stream_id,"
                " (SELECT max(e.seq) FROM events e WHERE e.stream_id = s.stream_id),"
                " (SELECT e.leaf FROM events e WHERE e.stream_id = s.stream_id ORDER BY e.seq DESC LIMIT 1),"
                " (SELECT name FROM log),"
                " (SELECT max(e.position) FROM events e),"
                " (SELECT e.recorded_at FROM events e ORDER BY e.position DESC LIMIT 1),"
                f" (SELECT count(*) FROM events e WHERE e.stream_id = s.stream_id AND e.id IN ({marks}))"
                " FROM (SELECT 1) AS one LEFT JOIN streams s ON s.name = ?"
            )
        return statement

    def known(self, count: int) -> str:
        """The stored events of a stream under `count` ids."""
        statement = self._known.get(count)
        if statement is None:
            marks = ", ".join("?" * count)
            statement = self._known[count] = self._sql(f"{self._event} WHERE e.stream_id = ? AND e.id IN ({marks})")
        return statement
