"""Rows of a benchmark: one figure each, with its bound, as a table or as JSON lines."""

import gc
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

_COSTS: Final = frozenset({"ms", "MB"})
"""Units of what is better small: the bound of such a row is an upper one."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measured figure. `ratio` is ours over the baseline's; a row without a baseline has a `value` in `unit`. One
    with neither could not be measured."""

    work: str
    baseline: str | None
    ratio: float | None
    value: float | None
    unit: str
    at_least: float | None
    aim: float | None

    @property
    def figure(self) -> float | None:
        return self.value if self.ratio is None else self.ratio

    @property
    def met(self) -> bool | None:
        """Whether the bound is kept; None without one, or without a figure."""
        return self._keeps(self.at_least)

    @property
    def aim_reached(self) -> bool | None:
        return self._keeps(self.aim)

    @property
    def is_cost(self) -> bool:
        """Whether small is good, and the bound an upper one."""
        return self.unit in _COSTS

    def as_json(self) -> dict[str, Any]:
        """What stands on its line: `ratio` or `value`, never both."""
        figure = {"value": self.value} if self.ratio is None and self.baseline is None else {"ratio": self.ratio}
        bounds = {"unit": self.unit, "at_least": self.at_least, "aim": self.aim, "met": self.met}
        return {"work": self.work, "baseline": self.baseline, **figure, **bounds}

    def _keeps(self, bound: float | None) -> bool | None:
        if bound is None or self.figure is None:
            return None
        return self.figure < bound if self.is_cost else self.figure >= bound


def paired(ours: Callable[[], int], baseline: Callable[[], int], rounds: int) -> tuple[float, float]:
    """The median ratio of rates over paired rounds, and our median rate. Each side does its work once a round and says
    how many it did; the first round warms up."""
    return paired_rates(timed(ours), timed(baseline), rounds)


def paired_rates(ours: Callable[[], float], baseline: Callable[[], float], rounds: int) -> tuple[float, float]:
    """The same for sides that time themselves and say their rates."""
    ratios, rates = [], []
    for number in range(rounds + 1):
        first, second = (ours, baseline) if number % 2 else (baseline, ours)
        rate = {call: call() for call in (first, second)}
        if number:
            ratios.append(rate[ours] / rate[baseline])
            rates.append(rate[ours])
    return statistics.median(ratios), statistics.median(rates)


def timed(work: Callable[[], int], prepare: Callable[[], None] | None = None) -> Callable[[], float]:
    """The rate of some work as a side of `paired_rates`; what `prepare` does before it is not timed."""

    def rate() -> float:
        if prepare is not None:
            prepare()
        gc.collect()  # or one side pays for what the other left behind
        start = time.perf_counter()
        done = work()
        return done / (time.perf_counter() - start)

    return rate


def rows_of(
    work: str, baseline: str, unit: str, measured: tuple[float, float], at_least: float | None, aim: float | None
) -> list[Row]:
    """The ratio, and beside it what it was in absolute terms on this machine."""
    ratio, rate = measured
    return [
        Row(work, baseline, round(ratio, 3), None, "ratio", at_least, aim),
        Row(work, None, None, round(rate), unit, None, None),
    ]


def print_json(row: Row) -> None:
    """A JSON object on a line, at once."""
    print(json.dumps(row.as_json(), ensure_ascii=False), flush=True)


def print_table(parts: Sequence[Sequence[Row]]) -> None:
    """A table for people, a section for each part. A figure without a bound stands beside the ratio of the same work,
    as what it was here."""
    table = Table("work", "against", "measured", "at least", "aim", "met", "here")
    for rows in parts:
        here = {row.work: row for row in rows if row.at_least is None and row.baseline is None}
        for row in rows:
            if here.get(row.work) is not row:
                table.add_row(*_cells(row, here.get(row.work)))
        table.add_section()
    Console(width=None if Console().is_terminal else 160).print(table)


def _cells(row: Row, here: Row | None) -> list[str]:
    met = {None: "", True: "[green]yes[/]", False: "[bold red]NO[/]"}[row.met]
    if row.aim_reached:
        met += "[green], aim reached[/]"
    measured = "[red]not measured[/]" if row.figure is None else _figure(row, row.figure)
    absolute = "" if here is None or here.value is None else f"{here.value:,.0f} {here.unit}"
    return [row.work, row.baseline or "", measured, _bound(row, row.at_least), _bound(row, row.aim), met, absolute]


def _figure(row: Row, figure: float) -> str:
    if row.unit != "ratio":
        return f"{figure:,.4g} {row.unit}"
    return f"{figure:.3f}" if figure < 1 else f"{figure:.2f}"


def _bound(row: Row, bound: float | None) -> str:
    if bound is None:
        return ""
    return f"< {bound:g} {row.unit}" if row.is_cost else f"{bound:g}"
