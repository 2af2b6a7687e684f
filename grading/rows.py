"""Rows: a grade and its rungs as the board has them, and how many runs stand how."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from grading.ladders import GraderIdentity
from spine.clock import as_datetime


@dataclass(frozen=True, slots=True)
class RungRow:
    """One rung of a grade; `citations` are the seqs of the events that decided it, `cited` how many in all."""

    name: str
    weight: float
    required: bool
    passed: bool
    reached: bool
    detail: str
    citations: tuple[int, ...]
    cited: int


@dataclass(frozen=True, slots=True)
class OverrideRow:
    """What a person (`by`) said of a grade: that a rung has `passed` or not or, without milestone and index, that the
    run has. `passed` is None where it takes back what was said before. `seq` is that of its own event, `grade_seq` that
    of the event that closes the grade; `recorded_at` is in microseconds since 1970 UTC. `pass_at`: the score the ladder
    asks for, 0 for none, None where that was not known."""

    grade_id: str
    grade_seq: int
    ladder: str
    grader: GraderIdentity | None
    milestone: str | None
    index: int | None
    passed: bool | None
    by: str
    reason: str
    pass_at: float | None
    seq: int
    recorded_at: int

    @property
    def named(self) -> str:
        """Who gave the grade that it is about: `name@version`, or the ladder's name where no grader did."""
        return self.ladder if self.grader is None else f"{self.grader.name}@{self.grader.version}"

    @property
    def recorded(self) -> datetime:
        return as_datetime(self.recorded_at)

    def to_json(self) -> dict[str, Any]:
        """The override as `grades --json` prints it."""
        return {
            "grade_id": self.grade_id,
            "milestone": self.milestone,
            "index": self.index,
            "passed": self.passed,
            "by": self.by,
            "reason": self.reason,
            "seq": self.seq,
            "recorded_at": self.recorded.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a grade comes to with its overrides in place. `certain` is False where the verdict is that of the grade only
    because nobody knows which score its ladder asks for."""

    passed: bool
    score: float
    attained: float
    total: float
    reached: int
    certain: bool

    @property
    def verdict(self) -> str:
        return verdict(self.passed)

    def to_json(self) -> dict[str, Any]:
        """The outcome as `grades --json` prints it."""
        return {**{name: getattr(self, name) for name in self.__slots__}, "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class GradeRow:
    """A grade of a run. `status` is `graded` or `broken`; a broken one has a code, a milestone and a place instead of a
    score. `registered`: by a grader that stands on the log with this definition. `current`: the one the board shows.
    `grew`: the run has more evidence by now. `seq` is that of the event that closes the grade, `recorded_at` its time
    in microseconds since 1970 UTC.

    What people said of it changes nothing of that: `overrides` are those that stand, and `overridden` is what the grade
    comes to with them. `pending` ones were made of another grade of this run by this grader and say otherwise than this
    one; `agreed` ones say the same. Only a current grade has those two."""

    grade_id: str
    stream: str
    ladder: str
    grader: str | None
    version: str | None
    definition: str | None
    semantics: int | None
    status: str
    mode: str | None
    passed: bool | None
    score: float | None
    attained: float | None
    total: float | None
    reached: int | None
    through_seq: int | None
    evidence_digest: str
    outcome_digest: str | None
    code: str | None
    milestone: str | None
    where: str | None
    seq: int
    recorded_at: int
    registered: bool
    current: bool
    grew: bool
    rungs: tuple[RungRow, ...]
    overrides: tuple[OverrideRow, ...] = ()
    pending: tuple[OverrideRow, ...] = ()
    agreed: tuple[OverrideRow, ...] = ()
    overridden: Outcome | None = None

    @property
    def named(self) -> str:
        """Who graded: `name@version`, or the ladder's name where no grader did."""
        return self.ladder if self.grader is None else f"{self.grader}@{self.version}"

    @property
    def verdict(self) -> str:
        return verdict(self.passed)

    @property
    def recorded(self) -> datetime:
        return as_datetime(self.recorded_at)

    def to_json(self) -> dict[str, Any]:
        """The row as `grades --json` prints it."""
        rungs = [{name: getattr(rung, name) for name in rung.__slots__} for rung in self.rungs]
        said = {name: [one.to_json() for one in getattr(self, name)] for name in ("overrides", "pending", "agreed")}
        overridden = None if self.overridden is None else self.overridden.to_json()
        return {**self._own(), "rungs": rungs, "overridden": overridden, **said}

    def to_line(self) -> dict[str, Any]:
        """The row as `grades --csv` prints it: without rungs, overrides counted."""
        overridden = self.overridden
        return {
            **self._own(),
            "overridden_verdict": None if overridden is None else overridden.verdict,
            "overridden_score": None if overridden is None else overridden.score,
            "overrides": len(self.overrides),
            "pending": len(self.pending),
        }

    def _own(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in self.__slots__ if name not in _OF_ITS_OWN}
        return {**kept, "recorded_at": self.recorded.isoformat(), "verdict": self.verdict}


_OF_ITS_OWN: Final = {"rungs", "overrides", "pending", "agreed", "overridden"}
"""The fields of a grade that are no single value."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How the visible runs stand under one grader: every run is counted once, as it was graded.

    With what people said of `overridden` of them, `passed_then` would have passed and `failed_then` failed; `pending`
    of them have an override that is pending review."""

    grader: str
    version: str
    passed: int
    failed: int
    broken: int
    not_graded: int
    overridden: int = 0
    pending: int = 0
    passed_then: int = 0
    failed_then: int = 0

    @property
    def runs(self) -> int:
        return self.passed + self.failed + self.broken + self.not_graded


@dataclass(frozen=True, slots=True)
class Said:
    """What a grader has said of a run: enough to know that it need not be asked again."""

    status: str
    passed: bool | None
    code: str | None = None


def verdict(passed: bool | None) -> str:
    """`passed`, `failed` or `broken`: three outcomes, never two."""
    return "broken" if passed is None else "passed" if passed else "failed"
