"""Curve: the grade of a run after each of its events, and which event earned or lost each rung."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from grading.ladders import Mode
from grading.outcomes import Cause
from spine import Event


class Standing(StrEnum):
    """How a rung stands at a place. `not_reached`: the ladder did not come to it."""

    PASSED = "passed"
    FAILED = "failed"
    BROKEN = "broken"
    NOT_REACHED = "not_reached"


@dataclass(frozen=True, slots=True)
class Change:
    """From this place on a rung stands so. A place is how many events of the evidence there were; a broken one has a
    cause."""

    place: int
    standing: Standing
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class RungCurve:
    """A milestone through the run. `changes` begins at place 0, before the first event.

    A `limit` holds before anything has happened, or as soon as there is a reference to hold it against. `violated` is
    the place of the first event that broke it, also where the ladder did not come to the rung. It is None where nothing
    did, where the rung is no limit, and where that is not known (a milestone in Python that was not always reached).
    """

    name: str
    weight: float
    required: bool
    changes: tuple[Change, ...]
    limit: bool = False
    violated: int | None = None

    @property
    def now(self) -> Change:
        """How it stands in the end."""
        return self.changes[-1]

    @property
    def earned(self) -> list[int]:
        """The places at which it passed and had not before; 0: it holds from the start."""
        return [change.place for change in self.changes if change.standing is Standing.PASSED]

    @property
    def lost(self) -> list[int]:
        """The places at which it had passed and no longer did."""
        return [after.place for before, after in pairwise(self.changes) if before.standing is Standing.PASSED]


@dataclass(frozen=True, slots=True)
class Point:
    """The grade from a place on. Of one that is broken there is no score and no verdict: `milestone` and `cause` say
    why."""

    place: int
    score: float | None
    attained: float | None
    passed: bool | None
    standings: tuple[Standing, ...]
    milestone: str | None = None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A run's grade after each event. `points` are the places where anything changed, from 0 on; `events` all there
    are."""

    ladder: str
    mode: Mode
    total: float
    pass_at: float | None
    events: Sequence[Event] = field(repr=False)
    points: tuple[Point, ...]
    rungs: tuple[RungCurve, ...]

    def at(self, place: int) -> Point:
        """The grade after so many events."""
        return replace(self.points[bisect_right(self.points, place, key=_place) - 1], place=place)

    def every(self) -> Iterator[Point]:
        """The grade at every place, from 0 on."""
        return map(self.at, range(len(self.events) + 1))

    @property
    def first_passed(self) -> int | None:
        """The place at which the verdict was `passed` for the first time."""
        return next((point.place for point in self.points if point.passed), None)

    @property
    def passed_since(self) -> int | None:
        """The place from which on the verdict stayed `passed`, if it did."""
        since = None
        for point in self.points:
            since = (point.place if since is None else since) if point.passed else None
        return since

    @property
    def best(self) -> Point | None:
        """The first place with the highest score; None where every prefix is broken."""
        scored = [point for point in self.points if point.score is not None]
        return max(scored, key=lambda point: (point.score or 0.0, -point.place), default=None)


def _place(point: Point) -> int:
    return point.place
