"""Appending, against raw inserts of the same columns."""

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from uuid_utils.compat import uuid7

from scripts.benchmarks.report import Row, paired, rows_of
from spine import Actor, NewEvent, SqlLog, open_log, revisions
from spine.database import open_database
from tests.postgres import fresh_database

_INSERT = (
    "INSERT INTO raw (position, stream_id, seq, id, type, schema_version, actor, principal, time, recorded_at,"
    " correlation_id, causation_id, trace_id, span_id, origin, payload_digest, metadata_digest, salt, payload,"
    " metadata, leaf) VALUES ({})"
)
_TABLE = (
    "CREATE TABLE raw (position {int} PRIMARY KEY, stream_id {int}, seq {int}, id {id}, type TEXT,"
    " schema_version {int}, actor TEXT, principal TEXT, time {int}, recorded_at {int}, correlation_id TEXT,"
    " causation_id {id}, trace_id TEXT, span_id TEXT, origin TEXT, payload_digest {bytes}, metadata_digest {bytes},"
    " salt {bytes}, payload TEXT, metadata TEXT, leaf {bytes}, UNIQUE (stream_id, seq), UNIQUE (stream_id, id))"
)
_EVENTS = {1: 300, 10: 1000, 100: 4000}
_BOUNDS: dict[str, dict[int, tuple[float, float]]] = {
    "SQLite": {1: (0.60, 0.85), 10: (0.55, 0.75), 100: (0.48, 0.62)},
    "Postgres": {1: (0.42, 0.65), 100: (0.45, 0.75)},
}
"""(at least, aim) by events a commit."""


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """One event and more a commit, on both databases."""
    for size in (1, 10, 100):
        yield from _sqlite(folder, size, rounds)
    if postgres is None:
        return
    for size in (1, 10, 100):
        yield from _postgres(postgres, size, rounds)


def _sqlite(folder: Path, size: int, rounds: int) -> list[Row]:
    raw = sqlite3.connect(folder / f"raw-{size}.db", isolation_level=None)
    for setting in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        raw.execute(f"PRAGMA {setting}")
    raw.execute(_TABLE.format(int="INTEGER", id="BLOB", bytes="BLOB"))
    rows = _raw_rows(lambda id: id.bytes)
    statement = _INSERT.format(", ".join("?" * 21))

    def insert() -> int:
        for _ in range(_EVENTS[size] // size):
            raw.execute("BEGIN IMMEDIATE")
            raw.executemany(statement, [next(rows) for _ in range(size)])
            raw.execute("COMMIT")
        return _EVENTS[size]

    with open_log(f"sqlite:///{folder / f'log-{size}.db'}") as log:
        measured = paired(_appending(log, size), insert, rounds)
    raw.close()
    bound = _BOUNDS["SQLite"].get(size, (None, None))
    return rows_of(f"SQLite FULL, {size} a commit", "raw sqlite3 insert", "events/s", measured, *bound)


def _postgres(server: str, size: int, rounds: int) -> list[Row]:
    with fresh_database(server) as url, psycopg.connect(url, autocommit=True) as raw:
        raw.execute(_TABLE.format(int="BIGINT", id="UUID", bytes="BYTEA"))
        rows = _raw_rows(lambda id: id)
        statement: Any = _INSERT.format(", ".join(["%s"] * 21))

        def insert() -> int:
            with raw.cursor() as cursor:
                for _ in range(_EVENTS[size] // size):
                    if size == 1:
                        cursor.execute(statement, next(rows))
                    else:
                        cursor.executemany(statement, [next(rows) for _ in range(size)])
            return _EVENTS[size]

        database = open_database(url)
        revisions.upgrade(database)
        database.close()
        with open_log(url) as log:
            measured = paired(_appending(log, size), insert, rounds)
    bound = _BOUNDS["Postgres"].get(size, (None, None))
    baseline = "raw psycopg autocommit insert" if size == 1 else "raw psycopg executemany"
    return rows_of(f"Postgres, {size} a commit", baseline, "events/s", measured, *bound)


def _appending(log: SqlLog, size: int) -> Callable[[], int]:
    numbers = count()

    def append() -> int:
        for _ in range(_EVENTS[size] // size):
            events = [NewEvent("tool.returned", payload(next(numbers)), actor=Actor.SYSTEM) for _ in range(size)]
            log.append(f"run/bench/{next(numbers) % 50}", events)
        return _EVENTS[size]

    return append


def payload(number: int) -> dict[str, Any]:
    """A payload of about 475 bytes, as a tool's answer is."""
    return {
        "call_id": f"c{number}",
        "tool": "bash",
        "result": "".join(f"line {n}: all is well\n" for n in range(17)),
        "exit_code": 0,
        "timing": {"seconds": 0.125, "queued": number % 7},
    }


def _raw_rows(id_value: Callable[[UUID], Any]) -> Iterator[tuple[Any, ...]]:
    """Rows like ours, ready to be inserted."""
    text = '{"call_id":"c1","exit_code":0,"result":"' + "x" * 400 + '","tool":"bash"}'
    digest, salt = secrets.token_bytes(32), os.urandom(32)
    for position in count(1):
        yield (
            position,
            position % 50,
            position,
            id_value(uuid7()),
            "tool.returned",
            1,
            "system",
            "",
            1_795_987_843_000_000 + position,
            1_795_987_843_000_000 + position,
            "",
            None,
            "",
            "",
            "",
            digest,
            None,
            salt,
            text,
            None,
            digest,
        )
