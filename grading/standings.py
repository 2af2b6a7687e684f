"""Standings: how an incremental check stands after each event of a run.

The run is gone through once, and the check asked where it may stand otherwise than before: a check of a document after
each event that it heeds, any other after each. A check of a document is asked only how it stands, which costs what has
changed; that it is what a verdict would say is the reducers' own promise (`Running.stands`). Where much has to be
looked at again and again all the same, the curve is refused: by what is counted, so everywhere at the same event.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from grading.checks import IncrementalCheck, Reducer, Verdict, as_broken, as_verdict
from grading.errors import GradingError
from grading.kinds.combination import DocumentReducer
from grading.outcomes import Cause, Changes, Outcome
from grading.prefixes import Prefixes
from spine import Event

MAX_LOOKED_AT: Final = 10_000_000
"""So much may be looked at to ask how a check stands, in entries, steps and hundreds of bytes. For most checks that is
a few for each event."""


class CurveRefused(GradingError):
    """A curve would take too long: it cannot be drawn without looking at the same events very many times."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The places from `first` to `last` of a run, after which the same reference holds."""

    first: int
    last: int


def stretches(prefixes: Prefixes) -> list[Stretch]:
    """A run in stretches of one reference each. A check is started with the reference, so each goes from the front."""
    first = prefixes.references()
    last = [*(place - 1 for place in first[1:]), len(prefixes.events)]
    return [Stretch(*ends) for ends in zip(first, last, strict=True)]


def standings(check: IncrementalCheck, prefixes: Prefixes, over: Sequence[Stretch]) -> Changes:
    """How the check stands at each place, where that differs from the place before. Raises CurveRefused, and what says
    nothing of check and evidence."""
    changes: Changes = []
    asking = _Asking(check, prefixes)
    for stretch in over:
        for place, outcome in asking.over(stretch):
            if not changes or changes[-1][1] != outcome:
                changes.append((place, outcome))
    return changes


def settled(ask: Callable[[], object]) -> Outcome:
    """How a check stands that is asked so. Raises what says nothing of check and evidence."""
    try:
        return as_verdict(ask()).passed
    except Exception as error:
        return _cause(error)


def _cause(error: Exception) -> Cause:
    broken = as_broken(error)
    if broken is None:
        raise error
    return Cause.of(broken)


class _Asking:
    """A check that is asked again and again, and how much was looked at for that."""

    def __init__(self, check: IncrementalCheck, prefixes: Prefixes) -> None:
        self._check: Final = check
        self._prefixes: Final = prefixes
        self._shares: Final = getattr(check, "shares_events", False)
        self._before = 0
        """What was looked at in the stretches before."""

    def over(self, stretch: Stretch) -> Iterator[tuple[int, Outcome]]:
        """How it stands at the first place of the stretch, and wherever it may stand otherwise."""
        place = 0
        evidence = self._prefixes.at(stretch.first)
        try:
            under_way = _UnderWay(self._check.start(evidence.expected(), evidence.supplied_answers))
            if stretch.first == 0:
                yield 0, under_way.stands()
            for place, event in enumerate(self._prefixes.events[: stretch.last], 1):
                under_way.reducer.step(event if self._shares else Event(event.row))
                if place == stretch.first or (place > stretch.first and under_way.heeds(event)):
                    yield place, under_way.stands()
                self._check_effort(under_way, place)
        except CurveRefused:
            raise
        except Exception as error:
            yield max(place, stretch.first), _cause(error)
        else:
            self._before += under_way.looked_at

    def _check_effort(self, under_way: "_UnderWay", place: int) -> None:
        looked_at = self._before + under_way.looked_at
        if looked_at > MAX_LOOKED_AT:
            raise CurveRefused(
                f"how its check stands cannot be followed from one event to the next: at event {place:,} of"
                f" {len(self._prefixes.events):,} asking had looked at {looked_at:,} entries, steps and hundreds of"
                f" bytes, of at most {MAX_LOOKED_AT:,}. Grading the run is not affected; for a curve, let the check"
                " select fewer events (where, call), or want fewer values of events (want)"
            )


class _UnderWay:
    """A check under way. One of a document can say how it stands without making a verdict."""

    def __init__(self, reducer: Reducer) -> None:
        self.reducer: Final = reducer
        self._document: Final = reducer if isinstance(reducer, DocumentReducer) else None

    def heeds(self, event: Event) -> bool:
        return self._document is None or self._document.heeds(event)

    def stands(self) -> Outcome:
        document = self._document
        return settled(self.reducer.result if document is None else lambda: Verdict(document.stands(), ""))

    @property
    def looked_at(self) -> int:
        return 0 if self._document is None else self._document.looked_at
