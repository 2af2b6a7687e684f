"""Reading selectors, and the values that a comparison takes from them."""

import re
from typing import Any, Final

from grading.calls import CALLED
from grading.errors import InvalidLadder
from grading.paths import Path
from grading.reader.definitions import Definitions
from grading.reader.objects import Object, items, path, text, texts
from grading.reader.place import Place, nearest
from grading.reader.predicates import read_predicate
from grading.selectors import Pick, Selector
from grading.values import Expected, Selected, Take, Values
from spine import Actor
from spine.vocabulary import is_service

SELECTOR_KEYS: Final = ("type", "call", "trust", "latest_by", "where", "pick")
EXPECTED_KEYS: Final = ("expected", "where", "take")

_TYPE: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
_MAX_TYPE: Final = 128

Trust = frozenset[Actor] | None


def read_trust(value: Any, place: Place) -> frozenset[Actor]:
    """Raises InvalidLadder."""
    found: set[Actor] = set()
    for item, where in items(value, place, "trust"):
        word = text(item, where, "an actor")
        if word not in tuple(Actor):
            raise where.refusal(f"{word!r} is no actor{nearest(word, list(Actor))}")
        if Actor(word) in found:
            raise where.refusal(f"{word!r} stands here twice")
        found.add(Actor(word))
    return frozenset(found)


def read_selector(value: Any, place: Place, definitions: Definitions, trust: Trust) -> Selector:
    """`trust` is what the rung or the ladder says. Raises InvalidLadder."""
    return _read(Object.of(value, place, "a selector", SELECTOR_KEYS), definitions, trust)


def read_values(value: Any, place: Place, definitions: Definitions, trust: Trust) -> Values:
    """Raises InvalidLadder."""
    if isinstance(value, dict) and "expected" in value:
        whole = Object.of(value, place, "values of case.expected", EXPECTED_KEYS)
        where = None if "where" not in value else read_predicate(value["where"], whole.at("where"), definitions)
        return Expected(whole.path("expected"), where, _read_take(whole))
    whole = Object.of(value, place, "a selector of values", (*SELECTOR_KEYS, "take", "expected"))
    return Selected(_read(whole, definitions, trust), _read_take(whole))


def _read(whole: Object, definitions: Definitions, trust: Trust) -> Selector:
    named = whole.one_of(("type", "call"))
    value = whole.value
    return Selector(
        types=_read_types(whole) if named == "type" else (CALLED,),
        tools=_read_tools(whole) if named == "call" else None,
        trust=read_trust(value["trust"], whole.at("trust")) if "trust" in value else trust,
        latest_by=whole.path("latest_by") if "latest_by" in value else None,
        where=read_predicate(value["where"], whole.at("where"), definitions) if "where" in value else None,
        pick=whole.word("pick", Pick) if "pick" in value else None,
    )


def _read_types(whole: Object) -> tuple[str, ...]:
    types = texts(whole.value["type"], whole.at("type"), "type")
    for index, type in enumerate(types):
        place = whole.at("type").at(index) if isinstance(whole.value["type"], list) else whole.at("type")
        if not _TYPE.fullmatch(type) or len(type) > _MAX_TYPE:
            raise place.refusal(f"{type!r} is no event type: lower case, joined by dots")
        if is_service(type):
            raise place.refusal(f"{type} is an event of the service itself, which is never evidence")
    return types


def _read_tools(whole: Object) -> tuple[str, ...]:
    if whole.value["call"] == "*":
        return ()
    tools = texts(whole.value["call"], whole.at("call"), "call")
    if "*" in tools or "" in tools:
        raise _tools_refusal(whole)
    return tools


def _tools_refusal(whole: Object) -> InvalidLadder:
    return whole.at("call").refusal('call names a tool or a list of tools, or is "*" alone for any')


def _read_take(whole: Object) -> Take:
    if "take" not in whole.value:
        return None
    value, place = whole.value["take"], whole.at("take")
    if not isinstance(value, list):
        return path(value, place, "take")
    paths: list[Path] = [path(item, where, "take") for item, where in items(value, place, "take")]
    return tuple(paths)
