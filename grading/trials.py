"""Trials: a grader asked of runs as they are, of runs with a cheat planted, and of runs with a mishap."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from grading.cheats import CHEATS, IDLE, Cheat, NotApplicable, Rows, Scene
from grading.errors import BrokenCode, MilestoneBroken
from grading.evidence import Evidence, StreamEvidence, StreamReference
from grading.graders import Grader
from grading.labels import Outcome
from grading.ladders import Grade, Ladder, Milestone, Mode
from grading.mishaps import mishaps
from grading.planting import PlantedEvidence, Run, Surroundings
from grading.polarity import Change, claim_of
from grading.trust import NAMED_ONLY
from spine import Log

_UNCHANGED: Final = "the run passes without it"


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a run could not be graded."""

    code: BrokenCode
    milestone: str
    where: str


@dataclass(frozen=True, slots=True)
class Trial:
    """What a grader says of a run. `missed` are the required milestones that did not pass; `detail` says its score."""

    stream: str
    evidence: StreamReference
    outcome: Outcome
    missed: tuple[str, ...] = ()
    detail: str = ""
    broken: Broken | None = None


@dataclass(frozen=True, slots=True)
class Fall:
    """A cheat by which a run passes, with the milestones that passed only by it."""

    cheat: Cheat
    stream: str
    milestones: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Raise:
    """A milestone that a mishap turned from failed to passed, though it claims to withstand that."""

    stream: str
    milestone: str
    change: Change
    seqs: tuple[int, ...]


@dataclass(slots=True)
class CheatTrials:
    """What came of a cheat over all runs."""

    cheat: Cheat
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    not_applicable: int = 0
    reason: str | None = None

    def add(self, planted: NotApplicable | Sequence[Outcome]) -> None:
        """Count a run: the worst that its variants came to."""
        if isinstance(planted, NotApplicable):
            self.not_applicable += 1
            self.reason = self.reason or planted.reason
        else:
            outcomes: tuple[Outcome, ...] = ("passed", "broken", "failed")
            self.outcomes[next(outcome for outcome in outcomes if outcome in planted)] += 1


def read_run(log: Log, reference: StreamReference) -> Run:
    """The run as far as it is evidence."""
    evidence = StreamEvidence(log, reference.stream, reference.through_seq)
    return Run(reference.stream, tuple(event.row for event in evidence.events(also=NAMED_ONLY)))


def try_stream(log: Log, grader: Grader, stream: str) -> Trial:
    """The grader asked of a run as it stands on the log now."""
    evidence = StreamEvidence(log, stream)
    said = _asked(grader, evidence)
    if isinstance(said, MilestoneBroken):
        broken = Broken(said.code, said.milestone, said.where)
        return Trial(stream, evidence.reference, "broken", broken=broken)
    names = tuple(rung.name for rung in said.rungs if rung.required and not rung.passed)
    outcome: Outcome = "passed" if said.passed else "failed"
    return Trial(stream, evidence.reference, outcome, names, f"score {said.score:.3g}")


class CheatTrial:
    """All cheats, tried on one run after the other."""

    def __init__(self, grader: Grader, around: Surroundings) -> None:
        self._grader: Final = grader
        self._around: Final = around
        self.trials: Final = [CheatTrials(cheat) for cheat in (*CHEATS, IDLE)]
        self.falls: Final[list[Fall]] = []

    def on_null(self, run: Run, oracle: Run) -> None:
        """Try every cheat on a null run, with an oracle run that the agent may have seen."""
        self._on(self.trials[:-1], run, oracle)

    def on_idle(self, oracle: Run) -> None:
        """Try them on what is left of an oracle run when the agent does nothing."""
        run = oracle.idle()
        passes = self._passes(run.rows)
        idle = self.trials[-1]
        idle.add(["passed" if passes else "failed"])
        if passes:
            self.falls.append(Fall(idle.cheat, run.stream, self._passed(run.rows)))
        self._on(self.trials[:-1], run, oracle)

    def _on(self, trials: Sequence[CheatTrials], run: Run, oracle: Run) -> None:
        if self._passes(run.rows):
            for trial in trials:
                trial.add(NotApplicable(_UNCHANGED))
            return
        before = frozenset(self._passed(run.rows))
        scene = Scene(run, oracle, self._around, self._passes)
        for trial in trials:
            planted = trial.cheat.plant(scene)
            trial.add(planted if isinstance(planted, NotApplicable) else self._tried(trial.cheat, run, planted, before))

    def _tried(self, cheat: Cheat, run: Run, planted: Iterable[Rows], before: frozenset[str]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for rows in planted:
            outcomes.append(self._outcome(rows))
            if outcomes[-1] == "passed":
                gained = tuple(name for name in self._passed(rows) if name not in before)
                self.falls.append(Fall(cheat, run.stream, gained))
                break
        return outcomes

    def _passes(self, rows: Rows) -> bool:
        return self._outcome(rows) == "passed"

    def _outcome(self, rows: Rows) -> Outcome:
        said = _asked(self._grader, PlantedEvidence(rows))
        if isinstance(said, MilestoneBroken):
            return "broken"
        return "passed" if said.passed else "failed"

    def _passed(self, rows: Rows) -> tuple[str, ...]:
        """The milestones that pass, each asked alone: others may break, or stand before them."""
        milestones = self._grader.ladder.milestones
        return tuple(one.name for one in milestones if _passes_alone(one, rows) is True)


class MishapTrial:
    """Mishaps, tried on one run after the other with the milestones that claim to withstand them."""

    def __init__(self, grader: Grader) -> None:
        claims = [(milestone, claim_of(milestone.check).withstands) for milestone in grader.ladder.milestones]
        self.claiming: Final = [(milestone, withstands) for milestone, withstands in claims if withstands]
        self.tried = 0
        self.raises: Final[list[Raise]] = []

    def on(self, run: Run) -> None:
        """Try them on a run; at most 200 of them. One that raises a milestone is enough of it."""
        failing = [pair for pair in self.claiming if _passes_alone(pair[0], run.rows) is False]
        if not failing:
            return
        for mishap in mishaps(run.rows):
            concerned = [pair for pair in failing if mishap.change in pair[1]]
            self.tried += bool(concerned)
            for pair in concerned:
                if _passes_alone(pair[0], mishap.rows):
                    self.raises.append(Raise(run.stream, pair[0].name, mishap.change, mishap.seqs))
                    failing.remove(pair)


def _asked(grader: Grader, evidence: Evidence) -> Grade | MilestoneBroken:
    try:
        return grader.grade(evidence)
    except MilestoneBroken as error:
        return error


def _passes_alone(milestone: Milestone, rows: Rows) -> bool | None:
    """Whether it passes without the others of its ladder; None when it breaks."""
    try:
        return Ladder("alone", Mode.INDEPENDENT, [milestone]).grade(PlantedEvidence(rows)).rungs[0].passed
    except MilestoneBroken:
        return None


def learnt(runs: Iterable[Run]) -> Surroundings:
    """What can be known around these runs."""
    around = Surroundings()
    for run in runs:
        around.learn(run)
    return around


def case_of(run: Run) -> object:
    """What says that two runs are of the same case; None where nothing does."""
    for event in run.events("run.started"):
        return event.payload.get("task"), event.payload.get("case")
    return None
