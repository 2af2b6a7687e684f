"""Benchmarks: ratios against what the drivers alone can do, measured in one run.

    scripts/bench append [--json] [--rounds N]
    scripts/bench grade  [--json] [--rounds N]

A ratio is ours over the baseline's in events (or runs) a second, the median of paired rounds; over 1 is faster. Both
sides have the same durability: synchronous=FULL on SQLite, fsync and synchronous_commit on for Postgres.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmarks import append, grade
from scripts.benchmarks.report import Row, print_rows
from tests.postgres import PostgresUnavailable, throwaway_postgres


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=["append", "grade"])
    parser.add_argument("--json", action="store_true", help="JSON lines, one row a line")
    parser.add_argument("--rounds", type=int, default=7, help="paired rounds a row (default 7)")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gradespine-bench-")))
        try:
            postgres: str | None = stack.enter_context(throwaway_postgres(durable=True))
        except PostgresUnavailable as problem:
            print(f"without Postgres: {problem}", file=sys.stderr)
            postgres = None
        measure = {"append": append.measure, "grade": grade.measure}[chosen.what]
        rows: list[Row] = []
        for row in measure(folder, postgres, chosen.rounds):
            rows.append(row)
            if not chosen.json:
                print(f"\r{row.work} …", end="\033[K", file=sys.stderr, flush=True)
        print("\r", end="\033[K", file=sys.stderr)
        print_rows(rows, as_json=chosen.json)


if __name__ == "__main__":
    main()
