"""Reading checks: each of the kinds a document can name."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from grading.kinds.agreement import CompareCheck, How
from grading.kinds.combination import AtLeast, Combination, Junction, Node
from grading.kinds.order import SequenceCheck
from grading.kinds.presence import AbsentCheck, AnswerCheck, Bound, CountCheck, EventCheck, LastCheck
from grading.paths import Path, parse_path
from grading.reader.objects import Object, items, text
from grading.reader.place import Place
from grading.reader.predicates import OPERATORS, SEED_CLEAN, read_clean, read_predicate, read_question
from grading.reader.rules import read_judge
from grading.reader.scope import Scope
from grading.reader.selectors import read_selector, read_values
from grading.reader.spend import SPEND_READERS, read_reached
from grading.reader.trajectory import TRAJECTORY_READERS
from grading.values import Values


def read_check(value: Any, place: Place, scope: Scope) -> Node:
    """Raises InvalidLadder."""
    whole = Object.of(value, place, "a check", _READERS)
    kind = whole.one_of(tuple(_READERS))
    return _READERS[kind](value[kind], whole.at(kind), scope)


def _event(value: Any, place: Place, scope: Scope) -> Node:
    return EventCheck(read_selector(value, place, scope.definitions, scope.trust))


def _absent(value: Any, place: Place, scope: Scope) -> Node:
    return AbsentCheck(read_selector(value, place, scope.definitions, scope.trust))


def _count(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "count", ("of", *Bound))
    whole.need("of")
    bound = Bound(whole.one_of(tuple(Bound)))
    # Every run has at least none: such a rung would be worth its weight for nothing.
    count = int(whole.number(bound, whole=True, least=1 if bound is Bound.AT_LEAST else 0))
    return CountCheck(read_selector(value["of"], whole.at("of"), scope.definitions, scope.trust), bound, count)


def _sequence(value: Any, place: Place, scope: Scope) -> Node:
    parts = items(value, place, "sequence")
    return SequenceCheck(tuple(read_selector(part, where, scope.definitions, scope.trust) for part, where in parts))


def _last(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "last", ("of", "is"))
    whole.need("of", "is")
    of = read_selector(value["of"], whole.at("of"), scope.definitions, scope.trust)
    return LastCheck(of, read_predicate(value["is"], whole.at("is"), scope.definitions))


def _answer(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "answer", ("key", *OPERATORS, "clean"))
    whole.need("key")
    return AnswerCheck(
        whole.text("key"), read_question(whole, Path(("answer",)), scope.definitions, clean=SEED_CLEAN), scope.trust
    )


def _compare(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "compare", ("want", "got", "as", "keep", "clean"))
    whole.need("want", "got", "as")
    want, got = (read_values(value[key], whole.at(key), scope.definitions, scope.trust) for key in ("want", "got"))
    how = whole.word("as", How)
    _check_alike(want, got, how, whole)
    clean = read_clean(value["clean"], whole.at("clean")) if "clean" in value else ()
    return CompareCheck(want, got, how, _read_keep(whole), clean)


def _check_alike(want: Values, got: Values, how: How, whole: Object) -> None:
    """Values that can never be equal are a mistake in the document, not a run that failed."""
    lengths = [len(side.take) if isinstance(side.take, tuple) else 0 for side in (want, got)]
    if how is How.SAID and any(lengths):
        side = "want" if lengths[0] else "got"
        raise whole.at(side).at("take").refusal("said is about texts: take one path")
    if lengths[0] != lengths[1]:
        raise whole.at("got").refusal("want and got take different numbers of paths, so they can never agree")


def _read_keep(whole: Object) -> tuple[tuple[Path, frozenset[str]], ...]:
    if "keep" not in whole.value:
        return ()
    value, place = whole.value["keep"], whole.at("keep")
    if not isinstance(value, dict) or not value:
        raise place.refusal("keep names, for a path, the keys to keep there: {path: [names]}")
    found = []
    for key, names in value.items():
        try:
            path = parse_path(key)
        except ValueError as error:
            raise place.at(key).refusal(str(error)) from None
        kept = frozenset(text(name, where, "a name to keep") for name, where in items(names, place.at(key), "keep"))
        found.append((path, kept))
    return tuple(found)


def _combination(junction: Junction) -> Callable[[Any, Place, Scope], Node]:
    def read(value: Any, place: Place, scope: Scope) -> Node:
        parts = items(value, place, junction)
        inside = replace(scope, negated=scope.negated ^ (junction is Junction.NONE_OF))
        return Combination(junction, tuple(read_check(part, where, inside) for part, where in parts))

    return read


def _at_least(value: Any, place: Place, scope: Scope) -> Node:
    whole = Object.of(value, place, "at_least", ("n", "of"))
    whole.need("n", "of")
    parts = tuple(read_check(part, where, scope) for part, where in whole.items("of"))
    count = int(whole.number("n", whole=True, least=1))
    if count > len(parts):
        raise whole.at("n").refusal(f"{count} of {len(parts)} checks can never pass")
    return AtLeast(count, parts)


def _use(value: Any, place: Place, scope: Scope) -> Node:
    part, there = scope.definitions.named(value, place)
    return read_check(part, there, scope)


_READERS: Final[dict[str, Callable[[Any, Place, Scope], Node]]] = {
    "event": _event,
    "absent": _absent,
    "count": _count,
    "sequence": _sequence,
    **SPEND_READERS,
    "reached": partial(read_reached, read_check),
    "last": _last,
    "answer": _answer,
    "compare": _compare,
    "judge": read_judge,
    **TRAJECTORY_READERS,
    **{junction.value: _combination(junction) for junction in Junction},
    "at_least": _at_least,
    "use": _use,
}

CHECK_KEYS: Final = tuple(_READERS)
