"""Rows: a grade and its rungs as the board has them, and how many runs stand how."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

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
class GradeRow:
    """A grade of a run. `status` is `graded` or `broken`; a broken one has a code, a milestone and a place instead of a
    score. `registered`: by a grader that stands on the log with this definition. `current`: the one the board shows.
    `grew`: the run has more evidence by now. `seq` is that of the event that closes the grade, `recorded_at` its time
    in microseconds since 1970 UTC."""

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

    @property
    def verdict(self) -> str:
        return verdict(self.passed)

    @property
    def recorded(self) -> datetime:
        return as_datetime(self.recorded_at)

    def to_json(self) -> dict[str, Any]:
        """The row as `grades --json` prints it."""
        kept = {name: getattr(self, name) for name in self.__slots__ if name != "rungs"}
        rungs = [{name: getattr(rung, name) for name in rung.__slots__} for rung in self.rungs]
        return {**kept, "recorded_at": self.recorded.isoformat(), "verdict": self.verdict, "rungs": rungs}


@dataclass(frozen=True, slots=True)
class Coverage:
    """How the visible runs stand under one grader: every run is counted once."""

    grader: str
    version: str
    passed: int
    failed: int
    broken: int
    not_graded: int

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
