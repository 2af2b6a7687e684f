"""The keywords of a JSON Schema that ask something of the value itself."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias

from grading.budget import Work
from grading.operators import equal_key, type_name
from grading.rules.schemas import Node

VISIT: Final = 10
"""Steps for asking one schema of one value, which takes so much longer than a predicate."""

Holds: TypeAlias = Callable[[Any, Any, Node, Work], bool]
"""(operand, value, node, work): a keyword about another type of value holds."""


def _type(operand: Any, value: Any, node: Node, work: Work) -> bool:
    name = type_name(value)
    wanted = [operand] if isinstance(operand, str) else operand
    return name in wanted or (name == "integer" and "number" in wanted)


def _enum(operand: Any, value: Any, node: Node, work: Work) -> bool:
    return equal_key(value, work) in node.keys["enum"]


def _const(operand: Any, value: Any, node: Node, work: Work) -> bool:
    return equal_key(value, work) in node.keys["const"]


def _unique(operand: Any, value: Any, node: Node, work: Work) -> bool:
    if not operand or not isinstance(value, list):
        return True
    work.step(len(value))
    return len({equal_key(item, work) for item in value}) == len(value)


def _matches(operand: Any, value: Any, node: Node, work: Work) -> bool:
    return not isinstance(value, str) or node.patterns[operand].found_in(value, work)


def _required(operand: Any, value: Any, node: Node, work: Work) -> bool:
    work.step(len(operand))
    return not isinstance(value, Mapping) or all(name in value for name in operand)


def _dependent_required(operand: Any, value: Any, node: Node, work: Work) -> bool:
    if not isinstance(value, Mapping):
        return True
    work.step(sum(1 + len(names) for names in operand.values()))
    return all(name in value for key, names in operand.items() if key in value for name in names)


def _multiple(operand: Any, value: Any, node: Node, work: Work) -> bool:
    # As the decimal numbers that are written: 0.3 is a multiple of 0.1.
    work.step(VISIT)
    return not _is_number(value) or (_exact(value) / _exact(operand)).denominator == 1


def _exact(number: float) -> Fraction:
    return Fraction(Decimal(repr(number)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numeric(holds: Callable[[float, float], bool]) -> Holds:
    return lambda operand, value, node, work: not _is_number(value) or holds(value, operand)


def _sized(kind: type[str] | type[list[Any]] | type[dict[str, Any]], holds: Callable[[float, float], bool]) -> Holds:
    def sized(operand: Any, value: Any, node: Node, work: Work) -> bool:
        return not isinstance(value, kind) or holds(len(value), operand)

    return sized


def _at_most(value: float, bound: float) -> bool:
    return value <= bound


def _at_least(value: float, bound: float) -> bool:
    return value >= bound


def _with_contains(operand: Any, value: Any, node: Node, work: Work) -> bool:
    return True  # asked with `contains`, and nothing without it


HOLDS: Final[dict[str, Holds]] = {
    "maxContains": _with_contains,
    "minContains": _with_contains,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "multipleOf": _multiple,
    "maximum": _numeric(_at_most),
    "exclusiveMaximum": _numeric(lambda value, bound: value < bound),
    "minimum": _numeric(_at_least),
    "exclusiveMinimum": _numeric(lambda value, bound: value > bound),
    "maxLength": _sized(str, _at_most),
    "minLength": _sized(str, _at_least),
    "pattern": _matches,
    "maxItems": _sized(list, _at_most),
    "minItems": _sized(list, _at_least),
    "uniqueItems": _unique,
    "maxProperties": _sized(dict, _at_most),
    "minProperties": _sized(dict, _at_least),
    "required": _required,
    "dependentRequired": _dependent_required,
}
