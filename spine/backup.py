"""Copying a SQLite log that is in use to a file of its own. Putting that file in the log's place restores it."""

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spine.canonical import ZERO_LEAF
from spine.errors import InvalidInput, LogCorrupt, LogUnavailable
from spine.sqlite import SqliteDatabase
from spine.sqlite_faults import error_of
from spine.sqlite_files import read_only

_STEP: Final = 1024  # pages; 4 MiB, after each of which progress is told
_BESIDE: Final = ("-wal", "-shm", "-lock", "-journal")

Progress = Callable[[int, int], None]
"""Told the pages copied and the pages to copy."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A backup that was made: where the log in it ends, as position and leaf, and its size in bytes."""

    path: Path
    position: int
    leaf: str
    size: int


def back_up(
    database: SqliteDatabase, target: Path, *, replace: bool = False, progress: Progress = lambda done, total: None
) -> Copied:
    """Copy the log as it is now to `target`, while others go on writing. The copy is checked and on the disk before it
    gets its name; on an error nothing is left behind.

    Raises InvalidInput for a target that is not free (with `replace`, one that is not a plain file or is in use),
    LogUnavailable where source or target cannot be read or written, LogCorrupt where the copy does not pass.
    """
    target = _checked(database.path, target, replace)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        _make(partial, database.path.stat().st_mode & 0o777)
        _copy(database, partial, progress)
        position, leaf = _end_of(partial)
        _sync(partial)
        size = partial.stat().st_size
        _put(partial, target, replace)
        _sync(target.parent)
    except OSError as error:
        raise LogUnavailable(
            f"{target}: the copy cannot be written: {error.strerror}; nothing was left there"
        ) from error
    finally:
        for left in (partial, *(Path(f"{partial}{end}") for end in _BESIDE)):
            with contextlib.suppress(OSError):
                left.unlink()
    return Copied(target, position, leaf, size)


def _checked(source: Path, target: Path, replace: bool) -> Path:
    """The target behind a relative path and linked folders. Raises InvalidInput unless a file may be put there."""
    if target.is_symlink():
        raise InvalidInput("target", f"{target} is a link: name the file itself")
    target = Path(os.path.realpath(target.parent)) / target.name
    if not target.name or target.is_dir():
        raise InvalidInput("target", f"{target} is a folder: name a file in it")
    if not target.parent.is_dir():
        raise InvalidInput("target", f"{target.parent} is not a folder")
    if target == source or (target.exists() and target.samefile(source)):
        raise InvalidInput("target", f"{target} is the log itself")
    if target in [Path(f"{source}{end}") for end in _BESIDE]:
        raise InvalidInput("target", f"{target} is a part of the log itself")
    if target.exists() and not replace:
        raise InvalidInput("target", f"{target} is there already; --force replaces it")
    if target.exists() and not target.is_file():
        raise InvalidInput("target", f"{target} is not a file")
    for end in ("-wal", "-journal"):
        beside = Path(f"{target}{end}")
        if beside.exists() and beside.stat().st_size > 0:
            # It would be taken for the copy's own, and written into it.
            raise InvalidInput("target", f"{beside} is there: what lies at {target} is in use, or was not closed")
    return target


def _make(path: Path, mode: int) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode))


def _copy(database: SqliteDatabase, target: Path, progress: Progress) -> None:
    with database.look() as cursor:
        # Within one read transaction every step sees the same pages. Without it, each commit of another program would
        # make the copying begin anew, and under load it would never end.
        cursor.execute("BEGIN")
        cursor.execute("SELECT count(*) FROM sqlite_master").fetchall()
        with _errors(target), contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy:
            copy.execute("PRAGMA synchronous = OFF")  # it is synced once, when it is whole
            cursor.connection.backup(copy, pages=_STEP, progress=lambda _, left, total: progress(total - left, total))


def _end_of(copy: Path) -> tuple[int, str]:
    """Position and leaf of the last event in the copy. Raises LogCorrupt for a copy that is not whole."""
    with _errors(copy), contextlib.closing(read_only(copy, 0, alone=True)) as connection:
        found = [said for (said,) in connection.execute("PRAGMA quick_check(5)")]
        if found != ["ok"]:
            raise LogCorrupt(f"the copy is not whole: {'; '.join(found)}; run `gradespine db check --full`")
        last = connection.execute("SELECT position, leaf FROM events ORDER BY position DESC LIMIT 1").fetchone()
    return (0, ZERO_LEAF.hex()) if last is None else (last[0], last[1].hex())


def _put(partial: Path, target: Path, replace: bool) -> None:
    if replace:
        partial.replace(target)
        return
    try:
        os.link(partial, target)  # refuses what has come there meanwhile
    except FileExistsError:
        raise InvalidInput("target", f"{target} is there already; --force replaces it") from None
    except OSError:  # a file system without hard links
        if target.exists():
            raise InvalidInput("target", f"{target} is there already; --force replaces it") from None
        partial.replace(target)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextlib.contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise error_of(str(path), error) from error
