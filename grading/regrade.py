"""Grading many runs under one version of a grader: what it came to, what it would take, and which grades moved."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grading.errors import MilestoneBroken
from grading.evidence import StreamEvidence
from grading.graders import Grader
from grading.grades import BrokenGrade, record, record_broken
from grading.ladders import GraderIdentity
from grading.rows import GradeRow, Said
from spine import Log

Progress = Callable[[int, int], None]
"""Told how many are done, and of how many."""


@dataclass(frozen=True, slots=True)
class RegradePlan:
    """What a re-grade would do. `done` runs have been graded by this version on the evidence they have now; `ungraded`
    ones never by the active one, which is another."""

    grader: GraderIdentity
    active: str
    runs: int
    events: int
    done: int
    ungraded: int


@dataclass(frozen=True, slots=True)
class Flip:
    """A rung of both versions that passes under one and not under the other, with the events that decided each."""

    rung: str
    before: bool
    after: bool
    cited_before: tuple[int, ...]
    cited_after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A run whose verdict, score or rungs differ between two versions."""

    stream: str
    before: GradeRow
    after: GradeRow
    flips: tuple[Flip, ...]

    @property
    def verdict_changed(self) -> bool:
        return (self.before.status, self.before.passed) != (self.after.status, self.after.passed)


@dataclass(slots=True)
class GradeReport:
    """What grading came to. Every run is counted once; `new` counts the grades that were not on the log before.
    `codes` says why how many are broken, and `example` names the first of them."""

    grader: GraderIdentity
    passed: int = 0
    failed: int = 0
    broken: int = 0
    new: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    example: str | None = None

    @property
    def runs(self) -> int:
        return self.passed + self.failed + self.broken

    def add(self, stream: str, said: Said, new: bool) -> None:
        """Count one run."""
        if said.status == "broken":
            self.broken += 1
            self.codes[said.code or ""] += 1
            self.example = self.example or stream
        elif said.passed:
            self.passed += 1
        else:
            self.failed += 1
        self.new += new


@dataclass(slots=True)
class RegradeReport:
    """What a re-grade came to. `before` is the version that was active, by which `ungraded` of the runs had no grade;
    `complete`: every run it had graded now has a grade by the new one; `activated`: the board shows the new one since.
    """

    id: str
    before: str
    graded: GradeReport
    complete: bool
    activated: bool
    ungraded: int
    moved: list[Move] = field(default_factory=list)


def grade_streams(
    log: Log,
    grader: Grader,
    streams: Sequence[str],
    said: Mapping[tuple[str, str], Said],
    progress: Progress | None = None,
) -> GradeReport:
    """Grade these streams in order and record what comes of each; what was `said` of a stream's present evidence (by
    stream and digest) is counted, not graded again."""
    report = GradeReport(grader.identity)
    for number, stream in enumerate(streams, start=1):
        evidence = StreamEvidence(log, stream)
        known = said.get((stream, evidence.reference.digest))
        if known is not None:
            report.add(stream, known, False)
        else:
            report.add(stream, *_grade_one(log, grader, stream, evidence))
        if progress is not None:
            progress(number, len(streams))
    return report


def _grade_one(log: Log, grader: Grader, stream: str, evidence: StreamEvidence) -> tuple[Said, bool]:
    """What the grader says of the run, and whether that is new to the log."""
    try:
        grade = grader.grade(evidence)
    except MilestoneBroken as error:
        broken = BrokenGrade.of(error, ladder=grader.ladder.name, evidence=evidence.reference, grader=grader.identity)
        return Said("broken", None, broken.code), record_broken(log, stream, broken).new
    return Said("graded", grade.passed), record(log, stream, grade).new


def moves(before: Iterator[GradeRow], after: Iterator[GradeRow]) -> Iterator[Move]:
    """The runs that moved, of two lists that are ordered by stream; a run that only one side has did not move."""
    old, new = next(before, None), next(after, None)
    while old is not None and new is not None:
        if old.stream < new.stream:
            old = next(before, None)
        elif old.stream > new.stream:
            new = next(after, None)
        else:
            flips = _flips(old, new)
            move = Move(old.stream, old, new, flips)
            if flips or move.verdict_changed or old.score != new.score:
                yield move
            old, new = next(before, None), next(after, None)


def _flips(before: GradeRow, after: GradeRow) -> tuple[Flip, ...]:
    new = {rung.name: rung for rung in after.rungs}
    return tuple(
        Flip(old.name, old.passed, new[old.name].passed, old.citations, new[old.name].citations)
        for old in before.rungs
        if old.name in new and old.passed != new[old.name].passed
    )
