"""The memory of passes over a whole log of a million events: each in a process of its own, its peak."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.benchmarks.children import ROOT
from scripts.benchmarks.project import fill
from scripts.benchmarks.report import Row
from spine import open_log

_A_MILLION: Final = 1_000_000
_EVENTS_A_RUN: Final = 12  # of `fill`, with its grade
_AT_LEAST, _AIM = 150, 80  # MB


def measure(folder: Path, postgres: str | None, rounds: int, *, events: int = _A_MILLION) -> Iterator[Row]:
    """One log of about so many events, and one pass of each kind over all of it."""
    path = folder / "log.db"
    _make(path, max(1, events // _EVENTS_A_RUN))
    size = "1 M" if events == _A_MILLION else f"{events:,}"
    for name in ("a scan", "an export", "a verify", "a rebuild"):
        peak = _peak(name.split()[1], path)
        yield Row(f"SQLite, peak memory of {name}, {size} events", None, None, peak, "MB", _AT_LEAST, _AIM)


def _make(path: Path, runs: int) -> None:
    """A log of runs and their grades, whose chain verifies."""
    start = time.monotonic()
    with open_log(f"sqlite:///{path}") as log:
        fill(log, runs)
        events = log.position()
    print(f"bench: made a log of {events:,} events in {time.monotonic() - start:.0f} s", file=sys.stderr)


def _peak(name: str, path: Path) -> float | None:
    """Megabytes; None when the pass fails, which is told on stderr."""
    # Its own session, as Ctrl-C is for the parent, which ends it: run() kills what it waits for.
    command = [sys.executable, "-m", "scripts.benchmarks.passes", name, f"sqlite:///{path}"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    return round(float(done.stdout), 1) if done.returncode == 0 else None
