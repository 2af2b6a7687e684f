"""repeated and confirmed: what was done again and again, and what was done without asking."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from grading.budget import Work
from grading.checks import Verdict
from grading.entries import Entry, Outcome, Unread
from grading.kinds.base import Demand, Running, Twice, cited, limiting_views, seqs_of
from grading.kinds.folds import Confirmations, Rows
from grading.kinds.standing import Folding
from grading.paths import MISSING
from grading.selectors import Context, Selection, Selector, Thing, View, value_of
from grading.trust import default_trust
from grading.values import Selected, Shape, Take, fingerprint
from spine import Actor, Event


@dataclass(frozen=True, slots=True)
class RepeatedCheck:
    """Passes when no value is taken more than `at_most` times in a row; with a `window`, in so many that follow each
    other. What has no value at `take` does not count, and ends no row.

    It has to hold over the believed events and over everyone's: one more event can break a row up.
    """

    of: Selected
    at_most: int
    window: int | None = None

    @property
    def demand(self) -> Demand:
        return Demand.BOTH

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.of.of,)

    def begin(self, context: Context, view: View) -> Running:
        return RepeatedRunning(self, Selection(self.of.of, context, view, keep=_Keep(self.of.take)))


@dataclass(frozen=True, slots=True)
class _Keep:
    take: Take

    def __call__(self, thing: Thing, work: Work) -> Any:
        value = Shape(self.take, (), (), as_text=False).of(value_of(thing), work)
        return MISSING if value is MISSING else fingerprint(value, work)


class RepeatedRunning:
    def __init__(self, check: RepeatedCheck, selection: Selection) -> None:
        self.check: Final = check
        self.selection: Final = selection
        self._rows: Final = Rows(check.at_most, check.window)
        self._folding: Folding | None = None

    @property
    def types(self) -> frozenset[str]:
        return self.selection.types

    def step(self, event: Event) -> None:
        self.selection.step(event)

    def result(self, work: Work) -> Verdict:
        outcomes = self.selection.outcomes()
        check = self.check
        span = "in a row" if check.window is None else f"in {check.window}"
        bound = f"at most {check.at_most} times {span}"
        loop = _in_a_row(outcomes, check.at_most) if check.window is None else self._in_a_window(outcomes, check.window)
        if loop:
            return Verdict(False, f"{check.of.of}, {bound}: the same at seqs {_seqs(loop)}", seqs_of(loop))
        unread = next((outcome for outcome in outcomes if isinstance(outcome, Unread)), None)
        if unread is not None:
            raise unread.error()
        return Verdict(True, f"{check.of.of}, {bound}: kept")

    def stands(self, work: Work) -> bool:
        self._folding = self._folding or Folding(self._rows, [self.selection], nothing=MISSING)
        self._folding.follow()
        if not self._rows.too_often:
            self.selection.found.check_readable()
        return not self._rows.too_often

    def _in_a_window(self, outcomes: Sequence[Outcome], window: int) -> list[Entry]:
        """The first that are too many; what could not be read has its place in the window."""
        recent: deque[Outcome] = deque()
        counts: Counter[bytes] = Counter()
        for outcome in outcomes:
            if isinstance(outcome, Entry) and outcome.kept is MISSING:
                continue
            recent.append(outcome)
            if len(recent) > window:
                gone = recent.popleft()
                if isinstance(gone, Entry):
                    counts[gone.kept] -= 1
            if isinstance(outcome, Entry):
                counts[outcome.kept] += 1
                if counts[outcome.kept] > self.check.at_most:
                    return [one for one in recent if isinstance(one, Entry) and one.kept == outcome.kept]
        return []


def _in_a_row(outcomes: Sequence[Outcome], at_most: int) -> list[Entry]:
    """The first row that is too long, as far as it is too long. What could not be read ends a row."""
    row: list[Entry] = []
    for outcome in outcomes:
        if isinstance(outcome, Unread):
            row = []
        elif outcome.kept is not MISSING:
            if row and row[-1].kept != outcome.kept:
                row = []
            row.append(outcome)
            if len(row) > at_most:
                return row
    return []


def _seqs(entries: Sequence[Entry]) -> str:
    return ", ".join(str(entry.seq) for entry in entries[:5]) + (" …" if len(entries) > 5 else "")


@dataclass(frozen=True, slots=True)
class ConfirmedCheck:
    """Passes when each of `calls` has a confirmation of its own: one that stands before it and after the one before.

    Whatever could be such a call is guarded, whoever wrote it; of confirmations only believed ones count, and of those
    the agent's own only where it is named.
    """

    calls: Selector
    by: Selector

    def begin(self, context: Context, *, negated: bool) -> Running:
        """The check under way. In an odd number of `none_of` it looks for a believed call without any confirmation.
        Raises CheckBroken where the reference it needs is missing."""
        by = self.by if self.by.trust is not None else replace(self.by, trust=confirming(self.by))
        views = limiting_views([self.by] if negated else [self.calls])
        runs: list[Running] = [
            ConfirmedRunning(
                Selection(self.calls, context, View.BELIEVED if negated else view),
                Selection(self.by if negated and view is View.EVERYONE else by, context, view),
            )
            for view in views
        ]
        return runs[0] if len(runs) == 1 else Twice(runs, negated=negated)


def confirming(by: Selector) -> frozenset[Actor]:
    """Who is believed to confirm where nobody is named: whoever may write it, but for the agent. Empty: nobody."""
    return frozenset[Actor]().union(*(default_trust(type) for type in by.types)) - {Actor.AGENT}


class ConfirmedRunning:
    def __init__(self, calls: Selection, by: Selection) -> None:
        self._calls: Final = calls
        self._by: Final = by
        self._confirmations: Final = Confirmations()
        self._folding: Folding | None = None
        self.types: Final = calls.types | by.types

    def step(self, event: Event) -> None:
        self._by.step(event)
        self._calls.step(event)

    def result(self, work: Work) -> Verdict:
        confirmations = self._by.outcomes()
        calls = self._calls.outcomes()
        used: list[Entry] = []
        since: list[Outcome] = []
        doubt: Unread | None = None
        at, before = 0, None
        for number, call in enumerate(calls, start=1):
            while at < len(confirmations) and confirmations[at].place < call.place:
                since.append(confirmations[at])
                at += 1
            if isinstance(call, Unread):
                doubt = doubt or call
                continue  # it may be none of the calls: then what stands before it is for the next
            found = next((one for one in since if isinstance(one, Entry)), None)
            if found is not None:
                used.append(found)
            elif since:
                doubt = doubt or _unread(since)
            else:
                return self._bare(call, number, before)
            since, before = [], call
        if doubt is not None:
            raise doubt.error()
        entries = [call for call in calls if isinstance(call, Entry)]
        return Verdict(True, f"each of {len(entries)} confirmed", cited([seqs_of(entries), seqs_of(used)]))

    def stands(self, work: Work) -> bool:
        self._folding = self._folding or Folding(self._confirmations, [self._calls, self._by])
        self._folding.follow()
        return self._confirmations.each()

    def _bare(self, call: Entry, number: int, before: Entry | None) -> Verdict:
        since = "" if before is None else f" since seq {before.seq}"
        what = f"{self._calls.selector} {number}, at seq {call.seq}"
        return Verdict(False, f"{what}: no {self._by.selector}{since}", call.seqs)


def _unread(outcomes: Sequence[Outcome]) -> Unread:
    return next(outcome for outcome in outcomes if isinstance(outcome, Unread))
