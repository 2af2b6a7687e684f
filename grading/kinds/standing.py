"""Standing: how a check under way stands, asked again and again at the cost of what has changed since."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from grading.budget import Work
from grading.entries import Entry, Outcome
from grading.errors import CheckBroken
from grading.selectors import Context, Selection
from grading.series import insert, remove

_BYTES: Final = 100
"""So many bytes are counted like one entry that is looked at."""


class Metered(Work):
    """Work that uses up other work, and can say how much."""

    __slots__ = ("_of", "bytes", "steps")

    def __init__(self, of: Work) -> None:
        self._of: Final = of
        self.steps = 0
        self.bytes = 0

    def step(self, count: int = 1) -> None:
        self.steps += count
        self._of.step(count)

    def read(self, size: int) -> None:
        self.bytes += size
        self._of.read(size)

    def fork(self) -> Work:
        return self._of.fork()


class Kept:
    """An answer that costs work, kept until what it is about is another. Whoever asks pays for it each time."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self._about: object = None
        self._answer: bool | CheckBroken | None = None
        self._steps = 0
        self._bytes = 0

    def ask(self, about: object, question: Callable[[Work], bool], work: Work) -> bool:
        """The answer to a question about this version of what it looks at. Raises CheckBroken, OutOfBudget."""
        if self._answer is None or about != self._about:
            self._answer = None
            self._learn(question, work)
            self._about = about
        else:
            work.step(self._steps)
            work.read(self._bytes)
        if isinstance(self._answer, CheckBroken):
            raise CheckBroken(self._answer.code, self._answer.where)
        return self._answer is True

    def _learn(self, question: Callable[[Work], bool], work: Work) -> None:
        metered = Metered(work)
        try:
            self._answer = question(metered)
        except CheckBroken as broken:
            self._answer = broken
        finally:
            self._steps, self._bytes = metered.steps, metered.bytes
            self._context.looked_at += 1 + metered.steps + metered.bytes // _BYTES


class Fold(Protocol):
    """What is known of outcomes that are taken one after the other, and can be given back the same way."""

    def push(self, of: int, outcome: Outcome) -> bool:
        """Take the next, by the number of the selection that it is of. True: no other after it matters."""

    def pop(self, of: int, outcome: Outcome) -> None:
        """Give back the one that was taken last."""


_SOMETHING: Final = object()


class Folding:
    """A fold over what is selected so far, in order; at one place, in the order of the selections. An entry that keeps
    `nothing` is as if it were not selected.

    Where something changes before the end of what was taken, only what comes after it is taken anew.
    """

    def __init__(self, fold: Fold, selections: Sequence[Selection], *, nothing: object = _SOMETHING) -> None:
        self._fold: Final = fold
        self._nothing: Final = nothing
        self._selections: Final = selections
        self._context: Final = selections[0].context
        self._keys: Final[list[tuple[int, int]]] = []
        self._outcomes: Final[dict[tuple[int, int], Outcome]] = {}
        self._taken = 0
        self._decided = False

    def follow(self) -> None:
        """Take what has come since, and anew what stands behind what has changed."""
        for of, selection in enumerate(self._selections):
            for place, _, after in selection.found.changes():
                worth = not isinstance(after, Entry) or after.kept is not self._nothing
                self._change((place, of), after if worth else None)
        before = self._taken
        while not self._decided and self._taken < len(self._keys):
            key = self._keys[self._taken]
            self._taken += 1
            self._decided = self._fold.push(key[1], self._outcomes[key])
        self._context.looked_at += self._taken - before

    def _change(self, key: tuple[int, int], outcome: Outcome | None) -> None:
        there = key in self._outcomes
        if outcome is None and not there:
            return
        if self._taken and key <= self._keys[self._taken - 1]:
            self._rewind(bisect_left(self._keys, key))
        if outcome is None:
            del self._outcomes[key]
            remove(self._keys, key)
            return
        self._outcomes[key] = outcome
        if not there:
            insert(self._keys, key)

    def _rewind(self, to: int) -> None:
        while self._taken > to:
            self._taken -= 1
            key = self._keys[self._taken]
            self._fold.pop(key[1], self._outcomes[key])
            self._context.looked_at += 1
            self._decided = False
