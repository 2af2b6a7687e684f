"""Notes on a document that is right: event types that nothing is known of, and fields that no payload of their type has
to have, which are allowed and often a slip of the pen; and what to know of the clock that seconds go by."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from grading.kinds.distance import Clock, Unit
from grading.operators import Operator
from grading.paths import parse_path
from grading.reader.place import Place
from grading.rules.ops import Op, Ours
from grading.suggestions import did_you_mean
from spine.vocabulary import KNOWN

_NEAR: Final = 0.8  # finding.reported is no slip of test.reported
_CALL: Final = frozenset({"call_id", "tool", "arguments", "returned", "result", "error"})
_DATA: Final = (*Operator, "keep")
"""Keys under which data stands, and nothing of the language but `$expected`."""
_UPPER: Final = ("at_most", "exactly")


def notes(document: Mapping[str, Any], root: Place) -> list[str]:
    """What to tell the author of a document that was read without an error, each with file, line and path."""
    definitions = document.get("define", {})
    scope = _Scope(definitions, root.at("define"), trusted="trust" in document)
    found = [note for name, part in definitions.items() for note in _part(part, root.at("define", name), scope)]
    for index, rung in enumerate(document["milestones"]):
        place = root.at("milestones", index, "check")
        found += _part(rung["check"], place, replace(scope, trusted=scope.trusted or "trust" in rung))
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class _Scope:
    """What holds where a part stands: `trusted`, the document says who is believed; `everyone`, anyone is."""

    definitions: Mapping[str, Any]
    place: Place
    trusted: bool = False
    everyone: bool = False


def _part(value: Any, place: Place, scope: _Scope) -> Iterator[str]:
    """Notes on a check, or on something in one."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _part(item, place.at(index), scope)
    elif isinstance(value, dict):
        if "type" in value or "call" in value:
            yield from _selector(value, place, scope)
        elif "expected" in value:
            yield from _path(value["expected"], place.at("expected"), "case.expected", _fields("case.expected"))
        else:
            yield from _within(value, place, scope)


def _within(value: dict[str, Any], place: Place, scope: _Scope) -> Iterator[str]:
    upper = any(key in value for key in _UPPER) and "of" in value
    guarded = "first" in value and not any(key in value for key in Unit)
    if Unit.SECONDS in value:
        yield _seconds(value, place)
    for key, item in value.items():
        if key == "is" and isinstance(value.get("of"), dict):
            yield from _predicate(item, place.at(key), _Payload.of(value["of"]), scope)
        elif key in _DATA:
            yield from _operand(item, place.at(key))
        elif key == "judge":
            yield from _judge(item, place.at(key), scope)
        elif key == "trajectory":
            yield from _trajectory(item, place.at(key), scope)
        else:
            everyone = scope.everyone or upper or (guarded and key == "then") or key in ("absent", "none_of")
            yield from _part(item, place.at(key), replace(scope, everyone=everyone))


def _seconds(check: Mapping[str, Any], place: Place) -> str:
    """What to bear in mind of the clock that the seconds of a check go by."""
    clock = check.get("clock", Clock.TIME if "then" in check else Clock.RECORDED_AT)
    if clock == Clock.TIME:
        said = "by the producers' clock: an agent may say any time of its own events; clock: recorded_at is the log's"
    else:
        said = "an imported recording has one recorded_at for all its events, so seconds by it mean nothing there"
    return place.at(Unit.SECONDS).message(said)


def _judge(value: dict[str, Any], place: Place, scope: _Scope) -> Iterator[str]:
    if "of" in value:
        payload = _Payload.of(value["of"])
        yield from _part(value["of"], place.at("of"), scope)
        yield from _path(value["path"], place.at("path"), payload.name, payload.fields)
    for index, rule in enumerate(value["rules"]):
        op, arg = (rule["op"], rule.get("arg")) if "op" in rule else next(iter(rule.items()))
        where = place.at("rules", index)
        if op in (Op.TOOL_CALLED, Ours.NOT_TOOL_CALLED):
            yield where.message(f"{op} looks for the name in the text; called_tool looks for a recorded call")
        elif op in (Ours.CALLED_TOOL, Ours.NOT_CALLED_TOOL):
            everyone = scope.everyone or op == Ours.NOT_CALLED_TOOL
            yield from _part(arg, where.at("arg" if "op" in rule else op), replace(scope, everyone=everyone))


