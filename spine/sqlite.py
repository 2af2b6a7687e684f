"""SQLite: its lock, its transactions and its errors."""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, RootTransaction, create_engine, event
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import PoolProxiedConnection

from spine.admission import Batch, StreamEnd, meets, place
from spine.arrivals import Bells, FileWatch
from spine.ends import BEFORE_TIME, End, Ends
from spine.errors import AppendOutcomeUnknown, InvalidInput, LogUnavailable, SpineError
from spine.leading import FileLead
from spine.log import Appended
from spine.schema import EVENT_COLUMNS, INSERT_EVENT
from spine.sqlite_faults import described, error_of, lost_its_wal, primary_code
from spine.sqlite_files import WatchedFiles, read_only
from spine.sqlite_queue import WriterQueue
from spine.tails import Tails

_CHUNK: Final = 500  # ids in one IN list
_ROWS: Final = 128  # events in one insert
_INSERT_BEHIND: Final = INSERT_EVENT.replace("VALUES (", "SELECT ").removesuffix(")") + (
    " WHERE (SELECT leaf FROM events WHERE stream_id = ? AND seq = ?) = ?"
)


class SqliteDatabase:
    """A log in a file; beside it stand its write-ahead log and the file that its writers queue at."""

    event_columns = EVENT_COLUMNS.format(id="e.id", causation_id="e.causation_id")

    def __init__(self, url: URL, busy_seconds: float) -> None:
        if not url.database or url.database == ":memory:":
            raise InvalidInput("url", "a log in memory is a MemoryLog(); give a file: sqlite:///runs.db")
        self.path: Final = _file(url.database)
        self.label = str(self.path)
        self._files = WatchedFiles(self.path)
        self._busy_seconds = busy_seconds
        self._queue = WriterQueue(self.path, busy_seconds)
        self._write_connection: PoolProxiedConnection | None = None
        self._tails = Tails()
        self._bells = Bells()
        self.engine = create_engine(
            url.set(database=str(self.path)),
            connect_args={"isolation_level": None, "check_same_thread": False},
            max_overflow=-1,
        )
        event.listen(self.engine, "connect", self._configure)
        event.listen(self.engine, "begin", _begin_immediate)

    def sql(self, statement: str) -> str:
        return statement

    def id_value(self, id: bytes | None) -> Any:
        return id

    def append_one(self, batch: Batch, now: int) -> Appended | None:
        with self._queue.turn(), self._errors():
            guess = self._tails.guess(batch.stream)
            if guess is None:
                return None
            log, position, recorded_at, stream_id, seq, leaf = guess
            if not meets(batch.expect, seq):
                return None
            connection = self._writing()
            recorded_at = max(now, recorded_at)
            (new_leaf,) = place(batch, log=log, end=StreamEnd(seq, leaf), recorded_at=recorded_at)
            values = batch.events[0].values(recorded_at, new_leaf)
            row = (position + 1, stream_id, seq + 1, *values, stream_id, seq, leaf)
            if not self._insert_alone(connection, row):
                self._tails.forget()
                return None
            self._tails.moved(log, position + 1, recorded_at, batch.stream, (stream_id, seq + 1, new_leaf))
            return Appended(seq + 1, seq + 1, position + 1, position + 1, True)

    def remember(self, ends: Ends) -> None:
        self._tails.seen(ends)

    def appending(self) -> AbstractContextManager[DBAPICursor]:
        return self.write()

    def ends(self, cursor: DBAPICursor, wanted: Sequence[tuple[str, Sequence[bytes]]]) -> Ends:
        if len(wanted) > 1 and sum(len(ids) for _, ids in wanted) <= _CHUNK:
            return self._ends_at_once(cursor, wanted)
        streams: dict[str, End] = {}
        tail: tuple[Any, Any, Any] = (None, None, None)
        for stream, ids in wanted:
            stream_id, seq, leaf, known = None, None, None, 0
            for start in range(0, len(ids), _CHUNK):
                chunk = ids[start : start + _CHUNK]
                cursor.execute(_ends(len(chunk)), (*chunk, stream))
                stream_id, seq, leaf, stands, *tail = cursor.fetchall()[0]
                known += stands
            streams[stream] = End(stream_id, seq or 0, leaf, known > 0)
        log, position, recorded_at = tail
        return Ends(log, position or 0, BEFORE_TIME if recorded_at is None else recorded_at, streams)

    def _ends_at_once(self, cursor: DBAPICursor, wanted: Sequence[tuple[str, Sequence[bytes]]]) -> Ends:
        """The same for several streams in one statement with one row, for the same reason as in `insert_events`."""
        pairs = [(stream, id_) for stream, ids in wanted for id_ in ids]
        size = 1 << (len(pairs) - 1).bit_length()
        said = [value for pair in pairs + pairs[:1] * (size - len(pairs)) for value in pair]
        cursor.execute(_ends_at_once(size), said)
        log, position, recorded_at, found = cursor.fetchall()[0]
        streams: dict[str, End] = {}
        for (stream, _), (stream_id, seq, leaf, known) in zip(pairs, json.loads(found), strict=False):
            before = streams.get(stream)
            known = bool(known) or (before is not None and before.known)
            streams[stream] = End(stream_id, seq or 0, bytes.fromhex(leaf) or None, known)
        return Ends(log, position or 0, BEFORE_TIME if recorded_at is None else recorded_at, streams)

    def insert_events(self, cursor: DBAPICursor, rows: Sequence[Sequence[Any]]) -> None:
        # A statement of many rows lets go of the interpreter once, executemany once a row: beside busy threads each
        # time may cost milliseconds. Sizes are powers of two, so that few statements have to be kept.
        start, size = 0, _ROWS
        while start < len(rows):
            while size > len(rows) - start:
                size //= 2
            values = [value for row in rows[start : start + size] for value in row]
            cursor.execute(_insert(size), values)
            start += size

    @contextmanager
    def read(self) -> Iterator[DBAPICursor]:
        self._files.check()
        with self._errors():
            connection = self.engine.raw_connection()
            try:
                yield connection.cursor()
            finally:
                connection.close()

    @contextmanager
    def write(self) -> Iterator[DBAPICursor]:
        with self._queue.turn(), self._errors():
            connection = self._writing()
            try:
                cursor = connection.cursor()
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                self._commit(cursor)
            except BaseException as error:
                self._undo(connection, error)
                raise

    @contextmanager
    def write_transaction(self, follower: str = "") -> Iterator[Connection]:
        with self._queue.turn(), self._errors():
            self._check_files()
            with self.engine.connect() as connection:
                connection.execution_options(write=True)
                transaction = connection.begin()
                try:
                    yield connection
                except BaseException:
                    with suppress(DBAPIError):
                        transaction.rollback()
                    raise
                self._commit_transaction(transaction)

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        self._files.check()
        with self._errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def look(self) -> Iterator[sqlite3.Cursor]:
        """A cursor that can change nothing and makes no file, on a connection of its own with the settings of ours."""
        with self._errors():
            connection = read_only(self.path, self._busy_seconds)
            try:
                _set_up(connection)
                yield connection.cursor()
            finally:
                connection.close()

    def announce(self) -> None:
        self._bells.ring()

    def watch(self) -> FileWatch:
        self._files.check()
        with self._errors():
            return FileWatch(self._bells, self.engine.raw_connection())

    def lead(self, follower: str) -> FileLead:
        return FileLead(f"{self.path}-{quote(follower, safe='')}-leader")

    def close(self) -> None:
        if self._write_connection is not None and self._files.wal_is_lost():
            with suppress(LogUnavailable), self._queue.turn():
                self._check_files()
        with self._queue.closing():
            kept, self._write_connection = self._write_connection, None
            if kept is not None:
                kept.close()
        self.engine.dispose()

    def _writing(self) -> PoolProxiedConnection:
        """The connection that writes, kept from one write to the next: there is one writer at a time anyway."""
        self._check_files()
        if self._write_connection is None:
            self._write_connection = self.engine.raw_connection()
            self._files.wal_in_use()
        return self._write_connection

    def _check_files(self) -> None:
        """Raises LogUnavailable when others find other files than those in use. The caller holds the writers' lock."""
        self._files.check()
        if self._write_connection is not None and self._files.wal_is_lost():
            self._give_up_wal(self._write_connection)

    def _insert_alone(self, connection: PoolProxiedConnection, row: Sequence[Any]) -> bool:
        """Insert one row in a transaction of its own, if all it was made from still holds: its position and seq are
        the next (the guard refuses any other), its id is new, and the event before it in its stream is the one it is
        chained to."""
        cursor = connection.cursor()
        try:
            cursor.execute(_INSERT_BEHIND, row)
        except sqlite3.IntegrityError:
            return False
        except sqlite3.Error as error:
            self._undo(connection, error)
            self._check_outcome(error, error, "repeat the append with the same event ids")
            raise
        return bool(cursor.rowcount == 1)

    def _undo(self, connection: PoolProxiedConnection, error: BaseException) -> None:
        try:
            connection.rollback()
            usable = not lost_its_wal(error)
        except sqlite3.Error:
            usable = False
        if not usable:
            self._write_connection = None
            connection.invalidate()

    def _give_up_wal(self, connection: PoolProxiedConnection) -> None:
        """Raises LogUnavailable, after saving what can be saved. Connections opened later begin another one."""
        driver: Any = connection.driver_connection
        saved = self._files.save_wal(driver)
        if saved:
            self._write_connection = None
            connection.close()
            self.engine.dispose()
        raise self._files.wal_lost(saved)

    def _configure(self, connection: sqlite3.Connection, _record: object) -> None:
        connection.execute(f"PRAGMA busy_timeout = {int(self._busy_seconds * 1000)}")
        connection.execute("PRAGMA journal_mode = WAL")
        _set_up(connection)
        self._files.opened()

    def _commit(self, cursor: DBAPICursor) -> None:
        try:
            cursor.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self._check_outcome(error, error, "repeat the append with the same event ids")
            raise

    def _commit_transaction(self, transaction: RootTransaction) -> None:
        try:
            transaction.commit()
        except DBAPIError as error:
            self._check_outcome(error, error.orig, "look before doing it again")
            raise

    def _check_outcome(self, error: Exception, cause: BaseException | None, advice: str) -> None:
        """Raises AppendOutcomeUnknown where what reached the file before the disk failed may be found again by a
        recovery."""
        if primary_code(cause) == sqlite3.SQLITE_IOERR:
            raise AppendOutcomeUnknown(f"{self.path}: {described(cause)} while committing; {advice}") from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except SpineError:
            raise
        except (sqlite3.Error, DBAPIError) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            if lost_its_wal(cause):
                self.engine.dispose()  # the others of the pool are most likely as lost
            raise error_of(self.label, cause) from error


