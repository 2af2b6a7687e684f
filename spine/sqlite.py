"""SQLite: its lock, its transactions and its errors."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import PoolProxiedConnection

from spine.errors import AppendOutcomeUnknown, InvalidInput, LogBusy, LogCorrupt, LogUnavailable, SpineError
from spine.schema import EVENT_COLUMNS


class SqliteDatabase:
    """A file beside whose name `-lock` marks the file that its writers queue at.

    busy_timeout is no queue: under load one process starves the others for seconds. So a writer takes an in-process
    lock, then the side file, and only then begins.
    """

    event_columns = EVENT_COLUMNS.format(id="e.id", causation_id="e.causation_id")

    def __init__(self, url: URL, busy_seconds: float) -> None:
        if not url.database or url.database == ":memory:":
            raise InvalidInput("url", "a log in memory is a MemoryLog(); give a file: sqlite:///runs.db")
        self.path: Final = _file(url.database)
        self.label = str(self.path)
        self._busy_seconds = busy_seconds
        self._writer = threading.Lock()
        self._write_connection: PoolProxiedConnection | None = None
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
            connection = self._writing()
            try:
                cursor = connection.cursor()
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                self._commit(cursor)
            except BaseException:
                self._undo(connection)
                raise

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

    def announce(self) -> None:
        pass

    def close(self) -> None:
        with self._writer:
            kept, self._write_connection = self._write_connection, None
            if kept is not None:
                kept.close()
        self.engine.dispose()

    def _writing(self) -> PoolProxiedConnection:
        """The connection that writes, kept from one write to the next: there is one writer at a time anyway."""
        if self._write_connection is None:
            self._write_connection = self.engine.raw_connection()
        return self._write_connection

    def _undo(self, connection: PoolProxiedConnection) -> None:
        try:
            connection.rollback()
        except sqlite3.Error:
            self._write_connection = None
            connection.invalidate()

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
