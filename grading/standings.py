"""Standings: how an incremental check stands after each event of a run.

A check is asked again only when it may answer differently. That is seen at its leaves: one of a kind whose answer hangs
on the events it was given answers as before until it is given one, and for one whose standing can be foreseen it is
known when it changes. What the answers come to is left to the check itself, budget and all, so a standing is what
grading the prefix anew would find. A check with a part of another kind is asked after every event.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from grading.budget import Budget, OutOfBudget, Work
from grading.checks import IncrementalCheck, Reducer, Verdict, as_broken, as_verdict
from grading.errors import CheckBroken, GradingError
from grading.foresight import Cause, Changes, Heard, Outcome, Sight, foresee, provable
from grading.kinds.agreement import CompareCheck
from grading.kinds.base import Demand, Leaf, Running
from grading.kinds.combination import AtLeast, Combination, DocumentCheck, Node
from grading.kinds.order import SequenceCheck, WithinCheck
from grading.kinds.presence import AbsentCheck, AnswerCheck, CountCheck, EventCheck, LastCheck
from grading.prefixes import Prefixes
from grading.selectors import Context, Selector, View
from grading.trust import NAMED_ONLY
from spine import Event

_BY_WHAT_IS_GIVEN: Final = (
    *(EventCheck, AbsentCheck, CountCheck, LastCheck, AnswerCheck),
    *(SequenceCheck, WithinCheck, CompareCheck),
)
"""Kinds whose answer changes only by an event of the types they hear of, never by where the run has come to."""

MAX_ASKED_ABOUT: Final = 100_000_000
"""So many events, counted again each time, a check of which nothing is foreseen may be asked about: 14,000 in a row."""

_FORESEEN_FROM: Final = 100
"""With fewer events to hear, asking after each costs less than foreseeing."""


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
    """How the check stands at each place, where that differs from the place before. Raises what says nothing of check
    and evidence."""
    changes: Changes = []
    for stretch in over:
        for place, outcome in _standings(check, prefixes, stretch):
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


def _standings(check: IncrementalCheck, prefixes: Prefixes, stretch: Stretch) -> Iterator[tuple[int, Outcome]]:
    shares = getattr(check, "shares_events", False)
    pulse = _Pulse()
    events = prefixes.events[: stretch.last]
    place = 0
    try:
        reducer = _started(check, prefixes, stretch, events, pulse)
        for place, event in enumerate(events, 1):
            if place > stretch.first and (place - 1 == stretch.first or pulse.beats()):
                yield place - 1, settled(reducer.result)
            if pulse.asked_about > MAX_ASKED_ABOUT:
                break
            reducer.step(event if shares else Event(event.row))
    except Exception as error:
        yield max(place, stretch.first), _cause(error)
        return
    if pulse.asked_about > MAX_ASKED_ABOUT:
        raise CurveRefused(
            f"a check has to be asked anew after every event that it hears of: at event {place:,} of {stretch.last:,}"
            f" that came to more than {MAX_ASKED_ABOUT:,} looked at"
        )
    yield stretch.last, settled(reducer.result)


def _started(
    check: IncrementalCheck, prefixes: Prefixes, stretch: Stretch, events: Sequence[Event], pulse: "_Pulse"
) -> Reducer:
    evidence = prefixes.at(stretch.first)
    expected, answers = evidence.expected(), evidence.supplied_answers
    if type(check) is DocumentCheck:
        watch = _Watch(pulse, Sight(expected, answers, check.budget), events, any(event.erased for event in events))
        return replace(check, node=_watched(check.node, watch)).start(expected, answers)
    pulse.always = True
    return check.start(expected, answers)


class _Pulse:
    """Whether a check may stand otherwise than when this was asked last; and how much its parts were asked about."""

    def __init__(self) -> None:
        self.always = False
        self.asked_about = 0
        self.felt = False

    def beats(self) -> bool:
        felt, self.felt = self.felt, False
        return felt or self.always


@dataclass(frozen=True, slots=True)
class _Watch:
    """What the leaves of a check under way share."""

    pulse: _Pulse
    sight: Sight
    events: Sequence[Event]
    erased: bool

    def heard(self, types: frozenset[str]) -> list[Heard]:
        found: list[Heard] = []
        ordinal = 0
        for place, event in enumerate(self.events, 1):
            ordinal += event.type not in NAMED_ONLY
            if event.type in types:
                found.append(Heard(place, ordinal, event))
        return found


def _watched(node: Node, watch: _Watch) -> Node:
    """The same check with those of its leaves watched that answer by what they are given."""
    if isinstance(node, Combination | AtLeast):
        return replace(node, of=tuple(_watched(part, watch) for part in node.of))
    if isinstance(node, _BY_WHAT_IS_GIVEN):
        # Nodes are a closed set; but a leaf is begun, stepped and asked like any other, whatever it is.
        return cast("Node", _WatchedLeaf(node, watch))
    watch.pulse.always = True
    return node


@dataclass(frozen=True, slots=True)
class _WatchedLeaf:
    leaf: Leaf
    watch: _Watch

    @property
    def demand(self) -> Demand:
        return self.leaf.demand

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return self.leaf.selectors

    def begin(self, context: Context, view: View) -> Running:
        running = self.leaf.begin(context, view)
        changes = self._foreseen(running, view)
        if changes is None:
            return _Asked(running, self.watch.pulse, self.watch.sight.budget)
        return _Foreseen(running, self.watch.pulse, context, changes)

    def _foreseen(self, running: Running, view: View) -> Changes | None:
        watch = self.watch
        heard = watch.heard(running.types)
        if len(heard) < _FORESEEN_FROM:
            return None
        known = provable(self.leaf, erased=watch.erased)
        return None if known is None else foresee(self.leaf, view, known, watch.sight, heard)


class _Foreseen:
    """A leaf under way whose standing at each place is known. It is stepped all the same: that uses up the budget."""

    def __init__(self, running: Running, pulse: _Pulse, context: Context, changes: Changes) -> None:
        self._running: Final = running
        self._pulse: Final = pulse
        self._context: Final = context
        self._changes: Final = dict(changes)
        self._now: Outcome = self._changes[0]
        self.types: Final = running.types

    def step(self, event: Event) -> None:
        changed = self._changes.get(self._context.place)
        if changed is not None:
            self._now = changed
            self._pulse.felt = True
        try:
            self._running.step(event)
        except OutOfBudget:
            self._pulse.felt = True
            raise

    def result(self, work: Work) -> Verdict:
        return _verdict(self._now)


class _Asked:
    """A leaf under way that is asked again only when it was given something since. Asking it uses what it used."""

    def __init__(self, running: Running, pulse: _Pulse, budget: Budget) -> None:
        self._running: Final = running
        self._pulse: Final = pulse
        self._budget: Final = budget
        self._answer: Outcome | None = None
        self._used = Budget(0, 0)
        self._heard = 0
        self.types: Final = running.types

    def step(self, event: Event) -> None:
        self._answer = None
        self._pulse.felt = True
        self._heard += 1
        self._running.step(event)

    def result(self, work: Work) -> Verdict:
        if self._answer is None:
            metered = _Metered(self._budget)
            self._pulse.asked_about += self._heard
            self._answer = self._asked(metered)
            self._used = metered.used
        work.step(self._used.steps)
        work.read(self._used.bytes)
        return _verdict(self._answer)

    def _asked(self, work: Work) -> Outcome:
        try:
            return self._running.result(work).passed
        except CheckBroken as broken:
            return Cause.of(broken)
        except OutOfBudget:
            return False  # more than there was is used up: whoever asks finds that out


def _verdict(outcome: Outcome) -> Verdict:
    """Raises CheckBroken."""
    if isinstance(outcome, Cause):
        raise CheckBroken(outcome.code, outcome.where)
    return Verdict(outcome, "")


class _Metered(Work):
    """Work that can say how much was used."""

    __slots__ = ("_whole",)

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self._whole: Final = budget

    @property
    def used(self) -> Budget:
        return Budget(self._whole.steps - self._steps, self._whole.bytes - self._bytes)
