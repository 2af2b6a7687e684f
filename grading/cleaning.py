"""Cleaners: what is done to a text on both sides before the two are compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from grading.budget import Work
from grading.checks import lower, trim


class Cleaner(StrEnum):
    """`trim` and `lower` are those of `answer_equals`; `last_word` is what stands after the last white space of the
    trimmed text, nothing in an empty one."""

    TRIM = "trim"
    LOWER = "lower"
    LAST_WORD = "last_word"


@dataclass(frozen=True, slots=True)
class Drop:
    """Takes every one of these characters out."""

    chars: str


Clean: TypeAlias = tuple[Cleaner | Drop, ...]


def cleaned(value: Any, clean: Clean, work: Work) -> Any:
    """The value after these cleaners, in order. Only a text can be cleaned: any other value stays as it is."""
    if not isinstance(value, str):
        return value
    for cleaner in clean:
        work.scan(value)
        value = (
            value.translate(dict.fromkeys(map(ord, cleaner.chars)))
            if isinstance(cleaner, Drop)
            else _CLEAN[cleaner](value)
        )
    return value


def cleaned_items(values: Sequence[Any], clean: Clean, work: Work) -> list[Any]:
    return [cleaned(value, clean, work) for value in values]


def _last_word(text: str) -> str:
    text = trim(text)
    # The white space inside is what trim would take at an end, so the shortest tail that trimming does not change.
    at = len(text)
    while at > 0 and trim(text[at - 1]):
        at -= 1
    return text[at:]


_CLEAN: dict[Cleaner, Callable[[str], str]] = {Cleaner.TRIM: trim, Cleaner.LOWER: lower, Cleaner.LAST_WORD: _last_word}
