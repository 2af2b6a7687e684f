"""Appending, against raw inserts of the same columns."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from scripts.benchmarks.payloads import payload as payload
from scripts.benchmarks.raw import STREAMS, RawTable, postgres_table, sqlite_table
from scripts.benchmarks.report import Row, paired_rates, rows_of, timed
from spine import Actor, Log, NewEvent, SqlLog, open_log, revisions
from spine.database import open_database
from tests.postgres import fresh_database

_EVENTS = {1: 400, 10: 2000, 100: 5000}
"""How many a round, by events a commit."""
_SQLITE: dict[int, tuple[float, float]] = {1: (0.60, 0.85), 10: (0.55, 0.75), 100: (0.48, 0.62)}
_POSTGRES: dict[int, tuple[float, float]] = {1: (0.42, 0.65), 100: (0.45, 0.75)}
"""(at least, aim) by events a commit."""


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """One event and more a commit, on both databases."""
    for size, bounds in _SQLITE.items():
        with open_log(f"sqlite:///{folder / f'log-{size}.db'}") as log, sqlite_table(folder / f"raw-{size}.db") as raw:
            measured = _measured(log, raw, size, rounds)
        yield from rows_of(f"SQLite FULL, {size} a commit", "raw sqlite3 insert", "events/s", measured, *bounds)
    if postgres is None:
        return
    for size, bounds in _POSTGRES.items():
        with (
            fresh_database(postgres) as url,
            psycopg.connect(url, autocommit=True) as connection,
            migrated_log(url) as log,
        ):
            measured = _measured(log, postgres_table(connection), size, rounds)
        baseline = "raw psycopg autocommit insert" if size == 1 else "raw psycopg executemany"
        yield from rows_of(f"Postgres, {size} a commit", baseline, "events/s", measured, *bounds)


def _measured(log: SqlLog, raw: RawTable, size: int, rounds: int) -> tuple[float, float]:
    events = _EVENTS[size]
    return paired_rates(Appending(log, size).timed(events), raw.timed(events, size), rounds)


class Appending:
    """Appends to streams of a log in turn. The payloads are there before; the events and their ids are not."""

    def __init__(self, log: Log, size: int, *, prefix: str = "run/bench") -> None:
        self._log = log
        self._size = size
        self._prefix = prefix
        self._numbers = count()
        self._commits: list[tuple[str, list[dict[str, Any]]]] = []

    def prepare(self, events: int) -> None:
        """Make the payloads of the next `append`: `events` of them."""
        self._commits = [
            (f"{self._prefix}/{number % STREAMS}", [payload(next(self._numbers)) for _ in range(self._size)])
            for number in range(events // self._size)
        ]

    def append(self) -> int:
        """Append what was prepared; returns how many events."""
        for stream, payloads in self._commits:
            self._log.append(stream, [NewEvent("tool.returned", one, actor=Actor.SYSTEM) for one in payloads])
        return len(self._commits) * self._size

    def timed(self, events: int) -> Callable[[], float]:
        """A side of `paired_rates` that appends so many events a round."""
        return timed(self.append, lambda: self.prepare(events))


@contextmanager
def migrated_log(url: str) -> Iterator[SqlLog]:
    """A log in an empty Postgres database."""
    database = open_database(url)
    revisions.upgrade(database)
    database.close()
    with open_log(url) as log:
        yield log
