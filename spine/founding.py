"""A SQLite log that comes to be whole or not at all: made beside its place, and put there when it is filled."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL

from spine import revisions
from spine.database import BUSY_SECONDS
from spine.errors import LogUnavailable
from spine.sql_log import SqlLog
from spine.sqlite import SqliteDatabase


@contextmanager
def founded(path: Path) -> Iterator[SqlLog]:
    """An empty log to be filled, which stands at `path` afterwards, closed; nothing is left of it when that fails.
    Nobody finds it before, and a process that is killed leaves a hidden folder at most.

    Raises LogUnavailable, also when a file has come to be at `path` meanwhile: that one is not touched.
    """
    with _errors(path):
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
    try:
        database = SqliteDatabase(URL.create("sqlite", database=str(folder / path.name)), BUSY_SECONDS)
        with SqlLog(database) as log:
            revisions.require(database)
            yield log
        with _errors(path):
            _put(folder / path.name, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put(made: Path, path: Path) -> None:
    try:
        os.link(made, path)  # refuses what has come there meanwhile
    except FileExistsError:
        raise _is_there(path) from None
    except OSError:  # a file system without hard links
        if path.exists():
            raise _is_there(path) from None
        made.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _is_there(path: Path) -> LogUnavailable:
    return LogUnavailable(f"{path}: another program made this file meanwhile; nothing was written to it")


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LogUnavailable(f"{path}: {error.strerror}") from error
