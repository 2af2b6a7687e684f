"""A file of rules: one JSON array of {op, arg}, read as the seed's command reads it."""

import json
from math import isfinite
from typing import Any, Final, NoReturn

from grading.rules.ops import Ours
from grading.rules.quoting import decoded, well_formed
from grading.rules.scoring import InvalidChecks, Rule
from spine.canonical import MAX_DEPTH, MAX_INTEGER

MAX_FILE: Final = 4 * 1024 * 1024
MAX_RULES: Final = 10_000

_STRUCTURED: Final = frozenset({Ours.JSON_SCHEMA, Ours.NOT_JSON_SCHEMA, Ours.CALLED_TOOL, Ours.NOT_CALLED_TOOL})


def read_rules(data: bytes, source: str = "") -> list[Rule]:
    """The rules of a file.

    Keys count in any case (`OP`), others are passed over; of a key twice the last holds; an arg that is missing or null
    is "", an element that is null the unknown op "". Text that is no Unicode becomes U+FFFD. Only `json_schema` may
    have an arg that is no text. Raises InvalidChecks: no JSON array, none in it, or one that is no check.
    """
    reading = _Reading(source)
    if len(data) > MAX_FILE:
        raise reading.refusal(f"a file of checks is at most {MAX_FILE // 1024 // 1024} MiB")
    found = reading.parsed(decoded(data))
    if isinstance(found, _Pairs) or not isinstance(found, list | None):
        raise reading.refusal('the checks are one JSON array: [{"op": …, "arg": …}]')
    if not found:
        raise reading.refusal("judge: no checks provided")
    if len(found) > MAX_RULES:
        raise reading.refusal(f"more than {MAX_RULES:,} checks")
    return [reading.rule(element, f"[{index}]") for index, element in enumerate(found)]


class _Pairs(list[tuple[str, Any]]):
    """An object as it is written: every key, in order."""


class _Reading:
    def __init__(self, source: str) -> None:
        self._source = source

    def refusal(self, reason: str, path: str = "", line: int | None = None) -> InvalidChecks:
        place = ":".join(str(part) for part in (self._source, line) if part not in ("", None))
        return InvalidChecks(": ".join(part for part in (place, path, reason) if part))

    def parsed(self, text: str) -> Any:
        def constant(name: str) -> NoReturn:
            raise self.refusal(f"not JSON: {name} is no number of JSON's")

        try:
            return json.loads(text, object_pairs_hook=_Pairs, parse_constant=constant, parse_int=float)
        except json.JSONDecodeError as error:
            raise self.refusal(f"not JSON: {error.msg} (column {error.colno})", line=error.lineno) from None
        except RecursionError:
            raise self.refusal("not JSON: nested too deeply") from None

    def rule(self, element: Any, path: str) -> Rule:
        if element is None:
            return Rule("")
        if not isinstance(element, _Pairs):
            raise self.refusal('a check is an object: {"op": …, "arg": …}', path)
        op = self._last(element, "op")
        arg = self._last(element, "arg")
        if not isinstance(op, str):
            raise self.refusal("the op is text", f"{path}.op")
        if not isinstance(arg, str) and op not in _STRUCTURED:
            number = isinstance(arg, float) and arg.is_integer()
            hint = f'; put it in quotes: "{arg:.0f}"' if number else ""
            raise self.refusal(f"the arg is text{hint}", f"{path}.arg")
        try:
            return Rule(well_formed(op), _plain(arg, MAX_DEPTH))
        except ValueError as error:
            raise self.refusal(str(error), f"{path}.arg") from None

    def _last(self, element: _Pairs, key: str) -> Any:
        """What the last of these keys says, in any case. Null says nothing."""
        return next((item for name, item in reversed(element) if name.lower() == key and item is not None), "")


def _plain(value: Any, room: int) -> Any:
    """The value with objects as dicts (of a key twice the last holds) and texts made well-formed. Raises ValueError."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError("a number too large for JSON")
        return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else value
    if isinstance(value, list) and room == 0:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, _Pairs):
        return {well_formed(key): _plain(item, room - 1) for key, item in value}
    return [_plain(item, room - 1) for item in value] if isinstance(value, list) else value
