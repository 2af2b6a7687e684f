"""The JSON Schema of ladder documents, for editors. What it cannot say (names that are used, what is an RE2 pattern, a
definition that uses itself) is left to `read_ladder`, which has the last word."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from grading.cleaning import Cleaner
from grading.kinds.agreement import How
from grading.kinds.combination import Junction
from grading.kinds.distance import Clock, Unit
from grading.kinds.gaps import Edge
from grading.kinds.presence import Bound
from grading.kinds.spend import Unset
from grading.kinds.trajectory import Arguments, Match
from grading.ladders import Mode
from grading.operators import TYPE_NAMES, Operator
from grading.predicates import Quantifier
from grading.reader.predicates import CLEANED
from grading.reader.rules import RULES
from grading.rules.ops import Op, Ours
from grading.selectors import Pick
from spine import Actor

_TEXT: Final = {"type": "string"}
_NAME: Final = {"type": "string", "pattern": r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$"}
_PATH: Final = {"type": "string", "minLength": 1, "description": 'a.b.0.-1."quoted.key"; . is the value itself'}
_COUNT: Final = {"type": "integer", "minimum": 1}
_BARE: Final = (Ours.JSON_VALID, Ours.NOT_JSON_VALID)
_USE: Final = {"type": "object", "properties": {"use": _TEXT}, "required": ["use"], "additionalProperties": False}


def json_schema() -> dict[str, Any]:
    """A fresh copy, draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gradespine ladder, language 1",
        **_object(
            {
                "gradespine": {"const": 1},
                "ladder": _NAME,
                "version": _NAME,
                "mode": _words(Mode),
                "pass_at": {"type": "number", "minimum": 0, "maximum": 1},
                "trust": _ref("trust"),
                "define": {"type": "object", "additionalProperties": _any(_ref("predicate"), _ref("check"))},
                "milestones": _list(_ref("milestone")),
            },
            "gradespine ladder version mode milestones",
        ),
        "$defs": _definitions(),
    }


def _definitions() -> dict[str, Any]:
    return {
        "trust": {"type": "array", "items": _words(Actor), "minItems": 1, "uniqueItems": True},
        "milestone": _object(
            {
                "name": {"type": "string", "minLength": 1},
                "weight": {"type": "number", "exclusiveMinimum": 0},
                "required": {"type": "boolean"},
                "trust": _ref("trust"),
                "check": _ref("check"),
            },
            "name check",
        ),
        "check": _any(*(_object({kind: inner}, kind) for kind, inner in _kinds().items())),
        "selector": _any(*_selectors({})),
        "values": _any(
            *_selectors({"take": _ref("take")}),
            _object({"expected": _PATH, "where": _ref("predicate"), "take": _ref("take")}, "expected"),
        ),
        "take": _any(_PATH, _list(_PATH)),
        "predicate": _any(*_predicates()),
        "rule": _any(*_rules()),
        "operand": {
            "anyOf": [
                {"not": {"type": "object", "required": ["$expected"]}},
                _object({"$expected": _PATH}, "$expected"),
            ]
        },
        "clean": {"type": "array", "items": _any(_words(Cleaner), _object({"drop": _TEXT}, "drop"))},
    }


def _kinds() -> dict[str, Any]:
    selector, checks, count = _ref("selector"), _list(_ref("check")), {"type": "integer", "minimum": 0}
    least = {Bound.AT_LEAST: {"type": "integer", "minimum": 1}}
    total, texts = {"type": "number"}, _any(_TEXT, _list(_TEXT))
    edges = {"type": "array", "items": _words(Edge), "minItems": 1, "uniqueItems": True}
    return {
        "event": selector,
        "absent": selector,
        "count": _any(*(_object({"of": selector, bound: least.get(bound, count)}, f"of {bound}") for bound in Bound)),
        "sequence": _list(selector),
        "within": _any(*_distances({"first": selector, "then": selector}, "first then")),
        "before": _object({"first": selector, "then": selector}, "first then"),
        "gap": _any(*_distances({"of": selector, "edges": edges}, "of")),
        "sum": _any(
            *(_object({"of": _any(*_selectors({"take": _PATH})), bound: total}, f"of {bound}") for bound in Bound)
        ),
        "budget": _object({"scope": texts, "resource": texts, "unset": _words(Unset)}, ""),
        "reached": _any(
            *_distances({"check": _ref("check")}, "check"),
            _object(
                {"check": _ref("check"), "charged": total, "resource": _TEXT, "scope": _TEXT}, "check charged resource"
            ),
        ),
        "last": _object({"of": selector, "is": _ref("predicate")}, "of is"),
        "answer": _any(*(_question(operator, {"key": _TEXT}, "key") for operator in Operator)),
        "compare": _object(
            {
                "want": _ref("values"),
                "got": _ref("values"),
                "as": _words(How),
                "keep": {"type": "object", "additionalProperties": _list(_TEXT), "minProperties": 1},
                "clean": _ref("clean"),
            },
            "want got as",
        ),
        "judge": _any(
            _object({"key": _TEXT, "rules": _list(_ref("rule"))}, "key rules"),
            _object({"of": selector, "path": _PATH, "rules": _list(_ref("rule"))}, "of path rules"),
        ),
        "trajectory": _trajectory(),
        "repeated": _object(
            {"of": _ref("values"), "at_most": _COUNT, "window": _COUNT},
            "of at_most",
        ),
        "confirmed": _object({"calls": selector, "by": selector}, "calls by"),
        **dict.fromkeys(Junction, checks),
        "at_least": _object({"n": {"type": "integer", "minimum": 1}, "of": checks}, "n of"),
        "use": _TEXT,
    }


