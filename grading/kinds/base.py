"""What the kinds of check have in common, and whose events they see.

**Whose events.** Where a selector, its rung or its ladder says `trust`, that holds. Elsewhere it depends on what one
more event could do, for an untrusted writer must be able neither to satisfy a check nor to hide a violation:

- A check that *looks for* something (`event`, `count at_least`, `sequence`, `within`, `last`, `answer`, `compare` as
  `every` or `said`) believes only the actors who may write the type; of unknown types, system and human.
- A check that something is *not there, or not too much* (`absent`, `count at_most`, `compare` as `only`, `answer` with
  `exists: false`) has to hold twice: over the believed events, and over those of every actor. So an event of the
  agent's can be the violation, and none can supersede one (`latest_by`, `pick`).
- One that is both (`count exactly`, `compare` as `same`) has to hold twice likewise.
- `none_of` turns this round for what it holds: whatever it forbids counts when it is there among the believed events or
  among all of them; an `absent` in it looks for something, and believes only who may be believed.
- Which `tool.returned` answers which `call` can be in doubt only where an id was used twice, or returned without a
  call: what looks for something then sees no answer, what guards a limit sees every possible one.
- `want` of a `compare` is a reference: believed events only, wherever it stands.
- `sum` is like `count`. In a limit, an amount below zero counts only by whom is believed, and never by the agent.
- `budget` is a limit: charges are everyone's, limits only the system's and humans'.
- `before` guards: every `then` of the believed and of everyone's needs a `first` that is believed.
- `gap` looks for something that keeps coming: believed events only, and everyone's stretch the way between them.
- `reached` has the demands of the check in it; what it measures (events, time, charges) is everyone's. In `none_of`, no
  agent's event may end it: then the charges are the believed ones, and events are refused as a measure.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeAlias

from grading.budget import Work
from grading.checks import Verdict
from grading.entries import Entry, Outcome
from grading.errors import CheckBroken
from grading.selectors import Context, Selector, View
from spine import Event

NAMED: Final = 5
"""How many seqs a detail spells out. The citations hold all."""


class Demand(Enum):
    """What a check demands of the events it is about."""

    PRESENCE = "presence"
    LIMIT = "limit"
    BOTH = "both"


class Running(Protocol):
    """A part of a check under way."""

    @property
    def types(self) -> frozenset[str]:
        """The event types it has to be given; of others it need not hear."""

    def step(self, event: Event) -> None: ...

    def result(self, work: Work) -> Verdict:
        """The verdict so far. `work` is what the asking may use up; nothing is changed. Raises CheckBroken."""

    def stands(self, work: Work) -> bool:
        """Whether that verdict would be that it passed: the same, raises the same and uses up as much, but asked again
        it costs what has changed and not what there is."""


class Leaf(Protocol):
    """A kind of check that looks at events itself."""

    @property
    def demand(self) -> Demand: ...

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """What it looks at with; a `pick` that is meant without being written is in them. `want` is not among them."""

    def begin(self, context: Context, view: View) -> Running:
        """Raises CheckBroken where the reference it needs is missing."""


def start(leaf: Leaf, context: Context, *, negated: bool) -> Running:
    """The leaf under way, over the events it is to see. `negated`: it stands in an odd number of `none_of`."""

    def begin() -> Running:
        views = [leaf.begin(context, view) for view in _views(leaf, negated=negated)]
        return views[0] if len(views) == 1 else Twice(views, negated=negated)

    return begun(begin)


def begun(begin: Callable[[], Running]) -> Running:
    """What this begins; where it cannot, for a reference that is missing, a check that says so when it is asked."""
    try:
        return begin()
    except CheckBroken as error:
        return Broken(error)


def _views(leaf: Leaf, *, negated: bool) -> list[View]:
    if leaf.demand is (Demand.LIMIT if negated else Demand.PRESENCE):
        return [View.BELIEVED]
    return limiting_views(leaf.selectors, both=leaf.demand is Demand.BOTH)


def limiting_views(selectors: Sequence[Selector], *, both: bool = False) -> list[View]:
    """The views that a check has to hold in which these could violate; `both`: also by what they do not select."""
    pairs = any(selector.tools is not None for selector in selectors)
    if pairs:
        return [View.BELIEVED, View.EVERYONE]  # which return answers which call is seen differently, whoever is trusted
    if all(selector.trust is not None for selector in selectors):
        return [View.BELIEVED]
    grows = all(selector.latest_by is None and selector.pick is None for selector in selectors)
    if grows and not both:
        return [View.EVERYONE]  # holds all that the believed events hold: looking at those too would find no more
    return [View.BELIEVED, View.EVERYONE]


@dataclass(slots=True)
class Broken:
    """A check that could not begin. It says so when asked, so that a rung which is never reached never fails by it."""

    error: CheckBroken
    types: frozenset[str] = frozenset()

    def step(self, event: Event) -> None:
        pass

    def result(self, work: Work) -> Verdict:
        raise CheckBroken(self.error.code, self.error.where)

    def stands(self, work: Work) -> bool:
        raise CheckBroken(self.error.code, self.error.where)


@dataclass(frozen=True, slots=True)
class Plain:
    """A part that answers with how it stands, and no detail."""

    part: Running

    def result(self, work: Work) -> Verdict:
        return PASSES if self.part.stands(work) else FAILS


PASSES: Final = Verdict(True, "")
FAILS: Final = Verdict(False, "")


class Answering(Protocol):
    """A part that can be asked for a verdict."""

    def result(self, work: Work) -> Verdict: ...


class Twice:
    """A check over the believed events and over everyone's: a violation in either decides."""

    def __init__(self, views: Sequence[Running], *, negated: bool) -> None:
        self._views: Final = views
        self._plain: Final = [Plain(view) for view in views]
        self._violation: Final = negated
        self.types: Final = frozenset[str]().union(*(view.types for view in views))

    def step(self, event: Event) -> None:
        for view in self._views:
            view.step(event)

    def result(self, work: Work) -> Verdict:
        return self._settled(self._views, work)

    def stands(self, work: Work) -> bool:
        return self._settled(self._plain, work).passed

    def _settled(self, views: Sequence[Answering], work: Work) -> Verdict:
        verdicts, broken = settle(views, work)
        for verdict in verdicts:
            if verdict.passed is self._violation:
                return verdict
        if broken is not None:
            raise broken
        return Verdict(not self._violation, verdicts[0].detail, cited(verdict.citations for verdict in verdicts))


