"""Predicates: declarative questions about a JSON value, as a small typed tree.

A predicate is written once, bound to the run's `case.expected`, and then asked of values. `exists` sees a missing
path; every other operator is false there. A value of a type the operator cannot be asked of is an error, never true.
`all` and `any` go left to right and stop when decided, so `is: string` guards what follows it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from grading.budget import Work
from grading.checks import as_broken
from grading.cleaning import Clean
from grading.errors import BrokenCode, CheckBroken
from grading.operators import Operator, Question, WrongType, ask, not_a
from grading.paths import MISSING, Path
from spine import PayloadErased


class Mismatch(Exception):
    """A wrong type stands at `path` of the value that was asked about."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what


Asked: TypeAlias = Callable[[Any, Work], bool]
"""A bound predicate. Raises Mismatch, PayloadErased, OutOfBudget."""


@dataclass(frozen=True, slots=True)
class FromExpected:
    """A value of the run's `case.expected`; null there counts as not given."""

    path: Path

    def of(self, expected: Mapping[str, Any] | None) -> Any:
        """Raises CheckBroken where the reference is missing or erased."""
        try:
            value = MISSING if expected is None else self.path.find(expected)
        except PayloadErased as error:
            raise as_broken(error) or error from None
        if value is MISSING or value is None:
            raise CheckBroken(BrokenCode.EXPECTED_MISSING, f"case.expected has no {self.path}")
        return value


@dataclass(frozen=True, slots=True)
class Test:
    """An operator asked of what stands at a path."""

    __test__ = False  # pytest would collect it

    path: Path
    operator: Operator
    operand: Any
    clean: Clean = ()

    def bind(self, expected: Mapping[str, Any] | None) -> Asked:
        question = self._question(expected)
        path, find = self.path, self.path.find
        if self.operator is Operator.EXISTS:
            return lambda value, work: _stepped(work) and (find(value) is not MISSING) == self.operand

        def holds(value: Any, work: Work) -> bool:
            work.step()
            found = find(value)
            if found is MISSING:
                return False
            try:
                return question(found, work)
            except WrongType as error:
                raise Mismatch(path, error.what) from None

        return holds

    def _question(self, expected: Mapping[str, Any] | None) -> Question:
        if not isinstance(self.operand, FromExpected):
            return ask(self.operator, self.operand, self.clean)
        try:
            return ask(self.operator, self.operand.of(expected), self.clean)
        except WrongType as error:
            where = f"{self.operand.path} of case.expected, asked with {self.operator}: {error.what}"
            raise CheckBroken(BrokenCode.WRONG_TYPE, where) from None


class Quantifier(StrEnum):
    """`any_item` is false and `every_item` true of an empty array."""

    ANY_ITEM = "any_item"
    EVERY_ITEM = "every_item"


@dataclass(frozen=True, slots=True)
class Items:
    """A predicate asked of the items of the array at a path."""

    path: Path
    quantifier: Quantifier
    of: "Predicate"

    def bind(self, expected: Mapping[str, Any] | None) -> Asked:
        asked = self.of.bind(expected)
        quantified = any if self.quantifier is Quantifier.ANY_ITEM else all

        def holds(value: Any, work: Work) -> bool:
            work.step()
            found = self.path.find(value)
            if found is MISSING:
                return False
            if not isinstance(found, list):
                raise Mismatch(self.path, not_a(found, "array"))
            return quantified(_each(found, asked, self.path, work))

        return holds


@dataclass(frozen=True, slots=True)
class AllOf:
    of: tuple["Predicate", ...]

    def bind(self, expected: Mapping[str, Any] | None) -> Asked:
        parts = [part.bind(expected) for part in self.of]
        return lambda value, work: _stepped(work) and all(part(value, work) for part in parts)


@dataclass(frozen=True, slots=True)
class AnyOf:
    of: tuple["Predicate", ...]

    def bind(self, expected: Mapping[str, Any] | None) -> Asked:
        parts = [part.bind(expected) for part in self.of]
        return lambda value, work: _stepped(work) and any(part(value, work) for part in parts)


@dataclass(frozen=True, slots=True)
class Not:
    of: "Predicate"

    def bind(self, expected: Mapping[str, Any] | None) -> Asked:
        part = self.of.bind(expected)
        return lambda value, work: _stepped(work) and not part(value, work)


Predicate: TypeAlias = Test | Items | AllOf | AnyOf | Not


def _each(items: list[Any], asked: Asked, path: Path, work: Work) -> Iterator[bool]:
    for index, item in enumerate(items):
        try:
            yield asked(item, work)
        except Mismatch as error:
            raise Mismatch(path / index / error.path, error.what) from None


def _stepped(work: Work) -> bool:
    work.step()
    return True
