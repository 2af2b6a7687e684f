"""reached: whether a check passed soon enough after the run began, or before too much was spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Protocol, TypeAlias

from grading.budget import Work
from grading.checks import Verdict
from grading.course import Course, Point
from grading.errors import CheckBroken
from grading.kinds.agreement import CompareCheck, How
from grading.kinds.amounts import NOTHING, added
from grading.kinds.base import Running, cited
from grading.kinds.distance import Distance
from grading.kinds.order import SequenceCheck, WithinCheck
from grading.kinds.presence import AnswerCheck, Bound, CountCheck, EventCheck, LastCheck
from grading.kinds.spend import CHARGED, Accounts, BudgetCheck, SumCheck, charge_of, unread
from grading.predicates import Mismatch
from grading.selectors import Context, Pick, Selector
from grading.trust import default_trust
from grading.values import Expected, Selected
from spine import Actor, Event, PayloadErased


class Window(Protocol):
    """The part of a run, from its start, in which a check has to pass."""

    @property
    def types(self) -> frozenset[str]:
        """The event types it has to hear of, besides those of the check."""

    @property
    def doubt(self) -> CheckBroken | None:
        """Why it is not known whether it is still open."""

    def takes(self, event: Event) -> bool | None:
        """Whether the event is in it; None for one that ends it, with all that follow."""

    @property
    def start(self) -> Point | None:
        """What the last event it was asked about was measured from."""


@dataclass(frozen=True, slots=True)
class Charged:
    """At most this amount charged by `budget.charged` so far in a resource (and a scope, or all added up)."""

    amount: Decimal
    resource: str
    scope: str | None = None

    def __str__(self) -> str:
        return f"{self.amount} {self.resource} charged" + ("" if self.scope is None else f" to {self.scope}")


Measure: TypeAlias = Distance | Charged


def window(measure: Measure, context: Context, *, negated: bool) -> Window:
    """The window of that measure, over the events of a run under way."""
    if isinstance(measure, Distance):
        return _Stretch(measure, context.follow(), negated=negated)
    return _Spending(measure, context, negated=negated)


class _Stretch:
    """A window of a distance from the start of the run."""

    types = frozenset({"run.started"})
    doubt = None

    def __init__(self, distance: Distance, course: Course, *, negated: bool) -> None:
        self._distance = distance
        self._course = course
        self._negated = negated
        self.start: Point | None = None

    def takes(self, event: Event) -> bool | None:
        self.start = start = self._course.start(own=not self._negated)
        here, point = self._course.last, self._distance.point
        if start is None or here is None or point(here) - point(start) <= self._distance.reach:
            return True
        # Where passing is what must not be, an agent could end the window early by a time of its own.
        return False if self._negated and self._distance.forgeable and event.row.actor == Actor.AGENT else None


class _Spending:
    """A window of an amount. It ends for good with the charge that is too much."""

    types = frozenset({CHARGED})
    start = None

    def __init__(self, charged: Charged, context: Context, *, negated: bool) -> None:
        scopes = None if charged.scope is None else frozenset({charged.scope})
        self._accounts = Accounts(scopes, frozenset({charged.resource}))
        self._amount = charged.amount
        self._actors = default_trust(CHARGED) if negated else frozenset(Actor)
        self._context = context
        self._total = NOTHING
        self.doubt: CheckBroken | None = None

    def takes(self, event: Event) -> bool | None:
        row = event.row
        if row.type != CHARGED or row.actor not in self._actors:
            return True
        self._context.work.step()
        try:
            if self._accounts.key(event) is not None:
                self._total = added(self._total, charge_of(event))
        except (Mismatch, PayloadErased) as error:
            self.doubt = self.doubt or unread(event, error)
        return True if self._total <= self._amount else None


class ReachedRunning:
    """A check under way, up to where it has passed or its window has ended.

    A check that stays passed once it has needs to be asked only where the window ends. Every other is asked at each
    event that it hears of, for it passes when it has at any of them; and asking is work.
    """

    def __init__(
        self,
        inner: Running,
        measure: Measure,
        context: Context,
        *,
        leaves: Sequence[object],
        lasting: bool,
        negated: bool,
    ) -> None:
        self._inner: Final = inner
        self._measure: Final = measure
        self._work: Final = context.work
        self._leaves: Final = leaves
        self._lasting: Final = lasting
        self._window: Final = window(measure, context, negated=negated)
        self._heard = 0
        self._from: Point | None = None
        self._ended: int | None = None
        self._passed: Verdict | None = None
        self._broken: CheckBroken | None = None
        self.types: Final = inner.types | self._window.types
        if not lasting:
            self._ask()  # it may hold before anything has happened

    def step(self, event: Event) -> None:
        if self._ended is not None or self._passed is not None:
            return
        doubt = self._window.doubt
        taken = self._window.takes(event)
        other = self._window.doubt is not doubt or self._window.start is not self._from
        if self._lasting and other and self._ask(certain=True):
            return  # by the window as it was
        self._from = self._window.start
        if taken is None:
            self._ended = event.seq
            return
        if taken and event.row.type in self._inner.types:
            self._inner.step(event)
            self._heard += 1
            if not self._lasting:
                self._ask()

    def result(self, work: Work) -> Verdict:
        passed, broken = self._passed, self._broken
        if self._lasting and passed is None:
            verdict = self._inner.result(work)
            broken = self._window.doubt if verdict.passed else None
            passed = verdict if verdict.passed and broken is None else None
        if passed is not None:
            return Verdict(True, f"{self._named('reached')}: {passed.detail}", self._cited(passed.citations))
        if broken is not None:
            raise CheckBroken(broken.code, broken.where)
        if self._ended is None:
            return Verdict(False, self._named("not reached"), self._cited(()))
        return Verdict(False, f"{self._named('not reached')}, over at seq {self._ended}", self._cited((self._ended,)))

    def stands(self, work: Work) -> bool:
        if self._passed is not None:
            return True
        if self._lasting:
            passed = self._inner.stands(work)
            if passed and self._window.doubt is not None:
                raise CheckBroken(self._window.doubt.code, self._window.doubt.where)
            return passed
        if self._broken is not None:
            raise CheckBroken(self._broken.code, self._broken.where)
        return False

    def _ask(self, *, certain: bool = False) -> bool:
        """Ask the check; whether it has passed in the window. `certain`: it is known to be open."""
        self._work.step(1 + sum(cost(leaf, self._heard) for leaf in self._leaves))
        try:
            if not self._inner.stands(self._work):
                return False
        except CheckBroken as error:
            self._broken = self._broken or error
            return False
        if self._window.doubt is not None and not certain:
            self._broken = self._broken or self._window.doubt
            return False
        self._passed = self._inner.result(Work())  # what that uses up was used up by asking how it stands
        return True

    def _named(self, what: str) -> str:
        begin = self._from
        return f"{what} within {self._measure}" + ("" if begin is None else f", from the start at seq {begin.seq}")

    def _cited(self, seqs: Sequence[int]) -> tuple[int, ...]:
        return cited([seqs, () if self._from is None else (self._from.seq,)])


_LOOKED_AT: Final = 2
"""How many of the events that a check was given are looked at in a step of the budget."""


def cost(leaf: object, heard: int) -> int:
    """The steps of asking a check that was given `heard` events, as a bound."""
    match leaf:
        case AnswerCheck() | BudgetCheck():
            return 1
        case EventCheck(of=of) | LastCheck(of=of) if of.latest_by is None:
            return 1
        case CountCheck(of=of, bound=Bound.AT_LEAST, count=count) if of.latest_by is None:
            return 1 + min(count, heard) // _LOOKED_AT
        case _:
            return 1 + heard // _LOOKED_AT


def lasting(leaf: object) -> bool:
    """Whether it stays passed once it has, by the same events, whatever follows. What looks at the newest or the last,
    at what calls returned, or for what is not there, does not."""
    match leaf:
        case EventCheck(of=of) | CountCheck(of=of, bound=Bound.AT_LEAST):
            return _stays(of)
        case SequenceCheck(of=several):
            return all(map(_stays, several))
        case WithinCheck(first=first, then=then):
            return _stays(first) and _stays(then)
        case SumCheck(of=of, bound=Bound.AT_LEAST):
            return _stays(of, opened=True)
        case CompareCheck(want=Expected(), got=got, how=How.EVERY | How.SAID):
            return not isinstance(got, Selected) or _stays(got.of, opened=True)
        case _:
            return False


def _stays(selector: Selector, *, opened: bool = False) -> bool:
    """`opened`: the check looks into what is selected."""
    waits = selector.tools is not None and (opened or selector.where is not None)  # for what a call returns
    return not waits and selector.latest_by is None and selector.pick is not Pick.LAST
