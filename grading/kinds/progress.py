"""Progress: how far the calls made so far agree with those wanted, kept up as more are made."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from grading.budget import Work
from grading.entries import Changed, Entry, Outcome, Unread
from grading.kinds.matching import Pairs
from grading.kinds.standing import Metered
from grading.selectors import Context, Selection


class Terms(Protocol):
    """What it means that two calls agree."""

    def fits(self, made: Any, wanted: Any) -> bool:
        """Whether a call is a wanted one."""

    def steps(self, wanted: Any) -> int:
        """What it costs to find that out."""


class InOrder:
    """Calls that have to be the wanted ones, one for one: a fold."""

    def __init__(self, terms: Terms, wanted: Sequence[Any]) -> None:
        self._terms: Final = terms
        self._wanted: Final = wanted
        self._steps: Final = [0]
        self._against: bool | Unread = False
        """Whether one does not agree; or what stands in its place."""

    def all_made(self, work: Work) -> bool:
        """Whether the calls are those wanted. Raises CheckBroken, OutOfBudget."""
        work.step(self._steps[-1])
        if isinstance(self._against, Unread):
            raise self._against.error()
        return not self._against and len(self._steps) > len(self._wanted)

    def push(self, of: int, outcome: Outcome) -> bool:
        at = len(self._steps) - 1
        steps = 0
        if isinstance(outcome, Unread):
            self._against = outcome
        elif at == len(self._wanted):
            self._against = True
        else:
            steps = self._terms.steps(self._wanted[at])
            self._against = not self._terms.fits(outcome.kept, self._wanted[at])
        self._steps.append(self._steps[-1] + steps)
        return self._against is not False

    def pop(self, of: int, outcome: Outcome) -> None:
        self._steps.pop()
        self._against = False


class Paired(Protocol):
    """Calls made that are paired off with those wanted, in the order in which they were made."""

    @property
    def steps(self) -> int:
        """What it has cost to compare them."""

    def add(self, made: Any, left: Work) -> None:
        """One more was made. Raises OutOfBudget, and does nothing, where comparing it takes more than is left."""

    def agrees(self, work: Work, *, check_readable: Callable[[], None]) -> bool:
        """Whether the pairs are as they have to be. `check_readable` raises where a call could not be read."""


class Growing:
    """Calls that are paired off as they are made; anew, where one comes before others that were."""

    def __init__(self, begin: Callable[[Context], Paired], selection: Selection) -> None:
        self._begin: Final = begin
        self._selection: Final = selection
        self._paired = begin(selection.context)
        self._last = 0
        self._more: deque[Entry] = deque()

    def agrees(self, work: Work) -> bool:
        """Raises CheckBroken, OutOfBudget."""
        self._follow(self._selection.found.changes())
        context, before = self._selection.context, self._paired.steps
        while self._more:
            self._paired.add(self._more[0].kept, work)
            self._more.popleft()
            context.looked_at += 1
        context.looked_at += self._paired.steps - before
        return self._paired.agrees(work, check_readable=self._selection.found.check_readable)

    def _follow(self, changes: Sequence[Changed]) -> None:
        added = sorted((change.after for change in changes if isinstance(change.after, Entry)), key=_place)
        if any(isinstance(change.before, Entry) for change in changes) or (added and added[0].place <= self._last):
            self._paired = self._begin(self._selection.context)
            self._more = deque(outcome for outcome in self._selection.outcomes() if isinstance(outcome, Entry))
        else:
            self._more.extend(added)
        self._last = max([self._last, *(entry.place for entry in added)])


class NoneBut:
    """Each call made has to be a wanted one of its own; with `all_of_them`, none of those may be missing."""

    def __init__(self, terms: Terms, wanted: Sequence[Any], *, all_of_them: bool) -> None:
        self._terms: Final = terms
        self._wanted: Final = wanted
        self._all: Final = all_of_them
        self._of_tool: Final = _by_tool(wanted)
        self._fits: Final[list[list[int]]] = []
        self._metered: Final = Metered(_Endless())
        self._pairs: Final = Pairs(self._fits, self._metered)
        self._compared = 0
        self._failed = False

    @property
    def steps(self) -> int:
        return self._compared + self._metered.steps

    def add(self, made: Any, left: Work) -> None:
        places = self._of_tool.get(made.tool, ())
        steps = sum(self._terms.steps(self._wanted[place]) for place in places)
        left.fork().step(self.steps + steps)
        self._compared += steps
        if not self._failed:
            self._fits.append([place for place in places if self._terms.fits(made, self._wanted[place])])
            self._failed = not self._pairs.pair(len(self._fits) - 1)

    def agrees(self, work: Work, *, check_readable: Callable[[], None]) -> bool:
        work.step(self.steps)
        if self._failed:
            return False
        check_readable()
        return not self._all or len(self._fits) == len(self._wanted)


class NoneMissing:
    """Each wanted call has to be one of those made. They are paired off anew where one more would be looked at."""

    def __init__(self, terms: Terms, wanted: Sequence[Any], context: Context) -> None:
        self._terms: Final = terms
        self._wanted: Final = wanted
        self._context: Final = context
        self._of_tool: Final = _by_tool(wanted)
        self._fits: Final[list[list[int]]] = [[] for _ in wanted]
        self._made = 0
        self._exhausted: set[int] | None = None
        """Of what is wanted, that of which one more call would be looked at; None: they are to be paired off."""
        self._missing = False
        self._pairing = 0
        self.steps = 0

    def add(self, made: Any, left: Work) -> None:
        places = self._of_tool.get(made.tool, ())
        steps = sum(self._terms.steps(self._wanted[place]) for place in places)
        left.fork().step(self.steps + steps)
        for place in places:
            if self._terms.fits(made, self._wanted[place]):
                self._fits[place].append(self._made)
                if self._exhausted is not None and place in self._exhausted:
                    self._exhausted = None
        self.steps += steps
        self._made += 1

    def agrees(self, work: Work, *, check_readable: Callable[[], None]) -> bool:
        work.step(self.steps)
        if self._exhausted is None:
            self._pair(work.fork())
        work.step(self._pairing)
        if self._missing:
            check_readable()
        return not self._missing

    def _pair(self, left: Work) -> None:
        metered = Metered(left)
        pairs = Pairs(self._fits, metered)
        try:
            self._missing = not all(pairs.pair(place) for place in range(len(self._wanted)))
        finally:
            self._context.looked_at += metered.steps
        self._exhausted, self._pairing = pairs.exhausted, metered.steps


class _Endless(Work):
    __slots__ = ()

    def step(self, count: int = 1) -> None:
        """There is always more."""


def _by_tool(wanted: Sequence[Any]) -> dict[str, list[int]]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, step in enumerate(wanted):
        places[step.tool].append(place)
    return dict(places)


def _place(entry: Entry) -> int:
    return entry.place
