"""A database, its lock, its transactions and its errors: every line that differs between SQLite and Postgres."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import UUID

import psycopg
from psycopg import errors as pg
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import PoolProxiedConnection

from spine.errors import (
    AppendOutcomeUnknown,
    InvalidInput,
    LogBusy,
    LogCorrupt,
    LogUnavailable,
    SpineError,
)

BUSY_SECONDS: Final = 30.0

_COLUMNS: Final = (
    "e.position, s.name, e.seq, {id}, e.type, e.schema_version, e.actor, e.principal, e.time, e.recorded_at, "
    "e.correlation_id, {causation_id}, e.trace_id, e.span_id, e.origin, e.payload_digest, e.metadata_digest, e.salt, "
    "e.payload, e.metadata, e.leaf"
)


class Database(Protocol):
    """One log's database. Statements are written with `?`; `sql` turns them into the driver's own."""

    engine: Engine
    event_columns: str
    """The select list of an EventRow, from `events e` joined with `streams s`."""

    def sql(self, statement: str) -> str: ...

    def id_value(self, id: bytes | None) -> Any:
        """An event id as the driver takes it."""

    @contextmanager
    def read(self) -> Iterator[DBAPICursor]:
        """A cursor for reading what is committed."""

    @contextmanager
    def write(self) -> Iterator[DBAPICursor]:
        """A cursor in a transaction that holds the log's lock; committed at the end, undone by an error.

        Raises LogBusy when the lock is not had in time, AppendOutcomeUnknown when the commit's answer is lost.
        """

    @contextmanager
    def write_transaction(self) -> Iterator[Connection]:
        """The same as a SQLAlchemy connection."""

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        """A SQLAlchemy connection for reading what is committed."""

    def close(self) -> None: ...


def open_database(url: str, *, busy_seconds: float = BUSY_SECONDS) -> Database:
    """The database at a SQLAlchemy URL: `sqlite:///path` or `postgresql://…`. Reaches for nothing yet."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise InvalidInput("url", "not a database URL, such as sqlite:///runs.db or postgresql://host/name") from None
    match parsed.get_backend_name():
        case "sqlite":
            return SqliteDatabase(parsed, busy_seconds)
        case "postgresql":
            return PostgresDatabase(parsed, busy_seconds)
        case other:
            raise InvalidInput("url", f"{other} is not supported; use sqlite:///path or postgresql://host/name")


class SqliteDatabase:
    """A file beside whose name `-lock` marks the file that its writers queue at.

    busy_timeout is no queue: under load one process starves the others for seconds. So a writer takes an in-process
    lock, then the side file, and only then begins.
    """

    event_columns = _COLUMNS.format(id="e.id", causation_id="e.causation_id")

    def __init__(self, url: URL, busy_seconds: float) -> None:
        if not url.database or url.database == ":memory:" or url.query.get("mode") == "memory":
            raise InvalidInput("url", "a log in memory is a MemoryLog(); give a file: sqlite:///runs.db")
        self.path: Final = Path(url.database)
        self._busy_seconds = busy_seconds
        self._writer = threading.Lock()
        self.engine = create_engine(
            url, connect_args={"isolation_level": None, "check_same_thread": False}, max_overflow=-1
        )
        event.listen(self.engine, "connect", self._configure)
        event.listen(self.engine, "begin", _begin_immediate)

    def sql(self, statement: str) -> str:
        return statement

    def id_value(self, id: bytes | None) -> Any:
        return id

    @contextmanager
    def read(self) -> Iterator[DBAPICursor]:
        with self._errors():
            connection = self.engine.raw_connection()
            try:
                yield connection.cursor()
            finally:
                connection.close()

    @contextmanager
    def write(self) -> Iterator[DBAPICursor]:
        with self.writer_lock(), self._errors():
            connection = self.engine.raw_connection()
            try:
                cursor = connection.cursor()
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.rollback()
                raise
            finally:
                connection.close()

    @contextmanager
    def write_transaction(self) -> Iterator[Connection]:
        with self.writer_lock(), self._errors(), self.engine.connect() as connection:
            connection.execution_options(write=True)
            with connection.begin():
                yield connection

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        with self._errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writer_lock(self) -> Iterator[None]:
        """Held by one writer of this file at a time, in all processes of this machine."""
        if not self._writer.acquire(timeout=self._busy_seconds):
            raise self._busy()
        try:
            lock = self._queue_at_file()
            try:
                yield
            finally:
                os.close(lock)
        finally:
            self._writer.release()

    def close(self) -> None:
        self.engine.dispose()

    def _configure(self, connection: sqlite3.Connection, _record: object) -> None:
        connection.execute(f"PRAGMA busy_timeout = {int(self._busy_seconds * 1000)}")
        connection.execute("PRAGMA journal_mode = WAL")
        # In WAL, NORMAL may lose the last commits when the power goes: an acknowledged append would be gone.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = ON")

    def _queue_at_file(self) -> int:
        try:
            lock = os.open(f"{self.path}-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise LogUnavailable(f"{self.path}: cannot open its lock file: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not _flock_in_turn(lock, self._busy_seconds):
                raise self._busy() from None
        except BaseException:
            os.close(lock)
            raise
        return lock

    def _busy(self) -> LogBusy:
        return LogBusy(f"{self.path}: another writer has held the log for {self._busy_seconds:g} s; retry")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except SpineError:
            raise
        except (sqlite3.Error, DBAPIError) as error:
            raise self._translate(error) from error

    def _translate(self, error: sqlite3.Error | DBAPIError) -> SpineError:
        cause = error.orig if isinstance(error, DBAPIError) else error
        message = f"{self.path}: {cause}"
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LogBusy(f"{message}; retry")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT):
            return LogCorrupt(message)
        return LogUnavailable(message)


