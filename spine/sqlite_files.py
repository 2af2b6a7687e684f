"""The files of an open SQLite log, watched: SQLite goes on writing to a file that was deleted or replaced, and what it
then acknowledges is in no file that anyone will find."""

import os
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from spine.errors import LogUnavailable

Identity = tuple[int, int]


def identity(path: str | Path) -> Identity | None:
    """Which file stands at a path (device and inode), None for none. Does not open it: to close a file again would
    drop the locks that SQLite holds on it in this process."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


class WatchedFiles:
    """The file and the write-ahead log that a process has begun to use."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._wal_path: Final = f"{path}-wal"
        self._file: Identity | None = None
        self._wal: Identity | None = None

    def opened(self) -> None:
        """Remember the file, the first time."""
        if self._file is None:
            self._file = identity(self._path)

    def check(self) -> None:
        """Raises LogUnavailable when another file, or none, stands where the one in use was."""
        if self._file is None:
            return
        found = identity(self._path)
        if found == self._file:
            return
        what = "was deleted" if found is None else "was replaced by another one"
        raise LogUnavailable(
            f"{self._path}: the file {what} while it was open, so nothing more is written: put it back, or open the"
            " log again"
        )

    def wal_in_use(self) -> None:
        """Remember the write-ahead log of the connection that writes. It stays the same as long as that one is open."""
        self._wal = identity(self._wal_path)

    def wal_is_lost(self) -> bool:
        """Whether the write-ahead log in use is no longer the one beside the file."""
        return self._wal is not None and identity(self._wal_path) != self._wal

    def save_wal(self, connection: sqlite3.Connection) -> bool:
        """Bring all that the lost write-ahead log holds into the file, through the connection that still has it open.

        Only while nobody has written to another one: the shared index would then tell of a file that this is not. The
        caller holds the writers' lock and no transaction.
        """
        if _has_wal(self._path):
            return False
        [(patience,)] = connection.execute("PRAGMA busy_timeout").fetchall()
        connection.execute("PRAGMA busy_timeout = 0")  # others wait for the writers' lock meanwhile
        try:
            [(busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {patience}")
        return bool(busy == 0)

    def wal_lost(self, saved: bool) -> LogUnavailable:
        next_step = (
            "what it held has been saved to the file, and nothing of this append was written: repeat it"
            if saved
            else "nothing of this append was written: close the log in every program that has it open, which saves what"
            " the deleted one holds, and open it again"
        )
        return LogUnavailable(f"{self._wal_path}: the write-ahead log was deleted while it was in use; {next_step}")


def read_only(path: Path, seconds: float, *, alone: bool = False) -> sqlite3.Connection:
    """A connection that can change nothing and makes no database. `alone`: nobody else has the file open, so nothing is
    put beside it. So is it also where the folder may not be written to, and no write-ahead log is left in it."""
    place = f"file:{quote(str(path))}?mode=ro"
    if alone:
        return _connected(f"{place}&immutable=1", seconds)
    connection = _connected(place, seconds)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or _has_wal(path):
            raise
        return _connected(f"{place}&immutable=1", seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(place: str, seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(place, uri=True, isolation_level=None, timeout=seconds, check_same_thread=False)


def _has_wal(path: Path) -> bool:
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except OSError:
        return False
