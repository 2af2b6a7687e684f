"""Balance: how the values wanted and those got agree so far, kept up as more come."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Protocol

from grading.budget import Work
from grading.entries import Entry, Outcome, Unread
from grading.kinds.standing import Folding
from grading.paths import MISSING
from grading.selectors import Selection
from grading.values import FixedSide, SelectedSide, Side, Value


class Agreement(Protocol):
    """Whether two sides agree."""

    def holds(self, work: Work) -> bool:
        """Raises CheckBroken, OutOfBudget."""


class Account(Protocol):
    """What was got of what is wanted."""

    @property
    def missing(self) -> int:
        """How much of it was not."""

    def want(self, kept: Any, by: int) -> None:
        """One more is wanted (`by` is 1), or one less (-1)."""

    def got(self, kept: Any, by: int) -> None:
        """One more was got, or one less."""


class Balance:
    """Values by how often they are wanted and were got."""

    def __init__(self) -> None:
        self._left: Final[Counter[Any]] = Counter()
        self.missing = 0
        self.extra = 0
        """How many were got and not wanted."""

    def want(self, kept: Any, by: int) -> None:
        before = self._left[kept]
        self._left[kept] = after = before + by
        self.missing += max(after, 0) - max(before, 0)
        self.extra += max(-after, 0) - max(-before, 0)

    def got(self, kept: Any, by: int) -> None:
        self.want(kept, -by)


class Said:
    """So many texts, by which of them occur in what was got."""

    def __init__(self, wanted: int) -> None:
        self._times: Final[Counter[int]] = Counter()
        self.missing = wanted

    def want(self, kept: Any, by: int) -> None:
        """What is wanted is known from the start."""

    def got(self, kept: Any, by: int) -> None:
        for place in kept:
            before = self._times[place]
            self._times[place] = before + by
            self.missing += (before > 0) - (before + by > 0)


class Covered:
    """All that is wanted was got before something could not be read. Where nothing is wanted, nothing is opened."""

    def __init__(self, want: Side, got: Side, account: Account) -> None:
        self._want: Final = _Wanted(want, account)
        self._account: Final = account
        self._got: Final = selection_of(got)
        self._folding: Final = None if self._got is None else Folding(self, [self._got], nothing=MISSING)
        _enter(got, account.got)

    def holds(self, work: Work) -> bool:
        if not self._want.count():
            return True
        if self._got is None or self._folding is None:
            return not self._account.missing
        self._folding.follow()
        if self._account.missing:
            self._got.found.check_readable()
        return not self._account.missing

    def push(self, of: int, outcome: Outcome) -> bool:
        self._take(outcome, 1)
        return isinstance(outcome, Unread)

    def pop(self, of: int, outcome: Outcome) -> None:
        self._take(outcome, -1)

    def _take(self, outcome: Outcome, by: int) -> None:
        if isinstance(outcome, Entry):
            self._account.got(outcome.kept, by)


class Balanced:
    """Nothing was got that is not wanted; with `both`, nothing that is wanted is missing."""

    def __init__(self, want: Side, got: Side, *, both: bool) -> None:
        self._balance: Final = Balance()
        self._want: Final = _Wanted(want, self._balance)
        self._got: Final = selection_of(got)
        self._both: Final = both
        _enter(got, self._balance.got)

    def holds(self, work: Work) -> bool:
        self._want.count()
        if self._got is not None:
            _follow(self._got, self._balance.got)
        if self._balance.extra:
            return False
        if self._got is not None:
            self._got.found.check_readable()
        return not (self._both and self._balance.missing)


class _Wanted:
    """The wanted side, entered into an account."""

    def __init__(self, side: Side, account: Account) -> None:
        self._selection: Final = selection_of(side)
        self._account: Final = account
        self._count = _enter(side, account.want)

    def count(self) -> int:
        """How many there are. Raises CheckBroken at one that could not be read."""
        if self._selection is not None:
            self._count += _follow(self._selection, self._account.want)
            self._selection.found.check_readable()
        return self._count


def selection_of(side: Side) -> Selection | None:
    """What the values are selected by, if they are."""
    return side.selection if isinstance(side, SelectedSide) else None


def _enter(side: Side, take: Callable[[Any, int], None]) -> int:
    """Enter values that do not change; how many there are."""
    values = [value for value in side.fixed if isinstance(value, Value)] if isinstance(side, FixedSide) else []
    for value in values:
        take(value.kept, 1)
    return len(values)


def _follow(selection: Selection, take: Callable[[Any, int], None]) -> int:
    """Enter what changed; by how many there are more."""
    more = 0
    for _, before, after in selection.found.changes():
        for outcome, by in ((before, -1), (after, 1)):
            if isinstance(outcome, Entry) and outcome.kept is not MISSING:
                take(outcome.kept, by)
                more += by
    return more
