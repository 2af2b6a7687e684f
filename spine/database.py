"""A log's database: what the rest of the spine asks of it, and opening one by its URL."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Engine, make_url
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import ArgumentError

from spine.admission import Batch
from spine.arrivals import Watch
from spine.ends import Ends
from spine.errors import InvalidInput
from spine.leading import Lead
from spine.log import Appended
from spine.postgres import PostgresDatabase
from spine.sqlite import SqliteDatabase

BUSY_SECONDS: Final = 30.0


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

    def append_one(self, batch: Batch, now: int) -> Appended | None:
        """Append a batch of one event the shortest way there is. None when it has to be looked at more closely: nothing
        was written. Raises StreamConflict; LogBusy, AppendOutcomeUnknown."""

    def appending(self) -> AbstractContextManager[DBAPICursor]:
        """The same as `write`, for what asks for `ends` first."""

    def ends(self, cursor: DBAPICursor, wanted: Sequence[tuple[str, Sequence[bytes]]]) -> Ends:
        """Where the log and these streams end, and whether any of these ids stands on them. The cursor's transaction
        holds the log's lock from here on."""

    def remember(self, ends: Ends) -> None:
        """An append was committed, and things end there now: a hint for the next one."""

    def insert_events(self, cursor: DBAPICursor, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of `events`: the columns in their order, ids as 16 bytes."""

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

    def announce(self) -> None:
        """Wake the watchers of this log, here and in other processes: something was committed. A hint, and cheap."""

    def watch(self) -> Watch:
        """Waits for what is announced, here and in other processes. Raises LogUnavailable."""

    def lead(self, follower: str) -> Lead:
        """The lead among those who follow under this name; not taken yet."""

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
