"""Foresight: how a check of a document stands after each event, without asking it after each.

Asking some kinds costs as much as they have selected. But a standing that cannot come back once it was left need not be
asked for between two places where it is the same. That is provable where a selection can only grow:

- *In order*: what is selected, and what cannot be read, is only ever added at the end. Then what looks for something
  fails until it passes, or breaks, for good; a limit holds, perhaps breaks, and fails for good.
- *Out of order*: a call is selected when it returned, but stands where it was made. As long as all of it can be read,
  what looks for something fails until it passes, and a limit holds until it fails.

`count exactly` and `compare` as `same` fail before and after they pass: asked together with their limit, the pair of
answers does not come back. For all else (`latest_by`, `pick: last`, a `want` that events give, kinds that are not known
here) there is no foresight, and the check is asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

from grading.budget import Budget, OutOfBudget, Work
from grading.calls import RETURN_KEYS
from grading.checks import recordable
from grading.errors import BrokenCode, CheckBroken
from grading.kinds.agreement import CompareCheck, How
from grading.kinds.base import Leaf, Running
from grading.kinds.order import SequenceCheck, WithinCheck
from grading.kinds.presence import AbsentCheck, Bound, CountCheck, EventCheck
from grading.operators import Operator
from grading.paths import Path
from grading.predicates import AllOf, AnyOf, Items, Not, Predicate, Test
from grading.selectors import Context, Pick, Selector, View
from grading.values import Expected, Selected
from spine import Event

_UNBOUNDED: Final = 2**53
_PARTS: Final = 16
"""A stretch in which a standing changed is asked at so many places the next time."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a check gives no verdict."""

    code: BrokenCode
    where: str

    @classmethod
    def of(cls, broken: CheckBroken) -> "Cause":
        return cls(broken.code, recordable(broken.where))


Outcome: TypeAlias = bool | Cause
"""How a check stands: passed, failed, or why it is broken."""

Changes: TypeAlias = list[tuple[int, Outcome]]
"""How a check stands from a place on, in order of places, where that differs from before. (The place of an event is its
number among the events of evidence, from 1; 0 is before the first.)"""


@dataclass(frozen=True, slots=True)
class Heard:
    """An event that a check has to be given, with what its context says there."""

    place: int
    ordinal: int
    event: Event


@dataclass(frozen=True, slots=True)
class Sight:
    """What a run is graded with: the reference, supplied answers, and the budget of the check."""

    expected: Mapping[str, Any] | None
    answers: Mapping[str, str] | None
    budget: Budget


@dataclass(frozen=True, slots=True)
class Provable:
    """A standing that does not come back: neither alone, nor together with that of `beside`; if out of order, provided
    that at the end each of `readable` passes."""

    beside: tuple[Leaf, ...] = ()
    readable: tuple[Leaf, ...] = ()


def provable(leaf: Leaf, *, erased: bool) -> Provable | None:
    """Whether the leaf's standing cannot come back. `erased`: an event of the run is. None: nothing is known."""
    if not isinstance(leaf, AbsentCheck | CompareCheck | CountCheck | EventCheck | SequenceCheck | WithinCheck):
        return None
    if isinstance(leaf, CompareCheck) and not (isinstance(leaf.want, Expected) and isinstance(leaf.got, Selected)):
        return None
    selectors = leaf.selectors
    beside = _beside(leaf)
    if all(_in_order(selector, erased=erased) for selector in selectors) and _takes_what_stays(leaf):
        return Provable(beside)
    if erased or not all(_grows(selector, erased=erased) for selector in selectors):
        return None
    if not isinstance(leaf, CompareCheck):
        return Provable(beside, tuple(CountCheck(selector, Bound.AT_MOST, _UNBOUNDED) for selector in selectors))
    if leaf.how is How.SAID:
        return None
    # Held against itself a side has only what is wanted, and breaks by what cannot be read.
    return Provable(beside, (replace(leaf, want=leaf.got, how=How.ONLY),))


def foresee(leaf: Leaf, view: View, known: Provable, sight: Sight, heard: Sequence[Heard]) -> Changes | None:
    """How the leaf stands after each of the events it hears, by asking at some; None where it cannot be foreseen."""
    probes = [leaf, *known.beside]
    last = len(heard)
    if known.readable:
        clear = _ask([*known.readable], view, sight, heard, [last])
        if clear is None or not all(outcome is True for outcome in clear[last]):
            return None
    found: dict[int, tuple[Outcome, ...]] = {}
    wanted = _grid(last)
    while wanted:
        answers = _ask(probes, view, sight, heard, wanted)
        if answers is None:
            return None
        found |= answers
        wanted = _between(found)
    return list(_changes(found, heard))


