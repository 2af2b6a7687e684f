"""64 threads of single events through GroupCommit, against raw one-event commits of one connection."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg

from scripts.benchmarks.append import Appending, migrated_log
from scripts.benchmarks.raw import RawTable, postgres_table, sqlite_table
from scripts.benchmarks.report import Row, paired_rates, rows_of, timed
from spine import GroupCommit, SqlLog, open_log
from tests.postgres import fresh_database

_THREADS = 64
_EVENTS = 6400
_RAW_EVENTS = 400


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """Single events of many threads, on both databases."""
    work = f"{_THREADS} threads through GroupCommit"
    with open_log(f"sqlite:///{folder / 'group.db'}") as log, sqlite_table(folder / "group-raw.db") as raw:
        measured = _measured(log, raw, rounds)
    yield from rows_of(f"SQLite FULL, {work}", "raw sqlite3 one-event commits", "events/s", measured, 4, 8)
    if postgres is None:
        return
    baseline = "raw psycopg inserts, one connection"
    with fresh_database(postgres) as url, psycopg.connect(url, autocommit=True) as connection, migrated_log(url) as log:
        measured = _measured(log, postgres_table(connection), rounds)
    yield from rows_of(f"Postgres, {work}", baseline, "events/s", measured, 2, 4)


def _measured(log: SqlLog, raw: RawTable, rounds: int) -> tuple[float, float]:
    with GroupCommit(log) as group, ThreadPoolExecutor(_THREADS) as pool:
        return paired_rates(_threads(group, pool), raw.timed(_RAW_EVENTS, 1), rounds)


def _threads(group: GroupCommit, pool: ThreadPoolExecutor) -> Callable[[], float]:
    sides = [Appending(group, 1, prefix=f"run/{number}") for number in range(_THREADS)]

    def prepare() -> None:
        for side in sides:
            side.prepare(_EVENTS // _THREADS)

    return timed(lambda: sum(pool.map(Appending.append, sides)), prepare)
