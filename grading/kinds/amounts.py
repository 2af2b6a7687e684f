"""Amounts: numbers of payloads, added up exactly."""

from collections.abc import Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import Any, Final

from grading.operators import not_a
from grading.paths import MISSING, Path
from grading.predicates import Mismatch
from grading.trust import default_trust
from spine import Actor

# From the smallest place of a double (10^-324, and 16 more for its digits) to 10^308, and room for 10^20 of them.
_EXACT: Final = Context(prec=700, traps=[Inexact, InvalidOperation, Overflow])

NOTHING: Final = Decimal(0)


def amount(value: Any, path: Path) -> Decimal:
    """The decimal number that JSON text has for it: 0.1 is a tenth, which no float is. Raises Mismatch naming `path`
    where it is no number; a text of digits is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Mismatch(path, not_a(value, "number"))
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def amount_at(path: Path, value: Any) -> Decimal | None:
    """The amount at a path; None where the path is missing. Raises Mismatch, PayloadErased."""
    found = path.find(value)
    return None if found is MISSING else amount(found, path)


def added(total: Decimal, more: Decimal) -> Decimal:
    """Exactly both, so in whatever order."""
    return _EXACT.add(total, more)


def text_at(path: Path, payload: Mapping[str, Any]) -> str:
    """The text that has to stand there. Raises Mismatch, PayloadErased."""
    found = path.find(payload)
    if not isinstance(found, str):
        raise Mismatch(path, "missing" if found is MISSING else not_a(found, "string"))
    return found


def may_give_back(type: str, actor: str, trust: frozenset[Actor] | None = None) -> bool:
    """Whether an amount below zero by this actor counts. One by the agent never does, nor one that is not believed:
    else what was spent could be made to look like less."""
    return actor != Actor.AGENT and actor in (trust or default_trust(type))
