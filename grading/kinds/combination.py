"""all_of, any_of, none_of, at_least, reached: checks made of checks; and the whole check of a rung."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final, TypeAlias

from grading.budget import BUDGET, Budget, OutOfBudget, Work
from grading.checks import Reducer, Verdict, run_over
from grading.errors import BrokenCode, CheckBroken
from grading.evidence import Evidence
from grading.kinds.agreement import CompareCheck
from grading.kinds.base import Answering, Plain, Running, begun, cited, settle, start
from grading.kinds.gaps import GapCheck
from grading.kinds.judged import JudgedCheck
from grading.kinds.order import BeforeCheck, SequenceCheck, WithinCheck
from grading.kinds.presence import AbsentCheck, AnswerCheck, CountCheck, EventCheck, LastCheck
from grading.kinds.reached import Measure, ReachedRunning, lasting
from grading.kinds.repetition import ConfirmedCheck, RepeatedCheck
from grading.kinds.spend import BudgetCheck, SumCheck
from grading.kinds.trajectory import TrajectoryCheck
from grading.selectors import Context
from grading.trust import NAMED_ONLY
from spine import Event


class Junction(StrEnum):
    ALL_OF = "all_of"
    """Left to right, up to the first that fails."""
    ANY_OF = "any_of"
    """Left to right, up to the first that passes."""
    NONE_OF = "none_of"
    """One that passes decides, whatever else could not be read."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Checks joined by a word."""

    junction: Junction
    of: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Passes when `count` of the checks do: asked left to right, up to the last that is needed."""

    count: int
    of: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class ReachedCheck:
    """Passes when the check had passed at some point before `within` was over, whatever came after."""

    of: "Node"
    within: Measure


Leaf: TypeAlias = (
    EventCheck
    | AbsentCheck
    | CountCheck
    | LastCheck
    | AnswerCheck
    | SequenceCheck
    | WithinCheck
    | CompareCheck
    | GapCheck
    | SumCheck
    | BudgetCheck
    | JudgedCheck
    | TrajectoryCheck
    | RepeatedCheck
)
Node: TypeAlias = Leaf | BeforeCheck | ConfirmedCheck | Combination | AtLeast | ReachedCheck
Judge: TypeAlias = Callable[[Sequence[Answering], Work], Verdict]


@dataclass(frozen=True, slots=True)
class DocumentCheck:
    """A check as a document has it: a reducer over events. It opens no payload it need not, changes none, and its work
    is bounded by a budget."""

    shares_events: ClassVar[bool] = True

    node: Node
    budget: Budget = BUDGET

    def start(self, expected: Mapping[str, Any] | None, answers: Mapping[str, str] | None = None) -> Reducer:
        return DocumentReducer(self.node, Context(expected, Work(self.budget), answers))

    def __call__(self, evidence: Evidence) -> Verdict:
        return run_over(self, evidence)


class DocumentReducer:
    def __init__(self, node: Node, context: Context) -> None:
        self._context: Final = context
        self._spent = ""
        try:
            self._root: Running | None = _begin(node, context, negated=False)
        except OutOfBudget:
            self._root, self._spent = None, "case.expected"
        self._types = frozenset[str]() if self._root is None else self._root.types

    def step(self, event: Event) -> None:
        type = event.row.type
        self._context.place += 1
        if type not in NAMED_ONLY:
            self._context.ordinal += 1
            if self._context.course is not None:
                self._context.course.take(event, self._context.ordinal)
        if type not in self._types or self._root is None or self._spent:
            return
        try:
            self._root.step(event)
        except OutOfBudget:
            self._spent = f"seq {event.seq}"

    def result(self) -> Verdict:
        root = self._begun()
        try:
            return root.result(self._context.work.fork())
        except OutOfBudget:
            raise CheckBroken(BrokenCode.BUDGET_EXCEEDED, "the verdict itself") from None

    def stands(self) -> bool:
        """Whether the verdict would be that it passed. Asked again and again it costs what has changed, and not what
        there is. Raises CheckBroken as `result` does."""
        root = self._begun()
        try:
            return root.stands(self._context.work.fork())
        except OutOfBudget:
            raise CheckBroken(BrokenCode.BUDGET_EXCEEDED, "the verdict itself") from None

    def heeds(self, event: Event) -> bool:
        """Whether it may stand otherwise by this event. One that measures to the end of the run heeds every event."""
        return event.row.type in self._types or self._context.course is not None

    @property
    def looked_at(self) -> int:
        """How much was looked at, so far, to say how it stands."""
        return self._context.looked_at

    def _begun(self) -> Running:
        if self._root is None or self._spent:
            raise CheckBroken(BrokenCode.BUDGET_EXCEEDED, self._spent)
        return self._root


def _begin(node: Node, context: Context, *, negated: bool) -> Running:
    match node:
        case Combination(junction, of):
            inside = negated ^ (junction is Junction.NONE_OF)
            return Joined([_begin(part, context, negated=inside) for part in of], _JUDGES[junction])
        case AtLeast(count, of):
            return Joined([_begin(part, context, negated=negated) for part in of], _at_least(count))
        case ReachedCheck(of, within):
            inner = _begin(of, context, negated=negated)
            leaves = list(_leaves(of))
            return ReachedRunning(inner, within, context, leaves=leaves, lasting=_lasting(of), negated=negated)
        case BeforeCheck() | ConfirmedCheck():
            return begun(lambda: node.begin(context, negated=negated))
        case _:
            return start(node, context, negated=negated)


def _leaves(node: Node) -> Iterator[Node]:
    """The checks in it that are not made of others."""
    match node:
        case Combination(_, of) | AtLeast(_, of):
            for part in of:
                yield from _leaves(part)
        case ReachedCheck(of, _):
            yield from _leaves(of)
        case _:
            yield node


def _lasting(node: Node) -> bool:
    """Whether it stays passed once it has. One of several may not: what is asked before it may come to be broken."""
    match node:
        case Combination(Junction.ALL_OF, of):
            return all(map(_lasting, of))
        case ReachedCheck():
            return True
        case _:
            return lasting(node)


class Joined:
    def __init__(self, parts: Sequence[Running], judge: Judge) -> None:
        self._parts: Final = parts
        self._plain: Final = [Plain(part) for part in parts]
        self._judge: Final = judge
        self.types: Final = frozenset[str]().union(*(part.types for part in parts))

    def step(self, event: Event) -> None:
        for part in self._parts:
            if event.row.type in part.types:
                part.step(event)

    def result(self, work: Work) -> Verdict:
        return self._judge(self._parts, work)

    def stands(self, work: Work) -> bool:
        return self._judge(self._plain, work).passed


def _all_of(parts: Sequence[Answering], work: Work) -> Verdict:
    passed: list[Verdict] = []
    for index, part in enumerate(parts):
        verdict = part.result(work)
        if not verdict.passed:
            return Verdict(False, f"{index + 1} of {len(parts)} fails: {verdict.detail}", verdict.citations)
        passed.append(verdict)
    return Verdict(True, _joined(passed), cited(verdict.citations for verdict in passed))


def _any_of(parts: Sequence[Answering], work: Work) -> Verdict:
    return _at_least(1)(parts, work)


def _none_of(parts: Sequence[Answering], work: Work) -> Verdict:
    verdicts, broken = settle(parts, work)
    there = [verdict for verdict in verdicts if verdict.passed]
    if there:
        return Verdict(False, _joined(there), cited(verdict.citations for verdict in there))
    if broken is not None:
        raise broken
    return Verdict(True, _joined(verdicts), cited(verdict.citations for verdict in verdicts))


def _at_least(count: int) -> Judge:
    def judge(parts: Sequence[Answering], work: Work) -> Verdict:
        passed: list[Verdict] = []
        failed: list[Verdict] = []
        for part in parts:
            if len(passed) == count:
                break
            verdict = part.result(work)
            (passed if verdict.passed else failed).append(verdict)
        decided = passed if len(passed) == count else [*passed, *failed]
        return Verdict(
            len(passed) == count,
            f"{len(passed)} of {count} needed: {_joined(decided)}" if count > 1 else _joined(decided),
            cited(verdict.citations for verdict in decided),
        )

    return judge


_JUDGES: Final[dict[Junction, Judge]] = {
    Junction.ALL_OF: _all_of,
    Junction.ANY_OF: _any_of,
    Junction.NONE_OF: _none_of,
}


def _joined(verdicts: Sequence[Verdict]) -> str:
    return "; ".join(verdict.detail for verdict in verdicts)