def _trajectory(value: dict[str, Any], place: Place, scope: _Scope) -> Iterator[str]:
    """Wanted calls are data; what they are compared with is not."""
    if isinstance(value["calls"], dict):
        yield from _part(value["calls"], place.at("calls"), scope)
    if "of" in value:
        yield from _part(value["of"], place.at("of"), scope)


def _selector(value: dict[str, Any], place: Place, scope: _Scope) -> Iterator[str]:
    payload = _Payload.of(value)
    for index, type in enumerate(payload.types):
        if type not in KNOWN:
            where = place.at("type", index) if isinstance(value["type"], list) else place.at("type")
            yield from _unknown(type, where, silent=scope.trusted or "trust" in value, everyone=scope.everyone)
    for key in ("latest_by", "take"):
        given = value.get(key, [])
        for path in given if isinstance(given, list) else [given]:
            yield from _path(path, place.at(key), payload.name, payload.fields)
    if "where" in value:
        yield from _predicate(value["where"], place.at("where"), payload, scope)


def _unknown(type: str, place: Place, *, silent: bool, everyone: bool) -> Iterator[str]:
    near = did_you_mean(type, KNOWN, cutoff=_NEAR)
    if near:
        yield place.message(f"{type} is not a known type{near}")
    elif not silent:
        believed = "" if everyone else ": believed from system and human only"
        yield place.message(f"{type} is not a known type{believed}")


@dataclass(frozen=True, slots=True)
class _Payload:
    """What a selector looks at, and the fields that are known of it; None where anything may stand there."""

    types: tuple[str, ...]
    name: str
    fields: frozenset[str] | None

    @classmethod
    def of(cls, selector: Mapping[str, Any]) -> "_Payload":
        if "type" not in selector:
            return cls((), "a call", _CALL)
        given = selector["type"]
        types = tuple(given) if isinstance(given, list) else (given,)
        every = [_fields(type) for type in types]
        known = [fields for fields in every if fields is not None]
        return cls(types, " or ".join(types), frozenset().union(*known) if len(known) == len(every) else None)


def _fields(type: str) -> frozenset[str] | None:
    kind = KNOWN.get(type)
    return None if kind is None or kind.model is None else frozenset(kind.model.model_fields)


def _predicate(value: Any, place: Place, payload: _Payload, scope: _Scope) -> Iterator[str]:
    """Notes on the paths of a predicate; those in `any_item` and `every_item` start from an item, not from here."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _predicate(item, place.at(index), payload, scope)
    elif "use" in value:
        name = value["use"]
        yield from _predicate(scope.definitions[name], scope.place.at(name), payload, scope)
    elif "path" in value:
        yield from _path(value["path"], place.at("path"), payload.name, payload.fields)
        for key in (key for key in value if key in _DATA):
            yield from _operand(value[key], place.at(key))
    else:
        for key, item in value.items():
            yield from _predicate(item, place.at(key), payload, scope)


def _operand(value: Any, place: Place) -> Iterator[str]:
    if isinstance(value, dict) and list(value) == ["$expected"]:
        yield from _path(value["$expected"], place.at("$expected"), "case.expected", _fields("case.expected"))


def _path(text: str, place: Place, name: str, fields: frozenset[str] | None) -> Iterator[str]:
    steps = parse_path(text).steps
    if fields is not None and steps and str(steps[0]) not in fields:
        near = did_you_mean(str(steps[0]), fields) or f"; known are {', '.join(sorted(fields))}"
        yield place.message(f"{name} is not known to have a field {steps[0]}{near}")
