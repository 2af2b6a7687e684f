"""trajectory: the calls that were made, against those that were wanted."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from grading.budget import Work
from grading.checks import Verdict
from grading.entries import Entry, Outcome, Unread, readable
from grading.errors import BrokenCode, CheckBroken
from grading.kinds.base import NAMED, Demand, Running, cited
from grading.kinds.matching import Pairs
from grading.kinds.progress import Growing, InOrder, NoneBut, NoneMissing, Paired
from grading.kinds.standing import Folding
from grading.operators import not_a
from grading.paths import MISSING, Path
from grading.predicates import FromExpected, Mismatch
from grading.selectors import Context, Selection, Selector, Thing, View, value_of
from grading.values import fingerprint
from spine import Event

_TOOL: Final = Path(("tool",))
_ARGUMENTS: Final = Path(("arguments",))
_WHOLE: Final = ""
"""Stands for the name where arguments are no object, and are compared as one."""


class Match(StrEnum):
    """How the calls made have to agree with those wanted."""

    STRICT = "strict"
    """One for one, in order, and no other."""
    UNORDERED = "unordered"
    """One for one, in any order, and no other."""
    SUBSET = "subset"
    """None but wanted ones, each as often as it is wanted at most."""
    SUPERSET = "superset"
    """All that are wanted, each as often as it is wanted at least."""


class Arguments(StrEnum):
    """How the arguments of a call have to agree with those wanted."""

    EXACT = "exact"
    IGNORE = "ignore"
    SUBSET = "subset"
    """None but wanted ones, with equal values."""
    SUPERSET = "superset"
    """All that are wanted, with equal values."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call as it is compared: its tool, and a fingerprint of each argument. None: any arguments will do."""

    tool: str
    arguments: Mapping[str, bytes] | None


