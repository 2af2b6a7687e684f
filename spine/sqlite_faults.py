"""What SQLite's errors mean for whoever has to act on them: a full disk, a failing one, a file that may not be written.

SQLite's own words name neither the cause nor a way out, and a quota or a limit on file sizes looks like a broken disk.
"""

import os
import sqlite3
from typing import Final

from spine.errors import LogBusy, LogCorrupt, LogUnavailable, SpineError

_ADVICE: Final = {
    sqlite3.SQLITE_FULL: "nothing was written: free some space, then repeat it",
    sqlite3.SQLITE_READONLY: (
        "the file, its folder or their file system is read-only here: the log's write-ahead log and its lock stand "
        "beside it, so both have to be writable"
    ),
    sqlite3.SQLITE_CANTOPEN: "its folder has to be there, and file and folder readable and writable to this user",
    sqlite3.SQLITE_IOERR: (
        "the disk failed, or a quota or a limit on file sizes is reached: look at the system's log, put it right, then "
        "repeat it with the same event ids"
    ),
    sqlite3.SQLITE_CORRUPT: "stop writing, and run `gradespine db check --full`",
    sqlite3.SQLITE_NOTADB: "it is not a log, or its beginning was overwritten",
}

_TOO_LITTLE: Final = 64 * 1024  # bytes; as much as SQLite's index of the write-ahead log grows by


def error_of(label: str, cause: BaseException | None) -> SpineError:
    """The error of ours for one of the driver's, none of it written. `label` is the file."""
    code = primary_code(cause)
    advice = _about_the_folder(code, os.path.dirname(label)) or _ADVICE.get(code)
    message = f"{label}: {described(cause)}" + (f"; {advice}" if advice else "")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LogBusy(f"{message}; retry")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT):
        return LogCorrupt(message)
    return LogUnavailable(message)


def described(cause: BaseException | None) -> str:
    """SQLite's words; for a failing disk also which operation failed."""
    name = getattr(cause, "sqlite_errorname", "")
    return f"{cause} ({name})" if primary_code(cause) == sqlite3.SQLITE_IOERR else str(cause)


def primary_code(cause: BaseException | None) -> int:
    """The kind of error, without the details in its upper bits; 0 for what is none of SQLite's."""
    code: int = getattr(cause, "sqlite_errorcode", 0)
    return code & 0xFF


def lost_its_wal(cause: BaseException | None) -> bool:
    """Whether a connection reads from a write-ahead log that was deleted and begun anew by others: only another
    connection will see the new one."""
    return getattr(cause, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ


def _about_the_folder(code: int, folder: str) -> str:
    """What only a look at the folder tells: SQLite has the same words for several causes."""
    if code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR) or not os.path.isdir(folder):
        return ""
    if code == sqlite3.SQLITE_CANTOPEN and not os.access(folder, os.W_OK):
        return _ADVICE[sqlite3.SQLITE_READONLY]
    try:
        status = os.statvfs(folder)
    except OSError:
        return ""
    full = status.f_bavail * status.f_frsize < _TOO_LITTLE
    return f"the disk is full; {_ADVICE[sqlite3.SQLITE_FULL]}" if full else ""
