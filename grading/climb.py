"""Climb: a ladder climbed after each event of a run, which gives its curve.

What the curve says of a prefix is what grading that prefix anew would say. The run is gone through once for each
milestone (and for each `case.expected`, with which a check starts anew), not once for each prefix. A milestone in
Python is a function of the whole evidence, so it has to be asked anew at every prefix where its ladder comes to it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from grading.checks import Check, IncrementalCheck, Verdict
from grading.curve import Change, Curve, Point, RungCurve, Standing
from grading.errors import CheckBroken, MilestoneBroken
from grading.evidence import Evidence, MapEvidence
from grading.ladders import Ladder, Milestone, Mode
from grading.outcomes import Cause, Changes, Outcome
from grading.prefixes import Prefixes
from grading.standings import CurveRefused, Stretch, settled, standings, stretches

MAX_LOOKED_AT: Final = 1_000_000
"""So many events may be looked at by starting a run from the front again: for milestones in Python, and for runs whose
`case.expected` changes over and over."""


def curve(ladder: Ladder, evidence: Evidence) -> Curve:
    """The ladder's grade of every prefix of the evidence. Raises CurveRefused where that would take too long."""
    prefixes = Prefixes(evidence)
    over = stretches(prefixes)
    _refuse_many(over)
    tracks = [_track(milestone, prefixes, over) for milestone in ladder.milestones]
    climbed = _climb(ladder, tracks, prefixes)
    return Curve(
        ladder=ladder.name,
        mode=ladder.mode,
        total=climbed.total,
        pass_at=ladder.pass_at,
        events=prefixes.events,
        points=tuple(climbed.points),
        rungs=tuple(
            _rung(milestone, track, changes)
            for milestone, track, changes in zip(ladder.milestones, tracks, climbed.changes, strict=True)
        ),
    )


def _refuse_many(over: Sequence[Stretch]) -> None:
    looked_at = sum(stretch.last for stretch in over)
    if len(over) > 2 and looked_at > MAX_LOOKED_AT:
        raise CurveRefused(
            f"the run has {len(over) - 1:,} different case.expected, and each starts its grading from the front:"
            f" {looked_at:,} events to look at for each milestone, of at most {MAX_LOOKED_AT:,}"
        )


_Track: TypeAlias = Changes | Check
"""How a milestone stands at every place, or a check in Python to be asked at a place."""


def _track(milestone: Milestone, prefixes: Prefixes, over: Sequence[Stretch]) -> _Track:
    if milestone.check is None:
        return [(0, False)]
    if isinstance(milestone.check, IncrementalCheck):
        try:
            return standings(milestone.check, prefixes, over)
        except CurveRefused as error:
            raise CurveRefused(f"the milestone {milestone.name}: {error}") from error
    return milestone.check


@dataclass(slots=True)
class _Climbed:
    total: float
    points: list[Point]
    changes: list[list[Change]]


def _climb(ladder: Ladder, tracks: Sequence[_Track], prefixes: Prefixes) -> _Climbed:
    marks = _Marks(ladder)
    climbed = _Climbed(marks.total, [], [[] for _ in tracks])
    asked = _Asking(ladder, prefixes)
    moves: dict[int, list[tuple[int, Outcome]]] = {}
    for index, track in enumerate(tracks):
        for place, outcome in track if isinstance(track, list) else ():
            moves.setdefault(place, []).append((index, outcome))
    functions = any(not isinstance(track, list) for track in tracks)
    outcomes: list[Outcome] = [False] * len(tracks)
    for place in range(len(prefixes.events) + 1) if functions else sorted({0, *moves}):
        for index, outcome in moves.get(place, ()):
            outcomes[index] = outcome
        if functions:
            asked.fill(outcomes, tracks, place)
        _add(climbed, place, marks.of(tuple(outcomes)), outcomes)
    return climbed


def _add(climbed: _Climbed, place: int, point: Point, outcomes: Sequence[Outcome]) -> None:
    if not climbed.points or replace(climbed.points[-1], place=0) != point:
        climbed.points.append(replace(point, place=place))
    for changes, standing, outcome in zip(climbed.changes, point.standings, outcomes, strict=True):
        cause = outcome if standing is Standing.BROKEN and isinstance(outcome, Cause) else None
        if not changes or (changes[-1].standing, changes[-1].cause) != (standing, cause):
            changes.append(Change(place, standing, cause))


