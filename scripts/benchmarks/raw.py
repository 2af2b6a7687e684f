"""The least an append can cost: inserts of prebuilt rows, like ours, with the driver alone."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg
from sqlalchemy import Column, Dialect, Index, MetaData, Table, UniqueConstraint
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from uuid_utils.compat import uuid7

from scripts.benchmarks.payloads import payload
from scripts.benchmarks.report import timed
from spine import schema

STREAMS: Final = 50
_COLUMNS: Final = list(schema.events.columns)


class RawTable:
    """A table with the columns, unique constraints and index of `events`, on a connection in autocommit."""

    def __init__(self, connection: Any, mark: str, id_value: Callable[[UUID], Any], *, begin: str | None) -> None:
        self._connection = connection
        self._begin = begin
        names = ", ".join(column.name for column in _COLUMNS)
        self._insert: Any = f"INSERT INTO raw ({names}) VALUES ({', '.join([mark] * len(_COLUMNS))})"
        self._id_value = id_value
        self._positions = count(1)
        self._streams = [count(1) for _ in range(STREAMS)]
        self._commits: list[list[tuple[Any, ...]]] = []

    def prepare(self, events: int, size: int) -> None:
        """Build the rows that the next `insert` is to insert: `events` of them, `size` to a commit, those of a commit
        in one stream as ours are: rows of many streams would touch more pages."""
        self._commits = [[self._row(number % STREAMS) for _ in range(size)] for number in range(events // size)]

    def insert(self) -> int:
        """Insert what was prepared; returns how many rows."""
        cursor = self._connection.cursor()
        for rows in self._commits:
            if len(rows) == 1:
                cursor.execute(self._insert, rows[0])
                continue
            if self._begin is not None:
                cursor.execute(self._begin)
            cursor.executemany(self._insert, rows)
            if self._begin is not None:
                cursor.execute("COMMIT")
        return sum(map(len, self._commits))

    def timed(self, events: int, size: int) -> Callable[[], float]:
        """A side of `paired_rates` that inserts so many rows a round, `size` to a commit."""
        return timed(self.insert, lambda: self.prepare(events, size))

    def _row(self, stream: int) -> tuple[Any, ...]:
        position, seq = next(self._positions), next(self._streams[stream])
        time = 1_795_987_843_000_000 + position
        text = orjson.dumps(payload(position), option=orjson.OPT_SORT_KEYS).decode()
        digest, salt, leaf = (os.urandom(32) for _ in range(3))
        return (
            *(position, stream, seq, self._id_value(uuid7()), "tool.returned", 1, "system", ""),
            *(time, time, "", None, "", "", ""),
            *(digest, None, salt, text, None, leaf),
        )


@contextmanager
def sqlite_table(path: Path) -> Iterator[RawTable]:
    """On a SQLite file with the settings of a log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            connection.execute(f"PRAGMA {setting}")
        for statement in _statements(sqlite.dialect()):
            connection.execute(statement)
        yield RawTable(connection, "?", lambda id: id.bytes, begin="BEGIN IMMEDIATE")


def postgres_table(connection: psycopg.Connection[Any]) -> RawTable:
    """On a Postgres connection in autocommit, where executemany is one transaction."""
    for statement in _statements(postgresql.dialect()):  # type: ignore[no-untyped-call]
        connection.execute(statement.encode())
    return RawTable(connection, "%s", lambda id: id, begin=None)


def _statements(dialect: Dialect) -> list[str]:
    """Make the table, from the schema of the log: without its guards and its foreign key, which cost time."""
    table = Table(
        "raw",
        MetaData(),
        *(
            Column(c.name, c.type, primary_key=c.primary_key, nullable=c.nullable, autoincrement=False)
            for c in _COLUMNS
        ),
        *(
            UniqueConstraint(*(column.name for column in constraint.columns))
            for constraint in schema.events.constraints
            if isinstance(constraint, UniqueConstraint)
        ),
        sqlite_strict=True,
    )
    for index in schema.events.indexes:
        Index(f"raw_{index.name}", *(table.c[column.name] for column in index.columns))
    made: list[ExecutableDDLElement] = [CreateTable(table), *map(CreateIndex, table.indexes)]
    return [str(statement.compile(dialect=dialect)) for statement in made]
