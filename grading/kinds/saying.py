"""Saying: which of the texts that events want occur in texts that were got, kept up as more of both come."""

from typing import Any, Final

from grading.budget import Work
from grading.entries import Entry, Outcome, Unread
from grading.kinds.standing import Folding
from grading.paths import MISSING
from grading.selectors import Context
from grading.series import insert, remove
from grading.values import FixedSide, SelectedSide, Side, Value

_A_LOOK: Final = 10
_PARTS: Final = 100
"""To look for one text in another counts like looking at a tenth of an entry, and a hundredth for each character."""


class Saying:
    """Every wanted text occurs in some got text. A text that was got is looked through for those only that occurred in
    none before it."""

    def __init__(self, want: Side, got: Side) -> None:
        assert isinstance(want, SelectedSide)
        self._want: Final = want.selection
        self._context: Final[Context] = want.selection.context
        self._texts: Final[list[str]] = []
        self._sizes: Final = [0]
        """UTF-8 bytes of the texts, up to each."""
        self._open: Final[dict[int, str]] = {}
        """What occurs in none, by the place of the event that wants it."""
        self._found: Final[dict[int, tuple[int, str]]] = {}
        """What does, by that place, with the number of the first text in which it does."""
        self._by_text: Final[dict[int, list[int]]] = {}
        self._firsts: Final[list[int]] = []
        """The numbers of the texts in which something occurs first."""
        self._got: Final = got.selection if isinstance(got, SelectedSide) else None
        self._folding: Final = None if self._got is None else Folding(self, [self._got], nothing=MISSING)
        for value in got.fixed if isinstance(got, FixedSide) else []:
            if isinstance(value, Value):
                self._take(value.kept)

    def holds(self, work: Work) -> bool:
        """Raises CheckBroken, OutOfBudget."""
        self._follow()
        self._want.found.check_readable()
        wanted = len(self._open) + len(self._found)
        if not wanted:
            return True
        if self._folding is not None:
            self._folding.follow()
        # What comes behind the text in which the last of them was found is not looked at.
        last = len(self._texts) if self._open else self._firsts[-1] + 1
        work.read(self._sizes[last] * wanted)
        if self._open and self._got is not None:
            self._got.found.check_readable()
        return not self._open

    def push(self, of: int, outcome: Outcome) -> bool:
        if isinstance(outcome, Entry):
            self._take(outcome.kept)
        return isinstance(outcome, Unread)

    def pop(self, of: int, outcome: Outcome) -> None:
        if isinstance(outcome, Unread):
            return
        self._texts.pop()
        self._sizes.pop()
        number = len(self._texts)
        for place in self._by_text.pop(number, []):
            self._open[place] = self._found.pop(place)[1]
        if self._firsts and self._firsts[-1] == number:
            self._firsts.pop()

    def _take(self, text: str) -> None:
        number = len(self._texts)
        self._texts.append(text)
        self._sizes.append(self._sizes[-1] + (len(text) if text.isascii() else len(text.encode())))
        self._count(len(self._open), len(text) * len(self._open))
        for place in [place for place, wanted in self._open.items() if wanted in text]:
            self._enter(place, self._open.pop(place), number)

    def _follow(self) -> None:
        for place, before, after in self._want.found.changes():
            if isinstance(before, Entry) and before.kept is not MISSING:
                self._leave(place)
            if isinstance(after, Entry) and after.kept is not MISSING:
                self._look_for(place, after.kept)

    def _look_for(self, place: int, wanted: Any) -> None:
        number = next((number for number, text in enumerate(self._texts) if wanted in text), None)
        looked_through = len(self._texts) if number is None else number + 1
        self._count(looked_through, self._sizes[looked_through])
        if number is None:
            self._open[place] = wanted
        else:
            self._enter(place, wanted, number)

    def _enter(self, place: int, wanted: str, number: int) -> None:
        self._found[place] = (number, wanted)
        if number not in self._by_text:
            self._by_text[number] = []
            insert(self._firsts, number)
        self._by_text[number].append(place)

    def _leave(self, place: int) -> None:
        if self._open.pop(place, None) is not None:
            return
        number, _ = self._found.pop(place)
        self._by_text[number].remove(place)
        if not self._by_text[number]:
            del self._by_text[number]
            remove(self._firsts, number)

    def _count(self, looks: int, characters: int) -> None:
        self._context.looked_at += (looks * _A_LOOK + characters) // _PARTS
