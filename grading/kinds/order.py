"""sequence and within: things that happen one after the other."""

from bisect import bisect_left, insort
from dataclasses import dataclass
from enum import StrEnum

from grading.budget import Work
from grading.checks import Verdict
from grading.kinds.base import Demand, Running, seqs_of
from grading.selectors import Context, Entry, Selection, Selector, View, readable
from spine import Event
from spine.canonical import MAX_INTEGER


@dataclass(frozen=True, slots=True)
class SequenceCheck:
    """Passes when one of each can be found, each after the one before. A `pick` fixes which one a selector means."""

    of: tuple[Selector, ...]

    @property
    def demand(self) -> Demand:
        return Demand.PRESENCE

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return self.of

    def begin(self, context: Context, view: View) -> Running:
        return SequenceRunning([Selection(selector, context, view) for selector in self.of])


class SequenceRunning:
    def __init__(self, selections: list[Selection]) -> None:
        self._selections = selections
        self.types = frozenset[str]().union(*(selection.types for selection in selections))

    def step(self, event: Event) -> None:
        for selection in self._selections:
            selection.step(event)

    def result(self, work: Work) -> Verdict:
        chain: list[Entry] = []
        for selection in self._selections:
            # The earliest that fits leaves the most room for what follows.
            found = _after(selection, chain[-1].place if chain else 0)
            if found is None:
                after = f" after seq {chain[-1].seq}" if chain else ""
                return Verdict(False, f"no {selection.selector}{after}", seqs_of(chain))
            chain.append(found)
        return Verdict(True, "seq " + ", then ".join(str(entry.seq) for entry in chain), seqs_of(chain))


def _after(selection: Selection, place: int) -> Entry | None:
    """The first that is selected after a place. Raises CheckBroken where one before it could not be read."""
    for outcome in selection.outcomes():
        if outcome.place > place:
            return readable(outcome)
    return None


class Unit(StrEnum):
    EVENTS = "events"
    """Places among the events of evidence: the next event is 1 away."""
    SECONDS = "seconds"
    """By the producers' `time`."""


@dataclass(frozen=True, slots=True)
class WithinCheck:
    """Passes when some `first` has a `then` after it, no further away than the limit. Everyone's events are counted, so
    an agent can stretch a distance in events by doing more; one in seconds it cannot."""

    first: Selector
    then: Selector
    unit: Unit
    limit: float

    @property
    def demand(self) -> Demand:
        return Demand.PRESENCE

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.first, self.then)

    def begin(self, context: Context, view: View) -> Running:
        return WithinRunning(self, Selection(self.first, context, view), Selection(self.then, context, view))


class WithinRunning:
    def __init__(self, check: WithinCheck, first: Selection, then: Selection) -> None:
        self._check = check
        self._first = first
        self._then = then
        self.types = first.types | then.types

    def step(self, event: Event) -> None:
        self._first.step(event)
        self._then.step(event)

    def result(self, work: Work) -> Verdict:
        check = self._check
        limit = f"within {check.limit:g} {check.unit}"
        pair = self._pair()
        if pair is None:
            return Verdict(False, f"no {check.then} {limit} of {check.first}")
        return Verdict(True, f"seq {pair[0].seq}, then {pair[1].seq} {limit}", seqs_of(pair))

    def _pair(self) -> tuple[Entry, Entry] | None:
        """The earliest `then` that is near enough, with the nearest `first` before it."""
        firsts = self._first.outcomes()
        known: list[tuple[float, int, Entry]] = []
        at = 0
        for outcome in self._then.outcomes():
            then = readable(outcome)
            while at < len(firsts) and firsts[at].place < then.place:
                first = readable(firsts[at])
                insort(known, (self._point(first), first.place, first))
                at += 1
            # From here on back, the nearest is the last one that is not later by the clock.
            nearest = bisect_left(known, (self._point(then), then.place)) - 1
            if nearest >= 0 and self._point(then) - known[nearest][0] <= self._limit:
                return known[nearest][2], then
        return None

    def _point(self, entry: Entry) -> int:
        return entry.ordinal if self._check.unit is Unit.EVENTS else entry.time

    @property
    def _limit(self) -> float:
        if self._check.unit is Unit.EVENTS:
            return self._check.limit
        microseconds = self._check.limit * 1_000_000
        return microseconds if microseconds > MAX_INTEGER else round(microseconds)
