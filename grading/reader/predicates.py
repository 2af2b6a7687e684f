"""Reading predicates, their operands and cleaners."""

from typing import Any, Final

from grading.cleaning import Clean, Cleaner, Drop
from grading.operators import LITERAL_ONLY, Operator, WrongType, ask
from grading.paths import Path
from grading.predicates import AllOf, AnyOf, FromExpected, Items, Not, Predicate, Quantifier, Test
from grading.reader.definitions import Definitions
from grading.reader.objects import Object, items, path, text
from grading.reader.place import Place, nearest

OPERATORS: Final = tuple(Operator)
CLEANED: Final = (Operator.EQ, Operator.IN, Operator.MATCHES, Operator.CONTAINS, Operator.STARTS, Operator.UNDER)
SEED_CLEAN: Final[Clean] = (Cleaner.TRIM, Cleaner.LOWER)

_JOINTS: Final = ("all", "any", "not", "use")
_ASKING: Final = (*OPERATORS, *Quantifier)
PREDICATE_KEYS: Final = ("path", *_ASKING, "clean", *_JOINTS)


def read_predicate(value: Any, place: Place, definitions: Definitions) -> Predicate:
    """Raises InvalidLadder."""
    whole = Object.of(value, place, "a predicate", PREDICATE_KEYS)
    joint = next((key for key in value if key in _JOINTS), None)
    if joint is None:
        return _read_test(whole, definitions)
    if len(value) > 1:
        raise place.refusal(f"{joint} stands alone in a predicate; join several with all or any")
    match joint:
        case "not":
            return Not(read_predicate(value["not"], whole.at("not"), definitions))
        case "use":
            part, there = definitions.named(value["use"], whole.at("use"))
            return read_predicate(part, there, definitions)
    parts = tuple(read_predicate(part, where, definitions) for part, where in whole.items(joint))
    return AllOf(parts) if joint == "all" else AnyOf(parts)


def read_question(whole: Object, at_path: Path, definitions: Definitions, *, clean: Clean = ()) -> Test:
    """The operator among the keys of an object, its operand and cleaners. `clean` is what `eq` has without any."""
    operator = Operator(whole.one_of(OPERATORS))
    place = whole.at(operator)
    if "clean" in whole.value:
        if operator not in CLEANED:
            raise whole.at("clean").refusal(f"clean is for texts, and {operator} does not look at one")
        clean = read_clean(whole.value["clean"], whole.at("clean"))
    elif operator is not Operator.EQ:
        clean = ()
    operand = _read_operand(whole.value[operator], place)
    if operator is Operator.MATCHES and isinstance(operand, str):
        definitions.count_pattern(operand, place)
    if not isinstance(operand, FromExpected):
        _check_operand(operator, operand, clean, place)
    elif operator in LITERAL_ONLY:
        raise place.refusal(f"{operator} takes a value that stands in the document")
    return Test(at_path, operator, operand, clean)


def read_clean(value: Any, place: Place) -> Clean:
    """Cleaners; an empty list says: none, also where there is a default."""
    if value == []:
        return ()
    found: list[Cleaner | Drop] = []
    for item, where in items(value, place, "clean"):
        if isinstance(item, dict):
            dropped = Object.of(item, where, "a cleaner", ("drop",))
            dropped.need("drop")
            found.append(Drop(dropped.text("drop")))
            continue
        word = text(item, where, "a cleaner")
        if word not in tuple(Cleaner):
            raise where.refusal(f"there is no cleaner {word!r}{nearest(word, [*Cleaner, 'drop'])}")
        found.append(Cleaner(word))
    return tuple(found)


def _read_test(whole: Object, definitions: Definitions) -> Predicate:
    whole.need("path")
    asking = whole.one_of(_ASKING)
    if asking in tuple(Quantifier):
        if "clean" in whole.value:
            raise whole.at("clean").refusal(f"clean belongs to the predicate in {asking}")
        of = read_predicate(whole.value[asking], whole.at(asking), definitions)
        return Items(whole.path("path"), Quantifier(asking), of)
    return read_question(whole, whole.path("path"), definitions)


def _read_operand(value: Any, place: Place) -> Any:
    if isinstance(value, dict) and "$expected" in value:
        if len(value) > 1:
            raise place.refusal("$expected stands alone")
        return FromExpected(path(value["$expected"], place.at("$expected"), "$expected"))
    _refuse_dollars(value, place)
    return value


def _refuse_dollars(value: Any, place: Place) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$expected":
                raise place.at(key).refusal("$expected stands for a whole value, not for a part of one")
            if key.startswith("$"):
                raise place.at(key).refusal(f"there is no {key!r}: of keys with a $, only $expected has a meaning")
            _refuse_dollars(item, place.at(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_dollars(item, place.at(index))


def _check_operand(operator: Operator, operand: Any, clean: Clean, place: Place) -> None:
    try:
        ask(operator, operand, clean)
    except WrongType as error:
        raise place.refusal(f"{operator} cannot take this: {error.what}") from None
