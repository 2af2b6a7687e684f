"""Object: an object of a document under reading, which refuses by name what it does not know."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from grading.operators import not_a
from grading.paths import Path, parse_path
from grading.reader.place import Place, nearest

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Object:
    """The keys of an object and where it stands. `what` is what it is called in a refusal."""

    value: dict[str, Any]
    place: Place
    what: str

    @classmethod
    def of(cls, value: Any, place: Place, what: str, known: Iterable[str]) -> "Object":
        """Raises InvalidLadder when this is no object, or has a key that is not known."""
        if not isinstance(value, dict):
            raise place.refusal(f"{what} is an object: {not_a(value, 'object')}")
        words = list(known)
        for key in value:
            if key not in words:
                raise place.at(key).refusal(f"{what} has no key {key!r}{nearest(key, words)}")
        return cls(value, place, what)

    def need(self, *keys: str) -> None:
        """Raises InvalidLadder for the first key that is missing."""
        for key in keys:
            if key not in self.value:
                raise self.place.refusal(f"{self.what} needs the key {key!r}")

    def one_of(self, keys: Sequence[str]) -> str:
        """The one of these keys that is there. Raises InvalidLadder for none and for several."""
        found = [key for key in self.value if key in keys]
        if not found:
            raise self.place.refusal(f"{self.what} needs one of {', '.join(keys)}")
        if len(found) > 1:
            raise self.place.at(found[1]).refusal(f"{self.what} takes only one of {', '.join(found)}")
        return found[0]

    def at(self, key: str) -> Place:
        return self.place.at(key)

    def text(self, key: str) -> str:
        return text(self.value[key], self.at(key), key)

    def word(self, key: str, words: type[Word]) -> Word:
        """One of the words of an enum."""
        value = self.text(key)
        try:
            return words(value)
        except ValueError:
            raise self.at(key).refusal(f"{key} cannot be {value!r}{nearest(value, list(words))}") from None

    def items(self, key: str) -> list[tuple[Any, Place]]:
        return items(self.value[key], self.at(key), key)

    def number(self, key: str, *, whole: bool = False, least: float | None = None) -> float:
        """A finite number; with `whole`, without a fraction."""
        value, place = self.value[key], self.at(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise place.refusal(f"{key} is a number: {not_a(value, 'number')}")
        if value != value or abs(value) == float("inf"):
            raise place.refusal(f"{key} is a finite number")
        if whole and value != int(value):
            raise place.refusal(f"{key} is a whole number")
        if least is not None and value < least:
            raise place.refusal(f"{key} is at least {least:g}")
        return int(value) if whole else value

    def path(self, key: str) -> Path:
        return path(self.value[key], self.at(key), key)


def text(value: Any, place: Place, what: str) -> str:
    """Raises InvalidLadder for what is not text."""
    if not isinstance(value, str):
        quotable = value is not None and not isinstance(value, dict | list)
        hint = f'; put it in quotes: "{place.as_written(value)}"' if quotable else ""
        raise place.refusal(f"{what} is text: {not_a(value, 'string')}{hint}")
    return value


def items(value: Any, place: Place, what: str) -> list[tuple[Any, Place]]:
    """The items of a list that is not empty, and where each stands."""
    if not isinstance(value, list):
        raise place.refusal(f"{what} is a list: {not_a(value, 'array')}")
    if not value:
        raise place.refusal(f"{what} is empty")
    return [(item, place.at(index)) for index, item in enumerate(value)]


def texts(value: Any, place: Place, what: str) -> tuple[str, ...]:
    """A text, or a list of distinct ones."""
    if isinstance(value, str):
        return (value,)
    found: list[str] = []
    for item, where in items(value, place, what):
        if text(item, where, what) in found:
            raise where.refusal(f"{item!r} stands here twice")
        found.append(item)
    return tuple(found)


def path(value: Any, place: Place, what: str) -> Path:
    """Raises InvalidLadder for what is not the text of a path."""
    try:
        return parse_path(text(value, place, what))
    except ValueError as error:
        raise place.refusal(str(error)) from None
