"""Folds: what is known of what was selected, taken one after the other, and given back where something changed."""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from grading.entries import Entry, Outcome, Unread
from grading.kinds.amounts import NOTHING, added
from grading.kinds.distance import Distance
from grading.series import insert, remove


class Nearest:
    """Whether a `then` (number 0) has a `first` (number 1) before it that is near enough: a fold."""

    def __init__(self, distance: Distance) -> None:
        self._distance: Final = distance
        self._known: Final[list[tuple[int, int]]] = []
        self._unread: Final[list[Unread]] = []
        self._answer: bool | Unread = False

    def found(self) -> bool:
        """Raises CheckBroken at what could not be read and came before the answer."""
        if isinstance(self._answer, Unread):
            raise self._answer.error()
        return self._answer

    def push(self, of: int, outcome: Outcome) -> bool:
        if of == 0:
            self._answer = self._of_then(outcome)
            return self._answer is not False
        if isinstance(outcome, Unread):
            self._unread.append(outcome)
        else:
            insert(self._known, (self._distance.point(outcome), outcome.place))
        return False

    def pop(self, of: int, outcome: Outcome) -> None:
        if of == 0:
            self._answer = False
        elif isinstance(outcome, Unread):
            self._unread.pop()
        else:
            remove(self._known, (self._distance.point(outcome), outcome.place))

    def _of_then(self, then: Outcome) -> bool | Unread:
        if isinstance(then, Unread):
            return then
        if self._unread:
            return self._unread[0]
        here = self._distance.point(then)
        nearest = bisect_left(self._known, (here, then.place)) - 1
        return nearest >= 0 and here - self._known[nearest][0] <= self._distance.reach


class Rows:
    """Whether a value was taken too often in so many that follow each other; without a window, in a row: a fold."""

    def __init__(self, at_most: int, window: int | None) -> None:
        self._at_most: Final = at_most
        self._window: Final = window
        self._taken = 0
        self._places: Final[defaultdict[bytes, list[int]]] = defaultdict(list)
        self._rows: Final[list[tuple[bytes | None, int]]] = [(None, 0)]
        self.too_often = False

    def push(self, of: int, outcome: Outcome) -> bool:
        if isinstance(outcome, Unread):
            self._taken += 1
            self._rows.append((None, 0))
        else:
            self.too_often = self._take(outcome.kept)
        return self.too_often

    def pop(self, of: int, outcome: Outcome) -> None:
        self.too_often = False
        self._taken -= 1
        self._rows.pop()
        if isinstance(outcome, Entry):
            self._places[outcome.kept].pop()

    def _take(self, value: bytes) -> bool:
        places = self._places[value]
        places.append(self._taken)
        self._taken += 1
        before, length = self._rows[-1]
        self._rows.append((value, length + 1 if before == value else 1))
        if self._window is None:
            return self._rows[-1][1] > self._at_most
        # The first of so many as are too many: is it still in the window?
        return len(places) > self._at_most and self._taken - places[-1 - self._at_most] <= self._window


@dataclass(frozen=True, slots=True)
class Asked:
    """Whether, since the last call, there was a confirmation, or what may be one; and whether a call was in doubt, or
    had none."""

    confirmed: bool = False
    unread: Unread | None = None
    doubt: Unread | None = None
    bare: bool = False


class Confirmations:
    """Whether each call (number 0) has a confirmation (number 1) of its own: a fold."""

    def __init__(self) -> None:
        self._states: Final = [Asked()]

    def each(self) -> bool:
        """Raises CheckBroken where it is not known."""
        now = self._states[-1]
        if now.doubt is not None and not now.bare:
            raise now.doubt.error()
        return not now.bare

    def push(self, of: int, outcome: Outcome) -> bool:
        now = self._states[-1]
        self._states.append(_heard(now, outcome) if of else _call_made(now, outcome))
        return self._states[-1].bare

    def pop(self, of: int, outcome: Outcome) -> None:
        self._states.pop()


def _heard(now: Asked, by: Outcome) -> Asked:
    if isinstance(by, Unread):
        return replace(now, unread=now.unread or by)
    return now if now.confirmed else replace(now, confirmed=True)


def _call_made(now: Asked, call: Outcome) -> Asked:
    if isinstance(call, Unread):
        return replace(now, doubt=now.doubt or call)
    if now.confirmed:
        return Asked(doubt=now.doubt)
    return Asked(doubt=now.doubt or now.unread, bare=now.unread is None)


class FirstEnough:
    """Whether amounts, added up from the front, come to so much: a fold."""

    def __init__(self, amount: Decimal) -> None:
        self._amount: Final = amount
        self._totals: Final = [NOTHING]
        self._answer: bool | Unread = False

    def found(self) -> bool:
        """Raises CheckBroken at what could not be read and came before the answer."""
        if isinstance(self._answer, Unread):
            raise self._answer.error()
        return self._answer

    def push(self, of: int, outcome: Outcome) -> bool:
        if isinstance(outcome, Unread):
            self._totals.append(self._totals[-1])
            self._answer = outcome
        else:
            self._totals.append(added(self._totals[-1], outcome.kept))
            self._answer = self._totals[-1] >= self._amount
        return self._answer is not False

    def pop(self, of: int, outcome: Outcome) -> None:
        self._totals.pop()
        self._answer = False