def _trajectory() -> dict[str, Any]:
    call = _object({"tool": {"type": "string", "minLength": 1}, "arguments": {"type": "object"}}, "tool")
    calls = _any({"type": "array", "items": call}, _object({"expected": _PATH}, "expected"))
    tools = {"type": "object", "additionalProperties": _words(Arguments), "minProperties": 1}
    more = {"arguments": _words(Arguments), "tools": tools, "of": _selectors({})[1]}
    return _object({"calls": calls, "as": _words(Match), **more}, "calls as")


def _distances(more: dict[str, Any], required: str) -> list[dict[str, Any]]:
    """With a distance in each of the units."""
    events, seconds = {"type": "integer", "minimum": 1}, {"type": "number", "minimum": 0}
    return [
        _object({**more, Unit.EVENTS: events}, f"{required} {Unit.EVENTS}"),
        _object({**more, Unit.SECONDS: seconds, "clock": _words(Clock)}, f"{required} {Unit.SECONDS}"),
    ]


def _rules() -> Iterator[dict[str, Any]]:
    """Each rule of `judge`, in both its forms."""
    for op, arg in _args().items():
        yield _object({op: arg}, op)
        yield _object({"op": {"const": str(op)}, "arg": arg}, "op" if op in _BARE else "op arg")


def _args() -> dict[str, Any]:
    digits = {"type": "string", "pattern": "^[+-]?[0-9]+$"}
    call = _any({"type": "string", "minLength": 1}, _selectors({})[1])
    schema = _any({"type": "object"}, {"type": "boolean"}, _TEXT)
    return {
        **dict.fromkeys(RULES, _TEXT),
        Op.MAX_CHARS: _any({"type": "integer", "minimum": 0}, digits),
        Op.MIN_CHARS: _any({"type": "integer", "minimum": 1}, digits),
        **dict.fromkeys((Ours.JSON_SCHEMA, Ours.NOT_JSON_SCHEMA), schema),
        **dict.fromkeys((Ours.CALLED_TOOL, Ours.NOT_CALLED_TOOL), call),
        **{op: {"enum": [True, "", None]} for op in _BARE},
    }


def _selectors(more: dict[str, Any]) -> list[dict[str, Any]]:
    rest = {
        "trust": _ref("trust"),
        "latest_by": _PATH,
        "where": _ref("predicate"),
        "pick": _words(Pick),
        **more,
    }
    return [_object({key: _any(_TEXT, _list(_TEXT)), **rest}, key) for key in ("type", "call")]


def _predicates() -> list[dict[str, Any]]:
    parts, part = _list(_ref("predicate")), _ref("predicate")
    return [
        *(_question(operator, {"path": _PATH}, "path") for operator in Operator),
        *(_object({"path": _PATH, quantifier: part}, f"path {quantifier}") for quantifier in Quantifier),
        _object({"all": parts}, "all"),
        _object({"any": parts}, "any"),
        _object({"not": part}, "not"),
        _USE,
    ]


def _question(operator: Operator, subject: dict[str, Any], required: str) -> dict[str, Any]:
    operands: dict[Operator, Any] = {
        Operator.EXISTS: {"type": "boolean"},
        Operator.IS: {"enum": list(TYPE_NAMES)},
        Operator.MATCHES: _TEXT,
    }
    clean = {"clean": _ref("clean")} if operator in CLEANED else {}
    return _object({**subject, operator: operands.get(operator, _ref("operand")), **clean}, f"{required} {operator}")


def _object(properties: dict[str, Any], required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {str(key): value for key, value in properties.items()},
        "required": required.split(),
        "additionalProperties": False,
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _any(*schemas: Any) -> dict[str, Any]:
    return {"anyOf": list(schemas)}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


def _words(words: Iterable[str]) -> dict[str, Any]:
    return {"enum": [str(word) for word in words]}
