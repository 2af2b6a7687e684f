"""Scanning a log, against the driver alone and orjson; and listing the heads of many streams."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import orjson
import psycopg

from scripts.benchmarks.append import migrated_log
from scripts.benchmarks.payloads import payload
from scripts.benchmarks.report import Row, paired_rates, rows_of, timed
from spine import Actor, Append, NewEvent, SqlLog, open_log, schema
from tests.postgres import fresh_database

_EVENTS: Final = 20_000
_STREAMS: Final = 200
_MANY: Final = 5_000
"""Streams of one event each, beside them."""
_PAGE: Final = 1000
_BOUNDS: Final = (0.80, 0.95)
_COLUMNS: Final = ", ".join(schema.events.columns.keys())
_PAYLOAD: Final = list(schema.events.columns.keys()).index("payload")


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """Every payload of a log of some 20,000 events decoded, on both databases."""
    path = folder / "log.db"
    with open_log(f"sqlite:///{path}") as log, closing(sqlite3.connect(path)) as connection:
        yield from _rows("SQLite", "raw sqlite3 + orjson", log, connection, "?", rounds)
    if postgres is not None:
        with (
            fresh_database(postgres) as url,
            migrated_log(url) as log,
            psycopg.connect(url, autocommit=True) as driver,
        ):
            yield from _rows("Postgres", "raw psycopg + orjson", log, driver, "%s", rounds)


def _rows(database: str, baseline: str, log: SqlLog, driver: Any, mark: str, rounds: int) -> Iterator[Row]:
    _fill(log)
    with log.database.write_transaction() as connection:
        connection.exec_driver_sql("ANALYZE")
    measured = paired_rates(timed(lambda: _scan(log)), timed(_raw_scan(driver, mark)), rounds)
    yield from rows_of(f"{database}, scan the log, decoded", baseline, "events/s", measured, *_BOUNDS)
    yield Row(f"{database}, heads of all streams", None, None, _heads_a_second(log), "streams/s", None, None)


def _fill(log: SqlLog) -> None:
    for stream in range(_STREAMS):
        run = [NewEvent("tool.returned", payload(n), actor=Actor.SYSTEM) for n in range(_EVENTS // _STREAMS)]
        log.append(f"run/bench/{stream}", run)
    for start in range(0, _MANY, 500):
        many = range(start, start + 500)
        log.append_all(
            [Append(f"run/many/{n}", [NewEvent("tool.returned", payload(n), actor=Actor.SYSTEM)]) for n in many]
        )


def _scan(log: SqlLog) -> int:
    events = 0
    for event in log.read_all():
        _ = event.payload
        events += 1
    return events


def _raw_scan(driver: Any, mark: str) -> Callable[[], int]:
    statement = f"SELECT {_COLUMNS} FROM events WHERE position > {mark} ORDER BY position LIMIT {_PAGE}"

    def scan() -> int:
        events = after = 0
        while rows := driver.execute(statement, (after,)).fetchall():
            for row in rows:
                _ = orjson.loads(row[_PAYLOAD])
                events += 1
            after = rows[-1][0]
        return events

    return scan


def _heads_a_second(log: SqlLog) -> float:
    start = time.perf_counter()
    streams = sum(1 for _ in log.streams("run/"))
    return round(streams / (time.perf_counter() - start))
