"""Many connections that append single events at once, against one connection that inserts raw rows."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg

from scripts.benchmarks.append import Appending, migrated_log
from scripts.benchmarks.children import Child
from scripts.benchmarks.raw import postgres_table
from scripts.benchmarks.report import Row, paired_rates, rows_of
from spine import SqlLog, open_log
from tests.postgres import fresh_database

_CONNECTIONS = 16
_EVENTS = 60
"""How many each of them appends in a round."""


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """16 processes with a connection each, from the first start to the last commit."""
    if postgres is None:
        return
    with ExitStack() as stack:
        url = stack.enter_context(fresh_database(postgres))
        log = stack.enter_context(migrated_log(url))
        raw = postgres_table(stack.enter_context(psycopg.connect(url, autocommit=True)))
        children = [stack.enter_context(Child(__name__, url, str(number))) for number in range(_CONNECTIONS)]
        for child in children:
            child.ask("prepare 1")
            child.ask(f"append {time.monotonic()}")
        measured = paired_rates(_together(children), raw.timed(_CONNECTIONS * _EVENTS, 1), rounds)
        _check_dense(log)
    work = f"Postgres, {_CONNECTIONS} connections, 1 a commit"
    yield from rows_of(work, "raw inserts from one connection", "events/s", measured, 0.55, 0.80)


def _together(children: list[Child]) -> Callable[[], float]:
    """Their joint rate, by the machine's monotonic clock, which is the same in all processes."""

    def rate() -> float:
        for child in children:
            child.ask(f"prepare {_EVENTS}")
        start = time.monotonic() + 0.05  # all of them have heard of it by then
        for child in children:
            child.tell(f"append {start}")
        spans = [tuple(map(float, child.hear().split())) for child in children]
        return len(children) * _EVENTS / (max(end for _, end in spans) - min(begin for begin, _ in spans))

    return rate


def _check_dense(log: SqlLog) -> None:
    with log.database.read() as cursor:
        cursor.execute("SELECT count(*), count(DISTINCT position), min(position), max(position) FROM events")
        count, distinct, first, last = cursor.fetchall()[0]
    if not (count == distinct == last and first == 1):
        raise AssertionError(f"positions are not dense: {count} events, {distinct} positions from {first} to {last}")


def _serve(url: str, number: str) -> None:
    """What each process does: `prepare COUNT`, then `append MOMENT` → when it began and when it was done."""
    with open_log(url) as log:
        appending = Appending(log, 1, prefix=f"run/bench/{number}")
        for line in sys.stdin:
            match line.split():
                case ["prepare", count]:
                    appending.prepare(int(count))
                    print("ready", flush=True)
                case ["append", moment]:
                    time.sleep(max(0.0, float(moment) - time.monotonic()))
                    begin = time.monotonic()
                    appending.append()
                    print(begin, time.monotonic(), flush=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
