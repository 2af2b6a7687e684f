"""Reading a stream and folding it, against the peer."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from scripts.benchmarks.payloads import payload
from scripts.benchmarks.peers import Bounds, asking, missing, on_sqlite, peers_python
from scripts.benchmarks.report import Row, paired_rates, rows_of, timed
from spine import Actor, Event, NewEvent, SqlLog, fold
from spine.chain import verified

_RUNS: Final = 30
_RUN_EVENTS: Final = 200
_TIMES: Final = 4
"""How often a round reads each run: the first pass after the other side's turn finds cold caches."""
_GET: Final = "eventsourcing repository.get"
_READS: Final = {"payload decoded": Bounds(5, 7), "chain verified": Bounds(4, 5)}


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """Read and fold runs of 200 events on SQLite, against repository.get."""
    python = peers_python()
    if python is None:
        yield from (missing(_work(what), _GET, bounds) for what, bounds in _READS.items())
        return
    with on_sqlite(folder, python) as (log, peer):
        for number in range(_RUNS):
            run = [NewEvent("tool.returned", payload(n), actor=Actor.SYSTEM) for n in range(_RUN_EVENTS)]
            log.append(_stream(number), run)
        theirs = asking(peer, f"get {_TIMES * _RUNS}", _TIMES * _RUNS * _RUN_EVENTS)
        theirs()  # they record their runs
        for (what, bounds), ours in zip(_READS.items(), (_plain(log), _verified(log)), strict=True):
            measured = paired_rates(timed(ours), theirs, rounds)
            yield from rows_of(_work(what), _GET, "events/s", measured, *bounds)


def _plain(log: SqlLog) -> Callable[[], int]:
    return lambda: sum(fold(log.read(_stream(number)), _Calls(0, 0), _count).calls for number in _numbers())


def _verified(log: SqlLog) -> Callable[[], int]:
    name = log.name or ""

    def read() -> int:
        runs = (verified(log.read(_stream(number)), name) for number in _numbers())
        return sum(fold(run, _Calls(0, 0), _count).calls for run in runs)

    return read


def _numbers() -> Iterator[int]:
    return (number % _RUNS for number in range(_TIMES * _RUNS))


class _Calls(NamedTuple):
    calls: int
    failed: int


def _count(calls: _Calls, event: Event) -> _Calls:
    return _Calls(calls.calls + 1, calls.failed + (event.payload["exit_code"] != 0))


def _work(what: str) -> str:
    return f"SQLite, read a stream and fold, {what}"


def _stream(number: int) -> str:
    return f"run/bench/{number:04}"
