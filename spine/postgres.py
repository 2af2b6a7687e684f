"""Postgres: its lock, its transactions and its errors."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg import errors as pg
from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.pool import PoolProxiedConnection

from spine.errors import AppendOutcomeUnknown, LogBusy, LogCorrupt, LogUnavailable, SpineError
from spine.schema import EVENT_COLUMNS

# Named for the table, not for the search path: two roles may reach one log by different ways.
_NAME: Final = "'gradespine/{}/' || coalesce(to_regclass('events')::oid::text, current_schema())"
_LOCK: Final = f"SELECT pg_advisory_xact_lock(hashtextextended({_NAME.format('log')}, 0))"
_FOLLOWER_LOCK: Final = (
    f"SELECT pg_advisory_xact_lock(hashtextextended({_NAME.format('follower')} || '/' || %s::text, 0))"
)


class PostgresDatabase:
    """A database, or a schema of one, whose writers queue at one advisory lock.

    The lock is taken in a statement of its own: taken and read past in one statement, the read would use a snapshot
    from before the wait.
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

    def sql(self, statement: str) -> str:
        return statement.replace("?", "%s")

    def id_value(self, id: bytes | None) -> Any:
        return None if id is None else UUID(bytes=id)

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
        pass

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


def _driver(connection: PoolProxiedConnection) -> psycopg.Connection[Any]:
    driver: Any = connection.driver_connection
    return driver  # type: ignore[no-any-return]


def _give_back(connection: PoolProxiedConnection) -> None:
    """Back to the pool, as the pool knows it: a broken one is thrown away there."""
    if connection.is_valid and not _is_lost(connection):
        _driver(connection).autocommit = False
    connection.close()


def _is_lost(connection: PoolProxiedConnection) -> bool:
    driver = connection.driver_connection
    return driver is None or bool(driver.closed)
