"""Ladder: milestones in order, graded into rungs; Grade, the outcome with everything that identifies it."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Final

from grading.checks import Check, IncrementalCheck, Reducer, Verdict, as_broken, as_verdict, recordable
from grading.errors import InvalidLadder, MilestoneBroken
from grading.evidence import Evidence, Reference
from grading.trust import NAMED_ONLY
from spine import Event
from spine.canonical import encode
from spine.events import Json

MAX_NAME: Final = 256
MAX_CITATIONS: Final = 100

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Mode(StrEnum):
    """Cumulative: credit for the leading run of passed rungs, nothing is evaluated behind the first failure.
    Independent: every rung is evaluated on its own."""

    CUMULATIVE = "cumulative"
    INDEPENDENT = "independent"


@dataclass(frozen=True, slots=True)
class Milestone:
    """A named condition, worth `weight` of the total (0 counts as 1, less than 0 as nothing). Without a check it fails.

    A grade has passed only when all its `required` milestones have. Raises InvalidLadder.
    """

    name: str
    check: Check | None = None
    weight: float = 1
    required: bool = True

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        if self.check is not None and not callable(self.check):
            raise InvalidLadder(f"{type(self.check).__name__} is not a check", path="check")
        if not _is_finite(self.weight):
            raise InvalidLadder(f"{self.weight!r} is not a finite number", path="weight")

    @property
    def worth(self) -> float:
        """The effective weight."""
        return 1.0 if self.weight == 0 else max(float(self.weight), 0.0)


@dataclass(frozen=True, slots=True)
class Rung:
    """The outcome of a milestone. `reached` says that it was evaluated; `weight` is the effective one.

    `citations` are the seqs of the events that decided it: the first 100, ascending; `cited` says how many in all.
    """

    name: str
    weight: float
    passed: bool
    reached: bool
    detail: str
    required: bool = True
    citations: tuple[int, ...] = ()
    cited: int = 0


@dataclass(frozen=True, slots=True)
class GraderIdentity:
    """Which grader it was: what it does is its definition, read under the semantics number of the checking language."""

    name: str
    version: str
    definition: str
    semantics: int

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "version": self.version,
            "definition": self.definition,
            "semantics": self.semantics,
        }


@dataclass(frozen=True, slots=True)
class Grade:
    """How far a run got. `reached` is the number of rungs that passed; `grader` is None for an unregistered ladder."""

    ladder: str
    mode: Mode
    rungs: tuple[Rung, ...]
    attained: float
    total: float
    score: float
    reached: int
    passed: bool
    evidence: Reference
    grader: GraderIdentity | None = None

    @property
    def outcome(self) -> str:
        """Hex digest of what was decided and by which events: equal wherever the same events stand at the same seqs."""
        value: dict[str, Json] = {
            "attained": self.attained,
            "ladder": self.ladder,
            "mode": self.mode.value,
            "passed": self.passed,
            "rungs": [_outcome_of(rung) for rung in self.rungs],
            "score": self.score,
            "total": self.total,
        }
        return sha256(encode(value, "grade")).hexdigest()


@dataclass(frozen=True, slots=True)
class Ladder:
    """Milestones in order, graded under a mode. `pass_at` is the score a grade needs to have passed, if it needs one.

    `version` is the one it is registered under when a Python module declares it. Raises InvalidLadder.
    """

    name: str
    mode: Mode = Mode.CUMULATIVE
    milestones: Sequence[Milestone] = ()
    pass_at: float | None = None
    version: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        try:
            object.__setattr__(self, "mode", Mode(self.mode))
        except ValueError:
            raise InvalidLadder(f"{self.mode!r} is neither cumulative nor independent", path="mode") from None
        object.__setattr__(self, "milestones", tuple(self.milestones))
        for index, milestone in enumerate(self.milestones):
            if not isinstance(milestone, Milestone):
                raise InvalidLadder(f"{type(milestone).__name__} is not a milestone", path=f"milestones[{index}]")
        if not math.isfinite(_sum(milestone.worth for milestone in self.milestones)):
            raise InvalidLadder("the weights add up to more than a number can hold", path="milestones")
        if self.pass_at is not None and not _is_score(self.pass_at):
            raise InvalidLadder(f"{self.pass_at!r} is not a score from 0 to 1", path="pass_at")

    def grade(self, evidence: Evidence) -> Grade:
        """Grade the evidence: the same evidence gives the same grade, everywhere and always.

        Raises MilestoneBroken when the check of a milestone that is evaluated cannot give a verdict. What says nothing
        of check and evidence (out of memory, a log that cannot be read) rises as it is: the run was not graded.
        """
        rungs = self._climb(evidence)
        passed = [rung for rung in rungs if rung.passed]
        total = _sum(rung.weight for rung in rungs)
        attained = _sum(rung.weight for rung in passed)
        score = attained / total if total > 0 else 0.0
        required = all(rung.passed for rung in rungs if rung.required)
        return Grade(
            ladder=self.name,
            mode=self.mode,
            rungs=tuple(rungs),
            attained=attained,
            total=total,
            score=score,
            reached=len(passed),
            passed=bool(rungs) and required and (self.pass_at is None or score >= self.pass_at),
            evidence=evidence.reference,
        )

    def _climb(self, evidence: Evidence) -> list[Rung]:
        steps = [_Step(milestone, index) for index, milestone in enumerate(self.milestones)]
        _feed([step for step in steps if step.incremental is not None], evidence)
        rungs: list[Rung] = []
        stopped = False
        for step in steps:
            rung = step.unreached() if stopped else step.rung(evidence)
            rungs.append(rung)
            stopped = stopped or (self.mode is Mode.CUMULATIVE and not rung.passed)
        return rungs


class _Step:
    """A milestone while its ladder is graded. What its reducer raises is held back until the milestone is reached,
    which behind a failed one it never is."""

    def __init__(self, milestone: Milestone, index: int) -> None:
        self.milestone = milestone
        self.incremental = milestone.check if isinstance(milestone.check, IncrementalCheck) else None
        self.shares_events = getattr(milestone.check, "shares_events", False)
        self._index = index
        self._reducer: Reducer | None = None
        self._error: Exception | None = None

    def start(self, evidence: Evidence) -> None:
        assert self.incremental is not None
        try:
            self._reducer = self.incremental.start(evidence.expected(), evidence.supplied_answers)
        except Exception as error:
            self._hold(error)

    def step(self, event: Event) -> None:
        if self._reducer is None:
            return
        try:
            self._reducer.step(event if self.shares_events else Event(event.row))
        except Exception as error:
            self._hold(error)

    def rung(self, evidence: Evidence) -> Rung:
        try:
            verdict = self._verdict(evidence)
        except Exception as error:
            broken = as_broken(error)
            if broken is None:
                raise
            where = recordable(broken.where)
            raise MilestoneBroken(self.milestone.name, self._index, broken.code, where) from error
        citations = sorted(set(verdict.citations))
        kept = tuple(citations[:MAX_CITATIONS])
        return self._rung(verdict.passed, True, verdict.detail, kept, len(citations))

    def unreached(self) -> Rung:
        return self._rung(False, False, "", (), 0)

    def _hold(self, error: Exception) -> None:
        if as_broken(error) is None:
            raise error
        self._reducer = None
        self._error = error

    def _verdict(self, evidence: Evidence) -> Verdict:
        if self.milestone.check is None:
            return Verdict(False, "no check defined")
        if self._error is not None:
            raise self._error
        return as_verdict(self.milestone.check(evidence) if self._reducer is None else self._reducer.result())

    def _rung(self, passed: bool, reached: bool, detail: str, citations: tuple[int, ...], cited: int) -> Rung:
        milestone = self.milestone
        return Rung(milestone.name, milestone.worth, passed, reached, detail, milestone.required, citations, cited)


def _feed(steps: Sequence[_Step], evidence: Evidence) -> None:
    """One pass over the events for all of these."""
    if not steps:
        return
    for step in steps:
        step.start(evidence)
    for event in evidence.events(also=NAMED_ONLY):
        for step in steps:
            step.step(event)


def check_name(name: object, path: str) -> None:
    """Raises InvalidLadder for what cannot be recorded as a name: it is text of 1 to 256 bytes without controls."""
    if not isinstance(name, str) or not name:
        raise InvalidLadder("a name is needed" if name == "" else f"{name!r} is not text", path=path)
    found = _CONTROL.search(name)
    if found:
        raise InvalidLadder(f"U+{ord(found[0]):04X} may not stand in a name", path=path)
    if len(name.encode()) > MAX_NAME:
        raise InvalidLadder(f"longer than {MAX_NAME} bytes", path=path)


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _sum(weights: Iterable[float]) -> float:
    total = 0.0
    for weight in weights:  # not sum(): from Python 3.12 on it compensates, and a grade must not depend on the version
        total += weight
    return total


def _outcome_of(rung: Rung) -> dict[str, Json]:
    return {
        "citations": list(rung.citations),
        "cited": rung.cited,
        "name": rung.name,
        "passed": rung.passed,
        "reached": rung.reached,
        "required": rung.required,
        "weight": rung.weight,
    }
