"""Rows of a benchmark: one figure each, with its bound, as a table or as JSON lines."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """A measured figure. `ratio` is ours over the baseline's; a row without a baseline has a `value` in `unit`."""

    work: str
    baseline: str | None
    ratio: float | None
    value: float | None
    unit: str
    at_least: float | None
    aim: float | None

    @property
    def met(self) -> bool | None:
        """Whether the bound is kept; None without one."""
        return None if self.at_least is None or self.ratio is None else self.ratio >= self.at_least


def paired(ours: Callable[[], int], baseline: Callable[[], int], rounds: int) -> tuple[float, float]:
    """The median ratio of rates over paired rounds, and our median rate. Each side does its work once a round and says
    how many it did; the first round warms up."""
    ratios, rates = [], []
    for number in range(rounds + 1):
        first, second = (ours, baseline) if number % 2 else (baseline, ours)
        rate = {call: _rate(call) for call in (first, second)}
        if number:
            ratios.append(rate[ours] / rate[baseline])
            rates.append(rate[ours])
    return statistics.median(ratios), statistics.median(rates)


def _rate(work: Callable[[], int]) -> float:
    start = time.perf_counter()
    done = work()
    return done / (time.perf_counter() - start)


def rows_of(
    work: str, baseline: str, unit: str, measured: tuple[float, float], at_least: float | None, aim: float | None
) -> list[Row]:
    """The ratio, and beside it what it was in absolute terms on this machine."""
    ratio, rate = measured
    return [
        Row(work, baseline, round(ratio, 3), None, "ratio", at_least, aim),
        Row(work, None, None, round(rate), unit, None, None),
    ]


def print_rows(rows: Sequence[Row], *, as_json: bool) -> None:
    """A table for people, or a JSON object a line."""
    if as_json:
        for row in rows:
            print(json.dumps({**asdict(row), "met": row.met}, ensure_ascii=False))
        return
    table = Table("work", "baseline", "ratio", "at least", "aim", "met", "here")
    for ratio, value in zip(rows[::2], rows[1::2], strict=True):
        table.add_row(
            ratio.work,
            ratio.baseline,
            f"{ratio.ratio:.2f}",
            _number(ratio.at_least),
            _number(ratio.aim),
            {None: "", True: "yes", False: "NO"}[ratio.met],
            f"{value.value:,.0f} {value.unit}",
        )
    Console().print(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