@dataclass(frozen=True, slots=True)
class Written:
    """A wanted call that stands in the document, `name` being its place there."""

    name: str
    tool: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class TrajectoryCheck:
    """Passes when the calls agree as `how` says. Source of the modes: agentevals' trajectory match; where it answers
    with a bare boolean, this names the first step that does not agree, from both sides.

    `wanted` are the calls themselves, or a path of `case.expected` where they stand.
    """

    of: Selector
    wanted: tuple[Written, ...] | Path
    how: Match
    arguments: Arguments = Arguments.EXACT
    tools: Mapping[str, Arguments] = field(default_factory=dict)

    @property
    def demand(self) -> Demand:
        return {Match.SUPERSET: Demand.PRESENCE, Match.SUBSET: Demand.LIMIT}.get(self.how, Demand.BOTH)

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.of,)

    def begin(self, context: Context, view: View) -> Running:
        """Raises CheckBroken where the reference is missing, or of a wrong type."""
        return TrajectoryRunning(self, _wanted(self.wanted, context), Selection(self.of, context, view, keep=_step))

    def steps(self, wanted: Step) -> int:
        """What it costs to find out whether a call is a wanted one."""
        return 1 + len(wanted.arguments or ())

    def fits(self, made: Step, wanted: Step) -> bool:
        """Whether a call is a wanted one."""
        if made.tool != wanted.tool:
            return False
        return not self.differing(made, wanted)

    def differing(self, made: Step, wanted: Step) -> list[str]:
        """The names of the arguments in which two calls of one tool do not agree."""
        if wanted.arguments is None or made.arguments is None:
            return []
        got, want = made.arguments, wanted.arguments
        match self.tools.get(wanted.tool, self.arguments):
            case Arguments.IGNORE:
                names: list[str] = []
            case Arguments.SUBSET:
                names = list(got)
            case Arguments.SUPERSET:
                names = list(want)
            case _:
                names = [*want, *(name for name in got if name not in want)]
        return [name for name in names if got.get(name) != want.get(name)]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A wanted call: what it is called in a detail, and how it is compared."""

    name: str
    step: Step


class TrajectoryRunning:
    def __init__(self, check: TrajectoryCheck, wanted: Sequence[Wanted], selection: Selection) -> None:
        self._check: Final = check
        self._wanted: Final = wanted
        self._selection: Final = selection
        self._progress: Folding | Growing | None = None
        self._in_order: Final = InOrder(check, [one.step for one in wanted])
        self.types: Final = selection.types

    def step(self, event: Event) -> None:
        self._selection.step(event)

    def result(self, work: Work) -> Verdict:
        outcomes = self._selection.outcomes()
        match self._check.how:
            case Match.STRICT:
                return self._strict(outcomes, work)
            case Match.SUPERSET:
                return self._superset(outcomes, work)
            case how:
                return self._subset(outcomes, work, all_of_them=how is Match.UNORDERED)

    def stands(self, work: Work) -> bool:
        if self._progress is None:
            strict = self._check.how is Match.STRICT
            self._progress = (
                Folding(self._in_order, [self._selection]) if strict else Growing(self._paired, self._selection)
            )
        if isinstance(self._progress, Growing):
            return self._progress.agrees(work)
        self._progress.follow()
        return self._in_order.all_made(work)

    def _paired(self, context: Context) -> Paired:
        wanted = [one.step for one in self._wanted]
        if self._check.how is Match.SUPERSET:
            return NoneMissing(self._check, wanted, context)
        return NoneBut(self._check, wanted, all_of_them=self._check.how is Match.UNORDERED)

    def _strict(self, outcomes: Sequence[Outcome], work: Work) -> Verdict:
        for index, wanted in enumerate(self._wanted):
            if index == len(outcomes):
                return self._missing(index, wanted, outcomes)
            made = readable(outcomes[index])
            self._count(work, wanted.step)
            if not self._check.fits(made.kept, wanted.step):
                return Verdict(False, f"step {index + 1}: {self._apart(wanted, made)}", made.seqs)
        if len(outcomes) > len(self._wanted):
            more = readable(outcomes[len(self._wanted)])
            return Verdict(False, f"step {len(self._wanted) + 1}: {_none_wanted(more)}", more.seqs)
        return self._agreed(outcomes)

    def _superset(self, outcomes: Sequence[Outcome], work: Work) -> Verdict:
        made = [outcome for outcome in outcomes if isinstance(outcome, Entry)]
        pairs = Pairs(self._fits([w.step for w in self._wanted], [m.kept for m in made], work, turned=True), work)
        for index, wanted in enumerate(self._wanted):
            if not pairs.pair(index):
                _check_readable(outcomes)
                return self._missing(index, wanted, made)
        return self._agreed([made[index] for index in sorted(pairs.taken())])

    def _subset(self, outcomes: Sequence[Outcome], work: Work, *, all_of_them: bool) -> Verdict:
        made = [outcome for outcome in outcomes if isinstance(outcome, Entry)]
        pairs = Pairs(self._fits([m.kept for m in made], [w.step for w in self._wanted], work), work)
        for index, call in enumerate(made):
            if not pairs.pair(index):
                near = self._nearest(call.kept, pairs.taken())
                said = _none_wanted(call) if near is None else self._apart(near, call)
                return Verdict(False, f"call {index + 1}: {said}", call.seqs)
        _check_readable(outcomes)
        if all_of_them and len(made) < len(self._wanted):
            index = next(index for index in range(len(self._wanted)) if index not in pairs.taken())
            return self._missing(index, self._wanted[index], made)
        return self._agreed(made)

    def _fits(
        self, left: Sequence[Step], right: Sequence[Step], work: Work, *, turned: bool = False
    ) -> list[list[int]]:
        """For each on the left, the places on the right that it agrees with; `turned`: the wanted are on the left."""
        by_tool: defaultdict[str, list[int]] = defaultdict(list)
        for place, step in enumerate(right):
            by_tool[step.tool].append(place)
        found = []
        for one in left:
            places = by_tool[one.tool]
            for place in places:
                self._count(work, one if turned else right[place])
            found.append([p for p in places if self._check.fits(*((right[p], one) if turned else (one, right[p])))])
        return found

    def _count(self, work: Work, wanted: Step) -> None:
        work.step(self._check.steps(wanted))

    def _nearest(self, made: Step, taken: frozenset[int]) -> Wanted | None:
        """A wanted call of the same tool that no other call has been: what this one was probably to be."""
        for index, wanted in enumerate(self._wanted):
            if index not in taken and wanted.step.tool == made.tool:
                return wanted
        return None

    def _missing(self, index: int, wanted: Wanted, outcomes: Sequence[Outcome]) -> Verdict:
        """That a wanted call was not made, and which call of its tool was made otherwise."""
        made = [outcome for outcome in outcomes if isinstance(outcome, Entry)]
        same = [call for call in made if call.kept.tool == wanted.step.tool]
        apart = next((call for call in same if not self._check.fits(call.kept, wanted.step)), None)
        if self._check.how is not Match.STRICT and apart is not None:
            return Verdict(False, f"step {index + 1}: {self._apart(wanted, apart)}", apart.seqs)
        if self._check.how is Match.STRICT:
            after = f", no call after seq {made[-1].seq}" if made else ", no call"
            return Verdict(False, f"step {index + 1}: wanted {wanted.name}{after}", made[-1].seqs if made else ())
        often = f" as often: of its tool there are {len(same)}" if same else ""
        seqs = cited(call.seqs for call in same)
        return Verdict(False, f"step {index + 1}: wanted {wanted.name}, not called{often}", seqs)

    def _apart(self, wanted: Wanted, made: Entry) -> str:
        both = f"wanted {wanted.name}, called at seq {made.seq}"
        if made.kept.tool != wanted.step.tool:
            return f"{both}: another tool"
        names = self._check.differing(made.kept, wanted.step)
        paths = ", ".join(str(_ARGUMENTS / Path() if name == _WHOLE else _ARGUMENTS / name) for name in names[:NAMED])
        return f"{both}: differs in {paths}" if names else f"{both}: wanted no more often"

    def _agreed(self, outcomes: Sequence[Outcome]) -> Verdict:
        made = [readable(outcome) for outcome in outcomes]
        counted = f"{len(made)} call{'' if len(made) == 1 else 's'}"
        return Verdict(True, f"{counted} as wanted ({self._check.how})", cited(call.seqs for call in made))


def _wanted(wanted: tuple[Written, ...] | Path, context: Context) -> list[Wanted]:
    if isinstance(wanted, tuple):
        return [
            Wanted(one.name, Step(one.tool, None if one.arguments is None else _prints(one.arguments, context.work)))
            for one in wanted
        ]
    found = FromExpected(wanted).of(context.expected)
    if not isinstance(found, list):
        raise CheckBroken(BrokenCode.WRONG_TYPE, f"case.expected {wanted}: {not_a(found, 'array')}")
    steps = []
    for index, item in enumerate(found):
        named = f"case.expected {wanted / index}"
        try:
            steps.append(Wanted(named, _of_value(item, context.work)))
        except Mismatch as error:
            raise CheckBroken(BrokenCode.WRONG_TYPE, f"{named}: {error.path}: {error.what}") from None
    return steps


def _step(thing: Thing, work: Work) -> Step:
    step = _of_value(value_of(thing), work)
    return step if step.arguments is not None else Step(step.tool, {})


def _of_value(value: Any, work: Work) -> Step:
    """Of {tool, arguments}. Raises Mismatch."""
    tool, arguments = _TOOL.find(value), _ARGUMENTS.find(value)
    if not isinstance(tool, str):
        raise Mismatch(_TOOL, "it is missing" if tool is MISSING else not_a(tool, "string"))
    return Step(tool, None if arguments is MISSING or arguments is None else _prints(arguments, work))


def _prints(arguments: Any, work: Work) -> dict[str, bytes]:
    named = arguments if isinstance(arguments, Mapping) else {_WHOLE: arguments}
    return {name: fingerprint(value, work) for name, value in named.items()}


def _check_readable(outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        if isinstance(outcome, Unread):
            raise outcome.error()


def _none_wanted(call: Entry) -> str:
    return f"called at seq {call.seq}, where none is wanted"