def _flock_in_turn(lock: int, seconds: float) -> bool:
    """Take the lock in the order of asking, or close it after `seconds`. A blocking flock is the fair one but knows no
    time limit, so a thread waits for it and lets it go at once if it comes too late."""
    settled = threading.Lock()
    taken = threading.Event()
    given_up = False

    def wait() -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with settled:
            if given_up:
                os.close(lock)
            else:
                taken.set()

    threading.Thread(target=wait, name="gradespine-writer-queue", daemon=True).start()
    taken.wait(seconds)
    with settled:
        given_up = not taken.is_set()
    return not given_up


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN")


class PostgresDatabase:
    """A database, or a schema of one, whose writers queue at one advisory lock.

    The lock is taken in a statement of its own: taken and read past in one statement, the read would use a snapshot
    from before the wait.
    """

    event_columns = _COLUMNS.format(id="uuid_send(e.id)", causation_id="uuid_send(e.causation_id)")

    def __init__(self, url: URL, busy_seconds: float) -> None:
        self.label: Final = url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
        self._busy_seconds = busy_seconds
        self.engine = create_engine(
            url.set(drivername="postgresql+psycopg"), isolation_level="READ COMMITTED", pool_pre_ping=False
        )
        event.listen(self.engine, "connect", self._configure)

    def sql(self, statement: str) -> str:
        return statement.replace("?", "%s")

    def id_value(self, id: bytes | None) -> Any:
        return None if id is None else UUID(bytes=id)

    @contextmanager
    def read(self) -> Iterator[DBAPICursor]:
        with self._errors():
            connection = self.engine.raw_connection()
            try:
                yield connection.cursor()
            finally:
                connection.close()

    @contextmanager
    def write(self) -> Iterator[DBAPICursor]:
        with self._errors():
            connection, cursor = self._locked()
            try:
                yield cursor
                self._commit(connection)
            except BaseException:
                with suppress(psycopg.Error):
                    connection.rollback()
                raise
            finally:
                connection.close()

    @contextmanager
    def write_transaction(self) -> Iterator[Connection]:
        with self._errors(), self.engine.connect() as connection, connection.begin():
            connection.exec_driver_sql(_LOCK)
            yield connection

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        with self._errors(), self.engine.connect() as connection:
            yield connection

    def close(self) -> None:
        self.engine.dispose()

    def _configure(self, connection: psycopg.Connection[Any], _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {int(self._busy_seconds * 1000)}")
            # An acknowledged append has to survive a crash, whatever the server's default is.
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        connection.commit()

    def _locked(self) -> tuple[PoolProxiedConnection, DBAPICursor]:
        """A connection whose transaction holds the log's lock. A pooled connection that the server has dropped since is
        replaced: nothing has been asked of it yet."""
        connection = self.engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute(_LOCK)
        except BaseException as error:
            lost = isinstance(error, psycopg.OperationalError) and connection.driver_connection.closed  # type: ignore[union-attr]
            if not lost:
                connection.close()
                raise
            connection.invalidate()
            connection = self.engine.raw_connection()
            cursor = connection.cursor()
            cursor.execute(_LOCK)
        return connection, cursor

    def _commit(self, connection: PoolProxiedConnection) -> None:
        try:
            connection.commit()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if isinstance(error, pg.SerializationFailure | pg.DeadlockDetected):
                raise
            connection.invalidate()
            raise AppendOutcomeUnknown(
                f"{self.label}: the connection was lost while committing; repeat the append with the same event ids"
            ) from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except SpineError:
            raise
        except (psycopg.Error, DBAPIError) as error:
            raise self._translate(error) from error

    def _translate(self, error: psycopg.Error | DBAPIError) -> SpineError:
        cause = error.orig if isinstance(error, DBAPIError) else error
        message = f"{self.label}: {str(cause).strip()}"
        match cause:
            case pg.LockNotAvailable():
                return LogBusy(f"{self.label}: another writer has held the log for {self._busy_seconds:g} s; retry")
            case pg.UniqueViolation() | pg.RestrictViolation() | pg.ForeignKeyViolation():
                return LogCorrupt(message)
            case _:
                return LogUnavailable(message)


_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('gradespine/log/' || current_schema(), 0))"
