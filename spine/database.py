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
from sqlalchemy.exc import TimeoutError as NoFreeConnection
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
    label: str
    """What messages call it; without a password."""
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
    def write_transaction(self, follower: str = "") -> Iterator[Connection]:
        """The same as a SQLAlchemy connection. Where the database can, a follower's writes queue at a lock of its own
        and leave the log's writers alone."""

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        """A SQLAlchemy connection for reading what is committed."""

    def close(self) -> None: ...


def open_database(url: str, *, busy_seconds: float = BUSY_SECONDS) -> Database:
    """The database at a SQLAlchemy URL: `sqlite:///path` or `postgresql://…`. Reaches for nothing yet."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidInput("url", "not a database URL, such as sqlite:///runs.db or postgresql://host/name") from None
    match parsed.get_backend_name():
        case "sqlite" if parsed.drivername in ("sqlite", "sqlite+pysqlite"):
            # A second SQLite library in one process loses data silently: the standard library's is the only one.
            if "?" in url:
                raise InvalidInput("url", "a SQLite URL takes no options; write a question mark in its path as %3F")
            return SqliteDatabase(parsed, busy_seconds)
        case "postgresql":
            return PostgresDatabase(parsed, busy_seconds)
        case other:
            name = parsed.drivername if other == "sqlite" else other
            raise InvalidInput("url", f"{name} is not supported; use sqlite:///path or postgresql://host/name")


class SqliteDatabase:
    """A file beside whose name `-lock` marks the file that its writers queue at.

    busy_timeout is no queue: under load one process starves the others for seconds. So a writer takes an in-process
    lock, then the side file, and only then begins.
    """

    event_columns = _COLUMNS.format(id="e.id", causation_id="e.causation_id")

    def __init__(self, url: URL, busy_seconds: float) -> None:
        if not url.database or url.database == ":memory:":
            raise InvalidInput("url", "a log in memory is a MemoryLog(); give a file: sqlite:///runs.db")
        self.path: Final = _file(url.database)
        self.label = str(self.path)
        self._busy_seconds = busy_seconds
        self._writer = threading.Lock()
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
                self._commit(cursor)
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.rollback()
                raise
            finally:
                connection.close()

    @contextmanager
    def write_transaction(self, follower: str = "") -> Iterator[Connection]:
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
                _unlock(lock)
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

    def _commit(self, cursor: DBAPICursor) -> None:
        try:
            cursor.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_IOERR:
                raise
            # What reached the file before the disk failed may be found again by a recovery.
            raise AppendOutcomeUnknown(
                f"{self.path}: {error} while committing; repeat the append with the same event ids"
            ) from error

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


def _file(path: str) -> Path:
    """The file itself, behind links and whatever the working directory becomes: its lock file stands beside it."""
    if path.startswith("file:"):
        raise InvalidInput("url", "give the path itself, not a file: URI")
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in path):
        raise InvalidInput("url", "the path is not Unicode text")
    return Path(os.path.realpath(path))


def _unlock(lock: int) -> None:
    # Closing alone would leave it locked where a fork holds a copy.
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)


def _flock_in_turn(lock: int, seconds: float) -> bool:
    """Take the lock in the order of asking, or close it after `seconds`. A blocking flock is the fair one but knows no
    time limit, so a thread waits for it and lets it go at once if it comes too late."""
    if seconds <= 0:
        os.close(lock)
        return False
    settled = threading.Lock()
    taken = threading.Event()
    given_up = False

    def wait() -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with settled:
            if given_up:
                _unlock(lock)
            else:
                taken.set()

    threading.Thread(target=wait, name="gradespine-writer-queue", daemon=True).start()
    try:
        taken.wait(seconds)
    except BaseException:  # Ctrl-C: nobody would let go of a lock taken later
        with settled:
            given_up = True
            if taken.is_set():
                _unlock(lock)
        raise
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
        self.label = url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
        self._busy_seconds = busy_seconds
        self.engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="READ COMMITTED",
            pool_pre_ping=False,
            pool_timeout=busy_seconds,
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
            except psycopg.OperationalError:
                if _is_lost(connection):
                    self.engine.dispose()  # the others of the pool are most likely lost too
                raise
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
                if connection.is_valid:
                    with suppress(psycopg.Error):
                        connection.rollback()
                raise
            finally:
                connection.close()

    @contextmanager
    def write_transaction(self, follower: str = "") -> Iterator[Connection]:
        with self._errors(), self.engine.connect() as connection, connection.begin():
            if follower:
                connection.exec_driver_sql(_FOLLOWER_LOCK, (follower,))
            else:
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
            # 0 would be no limit.
            cursor.execute(f"SET lock_timeout = {max(1, int(self._busy_seconds * 1000))}")
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
            return connection, _lock(connection)
        except psycopg.OperationalError:
            if not _is_lost(connection):
                connection.close()
                raise
            connection.invalidate()
        except BaseException:
            connection.close()
            raise
        self.engine.dispose()  # the others of the pool are most likely lost too
        connection = self.engine.raw_connection()
        try:
            return connection, _lock(connection)
        except BaseException:
            connection.close()
            raise

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
        except NoFreeConnection as error:
            raise LogBusy(f"{self.label}: no connection came free for {self._busy_seconds:g} s; retry") from error
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


def _lock(connection: PoolProxiedConnection) -> DBAPICursor:
    cursor = connection.cursor()
    cursor.execute(_LOCK)
    return cursor


def _is_lost(connection: PoolProxiedConnection) -> bool:
    driver = connection.driver_connection
    return driver is None or bool(driver.closed)


_FOLLOWER_LOCK: Final = (
    "SELECT pg_advisory_xact_lock(hashtextextended('gradespine/follower/' || current_schema() || '/' || %s::text, 0))"
)
# Named for the table, not for the search path: two roles may reach one log by different ways.
_LOCK: Final = (
    "SELECT pg_advisory_xact_lock(hashtextextended("
    "'gradespine/log/' || coalesce(to_regclass('events')::oid::text, current_schema()), 0))"
)
