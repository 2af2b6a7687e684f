"""Asking a JSON Schema of a value: without recursion, every look counted."""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from grading.budget import OutOfBudget, Work
from grading.rules.schema_keywords import HOLDS, VISIT
from grading.rules.schemas import Node, Schema, Steps


@dataclass(frozen=True, slots=True)
class Departure:
    """Where a value first departs from a schema: the way into the value, and to the keyword that does not hold."""

    at: Steps
    keyword: Steps


@dataclass(slots=True)
class Seen:
    """What of a value has been evaluated: properties by name, items by place. (`unevaluated…` asks for the rest.)"""

    names: set[str] = field(default_factory=set)
    places: set[int] = field(default_factory=set)

    def add(self, other: "Seen", work: Work) -> None:
        work.step(len(other.names) + len(other.places))
        self.names |= other.names
        self.places |= other.places


Outcome: TypeAlias = Seen | Departure
Question: TypeAlias = tuple[Node, Any, Steps]
Asking: TypeAlias = Generator[Question, Outcome, Outcome]
Part: TypeAlias = Generator[Question, Outcome, Departure | None]

_MOST_NESTED: Final = 20_000


def departure(schema: Schema, value: Any, work: Work) -> Departure | None:
    """Where the value departs from the schema, None where it fits. Raises OutOfBudget."""
    stack: list[Asking] = [_asked(schema.root, value, (), schema, work)]
    answer: Outcome | None = None
    while stack:
        try:
            node, part, at = next(stack[-1]) if answer is None else stack[-1].send(answer)
        except StopIteration as done:
            stack.pop()
            answer = done.value
            continue
        if len(stack) >= _MOST_NESTED:
            raise OutOfBudget
        stack.append(_asked(node, part, at, schema, work))
        answer = None
    return answer if isinstance(answer, Departure) else None


def _asked(node: Node, value: Any, at: Steps, schema: Schema, work: Work) -> Asking:
    work.step(VISIT)
    seen = Seen()
    if isinstance(node.value, bool):
        return seen if node.value else Departure(at, node.steps)
    for keyword, operand in node.asserted:
        work.step()
        if not HOLDS[keyword](operand, value, node, work):
            return Departure(at, (*node.steps, keyword))
    here = _Here(node, value, at, seen, schema.tracks, work)
    for part in _PARTS:
        if not part.keywords.isdisjoint(node.applied):
            failed = yield from part.ask(here)
            if failed is not None:
                return failed
    return seen


@dataclass(frozen=True, slots=True)
class _Here:
    """A schema being asked of a value."""

    node: Node
    value: Any
    at: Steps
    seen: Seen
    tracks: bool
    work: Work

    def same(self, part: Node) -> Question:
        return part, self.value, self.at

    def below(self, part: Node, step: str | int) -> Question:
        return part, self.value[step], (*self.at, step)

    def fails(self, keyword: str) -> Departure:
        return Departure(self.at, (*self.node.steps, keyword))

    def take(self, outcome: Outcome) -> Departure | None:
        """What a schema that has to hold here says."""
        if isinstance(outcome, Departure):
            return outcome
        self.seen.add(outcome, self.work)
        return None


def _all(here: _Here) -> Part:
    for part in (*filter(None, [here.node.one.get("$ref")]), *here.node.many.get("allOf", ())):
        failed = here.take((yield here.same(part)))
        if failed is not None:
            return failed
    return None


def _any(here: _Here) -> Part:
    held = False
    for part in here.node.many["anyOf"]:
        outcome = yield here.same(part)
        held |= here.take(outcome) is None
        if held and not here.tracks:
            break
    return None if held else here.fails("anyOf")


def _one(here: _Here) -> Part:
    held = 0
    for part in here.node.many["oneOf"]:
        held += here.take((yield here.same(part))) is None
        if held > 1:
            break
    return None if held == 1 else here.fails("oneOf")


def _not(here: _Here) -> Part:
    outcome = yield here.same(here.node.one["not"])
    return None if isinstance(outcome, Departure) else here.fails("not")


