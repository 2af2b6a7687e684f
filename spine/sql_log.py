"""SqlLog: the durable Log, on SQLite or Postgres."""

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Final, Self
from uuid import UUID, uuid4

from sqlalchemy.engine.interfaces import DBAPICursor

from spine import admission, revisions
from spine.admission import EMPTY_STREAM, Admitted, StreamEnd
from spine.appending import Appending
from spine.clock import Clock, now
from spine.database import BUSY_SECONDS, Database, open_database
from spine.erasure import check_erasure, erasures
from spine.errors import InvalidInput, Refused
from spine.events import Actor, Event, EventRow, NewEvent
from spine.folds import check_not_erased, check_snapshot
from spine.identifiers import checked_id
from spine.log import ANY, Append, Appended, Expect, Head, Snapshot
from spine.memory import random_salt
from spine.pages import Pages
from spine.reading import after_prefix, check_limit, check_name, check_range, check_snapshot_range
from spine.vocabulary import ERASED


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
        self._appending = Appending(database, name or f"gradespine/{uuid4()}")
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
        with self.database.appending() as cursor:
            answers, ends = self._appending.commit(cursor, appends)
        self.database.remember(ends)
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
        return self._pages.of_stream(stream_id, stream, after, last, limit, types, backwards)

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
                return admission.standing(rows)
            batch = admission.admit_erasure(Append(stream, said), now=now, salt=self._salt)
            cursor.executemany(self._statements.erase, [(row.position,) for row in kept])
            # Their states may hold what is erased.
            cursor.execute(self._statements.drop_snapshots, (stream, kept[0].seq))
            answers, _ = self._appending.commit(cursor, [Admitted([batch], now)])
        self._announce(answers)
        return _granted(answers[0])[0]

    def save_snapshot(self, snapshot: Snapshot) -> None:
        check_name(snapshot.stream)
        with self.database.read() as cursor:
            stream_id, end = self._end(cursor, snapshot.stream)
            check_snapshot(snapshot, end.seq)
            check_not_erased(snapshot, self._erasures(cursor, stream_id, after=snapshot.seq))
        with self.database.write() as cursor:
            # The stream behind it may be long: it was looked through before the lock, but for what came since.
            check_not_erased(snapshot, self._erasures(cursor, stream_id, after=end.seq))
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
        if len(append.batches) == 1 and len(append.batches[0].events) == 1:
            appended = self.database.append_one(append.batches[0], append.now)
            if appended is not None:
                self.database.announce()
                return [appended]
        return _granted(self.commit([append])[0])

    def _announce(self, answers: Sequence[list[Appended] | Refused]) -> None:
        """Wake whoever follows the log, when something new stands there."""
        if any(not isinstance(answer, Refused) and answer[0].new for answer in answers):
            self.database.announce()

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

    def _erasures(self, cursor: DBAPICursor, stream_id: int | None, *, after: int) -> list[str]:
        """The payloads of the stream's erasures behind seq `after`."""
        cursor.execute(self._statements.erasures, (stream_id, after))
        return [row[0] for row in cursor.fetchall()]

    def _row(self, cursor: DBAPICursor, stream: str, seq: int) -> EventRow:
        cursor.execute(self._statements.row, (stream, seq))
        row = cursor.fetchone()
        if row is None:
            raise InvalidInput("seqs", f"{stream} has no seq {seq!r}")
        return EventRow._make(row)


def _granted(answer: list[Appended] | Refused) -> list[Appended]:
    if isinstance(answer, Refused):
        raise answer
    return answer


class _Statements:
    """The log's statements in the driver's own spelling."""

    def __init__(self, database: Database) -> None:
        columns = database.event_columns
        event = f"SELECT {columns} FROM events e JOIN streams s ON s.stream_id = e.stream_id"
        # The stream is found in a subquery of its own: joined, Postgres may walk the whole log for it.
        of_stream = "e.stream_id = (SELECT stream_id FROM streams WHERE name = ?)"
        last = f"FROM events e WHERE {of_stream} ORDER BY e.seq DESC LIMIT 1"
        sql = database.sql
        self.log_name = "SELECT name FROM log"
        self.position = "SELECT coalesce(max(position), 0) FROM events"
        self.head = sql(f"SELECT e.seq, e.position, e.leaf {last}")
        self.end = sql(f"SELECT e.stream_id, e.seq, e.leaf {last}")
        self.find = sql(f"{event} WHERE {of_stream} AND e.id = ?")
        self.row = sql(f"{event} WHERE {of_stream} AND e.seq = ?")
        self.erase = sql("UPDATE events SET payload = NULL, metadata = NULL, salt = NULL WHERE position = ?")
        self.erasures = sql(f"SELECT payload FROM events WHERE stream_id = ? AND seq > ? AND type = '{ERASED}'")
        self.drop_snapshots = sql(
            "DELETE FROM snapshots WHERE stream_id = (SELECT stream_id FROM streams WHERE name = ?) AND seq >= ?"
        )
        self.save_snapshot = sql(
            "INSERT INTO snapshots (stream_id, fold, version, seq, state) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (stream_id, fold, version, seq) DO UPDATE SET state = excluded.state"
        )
        self.latest_snapshot = sql(
            "SELECT n.seq, n.state FROM snapshots n WHERE n.stream_id = (SELECT stream_id FROM streams WHERE name = ?) "
            "AND n.fold = ? AND n.version = ? AND n.seq <= ? ORDER BY n.seq DESC LIMIT 1"
        )