Settled: TypeAlias = tuple[list[Verdict], CheckBroken | None]


def settle(parts: Sequence[Answering], work: Work) -> Settled:
    """The verdicts there are, and the first reason why there are not more: for checks that a violation decides,
    whatever else could not be read."""
    verdicts: list[Verdict] = []
    broken: CheckBroken | None = None
    for part in parts:
        try:
            verdicts.append(part.result(work))
        except CheckBroken as error:
            broken = broken or error
    return verdicts, broken


def sort_out(outcomes: Iterable[Outcome]) -> tuple[list[Entry], CheckBroken | None]:
    """What was found, and the first of what could not be read."""
    entries: list[Entry] = []
    broken: CheckBroken | None = None
    for outcome in outcomes:
        if isinstance(outcome, Entry):
            entries.append(outcome)
        else:
            broken = broken or outcome.error()
    return entries, broken


def cited(seqs: Iterable[Iterable[int]]) -> tuple[int, ...]:
    """All of these seqs: ascending, each once."""
    return tuple(sorted({seq for some in seqs for seq in some}))


def seqs_of(entries: Iterable[Entry]) -> tuple[int, ...]:
    return cited(entry.seqs for entry in entries)


def at(entries: Sequence[Entry]) -> str:
    """`at seq 3`, `at seqs 3, 5`, `at seqs 1, 2, 3, 4, 5 and 7 more`."""
    named = ", ".join(str(entry.seq) for entry in entries[:NAMED])
    more = f" and {len(entries) - NAMED} more" if len(entries) > NAMED else ""
    return f"at seq{'s' if len(entries) > 1 else ''} {named}{more}"
