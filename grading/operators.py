"""Operators: what a predicate may ask of a value, each with what its operand may be."""

import posixpath
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, TypeAlias

from grading.budget import OutOfBudget, Work
from grading.cleaning import Clean, cleaned, cleaned_items
from grading.patterns import BadPattern, Pattern
from spine.canonical import encode


class Operator(StrEnum):
    """The operators whose operand is a value; `any_item` and `every_item` take a predicate."""

    EQ = "eq"
    IN = "in"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    EXISTS = "exists"
    IS = "is"
    MATCHES = "matches"
    CONTAINS = "contains"
    STARTS = "starts"
    UNDER = "under"


TYPE_NAMES: Final = ("null", "boolean", "number", "integer", "string", "array", "object")
LITERAL_ONLY: Final = frozenset({Operator.EXISTS, Operator.IS, Operator.MATCHES})
"""Operators whose operand is part of the question, and never comes from `case.expected`."""


class WrongType(Exception):
    """A value has a type that the question cannot be asked of. `what` says which, without the value."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what: Final = what


Question: TypeAlias = Callable[[Any, Work], bool]
"""Whether an operator holds for a value that stands. Raises WrongType, OutOfBudget."""


def ask(operator: Operator, operand: Any, clean: Clean) -> Question:
    """The operator with its operand in place. Raises WrongType when it cannot have that operand."""
    return _OPERATORS[operator](operand, clean)


def type_name(value: Any) -> str:
    """The JSON type of a value; a number without a fraction is an integer."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def equal_key(value: Any, work: Work) -> bytes:
    """Bytes that two values share when they are equal as JSON: 1 is 1.0 and true is not 1."""
    text = encode(value)
    work.read(len(text))
    return text


def _eq(operand: Any, clean: Clean) -> Question:
    wanted = encode(cleaned(operand, clean, Work()))
    text = operand if isinstance(operand, str) and not clean else None

    def holds(value: Any, work: Work) -> bool:
        if text is not None and isinstance(value, str):
            work.read(len(wanted))
            return value == text
        return equal_key(cleaned(value, clean, work), work) == wanted

    return holds


def _in(operand: Any, clean: Clean) -> Question:
    if not isinstance(operand, list):
        raise WrongType(not_a(operand, "array"))
    wanted = frozenset(map(encode, cleaned_items(operand, clean, Work())))
    return lambda value, work: equal_key(cleaned(value, clean, work), work) in wanted


def _ordered(holds: Callable[[float, float], bool]) -> Callable[[Any, Clean], Question]:
    def prepare(operand: Any, clean: Clean) -> Question:
        bound = _number(operand)
        return lambda value, work: holds(_number(value), bound)

    return prepare


def _exists(operand: Any, clean: Clean) -> Question:
    if not isinstance(operand, bool):
        raise WrongType(not_a(operand, "boolean"))
    return lambda value, work: operand


def _is(operand: Any, clean: Clean) -> Question:
    if operand not in TYPE_NAMES:
        raise WrongType("no type name; those are " + ", ".join(TYPE_NAMES))
    names = {"number", "integer"} if operand == "number" else {operand}
    return lambda value, work: type_name(value) in names


def _matches(operand: Any, clean: Clean) -> Question:
    try:
        pattern = Pattern(_text(operand), Work())
    except BadPattern as error:
        raise WrongType(f"no RE2 pattern: {error.reason}") from None
    except OutOfBudget:
        raise WrongType("an RE2 pattern that is too large") from None

    def holds(value: Any, work: Work) -> bool:
        return pattern.found_in(cleaned(_text(value), clean, work), work)

    return holds


def _textual(holds: Callable[[str, str], bool]) -> Callable[[Any, Clean], Question]:
    def prepare(operand: Any, clean: Clean) -> Question:
        wanted: str = cleaned(_text(operand), clean, Work())

        def question(value: Any, work: Work) -> bool:
            text = cleaned(_text(value), clean, work)
            work.scan(text)
            return holds(text, wanted)

        return question

    return prepare


def _under(operand: Any, clean: Clean) -> Question:
    base = _absolute(cleaned(_text(operand), clean, Work()))
    inside = base if base.endswith("/") else base + "/"

    def holds(value: Any, work: Work) -> bool:
        text = cleaned(_text(value), clean, work)
        work.scan(text)
        place = _absolute(text)
        return place == base or place.startswith(inside)

    return holds


def _absolute(path: str) -> str:
    """The path without `.`, `..` and doubled slashes, as its text says: no file system is asked."""
    if not path.startswith("/"):
        raise WrongType("a relative path, and under needs an absolute one")
    # POSIX lets exactly two leading slashes mean something of their own; no system a run is recorded on does.
    return posixpath.normpath("/" + path.lstrip("/"))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongType(not_a(value, "string"))
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongType(not_a(value, "number"))
    return value


def not_a(value: Any, wanted: str) -> str:
    article = {"array": "an array", "integer": "an integer", "object": "an object", "null": "null"}
    got, want = (article.get(name, f"a {name}") for name in (type_name(value), wanted))
    return f"{got}, not {want}"


_OPERATORS: Final[dict[Operator, Callable[[Any, Clean], Question]]] = {
    Operator.EQ: _eq,
    Operator.IN: _in,
    Operator.LT: _ordered(lambda value, bound: value < bound),
    Operator.LE: _ordered(lambda value, bound: value <= bound),
    Operator.GT: _ordered(lambda value, bound: value > bound),
    Operator.GE: _ordered(lambda value, bound: value >= bound),
    Operator.EXISTS: _exists,
    Operator.IS: _is,
    Operator.MATCHES: _matches,
    Operator.CONTAINS: _textual(lambda text, wanted: wanted in text),
    Operator.STARTS: _textual(lambda text, wanted: text.startswith(wanted)),
    Operator.UNDER: _under,
}
