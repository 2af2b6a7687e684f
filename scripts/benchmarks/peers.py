"""The Python event store `eventsourcing`, on the same databases with the same durability; and appending against it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from scripts.benchmarks.append import Appending, migrated_log
from scripts.benchmarks.children import ROOT, Child
from scripts.benchmarks.report import Row, paired_rates, rows_of
from spine import SqlLog, open_log
from tests.postgres import fresh_database

_EVENTS: Final = {1: 300, 100: 3000}
"""How many a round, by events a commit."""
_SAVE: Final = "eventsourcing Application.save"


class Bounds(NamedTuple):
    at_least: float
    aim: float


_APPENDS: Final = {
    ("SQLite FULL", 1): Bounds(0.95, 1.3),
    ("SQLite FULL", 100): Bounds(1.5, 2),
    ("Postgres", 1): Bounds(2, 3.3),
    ("Postgres", 100): Bounds(2, 3.5),
}


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """Append against Application.save, 1 and 100 events a commit."""
    wanted = {case: bounds for case, bounds in _APPENDS.items() if postgres or case[0] != "Postgres"}
    python = peers_python()
    if python is None:
        yield from (missing(_appending(*case), _SAVE, bounds) for case, bounds in wanted.items())
        return
    for (database, size), bounds in wanted.items():
        pair = _on_postgres(postgres, python) if database == "Postgres" and postgres else on_sqlite(folder, python)
        with pair as (log, peer):
            events = _EVENTS[size]
            theirs = asking(peer, f"append {size} {events}", events)
            measured = paired_rates(Appending(log, size).timed(events), theirs, rounds)
        yield from rows_of(_appending(database, size), _SAVE, "events/s", measured, *bounds)


def asking(peer: Child, command: str, events: int) -> Callable[[], float]:
    return lambda: events / float(peer.ask(command))


@contextmanager
def on_sqlite(folder: Path, python: Path) -> Iterator[tuple[SqlLog, Child]]:
    """An empty log of ours, and theirs with `synchronous` as it leaves it: FULL."""
    ours, theirs = (folder / f"{name}-{len(list(folder.iterdir()))}.db" for name in ("ours", "theirs"))
    settings = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(theirs)}
    with open_log(f"sqlite:///{ours}") as log, _peer(python, settings) as peer:
        yield log, peer


@contextmanager
def _on_postgres(server: str, python: Path) -> Iterator[tuple[SqlLog, Child]]:
    with fresh_database(server) as ours, fresh_database(server) as theirs:
        url = urlsplit(theirs)
        settings = {
            "PERSISTENCE_MODULE": "eventsourcing.postgres",
            "POSTGRES_DBNAME": url.path[1:],
            "POSTGRES_HOST": url.hostname or "",
            "POSTGRES_PORT": str(url.port or 5432),
            "POSTGRES_USER": unquote(url.username or ""),
            "POSTGRES_PASSWORD": unquote(url.password or ""),
        }
        with migrated_log(ours) as log, _peer(python, settings) as peer:
            yield log, peer


def _peer(python: Path, settings: Mapping[str, str]) -> Child:
    return Child("scripts.benchmarks.peer", python=python, environment={**os.environ, **settings})


def peers_python() -> Path | None:
    """The interpreter that has the peers, made on first use; None where they cannot be installed."""
    if subprocess.run([ROOT / "scripts" / "boot", "bench"], stdout=sys.stderr).returncode != 0:
        print("bench: the peers of scripts/locks/bench.txt do not install here; not measured", file=sys.stderr)
        return None
    return ROOT / ".venv-bench" / "bin" / "python"


def missing(work: str, baseline: str, bounds: Bounds) -> Row:
    return Row(work, baseline, None, None, "ratio", *bounds)


def _appending(database: str, size: int) -> str:
    return f"append: {database}, {size} a commit"
