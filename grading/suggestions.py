"""Suggestions: the known word that somebody probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def closest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known word that is nearest, or None when none is near."""
    return next(iter(get_close_matches(word, sorted(map(str, known)), n=1, cutoff=cutoff)), None)


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """`; did you mean …?`, or nothing when no known word is near."""
    found = closest(word, known, cutoff=cutoff)
    return "" if found is None else f"; did you mean {found}?"
