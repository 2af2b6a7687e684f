"""Explanations: a grade with the events that decided each of its rungs, and how it came about event by event."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grading import graders
from grading.climb import curve
from grading.curve import Curve
from grading.errors import GraderConflict, InvalidLadder, NotFound
from grading.evidence import StreamEvidence
from grading.graders import GraderRef
from grading.ladders import GraderIdentity
from grading.rows import GradeRow, RungRow
from grading.standings import CurveRefused
from grading.wording.phrases import Phrases
from grading.wording.sentences import Clauses
from spine import Event, Log


@dataclass(frozen=True, slots=True)
class ExplainedRung:
    """A rung with the events it cites."""

    rung: RungRow
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a ladder asks, in words, for who never saw it: of each rung by its name, what the names in there mean, and
    the score that is needed. Of a ladder in Python nothing is known."""

    rungs: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    pass_at: float | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a run has the grade it has. `started` is its `run.started`, where it has one."""

    grade: GradeRow
    rungs: tuple[ExplainedRung, ...]
    asked: Asked = Asked()
    started: Event | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """The curve of a run under a grader, on all the evidence there is now; without one, the reason why."""

    name: str
    identity: GraderIdentity | None
    curve: Curve | None
    reason: str = ""


def drawn(log: Log, stream: str, ref: GraderRef) -> Drawn:
    """The curve of a run under a registered grader, or why this program cannot draw it. Raises NotFound."""
    identity = graders.find(log, ref).identity
    name = f"{identity.name}@{identity.version}"
    try:
        ladder = graders.load(log, ref).ladder
        return Drawn(name, identity, curve(ladder, StreamEvidence(log, stream)))
    except (InvalidLadder, GraderConflict, CurveRefused) as error:
        return Drawn(name, identity, None, str(error))


def explained(log: Log, grade: GradeRow) -> Explanation:
    """The grade with what it cites, read from the log."""
    cited = {seq for rung in grade.rungs for seq in rung.citations}
    events: dict[int, Event] = {}
    if cited:
        read = log.read(grade.stream, after=min(cited) - 1, until=max(cited))
        events = {event.seq: event for event in read if event.seq in cited}
    started = next(iter(log.read(grade.stream, types=["run.started"], limit=1)), None)
    rungs = tuple(_with_events(rung, events) for rung in grade.rungs)
    return Explanation(grade, rungs, _asked(log, grade), started)


def _asked(log: Log, grade: GradeRow) -> Asked:
    if not grade.registered or grade.grader is None:
        return Asked()
    try:
        document = graders.find(log, GraderRef(grade.grader, grade.version)).document
    except NotFound:
        return Asked()
    return Asked() if document is None else _in_words(document)


def _in_words(document: Mapping[str, Any]) -> Asked:
    say = Clauses(Phrases(document.get("define", {})))
    rungs: dict[str, str] = {}
    for milestone in document["milestones"]:
        try:
            rungs[milestone["name"]] = say.check(milestone["check"])
        except KeyError:  # a kind that has no words, perhaps of a newer language: the rest has
            continue
    meanings: dict[str, str] = {}
    while unsaid := [name for name in say.phrases.used if name not in meanings]:
        meanings[unsaid[0]] = say.phrases.predicate(say.phrases.named(unsaid[0]))
    return Asked(rungs, meanings, document.get("pass_at"))


def _with_events(rung: RungRow, events: Mapping[int, Event]) -> ExplainedRung:
    return ExplainedRung(rung, tuple(events[seq] for seq in rung.citations if seq in events))
