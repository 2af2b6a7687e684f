"""Rebuilding the projection of grades, against fetching and decoding its events with the driver alone."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import psycopg

from grading.evidence import StreamReference
from grading.grades import EV_MILESTONE, record
from grading.ladders import Grade, GraderIdentity, Mode, Rung
from grading.projector import Grades
from scripts.benchmarks.append import payload
from scripts.benchmarks.report import Row, paired, rows_of
from spine import Actor, Append, Appended, NewEvent, SqlLog, open_log, projection, revisions
from spine.canonical import ZERO_LEAF
from spine.database import open_database
from spine.events import EventRow
from tests.postgres import fresh_database

_RUNGS = 7  # and a summary
_CALLS = 4
_RUNS = 5_000
_MANY_RUNS = 84_000  # a million events
_PAGE = 4_000
_PAYLOAD = EventRow._fields.index("payload")
_AT_LEAST, _AIM = 0.45, 1.0
_TYPES = (EV_MILESTONE, *Grades.types)
# The peak that getrusage knows is the parent's too, from before the program was loaded.
_REBUILD = """
import resource, sys
from pathlib import Path
from grading.projector import Grades
from spine import open_log, projection

with open_log(sys.argv[1]) as log:
    projection.rebuild(log, Grades(log))
status = Path("/proc/self/status")
if status.exists():
    print(next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 2**10)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """40,000 events of grades among 20,000 others on both databases, and the memory for a million events."""
    with open_log(f"sqlite:///{folder / 'project.db'}") as log:
        fill(log, _RUNS)
        raw = sqlite3.connect(folder / "project.db", isolation_level=None)
        yield from _measured("SQLite", log, raw, rounds)
        raw.close()
    if postgres is not None:
        with fresh_database(postgres) as url:
            database = open_database(url)
            revisions.upgrade(database)
            database.close()
            with open_log(url) as log, psycopg.connect(url, autocommit=True) as connection:
                fill(log, _RUNS)
                yield from _measured("Postgres", log, connection, rounds)
    yield _memory(folder)


def _measured(name: str, log: SqlLog, raw: Any, rounds: int) -> list[Row]:
    grades = Grades(log)

    def rebuild() -> int:
        projection.rebuild(log, grades)
        return _RUNS * (_RUNGS + 1)

    measured = paired(rebuild, _Scan(log, raw), rounds)
    baseline = "raw fetch of its events + orjson"
    return rows_of(f"{name}, rebuild of grades", baseline, "events/s", measured, _AT_LEAST, _AIM)


class _Scan:
    """The least a rebuild can cost: page through its events by (type, position), whole as the log reads them, in order,
    and decode each."""

    def __init__(self, log: SqlLog, raw: Any) -> None:
        one = (
            "SELECT position FROM (SELECT position FROM events WHERE type = ? AND position > ?"
            " ORDER BY position LIMIT ?) p"
        )
        wanted = " UNION ALL ".join([one] * len(_TYPES))
        self._raw = raw
        self._statement = log.database.sql(
            f"SELECT {log.database.event_columns} FROM events e JOIN streams s ON s.stream_id = e.stream_id"
            f" WHERE e.position IN (SELECT position FROM ({wanted}) q ORDER BY position LIMIT ?) ORDER BY e.position"
        )

    def __call__(self) -> int:
        after, done = 0, 0
        cursor = self._raw.cursor()
        while True:
            cursor.execute(self._statement, [*(value for t in _TYPES for value in (t, after, _PAGE)), _PAGE])
            rows = cursor.fetchmany(_PAGE)
            for row in rows:
                orjson.loads(row[_PAYLOAD])
            done += len(rows)
            if len(rows) < _PAGE:
                return done
            after = rows[-1][0]


def _memory(folder: Path) -> Row:
    """The peak memory of a process that rebuilds from a million events, all of it."""
    url = f"sqlite:///{folder / 'million.db'}"
    with open_log(url) as log:
        fill(log, _MANY_RUNS)
    done = subprocess.run([sys.executable, "-c", _REBUILD, url], check=True, capture_output=True, text=True)
    work = "SQLite, peak memory of a rebuild, 1 M events"
    return Row(work, None, None, round(float(done.stdout), 1), "MB", 150, 80)


def fill(log: SqlLog, runs: int) -> None:
    """Runs with a grade each, as the service records them, many to a commit."""
    appends = _appends(runs)
    while group := list(islice(appends, 400)):
        log.commit([log.admit_one(append) for append in group])


def _appends(runs: int) -> Iterator[Append]:
    identity = GraderIdentity("bench", "1", "ab" * 32, 1)
    for run in range(runs):
        stream = f"run/bench/{run}"
        calls = [NewEvent("tool.returned", payload(call), actor=Actor.SYSTEM) for call in range(_CALLS)]
        yield Append(stream, calls)
        said = _Said()
        record(said, stream, _grade(run, stream, identity))  # type: ignore[arg-type]
        yield from said.appends


def _grade(run: int, stream: str, identity: GraderIdentity) -> Grade:
    rungs = tuple(
        Rung(
            name=f"milestone-{number}",
            weight=1.0 + number % 3 / 2,
            passed=(run + number) % 3 != 0,
            reached=True,
            detail=f"seq {number % _CALLS + 1}: the answer to question {run} is as expected",
            citations=tuple(range(1, number % 3 + 2)),
            cited=number % 3 + 1,
        )
        for number in range(_RUNGS)
    )
    passed = [rung for rung in rungs if rung.passed]
    attained, total = sum(rung.weight for rung in passed), sum(rung.weight for rung in rungs)
    evidence = StreamReference(stream, 0, ZERO_LEAF.hex())
    score = attained / total
    return Grade("bench", Mode.INDEPENDENT, rungs, attained, total, score, len(passed), False, evidence, identity)


class _Said:
    """In place of a log: keeps what `record` appends."""

    def __init__(self) -> None:
        self.appends: list[Append] = []

    def find(self, stream: str, id: UUID) -> None:
        return None

    def append(self, stream: str, events: Sequence[NewEvent]) -> Appended:
        self.appends.append(Append(stream, events))
        return Appended(1, 1, 1, 1, True)
