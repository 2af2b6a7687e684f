"""Cleaners: what is done to a text on both sides before the two are compared."""

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias
from unicodedata import ucd_3_2_0

from grading.budget import Work
from grading.checks import lower, trim


class Cleaner(StrEnum):
    """`trim` and `lower` are those of `answer_equals`; `last_word` is what stands after the last white space of the
    trimmed text, nothing in an empty one. `squad` is the normalisation of SQuAD's exact match: see `_squad`."""

    TRIM = "trim"
    LOWER = "lower"
    LAST_WORD = "last_word"
    SQUAD = "squad"


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


_PUNCTUATION: Final = dict.fromkeys(map(ord, string.punctuation))
_ARTICLE: Final = re.compile(r"(?<![0-9a-z])(?:an?|the)(?![0-9a-z])")
_SPACE: Final = re.compile(  # what str.split() splits at
    "[\t\n\v\f\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
)


def _squad(text: str) -> str:
    """Lower case, without ASCII punctuation, without the words a, an, the, with single spaces.

    Source: `normalize_answer` of SQuAD's evaluate-v1.1.py. What its pattern takes for part of a word comes with the
    Python that runs it; here that is a letter or number of Unicode 3.2, so that a grade never depends on it.
    """
    return _SPACE.sub(" ", _ARTICLE.sub(_without_article, lower(text).translate(_PUNCTUATION))).strip(" ")


def _without_article(found: re.Match[str]) -> str:
    beside = found.string[max(found.start() - 1, 0) : found.start()] + found.string[found.end() : found.end() + 1]
    return found[0] if any(ucd_3_2_0.category(character)[0] in "LN" for character in beside) else " "


_CLEAN: dict[Cleaner, Callable[[str], str]] = {
    Cleaner.TRIM: trim,
    Cleaner.LOWER: lower,
    Cleaner.LAST_WORD: _last_word,
    Cleaner.SQUAD: _squad,
}
