"""From an append to a follower in another process that sees it."""

import json
import random
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Table

from scripts.benchmarks.append import migrated_log
from scripts.benchmarks.children import Child
from scripts.benchmarks.payloads import payload
from scripts.benchmarks.report import Row
from spine import Actor, NewEvent, SqlLog, open_log
from spine.briefs import Brief
from spine.feed import follow
from tests.postgres import fresh_database

_TYPE: Final = "tool.returned"
_APPENDS_A_ROUND: Final = 60
_PAUSE: Final = (0.002, 0.04)
"""Seconds between two appends: at least, at most."""
_BOUNDS: Final = {"p50": (10, 2), "p99": (50, 20)}
"""Milliseconds: (at least, aim), both upper ones."""


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """Single appends with pauses, from before each to its arrival at the follower's `apply`."""
    url = f"sqlite:///{folder / 'log.db'}"
    with open_log(url) as log:
        yield from _rows("SQLite FULL", _latencies(log, url, rounds * _APPENDS_A_ROUND))
    if postgres is not None:
        with fresh_database(postgres) as url, migrated_log(url) as log:
            yield from _rows("Postgres", _latencies(log, url, rounds * _APPENDS_A_ROUND))


def _latencies(log: SqlLog, url: str, appends: int) -> list[float]:
    """Milliseconds, by the machine's monotonic clock, which is the same in all processes."""
    chance = random.Random(3)
    with Child(__name__, url) as follower:
        _append(log, 0)
        follower.ask("seen 1")  # it is up, and waits
        begun = []
        for number in range(1, appends + 1):
            time.sleep(chance.uniform(*_PAUSE))
            begun.append(time.monotonic())
            _append(log, number)
        seen: list[float] = json.loads(follower.ask(f"seen {appends + 1}"))
    return [(end - begin) * 1000 for begin, end in zip(begun, seen[1:], strict=True)]


def _append(log: SqlLog, number: int) -> None:
    log.append(f"run/bench/{number % 50}", [NewEvent(_TYPE, payload(number), actor=Actor.SYSTEM)])


def _rows(database: str, milliseconds: Sequence[float]) -> Iterator[Row]:
    percentiles = statistics.quantiles(milliseconds, n=100, method="inclusive")
    for name, (at_least, aim) in _BOUNDS.items():
        figure = round(percentiles[int(name[1:]) - 1], 2)
        yield Row(f"{database}, append → another process sees it, {name}", None, None, figure, "ms", at_least, aim)


class _Seen:
    """A follower without tables that notes when each event came."""

    name = "bench"
    version = 1
    types: Sequence[str] = (_TYPE,)
    tables: Sequence[Table] = ()

    def __init__(self) -> None:
        self._moments: list[float] = []
        self._more = threading.Condition()

    def apply(self, connection: Connection, tables: Mapping[str, Table], events: Sequence[Brief]) -> None:
        now = time.monotonic()
        with self._more:
            self._moments += [now] * len(events)
            self._more.notify_all()

    def wait(self, count: int) -> list[float]:
        with self._more:
            self._more.wait_for(lambda: len(self._moments) >= count)
            return list(self._moments)


def _serve(url: str) -> None:
    """What the follower's process does: `seen COUNT` → when each came, as JSON, once so many have come."""
    seen, stop = _Seen(), threading.Event()
    with open_log(url) as log:
        # A daemon: if it fails the process ends, rather than wait for events that never come.
        following = threading.Thread(target=follow, args=(log, seen, stop), daemon=True)
        following.start()
        for line in sys.stdin:
            print(json.dumps(seen.wait(int(line.split()[1]))), flush=True)
        stop.set()
        following.join()


if __name__ == "__main__":
    _serve(sys.argv[1])
