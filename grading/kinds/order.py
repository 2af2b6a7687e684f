"""sequence, within and before: things that happen one after the other."""

from bisect import bisect_left, insort
from dataclasses import dataclass

from grading.budget import Work
from grading.checks import Verdict
from grading.entries import Entry, Outcome, Unread, readable
from grading.kinds.base import Demand, Running, Twice, at, limiting_views, seqs_of
from grading.kinds.distance import Distance
from grading.kinds.folds import Nearest
from grading.kinds.standing import Folding
from grading.selectors import Context, Selection, Selector, View
from spine import Event


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
        chain = self._chain()
        if len(chain) < len(self._selections):
            after = f" after seq {chain[-1].seq}" if chain else ""
            return Verdict(False, f"no {self._selections[len(chain)].selector}{after}", seqs_of(chain))
        return Verdict(True, "seq " + ", then ".join(str(entry.seq) for entry in chain), seqs_of(chain))

    def stands(self, work: Work) -> bool:
        return len(self._chain()) == len(self._selections)

    def _chain(self) -> list[Entry]:
        """One of each as far as there are: the earliest that fits leaves the most room for what follows. Raises
        CheckBroken where that could not be read."""
        chain: list[Entry] = []
        for selection in self._selections:
            found = selection.found.after(chain[-1].place if chain else 0)
            if found is None:
                break
            chain.append(readable(found))
        return chain


@dataclass(frozen=True, slots=True)
class WithinCheck:
    """Passes when some `first` has a `then` after it, no further away than the limit. Everyone's events are counted, so
    an agent can stretch a distance in events by doing more; one in seconds by `recorded_at` it cannot."""

    first: Selector
    then: Selector
    distance: Distance

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
        self._nearest = Nearest(check.distance)
        self._folding: Folding | None = None
        self.types = first.types | then.types

    def step(self, event: Event) -> None:
        self._first.step(event)
        self._then.step(event)

    def result(self, work: Work) -> Verdict:
        check = self._check
        pair = self._pair()
        if pair is None:
            return Verdict(False, f"no {check.then} within {check.distance} of {check.first}")
        return Verdict(True, f"seq {pair[0].seq}, then {pair[1].seq} within {check.distance}", seqs_of(pair))

    def stands(self, work: Work) -> bool:
        self._folding = self._folding or Folding(self._nearest, [self._then, self._first])
        self._folding.follow()
        return self._nearest.found()

    def _pair(self) -> tuple[Entry, Entry] | None:
        """The earliest `then` that is near enough, with the nearest `first` before it."""
        point, reach = self._check.distance.point, self._check.distance.reach
        firsts = self._first.outcomes()
        known: list[tuple[float, int, Entry]] = []
        at = 0
        for outcome in self._then.outcomes():
            then = readable(outcome)
            while at < len(firsts) and firsts[at].place < then.place:
                first = readable(firsts[at])
                insort(known, (point(first), first.place, first))
                at += 1
            # From here on back, the nearest is the last one that is not later by the clock.
            nearest = bisect_left(known, (point(then), then.place)) - 1
            if nearest >= 0 and point(then) - known[nearest][0] <= reach:
                return known[nearest][2], then
        return None


@dataclass(frozen=True, slots=True)
class BeforeCheck:
    """Passes when every `then` has a `first` before it. One `first` is enough for all that follows, so this says: the
    first `first` stands before the first `then`. A run without a `then` passes.

    Whatever could be a `then` is guarded, whoever wrote it, and only a believed `first` guards it.
    """

    first: Selector
    then: Selector

    @property
    def demand(self) -> Demand:
        return Demand.LIMIT

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.first, self.then)

    def begin(self, context: Context, *, negated: bool) -> Running:
        """The check under way. In an odd number of `none_of` it looks for a believed `then` without any `first`.
        Raises CheckBroken where the reference it needs is missing."""
        views = limiting_views([self.first] if negated else [self.then])
        runs: list[Running] = [
            BeforeRunning(
                Selection(self.first, context, view if negated else View.BELIEVED),
                Selection(self.then, context, View.BELIEVED if negated else view),
            )
            for view in views
        ]
        return runs[0] if len(runs) == 1 else Twice(runs, negated=negated)


class BeforeRunning:
    def __init__(self, first: Selection, then: Selection) -> None:
        self._first = first
        self._then = then
        self.types = first.types | then.types

    def step(self, event: Event) -> None:
        self._first.step(event)
        self._then.step(event)

    def result(self, work: Work) -> Verdict:
        firsts = self._first.outcomes()
        guard = next((first for first in firsts if isinstance(first, Entry)), None)
        blind = next((first for first in firsts if isinstance(first, Unread)), None)
        bare = [then for then in self._then.outcomes() if guard is None or then.place <= guard.place]
        certain = [then for then in bare if isinstance(then, Entry) and (blind is None or then.place <= blind.place)]
        if certain:
            return Verdict(
                False, f"no {self._first.selector} before {self._then.selector} {at(certain)}", seqs_of(certain)
            )
        if bare:
            unread = next((outcome for outcome in bare if isinstance(outcome, Unread)), blind)
            assert unread is not None
            raise unread.error()
        if guard is None:
            return Verdict(True, f"no {self._then.selector}")
        return Verdict(True, f"{self._first.selector} {at([guard])} comes first", guard.seqs)

    def stands(self, work: Work) -> bool:
        guard, blind = self._first.found.first_entry(), self._first.found.first_unread()
        then, certain = self._then.found.after(0), self._then.found.first_entry()
        if certain is not None and not _guards(guard, certain) and not _guards(blind, certain):
            return False
        if then is not None and not _guards(guard, then):
            unread = self._then.found.first_unread()
            doubt = blind if unread is None or _guards(guard, unread) else unread
            assert doubt is not None
            raise doubt.error()
        return True


def _guards(first: Outcome | None, then: Outcome) -> bool:
    return first is not None and first.place < then.place
