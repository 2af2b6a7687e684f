"""gap: how long nothing came of what should keep coming."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from grading.budget import Work
from grading.checks import Verdict
from grading.course import Course, Point
from grading.entries import Entry
from grading.errors import CheckBroken
from grading.kinds.base import Demand, Running, sort_out
from grading.kinds.distance import Distance
from grading.selectors import Context, Selection, Selector, View
from spine import Event


class Edge(StrEnum):
    """Where a gap may also lie."""

    START = "start"
    """Between the start of the run and the first that is selected."""
    END = "end"
    """Between the last that is selected and the end of the run."""


@dataclass(frozen=True, slots=True)
class GapCheck:
    """Passes when something is selected, and never is further away than the distance from the next that is. By the
    producers' clock, the next is the next by that clock."""

    of: Selector
    distance: Distance
    edges: frozenset[Edge] = frozenset()

    @property
    def demand(self) -> Demand:
        return Demand.PRESENCE

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.of,)

    def begin(self, context: Context, view: View) -> Running:
        course = context.follow() if self.edges else Course()
        return GapRunning(self, Selection(self.of, context, view), course)


class GapRunning:
    def __init__(self, check: GapCheck, selection: Selection, course: Course) -> None:
        self._check = check
        self._selection = selection
        self._course = course
        self._points: list[int] = []
        self._wide = 0
        self.types = selection.types

    def step(self, event: Event) -> None:
        self._selection.step(event)

    def result(self, work: Work) -> Verdict:
        entries, broken = sort_out(self._selection.outcomes())
        verdict = self._verdict(entries)
        # What could not be read might close a gap, and can open none.
        if broken is not None and not verdict.passed:
            raise CheckBroken(broken.code, broken.where)
        return verdict

    def stands(self, work: Work) -> bool:
        self._follow()
        passed = bool(self._points) and not self._wide and not self._open()
        if not passed:
            self._selection.found.check_readable()
        return passed

    def _follow(self) -> None:
        """Keep how many gaps between those selected are too wide."""
        point = self._check.distance.point
        for _, before, after in self._selection.found.changes():
            if isinstance(before, Entry):
                at = bisect_left(self._points, point(before))
                self._wide -= self._widths(at, at + 1) - self._widths_without(at)
                del self._points[at]
            if isinstance(after, Entry):
                at = bisect_left(self._points, point(after))
                self._points.insert(at, point(after))
                self._wide += self._widths(at, at + 1) - self._widths_without(at)

    def _widths(self, *places: int) -> int:
        """How many of the gaps before these are too wide."""
        return sum(self._is_wide(self._points[at - 1], self._points[at]) for at in places if 0 < at < len(self._points))

    def _widths_without(self, at: int) -> int:
        """How many would be if this one were not there."""
        return 0 < at < len(self._points) - 1 and self._is_wide(self._points[at - 1], self._points[at + 1])

    def _is_wide(self, before: int, after: int) -> bool:
        return after - before > self._check.distance.reach

    def _open(self) -> bool:
        """Whether the gap to an edge is too wide."""
        point, edges = self._check.distance.point, self._check.edges
        start = self._course.start() if Edge.START in edges else None
        end = self._end() if Edge.END in edges else None
        return (start is not None and self._is_wide(point(start), self._points[0])) or (
            end is not None and self._is_wide(self._points[-1], point(end))
        )

    def _verdict(self, entries: Sequence[Entry]) -> Verdict:
        check = self._check
        if not entries:
            return Verdict(False, f"no {check.of}")
        point, reach = check.distance.point, check.distance.reach
        for before, after in pairwise(self._posts(entries)):
            if point(after) - point(before) > reach:
                seqs = tuple(sorted({before.seq, after.seq}))
                where = f"from seq {before.seq} to seq {after.seq}"
                return Verdict(False, f"no {check.of} for more than {check.distance}, {where}", seqs)
        return Verdict(True, f"{check.of}: {len(entries)}, never apart more than {check.distance}", _ends(entries))

    def _posts(self, entries: Sequence[Entry]) -> Iterator[Entry | Point]:
        """What gaps lie between, in order."""
        start = self._course.start() if Edge.START in self._check.edges else None
        if start is not None:
            yield start
        yield from sorted(entries, key=self._check.distance.point)
        end = self._end() if Edge.END in self._check.edges else None
        if end is not None:
            yield end

    def _end(self) -> Point | None:
        # By its own clock, an agent could put the end where it likes.
        return self._course.others_last if self._check.distance.forgeable else self._course.last


def _ends(entries: Sequence[Entry]) -> tuple[int, ...]:
    return tuple(sorted({entries[0].seq, entries[-1].seq}))