def _ask(
    leaves: Sequence[Leaf], view: View, sight: Sight, heard: Sequence[Heard], wanted: Sequence[int]
) -> dict[int, tuple[Outcome, ...]] | None:
    """How the leaves stand after so many events as `wanted` says (ascending), in one pass. None when they use up the
    budget, or when asking uses any of it."""
    contexts = [Context(sight.expected, Work(sight.budget), sight.answers) for _ in leaves]
    found: dict[int, tuple[Outcome, ...]] = {}
    at = 0
    try:
        runnings = [leaf.begin(context, view) for leaf, context in zip(leaves, contexts, strict=True)]
        for stop in wanted:
            for one in heard[at:stop]:
                for running, context in zip(runnings, contexts, strict=True):
                    context.place, context.ordinal = one.place, one.ordinal
                    running.step(one.event)
            at = stop
            found[stop] = tuple(_outcome(running) for running in runnings)
    except (OutOfBudget, CheckBroken):
        return None
    return found


def _outcome(running: Running) -> Outcome:
    try:
        return running.result(Work(Budget(steps=0, bytes=0))).passed
    except CheckBroken as broken:
        return Cause.of(broken)


def _grid(last: int) -> list[int]:
    """Ever further apart: asking costs more the more was heard."""
    places = [0]
    while places[-1] < last:
        places.append(min(last, places[-1] + max(1, places[-1] // _PARTS)))
    return places


def _between(found: Mapping[int, tuple[Outcome, ...]]) -> list[int]:
    """Where to ask next: inside every stretch at whose ends the answers differ."""
    places = sorted(found)
    wanted: list[int] = []
    for first, last in pairwise(places):
        if found[first] != found[last]:
            wanted.extend(range(first + 1, last, max(1, (last - first) // _PARTS)))
    return wanted


def _changes(found: Mapping[int, tuple[Outcome, ...]], heard: Sequence[Heard]) -> Iterator[tuple[int, Outcome]]:
    before: Outcome | None = None
    for count in sorted(found):
        outcome = found[count][0]
        if outcome != before:
            yield (heard[count - 1].place if count else 0), outcome
        before = outcome


def _beside(leaf: Leaf) -> tuple[Leaf, ...]:
    if isinstance(leaf, CountCheck) and leaf.bound is Bound.EXACTLY:
        return (replace(leaf, bound=Bound.AT_MOST),)
    if isinstance(leaf, CompareCheck) and leaf.how is How.SAME:
        return (replace(leaf, how=How.ONLY),)
    return ()


def _in_order(selector: Selector, *, erased: bool) -> bool:
    """Whether outcomes are only added, at the end, and stay as they are."""
    if selector.latest_by is not None or selector.pick is Pick.LAST:
        return False
    if selector.tools is None:
        return True
    return not erased and (selector.where is None or not _sees_returns(selector.where))


def _takes_what_stays(leaf: Leaf) -> bool:
    """Whether the values that are compared are those of a call when it was made, where they are those of calls."""
    if not isinstance(leaf, CompareCheck) or not isinstance(leaf.got, Selected) or leaf.got.of.tools is None:
        return True
    take = leaf.got.take
    paths = take if isinstance(take, tuple) else (take or Path(),)
    return not any(_is_of_return(path) for path in paths)


def _grows(selector: Selector, *, erased: bool) -> bool:
    """Whether outcomes are only added, wherever it is, and what is added stays selected."""
    if selector.pick is None and selector.latest_by is None and selector.tools is not None:
        return not erased and selector.where is not None and _waits(selector.where)
    return selector.tools is None and _in_order(selector, erased=erased)


def _waits(predicate: Predicate) -> bool:
    """Whether it cannot hold before the call returned, and breaks before only as it would afterwards."""
    if isinstance(predicate, Test):
        return predicate.path.steps == ("returned",) and predicate.operator is Operator.EQ and predicate.operand is True
    if isinstance(predicate, AllOf):
        for part in predicate.of:  # left to right, and it stops when decided
            if _waits(part):
                return True
            if _sees_returns(part):
                return False
    return False


def _sees_returns(predicate: Predicate) -> bool:
    match predicate:
        case Test(path=path) | Items(path=path):
            return _is_of_return(path)
        case AllOf(of=parts) | AnyOf(of=parts):
            return any(map(_sees_returns, parts))
        case Not(of=part):
            return _sees_returns(part)


def _is_of_return(path: Path) -> bool:
    return not path.steps or path.steps[0] in RETURN_KEYS
