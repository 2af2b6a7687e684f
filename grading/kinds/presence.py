"""event, absent, count, last, answer: whether something is among the events, how often, and what the last of it is."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from grading.budget import Work
from grading.checks import Verdict
from grading.errors import BrokenCode, CheckBroken
from grading.kinds.base import Demand, Running, at, seqs_of, sort_out
from grading.kinds.standing import Kept
from grading.operators import Operator
from grading.paths import Path
from grading.predicates import Asked, Mismatch, Predicate, Test
from grading.selectors import Context, Pick, Selection, Selector, Thing, View, value_of
from spine import Actor, Event, PayloadErased


@dataclass(frozen=True, slots=True)
class EventCheck:
    """Passes when the selector selects something: looked for from the front, up to the first that is found."""

    of: Selector

    @property
    def demand(self) -> Demand:
        return Demand.PRESENCE

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.of,)

    def begin(self, context: Context, view: View) -> Running:
        return CountRunning(self, Selection(self.of, context, view, enough=1))

    def holds(self, selection: Selection) -> bool:
        selection.found.check_readable()
        return selection.found.count() > 0

    def judge(self, selection: Selection) -> Verdict:
        entries = selection.entries()
        if entries:
            return Verdict(True, f"{self.of} {at(entries)}", seqs_of(entries))
        return Verdict(False, f"no {self.of}")


@dataclass(frozen=True, slots=True)
class AbsentCheck:
    """Passes when the selector selects nothing. One violation decides, whatever else could not be read."""

    of: Selector

    @property
    def demand(self) -> Demand:
        return Demand.LIMIT

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.of,)

    def begin(self, context: Context, view: View) -> Running:
        return CountRunning(self, Selection(self.of, context, view))

    def holds(self, selection: Selection) -> bool:
        if selection.found.count():
            return False
        selection.found.check_readable()
        return True

    def judge(self, selection: Selection) -> Verdict:
        entries, broken = sort_out(selection.outcomes())
        if entries:
            return Verdict(False, f"{self.of} {at(entries)}", seqs_of(entries))
        if broken is not None:
            raise broken
        return Verdict(True, f"no {self.of}")


class Bound(StrEnum):
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    EXACTLY = "exactly"


@dataclass(frozen=True, slots=True)
class CountCheck:
    """Passes when as many are selected as the bound says. `at_least` stops looking at enough; a bound that is passed is
    passed, whatever else could not be read."""

    of: Selector
    bound: Bound
    count: int

    @property
    def demand(self) -> Demand:
        demands = {Bound.AT_LEAST: Demand.PRESENCE, Bound.AT_MOST: Demand.LIMIT, Bound.EXACTLY: Demand.BOTH}
        return demands[self.bound]

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.of,)

    def begin(self, context: Context, view: View) -> Running:
        enough = self.count if self.bound is Bound.AT_LEAST else None
        return CountRunning(self, Selection(self.of, context, view, enough=enough))

    def holds(self, selection: Selection) -> bool:
        found = selection.found.count()
        if self.bound is not Bound.AT_LEAST and found > self.count:
            return False
        selection.found.check_readable()
        return self.bound is Bound.AT_MOST or found >= self.count

    def judge(self, selection: Selection) -> Verdict:
        entries, broken = sort_out(selection.outcomes())
        found = len(entries)
        over = self.bound is not Bound.AT_LEAST and found > self.count
        if broken is not None and not over:
            raise broken
        enough = self.bound is Bound.AT_MOST or found >= self.count
        detail = f"{self.of}: {found}, {self.bound.replace('_', ' ')} {self.count}"
        return Verdict(enough and not over, detail, seqs_of(entries))


@dataclass(slots=True)
class CountRunning:
    """A check of one selection, which is judged by what is in it."""

    check: EventCheck | AbsentCheck | CountCheck
    selection: Selection

    @property
    def types(self) -> frozenset[str]:
        return self.selection.types

    def step(self, event: Event) -> None:
        self.selection.step(event)

    def result(self, work: Work) -> Verdict:
        return self.check.judge(self.selection)

    def stands(self, work: Work) -> bool:
        return self.check.holds(self.selection)


@dataclass(frozen=True, slots=True)
class LastCheck:
    """Passes when the last that is selected fits a predicate; fails when nothing is selected. It is looked for from the
    end: what stands before it need not be readable, and no other payload is opened for `fits`."""

    of: Selector
    fits: Predicate

    @property
    def demand(self) -> Demand:
        return Demand.PRESENCE

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.of if self.of.pick else replace(self.of, pick=Pick.LAST),)

    def begin(self, context: Context, view: View) -> Running:
        selection = Selection(self.selectors[0], context, view, keep=_itself)
        return LastRunning(f"the last {self.of}", f"no {self.of}", selection, self.fits.bind(context.expected))


@dataclass(slots=True)
class LastRunning:
    """The last of a selection, and what is asked of it."""

    named: str
    nothing: str
    selection: Selection
    fits: Asked
    nothing_passes: bool = False
    _kept: Kept = field(init=False)

    def __post_init__(self) -> None:
        self._kept = Kept(self.selection.context)

    @property
    def types(self) -> frozenset[str]:
        return self.selection.types

    def step(self, event: Event) -> None:
        self.selection.step(event)

    def result(self, work: Work) -> Verdict:
        entries = self.selection.entries()
        if not entries:
            return Verdict(self.nothing_passes, self.nothing)
        passed = _fits(self.fits, entries[-1].kept, entries[-1].seq, work)
        what = "fits" if passed else "does not fit"
        return Verdict(passed, f"{self.named}, {at(entries[-1:])}, {what}", entries[-1].seqs)

    def stands(self, work: Work) -> bool:
        return self._kept.ask(self.selection.found.version, lambda work: self.result(work).passed, work)


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """Passes when the run's last answer under the key fits. `test` is about the answer; no answer is a missing path."""

    key: str
    test: Test
    trust: frozenset[Actor] | None = None

    @property
    def demand(self) -> Demand:
        unwanted = self.test.operator is Operator.EXISTS and not self.test.operand
        return Demand.LIMIT if unwanted else Demand.PRESENCE

    @property
    def selectors(self) -> tuple[Selector, ...]:
        asked = Test(Path(("key",)), Operator.EQ, self.key)
        return (Selector(("answer.given",), trust=self.trust, where=asked, pick=Pick.LAST),)

    def begin(self, context: Context, view: View) -> Running:
        fits = self.test.bind(context.expected)
        nothing_passes = self.demand is Demand.LIMIT
        if context.answers is not None:
            return SuppliedAnswer(self, context, context.answers.get(self.key), fits)
        selection = Selection(self.selectors[0], context, view, keep=_itself)
        named, nothing = f"the answer for {self.key}", f"no answer for {self.key}"
        return LastRunning(named, nothing, selection, fits, nothing_passes=nothing_passes)


