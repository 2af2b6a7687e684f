"""The peer's side, run by the Python of .venv-bench: `eventsourcing` as it comes. It says seconds, a line a command.

append SIZE COUNT   Application.save of COUNT events, SIZE to a commit
get COUNT           repository.get of COUNT runs of 200 events, without cache and snapshots
"""

import gc
import os
import sqlite3
import sys
import time
from contextlib import closing
from typing import Any

from eventsourcing.application import Application  # type: ignore[import-not-found]
from eventsourcing.domain import Aggregate, event  # type: ignore[import-not-found]

from scripts.benchmarks.payloads import payload

_AGGREGATES = 50
_RUNS = 30
_RUN_EVENTS = 200
_SAVED_AT_ONCE = 100


class Run(Aggregate):  # type: ignore[misc]
    """As much state as our fold keeps."""

    def __init__(self) -> None:
        self.calls = 0
        self.failed = 0

    @event("Returned")  # type: ignore[untyped-decorator]
    def returned(self, call_id: str, tool: str, result: str, exit_code: int, timing: dict[str, Any]) -> None:
        self.calls += 1
        self.failed += exit_code != 0


class Peer:
    """An application on the database that the environment names."""

    def __init__(self) -> None:
        self._application = Application()
        self._aggregates = [Run() for _ in range(_AGGREGATES)]
        self._application.save(*self._aggregates)
        self._runs: list[Any] = []

    def append(self, size: int, count: int) -> float:
        """Seconds to make the events from payloads that are there, as our side makes its own, and to save them."""
        commits = [[payload(number + index) for index in range(size)] for number in range(0, count, size)]
        gc.collect()
        start = time.perf_counter()
        for number, payloads in enumerate(commits):
            run = self._aggregates[number % _AGGREGATES]
            for one in payloads:
                run.returned(**one)
            self._application.save(run)
        return time.perf_counter() - start

    def get(self, count: int) -> float:
        """Seconds to read and fold, whole runs in turn."""
        while len(self._runs) < _RUNS:
            self._runs.append(self._record())
        gc.collect()
        start = time.perf_counter()
        for number in range(count):
            run = self._application.repository.get(self._runs[number % _RUNS])
            assert run.calls == _RUN_EVENTS - 1  # and its creation
        return time.perf_counter() - start

    def _record(self) -> Any:
        run = Run()
        for number in range(1, _RUN_EVENTS):
            run.returned(**payload(number))
            if number % _SAVED_AT_ONCE == 0:
                self._application.save(run)
        self._application.save(run)
        return run.id


def _check_durable(path: str) -> None:
    """It leaves `synchronous` alone; the SQLite of some systems is built with another default than FULL."""
    with closing(sqlite3.connect(path)) as connection:
        (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    if synchronous < 2:
        sys.exit(
            f"bench: this SQLite has synchronous = {synchronous} by default, not 2 (FULL): the peer is not as safe"
        )


def main() -> None:
    peer = Peer()
    if os.environ["PERSISTENCE_MODULE"] == "eventsourcing.sqlite":
        _check_durable(os.environ["SQLITE_DBNAME"])
    for line in sys.stdin:
        match line.split():
            case ["append", size, count]:
                print(peer.append(int(size), int(count)), flush=True)
            case ["get", count]:
                print(peer.get(int(count)), flush=True)


if __name__ == "__main__":
    main()