class _Asking:
    """Asks milestones in Python where the ladder comes to them."""

    def __init__(self, ladder: Ladder, prefixes: Prefixes) -> None:
        self._ladder: Final = ladder
        self._prefixes: Final = prefixes
        self._looked_at = 0

    def fill(self, outcomes: list[Outcome], tracks: Sequence[_Track], place: int) -> None:
        evidence: Evidence | None = None
        for index, track in enumerate(tracks):
            if not isinstance(track, list):
                evidence = evidence or self._prefixes.at(place)
                outcomes[index] = self._ask(track, evidence, index, place)
            if outcomes[index] is not True and self._ladder.mode is Mode.CUMULATIVE:
                return

    def _ask(self, check: Check, evidence: Evidence, index: int, place: int) -> Outcome:
        self._looked_at += place
        if self._looked_at > MAX_LOOKED_AT:
            name = self._ladder.milestones[index].name
            raise CurveRefused(
                f"the milestone {name} is a function in Python, which is asked anew at every prefix: at event {place:,}"
                f" of {len(self._prefixes.events):,} that came to more than {MAX_LOOKED_AT:,} events looked at"
            )
        return settled(lambda: check(evidence))


class _Marks:
    """What the outcomes of all checks come to: the ladder itself is asked, with checks that say just that."""

    def __init__(self, ladder: Ladder) -> None:
        self._outcomes: tuple[Outcome, ...] = (False,) * len(ladder.milestones)
        self._mode: Final = ladder.mode
        milestones = [replace(each, check=self._says(index)) for index, each in enumerate(ladder.milestones)]
        self._ladder: Final = replace(ladder, milestones=milestones)
        self._nothing: Final = MapEvidence(())
        self._known: Final[dict[tuple[Outcome, ...], Point]] = {}
        self.total: Final = self._ladder.grade(self._nothing).total

    def of(self, outcomes: tuple[Outcome, ...]) -> Point:
        """The grade, as a point at place 0."""
        known = self._known.get(outcomes)
        if known is None:
            self._outcomes = outcomes
            known = self._known[outcomes] = self._point()
        return known

    def _point(self) -> Point:
        stand = tuple(self._standings())
        try:
            grade = self._ladder.grade(self._nothing)
        except MilestoneBroken as broken:
            return Point(0, None, None, None, stand, broken.milestone, Cause(broken.code, broken.where))
        return Point(0, grade.score, grade.attained, grade.passed, stand)

    def _standings(self) -> Iterator[Standing]:
        reached = True
        for outcome in self._outcomes:
            if not reached:
                yield Standing.NOT_REACHED
            elif isinstance(outcome, Cause):
                yield Standing.BROKEN
            else:
                yield Standing.PASSED if outcome else Standing.FAILED
            reached = reached and (self._mode is Mode.INDEPENDENT or outcome is True)

    def _says(self, index: int) -> Callable[[Evidence], Verdict]:
        def check(evidence: Evidence) -> Verdict:
            outcome = self._outcomes[index]
            if isinstance(outcome, Cause):
                raise CheckBroken(outcome.code, outcome.where)
            return Verdict(outcome, "")

        return check


def _rung(milestone: Milestone, track: _Track, changes: Sequence[Change]) -> RungCurve:
    own = track if isinstance(track, list) else _own(changes)
    known = [(place, outcome) for place, outcome in own if not isinstance(outcome, Cause)]
    limit = bool(known) and known[0][1] is True
    violated = next((place for place, outcome in known if not outcome), None) if limit else None
    return RungCurve(milestone.name, milestone.worth, milestone.required, tuple(changes), limit, violated)


def _own(changes: Sequence[Change]) -> Changes:
    """How a milestone in Python stands by itself: not known unless it was always reached."""
    if any(change.standing is Standing.NOT_REACHED for change in changes):
        return []
    return [(change.place, change.cause or change.standing is Standing.PASSED) for change in changes]
