"""Reading checks of time, order and spend."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

from grading.errors import CheckBroken
from grading.kinds.amounts import amount
from grading.kinds.combination import DocumentCheck, Node, ReachedCheck
from grading.kinds.distance import Clock, Distance, Unit
from grading.kinds.gaps import Edge, GapCheck
from grading.kinds.order import BeforeCheck, WithinCheck
from grading.kinds.presence import Bound
from grading.kinds.reached import Charged, Measure
from grading.kinds.spend import Accounts, BudgetCheck, SumCheck, Unset
from grading.paths import Path
from grading.reader.objects import Object, items, texts
from grading.reader.place import Place
from grading.reader.scope import Scope
from grading.reader.selectors import read_selector, read_values
from grading.values import Selected

Reader: TypeAlias = Callable[[Any, Place, Scope], Node]

MEASURES: Final = (*Unit, "charged")


def read_reached(read_check: Reader, value: Any, place: Place, scope: Scope) -> Node:
    """`read_check` reads the check in it. Raises InvalidLadder."""
    whole = Object.of(value, place, "reached", ("check", *MEASURES, "clock", "resource", "scope"))
    whole.need("check")
    measure = _read_charged(whole) if whole.one_of(MEASURES) == "charged" else _read_distance(whole, scope)
    for key in ("resource", "scope"):
        if key in value and isinstance(measure, Distance):
            raise whole.at(key).refusal(f"{key} belongs to charged")
    check = read_check(value["check"], whole.at("check"), scope)
    if _passes_at_once(check):
        raise whole.at("check").refusal("it passes before anything has happened, so every run reaches it")
    return ReachedCheck(check, measure)


def _read_charged(whole: Object) -> Measure:
    if "clock" in whole.value:
        raise whole.at("clock").refusal("clock belongs to seconds")
    whole.need("resource")
    scope = whole.text("scope") if "scope" in whole.value else None
    return Charged(_read_amount(whole, "charged", least=0), whole.text("resource"), scope)


def _passes_at_once(check: Node) -> bool:
    try:
        return DocumentCheck(check).start(None).result().passed
    except CheckBroken:
        return False  # it depends on the reference of a run


def _read_distance(whole: Object, scope: Scope, *, clock: Clock = Clock.RECORDED_AT, guarded: bool = True) -> Distance:
    """`clock` is what seconds go by where nothing is said; `guarded`: the agent must not be able to stretch it."""
    unit = Unit(whole.one_of(tuple(Unit)))
    if unit is Unit.EVENTS:
        if "clock" in whole.value:
            raise whole.at("clock").refusal("clock belongs to seconds")
        if guarded and scope.negated:
            raise whole.at(unit).refusal("in none_of, an agent could stretch events by doing more; take seconds")
        return Distance(unit, int(whole.number(unit, whole=True, least=1)))
    if "clock" in whole.value:
        clock = whole.word("clock", Clock)
    return Distance(unit, whole.number(unit, least=0), clock)


def _read_amount(whole: Object, key: str, *, least: float | None = None) -> Decimal:
    return amount(whole.number(key, least=least), Path((key,)))


def _within(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "within", ("first", "then", *Unit, "clock"))
    whole.need("first", "then")
    distance = _read_distance(whole, scope, clock=Clock.TIME, guarded=False)
    first, then = (
        read_selector(value[key], whole.at(key), scope.definitions, scope.trust) for key in ("first", "then")
    )
    return WithinCheck(first, then, distance)


def _before(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "before", ("first", "then"))
    whole.need("first", "then")
    first, then = (
        read_selector(value[key], whole.at(key), scope.definitions, scope.trust) for key in ("first", "then")
    )
    return BeforeCheck(first, then)


def _gap(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "gap", ("of", *Unit, "clock", "edges"))
    whole.need("of")
    if scope.negated:
        raise place.refusal("a gap cannot stand in none_of: an agent could make one by waiting")
    distance = _read_distance(whole, scope)
    return GapCheck(
        read_selector(value["of"], whole.at("of"), scope.definitions, scope.trust), distance, _read_edges(whole)
    )


def _read_edges(whole: Object) -> frozenset[Edge]:
    if "edges" not in whole.value:
        return frozenset()
    found: set[Edge] = set()
    for item, place in items(whole.value["edges"], whole.at("edges"), "edges"):
        edge = Object({"edges": item}, place, "edges").word("edges", Edge)
        if edge in found:
            raise place.refusal(f"{item!r} stands here twice")
        found.add(edge)
    return frozenset(found)


def _sum(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "sum", ("of", *Bound))
    whole.need("of")
    bound = Bound(whole.one_of(tuple(Bound)))
    of = read_values(value["of"], whole.at("of"), scope.definitions, scope.trust)
    if not isinstance(of, Selected):
        raise whole.at("of").refusal("sum adds up what is recorded: take a selector with take")
    if not isinstance(of.take, Path):
        raise whole.at("of").refusal("sum needs take: the path of the amount")
    total = _read_amount(whole, bound)
    if bound is Bound.AT_LEAST and total <= 0:
        raise whole.at(bound).refusal("at_least is above 0: every run has none")
    return SumCheck(of.of, of.take, bound, total)


def _budget(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "budget", ("scope", "resource", "unset"))
    scopes, resources = (
        frozenset(texts(value[key], whole.at(key), key)) if key in value else None for key in ("scope", "resource")
    )
    unset = whole.word("unset", Unset) if "unset" in value else Unset.ALLOWED
    return BudgetCheck(Accounts(scopes, resources), unset)


SPEND_READERS: Final[dict[str, Reader]] = {
    "within": _within,
    "before": _before,
    "gap": _gap,
    "sum": _sum,
    "budget": _budget,
}