def _if(here: _Here) -> Part:
    held = here.take((yield here.same(here.node.one["if"]))) is None
    branch = here.node.one.get("then" if held else "else")
    return None if branch is None else here.take((yield here.same(branch)))


def _dependent(here: _Here) -> Part:
    if isinstance(here.value, Mapping):
        for name, part in here.node.named["dependentSchemas"].items():
            here.work.step()
            failed = here.take((yield here.same(part))) if name in here.value else None
            if failed is not None:
                return failed
    return None


def _items(here: _Here) -> Part:
    if isinstance(here.value, list):
        prefix, rest = here.node.many.get("prefixItems", ()), here.node.one.get("items")
        for index in range(len(here.value)):
            part = prefix[index] if index < len(prefix) else rest
            if part is None:
                break
            outcome = yield here.below(part, index)
            if isinstance(outcome, Departure):
                return outcome
            here.seen.places.add(index)
    return None


def _contains(here: _Here) -> Part:
    if not isinstance(here.value, list):
        return None
    assert isinstance(here.node.value, Mapping)
    least, most = here.node.value.get("minContains", 1), here.node.value.get("maxContains")
    found = 0
    for index in range(len(here.value)):
        if isinstance((yield here.below(here.node.one["contains"], index)), Seen):
            found += 1
            here.seen.places.add(index)
    if found < least:
        return here.fails("contains" if least == 1 else "minContains")
    return None if most is None or found <= most else here.fails("maxContains")


def _properties(here: _Here) -> Part:
    if isinstance(here.value, Mapping):
        for name in here.value:
            here.work.step()
            parts = list(_parts_for(name, here))
            for part in parts:
                outcome = yield here.below(part, name)
                if isinstance(outcome, Departure):
                    return outcome
            if parts:
                here.seen.names.add(name)
    return None


def _parts_for(name: str, here: _Here) -> Iterator[Node]:
    node = here.node
    found = False
    part = node.named.get("properties", {}).get(name)
    if part is not None:
        found = True
        yield part
    for pattern, matching in node.named.get("patternProperties", {}).items():
        if node.patterns[pattern].found_in(name, here.work):
            found = True
            yield matching
    rest = node.one.get("additionalProperties")
    if not found and rest is not None:
        yield rest


def _names(here: _Here) -> Part:
    if isinstance(here.value, Mapping):
        for name in here.value:
            outcome = yield here.node.one["propertyNames"], name, (*here.at, name)
            if isinstance(outcome, Departure):
                return outcome
    return None


def _unevaluated(here: _Here) -> Part:
    properties, items = (here.node.one.get(f"unevaluated{what}") for what in ("Properties", "Items"))
    left: list[tuple[Node, str | int]] = []
    if properties is not None and isinstance(here.value, Mapping):
        left = [(properties, name) for name in here.value if name not in here.seen.names]
        here.seen.names.update(here.value)
    elif items is not None and isinstance(here.value, list):
        left = [(items, index) for index in range(len(here.value)) if index not in here.seen.places]
        here.seen.places.update(range(len(here.value)))
    here.work.step(len(here.seen.names) + len(here.seen.places))
    for part, step in left:
        outcome = yield here.below(part, step)
        if isinstance(outcome, Departure):
            return outcome
    return None


@dataclass(frozen=True, slots=True)
class _Applicator:
    keywords: frozenset[str]
    ask: Callable[[_Here], Part]


# What is unevaluated is asked last: of what all the others have left.
_PARTS: Final = (
    _Applicator(frozenset(("$ref", "allOf")), _all),
    _Applicator(frozenset({"anyOf"}), _any),
    _Applicator(frozenset({"oneOf"}), _one),
    _Applicator(frozenset({"not"}), _not),
    _Applicator(frozenset({"if"}), _if),
    _Applicator(frozenset({"dependentSchemas"}), _dependent),
    _Applicator(frozenset(("prefixItems", "items")), _items),
    _Applicator(frozenset({"contains"}), _contains),
    _Applicator(frozenset(("properties", "patternProperties", "additionalProperties")), _properties),
    _Applicator(frozenset({"propertyNames"}), _names),
    _Applicator(frozenset(("unevaluatedProperties", "unevaluatedItems")), _unevaluated),
)
