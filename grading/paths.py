"""Path: the way to a value inside a JSON value, and its text form (`a.b.0.-1."quoted.key"`)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

import orjson

Step: TypeAlias = str | int

_STEP = re.compile(r'"(?:[^"\\]|\\.)*"|[^."\s]+')
_INDEX = re.compile(r"0|-?[1-9][0-9]{0,15}")


class Missing(Enum):
    """What a path leads to where nothing stands. Null is something."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True, slots=True)
class Path:
    """Steps into a JSON value. A text is a key of an object. A whole number is a place in an array, from the end when
    negative, or in an object the key of that text. No steps: the value itself, written `.`."""

    steps: tuple[Step, ...] = ()

    def find(self, value: Any) -> Any:
        """What stands there, or MISSING: also where a step leads into a text, a number or null."""
        for step in self.steps:
            if isinstance(value, Mapping):
                key = step if type(step) is str else str(step)
                if key not in value:
                    return MISSING
                value = value[key]
            elif isinstance(value, list) and type(step) is int:
                if not -len(value) <= step < len(value):
                    return MISSING
                value = value[step]
            else:
                return MISSING
        return value

    def __truediv__(self, other: "Path | Step") -> "Path":
        return Path(self.steps + (other.steps if isinstance(other, Path) else (other,)))

    def __str__(self) -> str:
        return ".".join(map(_written, self.steps)) or "."


def parse_path(text: str) -> Path:
    """The path of a text form. Raises ValueError, saying what is wrong."""
    if text == ".":
        return Path()
    steps: list[Step] = []
    at = 0
    while True:
        found = _STEP.match(text, at)
        if found is None:
            what = "is empty" if not text else f"has no step at character {at + 1}"
            raise ValueError(f'the path {what}; steps are joined by dots, and one with a dot or a space is "quoted"')
        steps.append(_step(found.group()))
        at = found.end()
        if at == len(text):
            return Path(tuple(steps))
        if text[at] != ".":
            raise ValueError(f'the path needs a dot at character {at + 1}; a step with quotes or spaces is "quoted"')
        at += 1


def _step(written: str) -> Step:
    if written.startswith('"'):
        try:
            key: str = orjson.loads(written)
        except orjson.JSONDecodeError:
            raise ValueError("the quoted step is not a JSON string") from None
        return key
    return int(written) if _INDEX.fullmatch(written) else written


def _written(step: Step) -> str:
    if type(step) is int:
        return str(step)
    text = str(step)
    plain = text != "" and _STEP.fullmatch(text) and not text.startswith('"') and not _INDEX.fullmatch(text)
    return text if plain else orjson.dumps(text).decode()
