"""Postgres: its lock, its transactions and its errors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg
from psycopg import errors as pg
from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.pool import PoolProxiedConnection

from spine.admission import Batch, check_expected
from spine.arrivals import Announcer, ServerWatch
from spine.canonical import around
from spine.ends import BEFORE_TIME, End, Ends
from spine.errors import AppendOutcomeUnknown, LogBusy, LogCorrupt, LogUnavailable, SpineError
from spine.leading import SessionLead, has_spoken
from spine.log import ANY, NO_STREAM, STREAM_EXISTS, Appended, Expect
from spine.schema import EVENT_COLUMNS, POSTGRES_LOCK, events, postgres_key

_LOCK: Final = f"SELECT {POSTGRES_LOCK}"
_FOLLOWER_KEY: Final = postgres_key("'gradespine/follower/' || %s::text || '/'")
_FOLLOWER_LOCK: Final = f"SELECT pg_advisory_xact_lock({_FOLLOWER_KEY})"
_LEADER_KEY: Final = postgres_key("'gradespine/leader/' || %s::text || '/'")
_LEADER_LOCK: Final = f"SELECT pg_try_advisory_lock({_LEADER_KEY})"
_APPEND: Final = f"SELECT * FROM gradespine_append({', '.join(['%s'] * 21)})"
_ENDS: Final = "SELECT * FROM gradespine_ends(%s)"
_COPY: Final = f"COPY events ({', '.join(events.columns.keys())}) FROM STDIN"
_LARGE: Final = 256 * 1024
_EXPECTED: Final = {ANY: -1, STREAM_EXISTS: -2, NO_STREAM: 0}


class PostgresDatabase:
    """A database, or a schema of one, whose writers queue at one advisory lock.

    The lock is never taken and read past in one statement: the read would use a snapshot from before the wait.
    """

    event_columns = EVENT_COLUMNS.format(id="uuid_send(e.id)", causation_id="uuid_send(e.causation_id)")

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
        self._announcer = Announcer(self._alone)

    def sql(self, statement: str) -> str:
        return statement.replace("?", "%s")

    def id_value(self, id: bytes | None) -> Any:
        return None if id is None else UUID(bytes=id)

    def append_one(self, batch: Batch, now: int) -> Appended | None:
        event = batch.events[0]
        if len(event.payload) > _LARGE:
            return None
        said = (
            batch.stream,
            _EXPECTED[batch.expect] if isinstance(batch.expect, Expect) else batch.expect,
            now,
            event.part,
            around("", batch.stream)[1],
            UUID(bytes=event.id),
            *event[1:7],
            self.id_value(event.causation_id),
            *event[8:16],
        )
        outcome, seq, position = self._call(_APPEND, said)
        match outcome:
            case "appended":
                return Appended(seq, seq, position, position, True)
            case "conflict":
                check_expected(batch, seq)
        return None

    def _call(self, statement: str, parameters: tuple[Any, ...]) -> Any:
        """Call a function that writes, in a transaction of its own: there is no going back and forth."""
        with self._errors():
            connection = self._connected()
            try:
                driver = _driver(connection)
                driver.autocommit = True
                return driver.execute(statement.encode(), parameters, prepare=True).fetchone()
            except psycopg.Error as error:
                if not _is_lost(connection):
                    raise
                connection.invalidate()
                raise AppendOutcomeUnknown(
                    f"{self.label}: the connection was lost while appending; repeat it with the same event ids"
                ) from error
            finally:
                _give_back(connection)

    @contextmanager
    def appending(self) -> Iterator[DBAPICursor]:
        with self._errors():
            connection = self._connected()
            try:
                yield connection.cursor()
                self._commit(connection)
            except BaseException:
                if connection.is_valid:
                    with suppress(psycopg.Error):
                        connection.rollback()
                raise
            finally:
                _throw_away_if_lost(connection)
                connection.close()

    def ends(self, cursor: DBAPICursor, wanted: Sequence[tuple[str, Sequence[bytes]]]) -> Ends:
        said = [[stream, ",".join([id_.hex() for id_ in ids])] for stream, ids in wanted]
        cursor.execute(_ENDS, (orjson.dumps(said).decode(),))
        log, position, recorded_at = None, None, None
        streams: dict[str, End] = {}
        for number, stream_id, seq, leaf, known, *tail in cursor.fetchall():
            log, position, recorded_at = tail
            streams[wanted[number - 1][0]] = End(stream_id, seq or 0, leaf, known > 0)
        return Ends(log, position or 0, BEFORE_TIME if recorded_at is None else recorded_at, streams)

    def remember(self, ends: Ends) -> None:
        pass  # what is known here cannot save a statement there

    def insert_events(self, cursor: DBAPICursor, rows: Sequence[Sequence[Any]]) -> None:
        value = self.id_value
        with cursor.copy(_COPY) as copy:
            for row in rows:
                copy.write_row((*row[:3], value(row[3]), *row[4:11], value(row[11]), *row[12:]))

    @contextmanager
    def read(self) -> Iterator[DBAPICursor]:
        with self._errors():
            connection = self.engine.raw_connection()
            try:
                # What is read is a statement each: no need to go and begin a transaction, and to end it.
                _driver(connection).autocommit = True
                yield connection.cursor()
            except psycopg.OperationalError:
                if _is_lost(connection):
                    self.engine.dispose()  # the others of the pool are most likely lost too
                raise
            finally:
                _give_back(connection)

    @contextmanager
    def write(self) -> Iterator[DBAPICursor]:
        with self.appending() as cursor:
            cursor.execute(_LOCK)
            yield cursor

    @contextmanager
    def write_transaction(self, follower: str = "") -> Iterator[Connection]:
        with self._errors(), self.engine.connect() as connection:
            transaction = connection.begin()
            try:
                if follower:
                    connection.exec_driver_sql(_FOLLOWER_LOCK, (follower,))
                else:
                    connection.exec_driver_sql(_LOCK)
                yield connection
            except BaseException:
                with suppress(DBAPIError):
                    transaction.rollback()
                raise
            try:
                transaction.commit()
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                raise AppendOutcomeUnknown(
                    f"{self.label}: the connection was lost while committing; look before doing it again"
                ) from error

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        with self._errors(), self.engine.connect() as connection:
            yield connection

    def announce(self) -> None:
        self._announcer.announce()

    def watch(self) -> ServerWatch:
        return ServerWatch(self._alone)

    def lead(self, follower: str) -> SessionLead:
        return SessionLead(self._alone, _LEADER_LOCK, follower, self._errors)

    def close(self) -> None:
        self._announcer.close()
        self.engine.dispose()

    def _configure(self, connection: psycopg.Connection[Any], _record: object) -> None:
        with connection.cursor() as cursor:
            # 0 would be no limit.
            cursor.execute(f"SET lock_timeout = {max(1, int(self._busy_seconds * 1000))}")
            # Every statement here is many short steps down indexes, which look costly and are not: compiling them takes
            # a hundred times as long as running them.
            cursor.execute("SET jit = off")
            # An acknowledged append has to survive a crash, whatever the server's default is.
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        connection.commit()

    def _alone(self) -> psycopg.Connection[Any]:
        """A connection outside the pool, each statement a transaction. Nothing that must last is written there."""
        words, options = self.engine.dialect.create_connect_args(self.engine.url)
        connection = psycopg.connect(*words, **{"connect_timeout": 5, **options, "autocommit": True})
        try:
            # A notice is a transaction too, and would have the disk waited for.
            connection.execute("SET synchronous_commit = off")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connected(self) -> PoolProxiedConnection:
        """A connection that the server has not dropped while it lay in the pool: what is asked of it once could not
        safely be asked again."""
        connection = self.engine.raw_connection()
        if _is_lost(connection) or has_spoken(_driver(connection)):
            connection.invalidate()
            self.engine.dispose()  # the others of the pool are most likely lost too
            connection = self.engine.raw_connection()
        return connection

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
        told = cause.diag.message_primary if isinstance(cause, psycopg.Error) else None
        message = f"{self.label}: {told or str(cause).strip()}"
        match cause:
            case pg.LockNotAvailable():
                return LogBusy(f"{self.label}: another writer has held the log for {self._busy_seconds:g} s; retry")
            case pg.UniqueViolation() | pg.RestrictViolation() | pg.ForeignKeyViolation():
                return LogCorrupt(message)
            case pg.IndexCorrupted() | pg.DataCorrupted():
                return LogCorrupt(f"{message}; stop writing, and run `gradespine db check --full`")
            case pg.DiskFull():
                return LogUnavailable(f"{message}; nothing was written: free space on the server, then repeat it")
            case pg.ReadOnlySqlTransaction():
                return LogUnavailable(
                    f"{message}: it is a standby or was set read-only; write to the primary, or let it be written to"
                )
            case _:
                return LogUnavailable(message)


def _driver(connection: PoolProxiedConnection) -> psycopg.Connection[Any]:
    driver: Any = connection.driver_connection
    return driver  # type: ignore[no-any-return]


def _give_back(connection: PoolProxiedConnection) -> None:
    """Back to the pool, as the pool knows it."""
    _throw_away_if_lost(connection)
    if connection.is_valid:
        _driver(connection).autocommit = False
    connection.close()


def _throw_away_if_lost(connection: PoolProxiedConnection) -> None:
    """The pool would do so itself, and print how that came about."""
    if connection.is_valid and _is_lost(connection):
        connection.invalidate()


def _is_lost(connection: PoolProxiedConnection) -> bool:
    driver = connection.driver_connection
    return driver is None or bool(driver.closed)
