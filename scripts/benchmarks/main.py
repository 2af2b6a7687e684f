"""Ratios against what the drivers alone, and a peer, can do: measured in one run, at the same durability.

Both sides of a ratio take turns; it is the median over paired rounds, ours over theirs in events (or runs) a second:
over 1 is faster. SQLite has synchronous=FULL, Postgres fsync and synchronous_commit on. Latency and memory have an
upper bound. Exit codes: 0 every bound is kept, 1 one is not, 3 something could not be measured.
"""

import argparse
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmarks import noise
from scripts.benchmarks.report import Row, print_json, print_table
from tests.postgres import PostgresUnavailable, throwaway_postgres

Measure: TypeAlias = Callable[..., Generator[Row, None, None]]
"""(folder, admin URL of a Postgres if there is one, rounds) → rows as they are measured."""

_ROUNDS: Final = 7
_EVENTS: Final = 1_000_000


class Part(NamedTuple):
    """A part of the benchmark: what it measures, and the modules whose `measure` does."""

    about: str
    modules: tuple[str, ...]


PARTS: Final = {
    "append": Part(
        "1, 10 and 100 events a commit, 64 threads, 16 connections; against raw inserts and a peer",
        ("append", "group", "connections", "peers"),
    ),
    "read": Part("scan the log, read a stream and fold it; against the raw driver and a peer", ("read", "replay")),
    "follow": Part("from an append to a follower in another process, p50 and p99", ("follow",)),
    "project": Part("rebuild the projection of grades; against scan and decode alone", ("project",)),
    "grade": Part("grade runs, against raw read, decode and insert; the curve of a long run", ("grade", "curve")),
    "memory": Part("peak memory of a scan, export, verify and rebuild of a million events", ("memory",)),
}


def main() -> int:
    chosen = _arguments()
    signal.signal(signal.SIGTERM, _interrupt)
    run = _Run(chosen)
    try:
        run.measure()
    except KeyboardInterrupt:
        print("\nbench: interrupted; what was measured until then:", file=sys.stderr)
        run.print_table()
        return 130
    except BrokenPipeError:  # whoever read the rows has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    run.print_table()
    return run.exit_code()


def _arguments() -> argparse.Namespace:
    about = "\n".join(f"  {name:8} {part.about}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=f"{__doc__}\nparts:\n{about}\n  all      every part in turn",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", choices=[*PARTS, "all"], metavar="part", help="one of the parts above")
    parser.add_argument("--json", action="store_true", help="JSON lines, one row a line, as they are measured")
    parser.add_argument("--rounds", type=_positive, default=_ROUNDS, help=f"paired rounds a row (default {_ROUNDS})")
    parser.add_argument("--events", type=_positive, default=_EVENTS, help="size of the log for memory (default 1 M)")
    return parser.parse_args()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1")
    return number


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


class _Run:
    """One run: its rows by part, and what could not be measured."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._chosen = chosen
        self._parts: list[list[Row]] = []
        self._missing: list[str] = []

    def measure(self) -> None:
        """Measure the chosen parts; what fails is told on stderr and does not stop the rest."""
        names = list(PARTS) if self._chosen.part == "all" else [self._chosen.part]
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gradespine-bench-")))
            postgres = self._postgres(stack)
            # Another Ctrl-C would leave the server or the folder behind.
            stack.callback(signal.signal, signal.SIGINT, signal.SIG_IGN)
            for name in names:
                noise.report(folder)
                self._parts.append([])
                for module in PARTS[name].modules:
                    with tempfile.TemporaryDirectory(dir=folder) as own:
                        self._measure(module, Path(own), postgres)

    def print_table(self) -> None:
        """The table, unless the rows were printed as JSON; and what is missing, on stderr."""
        if any(self._parts) and not self._chosen.json:
            print_table(self._parts)
        for missing in self._missing:
            print(f"bench: not measured: {missing}", file=sys.stderr)

    def exit_code(self) -> int:
        rows = [row for part in self._parts for row in part]
        if self._missing or any(row.figure is None for row in rows):
            return 3
        return 1 if any(row.met is False for row in rows) else 0

    def _postgres(self, stack: ExitStack) -> str | None:
        try:
            return stack.enter_context(throwaway_postgres(durable=True))
        except PostgresUnavailable as problem:
            self._missing.append(f"Postgres: {problem}")
            return None

    def _measure(self, module: str, folder: Path, postgres: str | None) -> None:
        try:
            with closing(self._loaded(module)(folder, postgres, self._chosen.rounds)) as rows:
                for row in rows:
                    self._take(row)
        except BrokenPipeError:
            raise
        except Exception as problem:
            traceback.print_exc()
            self._missing.append(f"{module}: {type(problem).__name__}: {problem}")

    def _loaded(self, module: str) -> Measure:
        measure: Measure = import_module(f"scripts.benchmarks.{module}").measure
        return partial(measure, events=self._chosen.events) if module == "memory" else measure

    def _take(self, row: Row) -> None:
        self._parts[-1].append(row)
        if self._chosen.json:
            print_json(row)
        elif sys.stderr.isatty():
            print(f"\r{row.work} …", end="\033[K\r", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
