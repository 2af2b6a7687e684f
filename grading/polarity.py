"""Polarity: whether a check asks for something to be there, forbids something, does both, or asks for an order.

What a check asks for follows from its kind. A check written in Python says it by an attribute, `polarity`; one that
says nothing, and a kind of check that is not known here, claims nothing.

A call and its return are one thing here, as they are in the language.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from typing import Final

from grading.checks import Check
from grading.kinds.agreement import CompareCheck, How
from grading.kinds.base import Demand
from grading.kinds.combination import AtLeast, Combination, DocumentCheck, Junction, Node, ReachedCheck
from grading.kinds.gaps import GapCheck
from grading.kinds.judged import JudgedCheck
from grading.kinds.order import BeforeCheck, SequenceCheck, WithinCheck
from grading.kinds.presence import AbsentCheck, AnswerCheck, Bound, CountCheck, EventCheck, LastCheck
from grading.kinds.repetition import ConfirmedCheck, RepeatedCheck
from grading.kinds.spend import BudgetCheck, SumCheck
from grading.kinds.trajectory import Match, TrajectoryCheck
from grading.selectors import Selector
from grading.values import Expected, Selected


class Polarity(StrEnum):
    """What a check asks of the events it is about."""

    PRESENCE = "presence"
    """Something to be there. Events that are dropped or come in another order never make it pass; nor do repeated ones,
    unless it counts."""
    FORBIDS = "forbids"
    """Something not to be there, or not too much of it."""
    BOTH = "both"
    ORDER = "order"
    """Something to come before, soon after, or last."""
    UNKNOWN = "unknown"
    """It claims nothing."""


class Change(StrEnum):
    """What may befall the events of a run on their way to a grader."""

    DROPPED = "dropped"
    REORDERED = "reordered"
    DUPLICATED = "duplicated"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a check asks for; `counts`: an event that is there twice is two to it."""

    polarity: Polarity
    counts: bool = False

    @property
    def withstands(self) -> frozenset[Change]:
        """The changes that never turn it from failed to passed."""
        if self.polarity is not Polarity.PRESENCE:
            return frozenset()
        return frozenset(Change) - ({Change.DUPLICATED} if self.counts else set())


_UNKNOWN: Final = Claim(Polarity.UNKNOWN)
_ORDER: Final = Claim(Polarity.ORDER)
_BOTH: Final = Claim(Polarity.BOTH)
_FORBIDS: Final = Claim(Polarity.FORBIDS)
_PRESENCE: Final = Claim(Polarity.PRESENCE)

_TURNED: Final = {Polarity.PRESENCE: Polarity.FORBIDS, Polarity.FORBIDS: Polarity.PRESENCE}
_OF_DEMAND: Final = {Demand.PRESENCE: _PRESENCE, Demand.LIMIT: _FORBIDS, Demand.BOTH: _BOTH}


def claim_of(check: Check | None) -> Claim:
    """What a check claims: derived for a document's, declared (`polarity = "presence"`) by one in Python."""
    if isinstance(check, DocumentCheck):
        return _node(check.node)
    try:
        return Claim(Polarity(getattr(check, "polarity", Polarity.UNKNOWN)))
    except ValueError:
        return _UNKNOWN


def _node(node: Node) -> Claim:
    match node:
        case Combination(Junction.NONE_OF, of):
            return _turned(_joined(map(_node, of)))
        case Combination(_, of) | AtLeast(_, of):
            return _joined(map(_node, of))
        case ReachedCheck():
            return _ORDER  # fewer events are a shorter way
        case BeforeCheck() | ConfirmedCheck() | SequenceCheck() | WithinCheck() | GapCheck():
            return _ORDER
        case LastCheck() | JudgedCheck():
            return _ORDER  # without the last one, another is
        case _:
            return _leaf(node)


def _leaf(node: Node) -> Claim:
    match node:
        case EventCheck(of):
            return _looking_for(of)
        case CountCheck(of, Bound.AT_LEAST, count):
            return _looking_for(of, counts=count > 1)
        case CountCheck():
            return replace(_OF_DEMAND[node.demand], counts=True)
        case AbsentCheck(of):
            return _FORBIDS if _is_plain(of) else _BOTH
        case AnswerCheck():
            return _FORBIDS if node.demand is Demand.LIMIT else _ORDER
        case SumCheck(bound=bound):
            return _FORBIDS if bound is Bound.AT_MOST else _BOTH  # an amount below zero takes away from the others
        case CompareCheck():
            return _compare(node)
        case TrajectoryCheck(of=of, how=how):
            if how is Match.SUPERSET:
                return _looking_for(of, counts=True)
            return _ORDER if how is Match.STRICT else _OF_DEMAND[node.demand]
        case BudgetCheck() | RepeatedCheck():
            return _OF_DEMAND[node.demand]
        case _:
            return _UNKNOWN


def _compare(check: CompareCheck) -> Claim:
    if check.how not in (How.EVERY, How.SAID):
        return _OF_DEMAND[check.demand]
    if not isinstance(check.want, Expected) or not isinstance(check.got, Selected):
        return _BOTH  # fewer events are fewer wishes
    return _looking_for(check.got.of, counts=check.how is How.EVERY)


def _looking_for(selector: Selector, *, counts: bool = False) -> Claim:
    """Where only the newest or the last is looked at, an event that is dropped can let an older one count."""
    return Claim(Polarity.PRESENCE, counts) if _is_plain(selector) else _ORDER


def _is_plain(selector: Selector) -> bool:
    return selector.latest_by is None and selector.pick is None


def _turned(claim: Claim) -> Claim:
    return replace(claim, polarity=_TURNED.get(claim.polarity, claim.polarity))


def _joined(claims: Iterable[Claim]) -> Claim:
    return reduce(_both, claims)


def _both(one: Claim, other: Claim) -> Claim:
    counts = one.counts or other.counts
    met = {one.polarity, other.polarity}
    for stronger in (Polarity.UNKNOWN, Polarity.ORDER, Polarity.BOTH):
        if stronger in met:
            return Claim(stronger, counts)
    return Claim(one.polarity if len(met) == 1 else Polarity.BOTH, counts)
