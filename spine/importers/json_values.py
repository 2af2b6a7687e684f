"""JSON of other programs, read as values that can be stored: what cannot is adapted and counted, or refused."""

import json
import re
from collections import Counter
from math import isfinite, isnan
from typing import Any, Final

from spine.canonical import MAX_INTEGER

Tally = Counter[str]
"""How often each adaptation was made."""

_MOST_SAID: Final = 300
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MOST_DIGITS: Final = 17  # of an integer within ±(2^53 − 1), with its sign


class Unreadable(ValueError):
    """A part of a file breaks the rules of its format; `where` says which, empty when the caller knows."""

    def __init__(self, reason: str, where: str = "") -> None:
        super().__init__(f"{where}: {reason}" if where else reason)
        self.reason: Final = reason if len(reason) <= _MOST_SAID else f"{reason[:_MOST_SAID]}…"
        self.where: Final = where


class _BigInteger(str):
    """The digits of an integer beyond ±(2^53 − 1)."""

    __slots__ = ()


def parse(data: bytes) -> Any:
    """The value of UTF-8 JSON. NaN and Infinity are allowed, as Python writes them; a key that stands twice is not.

    Raises Unreadable. The value may hold what cannot be stored: see `adapted`.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 at byte {error.start} of it") from None
    return _load(text, _distinct)


def parse_lenient(text: str, tally: Tally) -> Any:
    """The value of JSON that a model wrote: of a key that stands twice the last counts, as for those who ran it.

    Raises Unreadable.
    """

    def last_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            tally["duplicate_key"] += len(pairs) - len(found)
        return found

    return _load(text, last_wins)


def adapted(value: Any, tally: Tally) -> Any:
    """The same value as it can be stored: big integers as decimal text, NaN and infinities as text, lone surrogates as
    U+FFFD; each is counted. Raises Unreadable when two keys become one, or it is nested too deep to walk."""
    try:
        return _adapted(value, tally)
    except RecursionError:
        raise Unreadable("nested too deep") from None


def _adapted(value: Any, tally: Tally) -> Any:
    if isinstance(value, str):
        if isinstance(value, _BigInteger):
            tally["big_integer"] += 1
            return str(value)
        return _text(value, tally)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -MAX_INTEGER <= value <= MAX_INTEGER else _counted(str(value), "big_integer", tally)
    if isinstance(value, float):
        return value if isfinite(value) else _counted(_constant(value), "not_a_number", tally)
    if isinstance(value, list):
        return [_adapted(item, tally) for item in value]
    found = {_text(key, tally): _adapted(item, tally) for key, item in value.items()}
    if len(found) < len(value):
        raise Unreadable("two keys are equal once their lone surrogates are replaced")
    return found


def _text(text: str, tally: Tally) -> str:
    if text.isascii() or not _SURROGATE.search(text):
        return text
    text, count = _SURROGATE.subn("\ufffd", text)
    tally["lone_surrogate"] += count
    return text


def _counted(text: str, kind: str, tally: Tally) -> str:
    tally[kind] += 1
    return text


def _constant(number: float) -> str:
    if isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _load(text: str, pairs: Any) -> Any:
    try:
        return json.loads(text, parse_int=_integer, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg.lower()} at line {error.lineno} of it") from None
    except RecursionError:
        raise Unreadable("nested too deep") from None


def _integer(digits: str) -> int | str:
    # Python refuses to convert more than some 4,300 digits, and nothing beyond 2^53 is kept as a number anyway.
    if len(digits) > _MOST_DIGITS:
        return _BigInteger(digits)
    number = int(digits)
    return number if -MAX_INTEGER <= number <= MAX_INTEGER else _BigInteger(digits)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise Unreadable(f"the key {max(counts, key=counts.__getitem__)!a} stands twice in one object")
    return found
