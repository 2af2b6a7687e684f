"""The only composition: settings become a log, and the log a gradebook. The logger is made here and nowhere else."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger, Processor

from grading.gradebook import Gradebook
from grading.settings import Settings
from grading.suggestions import closest
from spine import InvalidInput, LogUnavailable, SqlLog, open_log
from spine.database import Database, open_database
from spine.founding import founded
from spine.sqlite import SqliteDatabase

_SCHEMES: Final = ("sqlite", "postgresql")
_BESIDE: Final = ("-lock", "-wal", "-shm")


@contextmanager
def gradebook(settings: Settings, *, create: bool = False) -> Iterator[Gradebook]:
    """The grading service over the log that the settings name. Without `create`, a SQLite file has to be there.

    Raises LogUnavailable; SchemaOutdated says which command a Postgres database needs.
    """
    with log(settings, create=create) as opened:
        yield Gradebook(opened, logger=logger(settings), require_qualified=settings.require_qualified)


def log(settings: Settings, *, create: bool = False) -> SqlLog:
    """The log that the settings name."""
    database(settings, create=create).close()
    return open_log(settings.database_url)


@contextmanager
def new_log(settings: Settings) -> Iterator[SqlLog]:
    """The log that the settings name, to be filled. A SQLite file that is not there yet comes to be only if that
    succeeds."""
    with closing(database(settings, create=True)) as found:
        path = found.path if isinstance(found, SqliteDatabase) else None
    if path is not None and not path.exists() and path.parent.is_dir():
        with founded(path) as opened:
            yield opened
        return
    with open_log(settings.database_url) as opened:
        yield opened


def database(settings: Settings, *, create: bool = False) -> Database:
    """The log's database, whatever revision it is at. Looks at nothing but the file and its folder."""
    scheme, colon, _ = settings.database_url.partition("://")
    near = closest(scheme, _SCHEMES) if colon else None
    if near is not None and scheme.partition("+")[0] not in _SCHEMES:
        raise InvalidInput("database", f"{scheme}:// is not supported; did you mean {near}://?")
    opened = open_database(settings.database_url)
    if isinstance(opened, SqliteDatabase):
        try:
            _check_file(opened.path, create)
        except LogUnavailable:
            opened.close()
            raise
    return opened


def _check_file(path: Path, create: bool) -> None:
    """Raises LogUnavailable for a file that is not there, or cannot be written to: reading needs that too."""
    try:
        path.stat()
        there = True
    except (FileNotFoundError, NotADirectoryError):
        there = False
    except OSError as error:
        raise LogUnavailable(f"{path}: {error.strerror}") from None
    if not there and not create:
        raise LogUnavailable(f"there is no log at {path}")
    beside = all(os.access(f"{path}{end}", os.W_OK) for end in _BESIDE)
    folder = path.parent if there or path.parent.is_dir() else None
    if (there and not os.access(path, os.W_OK)) or (folder and not beside and not os.access(folder, os.W_OK)):
        raise LogUnavailable(
            f"{path} is read-only here, and gradespine has to write, also to show something: the log's lock and its"
            " write-ahead log live beside it. Copy it to a folder of yours, together with its -wal file if there is one"
        )


def logger(settings: Settings) -> FilteringBoundLogger:
    """Writes lines to stderr: for people where it is a terminal, JSON elsewhere."""
    terminal = sys.stderr.isatty()
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    ends: list[Processor] = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    made: FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([structlog.dev.ConsoleRenderer()] if terminal else ends),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
    )
    return made