@cache
def _ends_at_once(count: int) -> str:
    """The end of the log and, as one JSON array, of the stream of each of `count` pairs of a stream and an id."""
    return (
        f"WITH wanted (stream, id) AS (VALUES {', '.join(['(?, ?)'] * count)})"
        " SELECT (SELECT name FROM log), (SELECT max(e.position) FROM events e),"
        " (SELECT e.recorded_at FROM events e ORDER BY e.position DESC LIMIT 1),"
        " (SELECT json_group_array(json_array(s.stream_id,"
        " (SELECT max(e.seq) FROM events e WHERE e.stream_id = s.stream_id),"
        " hex((SELECT e.leaf FROM events e WHERE e.stream_id = s.stream_id ORDER BY e.seq DESC LIMIT 1)),"
        " EXISTS (SELECT 1 FROM events e WHERE e.stream_id = s.stream_id AND e.id = w.id)))"
        " FROM wanted w LEFT JOIN streams s ON s.name = w.stream)"
    )


@cache
def _insert(count: int) -> str:
    """The insert of `count` events."""
    head, values = INSERT_EVENT.split(" VALUES ")
    return f"{head} VALUES {', '.join([values] * count)}"


@cache
def _ends(count: int) -> str:
    """The end of a stream and of the log, the log's name, and whether any of `count` ids stands on the stream."""
    return (
        "SELECT s.stream_id,"
        " (SELECT max(e.seq) FROM events e WHERE e.stream_id = s.stream_id),"
        " (SELECT e.leaf FROM events e WHERE e.stream_id = s.stream_id ORDER BY e.seq DESC LIMIT 1),"
        f" EXISTS (SELECT 1 FROM events e WHERE e.stream_id = s.stream_id AND e.id IN ({', '.join('?' * count)})),"
        " (SELECT name FROM log),"
        " (SELECT max(e.position) FROM events e),"
        " (SELECT e.recorded_at FROM events e ORDER BY e.position DESC LIMIT 1)"
        " FROM (SELECT 1) AS one LEFT JOIN streams s ON s.name = ?"
    )


def _file(path: str) -> Path:
    """The file itself, behind links and whatever the working directory becomes: its lock file stands beside it."""
    if path.startswith("file:"):
        raise InvalidInput("url", "give the path itself, not a file: URI")
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in path):
        raise InvalidInput("url", "the path is not Unicode text")
    return Path(os.path.realpath(path))


def _set_up(connection: sqlite3.Connection) -> None:
    """The settings of every connection; they end with it."""
    # In WAL, NORMAL may lose the last commits when the power goes: an acknowledged append would be gone.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN")
