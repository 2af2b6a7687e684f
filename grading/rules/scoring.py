"""score: a text against a set of rules, as the seed's judge does it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from grading.budget import BUDGET, Budget, OutOfBudget, Work
from grading.errors import BrokenCode, CheckBroken, GradingError
from grading.rules.ops import Malformed, Ruling, prepare
from grading.rules.quoting import well_formed


class InvalidChecks(GradingError):
    """A set of rules that nothing can be judged by: empty, or a file that holds none."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An op applied to an arg: text for the seed's ops; `json_schema` takes a schema, or the text of one."""

    op: str
    arg: Any = ""


@dataclass(frozen=True, slots=True)
class Result:
    """How a text did. `hard` is 1.0 when every rule passes, else 0.0; `soft` the share of those that do; `why` a line
    for each rule, in their order; `passed` which of them did."""

    hard: float
    soft: float
    why: tuple[str, ...]
    passed: tuple[bool, ...]


def score(output: str, checks: Sequence[Rule], *, budget: Budget = BUDGET) -> Result:
    """The result of asking every rule, none left out. A malformed rule, and one of an unknown op, has failed.

    Pure: the same text and rules give the same result. A lone surrogate in the text counts as U+FFFD. Raises
    InvalidChecks when there are no rules, CheckBroken (budget_exceeded) when they would look through too much.
    Source: seed *judge*, `Score`.
    """
    if not checks:
        raise InvalidChecks("judge: no checks provided")
    text, work = well_formed(output), Work(budget)
    rulings = []
    for index, rule in enumerate(checks):
        try:
            rulings.append(_ruling(rule, text, work))
        except OutOfBudget:
            raise CheckBroken(BrokenCode.BUDGET_EXCEEDED, f"check {index + 1} of {len(checks)}") from None
    passed = tuple(ruling.passed for ruling in rulings)
    hard = 1.0 if all(passed) else 0.0
    return Result(hard, sum(passed) / len(passed), tuple(ruling.why for ruling in rulings), passed)


def _ruling(rule: Rule, text: str, work: Work) -> Ruling:
    work.step()
    try:
        question = prepare(rule.op, rule.arg, work)
    except Malformed as error:
        return Ruling(False, error.why)
    ruling = question(text, work)
    return replace(ruling, why=well_formed(ruling.why))