class SuppliedAnswer:
    """An answer that was supplied with the evidence: no event decides, so none is cited."""

    types = frozenset[str]()

    def __init__(self, check: AnswerCheck, context: Context, answer: str | None, fits: Asked) -> None:
        self._key = check.key
        self._answer = answer
        self._fits = fits
        self._nothing_passes = check.demand is Demand.LIMIT
        self._kept = Kept(context)

    def step(self, event: Event) -> None:
        """Events say nothing here."""

    def result(self, work: Work) -> Verdict:
        if self._answer is None:
            return Verdict(self._nothing_passes, f"no answer for {self._key}")
        try:
            passed = self._fits({"key": self._key, "answer": self._answer}, work)
        except Mismatch as error:
            where = f"the supplied answer for {self._key}: {error.path}: {error.what}"
            raise CheckBroken(BrokenCode.WRONG_TYPE, where) from None
        return Verdict(passed, f"the supplied answer for {self._key} {'fits' if passed else 'does not fit'}")

    def stands(self, work: Work) -> bool:
        return self._kept.ask(self._key, lambda work: self.result(work).passed, work)


def _itself(thing: Thing, work: Work) -> Thing:
    return thing


def _fits(fits: Asked, thing: Any, seq: int, work: Work) -> bool:
    try:
        return fits(value_of(thing), work)
    except Mismatch as error:
        raise CheckBroken(BrokenCode.WRONG_TYPE, f"seq {seq}: {error.path}: {error.what}") from None
    except PayloadErased as error:
        raise CheckBroken(BrokenCode.EVIDENCE_ERASED, f"seq {error.seq}") from None
