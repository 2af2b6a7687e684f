"""Grading recorded runs, against reading, decoding and inserting the same rows with the driver alone."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import psycopg

from grading.gradebook import Gradebook
from grading.graders import Grader, GraderRef
from scripts.benchmarks.append import payload
from scripts.benchmarks.report import Row, paired, rows_of
from spine import Actor, NewEvent, SqlLog, open_log, revisions
from spine.database import open_database
from tests.postgres import fresh_database

_RUNS = 60
_CALLS = 50  # a run has two events a call
_RUNGS = 8


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """Grade runs of about 100 events with 8 rungs, one commit a run, on both databases."""
    with open_log(f"sqlite:///{folder / 'log.db'}") as log:
        raw = sqlite3.connect(folder / "log.db", isolation_level=None)
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE raw (id INTEGER PRIMARY KEY, payload TEXT)")
        yield from _measured("SQLite FULL", log, _Floor(raw, "?"), rounds)
        raw.close()
    if postgres is None:
        return
    with fresh_database(postgres) as url:
        database = open_database(url)
        revisions.upgrade(database)
        database.close()
        with open_log(url) as log, psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE raw (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload TEXT)")
            connection.commit()
            yield from _measured("Postgres", log, _Floor(connection, "%s"), rounds)


class _Floor:
    """The least the work can cost: read a run, decode it, insert as many rows as a grade has."""

    def __init__(self, connection: Any, mark: str) -> None:
        self._connection = connection
        self._mark = mark

    def __call__(self) -> int:
        cursor = self._connection.cursor()
        grade = [(orjson.dumps(payload(n)).decode(),) for n in range(_RUNGS + 1)]
        select = (
            "SELECT e.position, e.seq, e.type, e.actor, e.payload, e.leaf FROM events e JOIN streams s"
            f" ON s.stream_id = e.stream_id WHERE s.name = {self._mark} ORDER BY e.seq"
        )
        for number in range(_RUNS):
            if isinstance(self._connection, sqlite3.Connection):
                cursor.execute("BEGIN IMMEDIATE")
            cursor.execute(select, (f"run/bench/{number:04}",))
            for row in cursor.fetchall():
                orjson.loads(row[4])
            cursor.executemany(f"INSERT INTO raw (payload) VALUES ({self._mark})", grade)
            self._connection.commit()
        return _RUNS


def _measured(where: str, log: SqlLog, floor: _Floor, rounds: int) -> list[Row]:
    for number in range(_RUNS):
        log.append(f"run/bench/{number:04}", _run())
    book = Gradebook(log)
    versions = iter(range(1, rounds + 2))

    def grade() -> int:
        grader = _grader(str(next(versions)))
        book.add_grader(grader)
        return book.grade(GraderRef(grader.name, grader.version), prefix="run/bench/").new

    measured = paired(grade, floor, rounds)
    return rows_of(f"{where}, grade and record", "raw read + decode + insert", "runs/s", measured, None, None)


def _run() -> list[NewEvent]:
    events: list[NewEvent] = []
    for number in range(_CALLS):
        call = {"call_id": f"c{number}", "tool": "bash", "arguments": {"cmd": f"make step-{number}"}}
        events.append(NewEvent("tool.called", call, actor=Actor.AGENT))
        events.append(NewEvent("tool.returned", payload(number), actor=Actor.SYSTEM))
    return events


def _grader(version: str) -> Grader:
    def rung(number: int) -> dict[str, Any]:
        contains = {"path": "result", "contains": f"line {number}"}
        return {"name": f"rung {number}", "check": {"event": {"type": "tool.returned", "where": contains}}}

    return Grader.from_document(
        {
            "gradespine": 1,
            "ladder": "bench",
            "version": version,
            "mode": "independent",
            "milestones": [rung(number) for number in range(_RUNGS)],
        }
    )
