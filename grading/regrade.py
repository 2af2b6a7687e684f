"""Grading many runs under one version of a grader: what it came to, what it would take, and which grades moved."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from uuid_utils.compat import uuid7

from grading import graders, queries
from grading.errors import MilestoneBroken
from grading.evidence import StreamEvidence
from grading.graders import Grader
from grading.grades import BrokenGrade, record, record_broken
from grading.ladders import GraderIdentity
from grading.override_rows import Left
from grading.rows import GradeRow, Said
from spine import Actor, Append, Log, NewEvent, SqlLog, StreamConflict
from spine.database import Database

EV_STARTED: Final = "regrade.started"
EV_FINISHED: Final = "regrade.finished"

_ATTEMPTS: Final = 10

Progress = Callable[[int, int], None]
"""Told how many are done, and of how many."""


@dataclass(frozen=True, slots=True)
class RegradePlan:
    """What a re-grade would do. `done` runs have been graded by this version on the evidence they have now; `ungraded`
    ones never by the active one, which is another. `overrides` of people stand on what the active one says of them."""

    grader: GraderIdentity
    active: str
    runs: int
    events: int
    done: int
    ungraded: int
    overrides: int = 0


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

    def merge(self, more: "GradeReport") -> None:
        """Count these runs too."""
        self.passed += more.passed
        self.failed += more.failed
        self.broken += more.broken
        self.new += more.new
        self.codes += more.codes
        self.example = self.example or more.example


@dataclass(slots=True)
class RegradeReport:
    """What a re-grade came to. `before` is the version that was active, by which `ungraded` of the runs had no grade;
    `complete`: every run it had graded now has a grade by the new one; `activated`: the board shows the new one since.

    `left` says what becomes of the overrides that stood on the grades before.
    """

    id: str
    before: str
    graded: GradeReport
    complete: bool
    activated: bool
    ungraded: int
    moved: list[Move] = field(default_factory=list)
    left: Left = field(default_factory=Left)


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


class Regrade:
    """The job: many runs under one version of a grader, said on the log when it starts and when it is done."""

    def __init__(self, log: SqlLog, grader: Grader, before: GraderIdentity, catch_up: Callable[[], object]) -> None:
        """`before` is the version that is active now; `catch_up` brings the board to the end of the log."""
        self._log = log
        self._grader = grader
        self._before = before
        self._catch_up = catch_up

    def run(
        self,
        chosen: Sequence[str],
        *,
        selection: Mapping[str, str],
        activate: bool,
        reason: str | None,
        progress: Progress | None,
    ) -> RegradeReport:
        """Grade the chosen runs. When every run that the version before has graded has a grade by this one, make this
        one active, unless `activate` is False."""
        id = f"regrade/{uuid7()}"
        started = {"selection": selection, "head": self._log.position(), "reason": reason}
        self._log.append(id, [self._said_of(EV_STARTED, started)])
        said = self._said()
        ungraded = ungraded_of(self._log.database, chosen, self._grader.identity, self._before)
        graded = grade_streams(self._log, self._grader, chosen, said, progress)
        report = RegradeReport(id, self._before.version, graded, False, False, ungraded)
        self._finish(report, chosen, activate)
        return report

    def _finish(self, report: RegradeReport, chosen: Sequence[str], activate: bool) -> None:
        """Say that the job is done, and activate in the same commit. Others grade, register and activate meanwhile: a
        version that somebody else made active stays, and what the one before has graded since is graded too."""
        name = self._grader.name
        for _ in range(_ATTEMPTS):
            self._grade_stragglers(report.graded, chosen)
            known = graders.read(self._log, name)
            report.complete = not self._missing()
            may = activate and report.complete and known.active == self._before.version
            report.activated = may and self._before.version != self._grader.version
            parts = [Append(report.id, [self._said_of(EV_FINISHED, _finished(report))])]
            if report.activated:
                event = graders.activation(name, self._grader.version, f"complete re-grade {report.id}")
                parts.append(Append(f"grader/{name}", [event], known.seq))
            try:
                self._log.append_all(parts)
                break
            except StreamConflict:
                report.activated = False  # a version was registered or activated since: look again
        else:
            self._log.append(report.id, [self._said_of(EV_FINISHED, _finished(report))])
        if report.activated:
            self._grade_stragglers(report.graded, self._missing())

    def _missing(self) -> set[str]:
        """The runs that the version before has graded, or found broken, and this one has not."""
        self._catch_up()
        old, new = (queries.graded(self._log.database, found) for found in (self._before, self._grader.identity))
        return old - new

    def _grade_stragglers(self, graded: GradeReport, chosen: Collection[str]) -> None:
        stragglers = sorted(self._missing().intersection(chosen))
        if stragglers:
            graded.merge(grade_streams(self._log, self._grader, stragglers, self._said()))

    def _said(self) -> dict[tuple[str, str], Said]:
        self._catch_up()
        return queries.said(self._log.database, self._grader.identity)

    def _said_of(self, type: str, payload: Mapping[str, Any]) -> NewEvent:
        return NewEvent(type, {"grader": self._grader.identity.to_json(), **payload}, actor=Actor.SYSTEM)


def _finished(report: RegradeReport) -> dict[str, Any]:
    graded = report.graded
    counts = {"passed": graded.passed, "failed": graded.failed, "broken": graded.broken, "new": graded.new}
    return {"counts": counts, "complete": report.complete}


def ungraded_of(database: Database, chosen: Sequence[str], grader: GraderIdentity, before: GraderIdentity) -> int:
    """How many of these runs the version before has never graded; none when it is this very version."""
    if before == grader:
        return 0
    graded = queries.graded(database, before)
    return sum(stream not in graded for stream in chosen)
