"""The only composition: settings become a log, and the log a gradebook. The logger is made here and nowhere else."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from structlog.typing import FilteringBoundLogger, Processor

from grading.gradebook import Gradebook
from grading.settings import Settings
from spine import LogUnavailable, SqlLog, open_log
from spine.database import Database, open_database
from spine.sqlite import SqliteDatabase


@contextmanager
def gradebook(settings: Settings, *, create: bool = False) -> Iterator[Gradebook]:
    """The grading service over the log that the settings name. Without `create`, a SQLite file has to be there.

    Raises LogUnavailable; SchemaOutdated says which command a Postgres database needs.
    """
    with log(settings, create=create) as opened:
        yield Gradebook(opened, logger=logger(settings))


def log(settings: Settings, *, create: bool = False) -> SqlLog:
    """The log that the settings name."""
    database(settings, create=create).close()
    return open_log(settings.database_url)


def database(settings: Settings, *, create: bool = False) -> Database:
    """The log's database, whatever revision it is at. Reaches for nothing but the file's name."""
    opened = open_database(settings.database_url)
    if isinstance(opened, SqliteDatabase) and not create and not opened.path.exists():
        opened.close()
        raise LogUnavailable(f"there is no log at {opened.path}")
    return opened


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
