"""Grades on the log: recorded as one block of events on the stream they are about, and read back from there."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

from grading.errors import BrokenCode, MilestoneBroken
from grading.evidence import Reference, StreamReference, SuppliedReference
from grading.ladders import Grade, GraderIdentity, Mode, Rung
from spine import Actor, Event, IdentityClash, InvalidInput, Log, NewEvent
from spine.events import Json
from spine.identity import derived_id

EV_MILESTONE: Final = "grade.milestone"
EV_SUMMARY: Final = "grade.summary"
EV_BROKEN: Final = "grade.broken"

MAX_RUNGS: Final = 65_533

_SUMMARY: Final = 0xFFFF
_BROKEN: Final = 0xFFFE


@dataclass(frozen=True, slots=True)
class BrokenGrade:
    """A run that cannot be graded: the same grader breaks at the same milestone on the same evidence, every time."""

    ladder: str
    evidence: Reference
    code: BrokenCode
    milestone: str
    where: str
    grader: GraderIdentity | None = None

    @classmethod
    def of(
        cls, error: MilestoneBroken, *, ladder: str, evidence: Reference, grader: GraderIdentity | None = None
    ) -> "BrokenGrade":
        """What a grading that ended in this error leaves behind."""
        return cls(ladder, evidence, error.code, error.milestone, error.where, grader)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A grade stands on its stream. `new` is False when it stood there before."""

    grade_id: UUID
    new: bool


@dataclass(frozen=True, slots=True)
class RecordedGrade:
    """A grade as the log holds it; `seq` is that of its summary (or of its `grade.broken`)."""

    grade_id: UUID
    seq: int
    grade: Grade | BrokenGrade


def record(log: Log, stream: str, grade: Grade) -> Recorded:
    """Append the grade to the stream it is about: its rungs in order, then its summary, in one commit.

    A grade that stands on the stream is not written again. Raises InvalidInput for a grade whose evidence is not this
    stream's, or is not on this log, and for one with more than 65,533 rungs.
    """
    if len(grade.rungs) > MAX_RUNGS:
        raise InvalidInput("grade.rungs", f"{len(grade.rungs):,} rungs, more than the {MAX_RUNGS:,} a grade can hold")
    _check_evidence(log, stream, grade.evidence)
    summary = _summary(grade)
    grade_id = _grade_id({"stream": stream, "summary": summary})

    def block() -> list[NewEvent]:
        rungs = [
            _event(EV_MILESTONE, grade_id, index, _milestone(grade.ladder, index, rung))
            for index, rung in enumerate(grade.rungs)
        ]
        return [*rungs, _event(EV_SUMMARY, grade_id, _SUMMARY, summary)]

    return _record_once(log, stream, grade_id, _SUMMARY, block)


def record_broken(log: Log, stream: str, broken: BrokenGrade) -> Recorded:
    """Append, to the stream it is about, that the run cannot be graded; once, like a grade. Raises InvalidInput."""
    _check_evidence(log, stream, broken.evidence)
    payload = _broken(broken)
    grade_id = _grade_id({"broken": payload, "stream": stream})
    return _record_once(log, stream, grade_id, _BROKEN, lambda: [_event(EV_BROKEN, grade_id, _BROKEN, payload)])


def read_grades(log: Log, stream: str) -> Iterator[RecordedGrade]:
    """The grades on a stream, broken ones too, in the order they were recorded.

    Only what the system wrote counts, and only whole grades, as `record` writes them.
    """
    block: list[Event] = []
    for event in log.read(stream, types=[EV_MILESTONE, EV_SUMMARY, EV_BROKEN]):
        if event.type == EV_MILESTONE:
            block.append(event)
            continue
        if event.actor is Actor.SYSTEM:
            if event.type == EV_BROKEN and is_broken_of(stream, event):
                yield RecordedGrade(UUID(event.payload["grade_id"]), event.seq, _read_broken(event.payload))
            elif event.type == EV_SUMMARY:
                rungs = [rung for rung in block if event.seq - event.payload["rungs"] <= rung.seq]
                if is_whole(stream, event, rungs):
                    grade = _read_grade(event.payload, [_read_rung(rung.payload) for rung in rungs])
                    yield RecordedGrade(UUID(event.payload["grade_id"]), event.seq, grade)
        block.clear()


def is_whole(stream: str, summary: Event, rungs: Sequence[Event]) -> bool:
    """Whether this `grade.summary` closes a grade that `record` could have written to this stream: the rungs right
    before it are its own and all of them, its outcome is theirs, and its id is that of what it says."""
    payload = summary.payload
    grade_id = payload["grade_id"]
    said = {key: value for key, value in payload.items() if key != "grade_id"}
    if str(_grade_id({"stream": stream, "summary": said})) != grade_id or not _is_of(stream, summary):
        return False
    blocks = [(event.type, event.actor, event.payload["grade_id"], event.payload["index"]) for event in rungs]
    if blocks != [(EV_MILESTONE, Actor.SYSTEM, grade_id, index) for index in range(payload["rungs"])]:
        return False
    outcome: str = payload["outcome"]
    return _read_grade(payload, [_read_rung(event.payload) for event in rungs]).outcome == outcome


def is_broken_of(stream: str, broken: Event) -> bool:
    """Whether this `grade.broken` is one that `record_broken` could have written to this stream."""
    said = {key: value for key, value in broken.payload.items() if key != "grade_id"}
    known = str(_grade_id({"broken": said, "stream": stream})) == broken.payload["grade_id"]
    return known and _is_of(stream, broken)


def _is_of(stream: str, event: Event) -> bool:
    """Whether the evidence is supplied, or stands on this stream before the grade."""
    evidence = event.payload["evidence"]
    return "stream" not in evidence or (evidence["stream"] == stream and evidence["through_seq"] < event.seq)


def _record_once(log: Log, stream: str, grade_id: UUID, last: int, block: Callable[[], Sequence[NewEvent]]) -> Recorded:
    known = _numbered(grade_id, last)
    if log.find(stream, known) is not None:
        return Recorded(grade_id, new=False)
    try:
        return Recorded(grade_id, log.append(stream, block()).new)
    except IdentityClash:
        # Another recorder was faster, with other details or citations.
        if log.find(stream, known) is None:
            raise
        return Recorded(grade_id, new=False)


def _check_evidence(log: Log, stream: str, evidence: Reference) -> None:
    """A grade stands where its evidence stands, and cites what stands there."""
    if isinstance(evidence, SuppliedReference):
        return
    if evidence.stream != stream:
        raise InvalidInput("stream", f"the grade is about {evidence.stream}; it cannot be recorded on {stream}")
    if evidence.through_seq == 0:
        return
    event = next(log.read(stream, after=evidence.through_seq - 1, until=evidence.through_seq), None)
    if event is None or event.digest != evidence.digest:
        found = "no such event" if event is None else "another one"
        raise InvalidInput("grade.evidence", f"this log has {found} at seq {evidence.through_seq} of {stream}")


def _grade_id(meaning: dict[str, Json]) -> UUID:
    """The id of a grade; its last two bytes are free, to number the events of the grade."""
    return UUID(int=derived_id(meaning).int & ~0xFFFF)


def _numbered(grade_id: UUID, number: int) -> UUID:
    return UUID(int=grade_id.int | number)


def _event(type: str, grade_id: UUID, number: int, payload: dict[str, Json]) -> NewEvent:
    full = {"grade_id": str(grade_id), **payload}
    return NewEvent(type, full, actor=Actor.SYSTEM, id=_numbered(grade_id, number))


def _milestone(ladder: str, index: int, rung: Rung) -> dict[str, Json]:
    return {
        "ladder": ladder,
        "index": index,
        "name": rung.name,
        "weight": rung.weight,
        "required": rung.required,
        "passed": rung.passed,
        "reached": rung.reached,
        "detail": rung.detail,
        "citations": list(rung.citations),
        "cited": rung.cited,
    }


def _summary(grade: Grade) -> dict[str, Json]:
    return {
        "ladder": grade.ladder,
        "mode": grade.mode.value,
        "attained": grade.attained,
        "total": grade.total,
        "score": grade.score,
        "reached": grade.reached,
        "passed": grade.passed,
        "rungs": len(grade.rungs),
        "outcome": grade.outcome,
        "grader": None if grade.grader is None else grade.grader.to_json(),
        "evidence": grade.evidence.to_json(),
    }


def _broken(broken: BrokenGrade) -> dict[str, Json]:
    return {
        "ladder": broken.ladder,
        "grader": None if broken.grader is None else broken.grader.to_json(),
        "evidence": broken.evidence.to_json(),
        "code": broken.code.value,
        "milestone": broken.milestone,
        "where": broken.where,
    }


_Payload: TypeAlias = Any  # a JSON object of the vocabulary's models, checked when it was appended


def _read_rung(payload: _Payload) -> Rung:
    return Rung(
        name=payload["name"],
        weight=float(payload["weight"]),
        passed=payload["passed"],
        reached=payload["reached"],
        detail=payload["detail"],
        required=payload["required"],
        citations=tuple(payload["citations"]),
        cited=payload["cited"],
    )


def _read_grade(payload: _Payload, rungs: Sequence[Rung]) -> Grade:
    return Grade(
        ladder=payload["ladder"],
        mode=Mode(payload["mode"]),
        rungs=tuple(rungs),
        attained=float(payload["attained"]),
        total=float(payload["total"]),
        score=float(payload["score"]),
        reached=payload["reached"],
        passed=payload["passed"],
        evidence=_read_reference(payload["evidence"]),
        grader=_read_grader(payload["grader"]),
    )


def _read_broken(payload: _Payload) -> BrokenGrade:
    return BrokenGrade(
        ladder=payload["ladder"],
        evidence=_read_reference(payload["evidence"]),
        code=BrokenCode(payload["code"]),
        milestone=payload["milestone"],
        where=payload["where"],
        grader=_read_grader(payload["grader"]),
    )


def _read_reference(payload: _Payload) -> Reference:
    if payload.get("kind") == "supplied":
        return SuppliedReference(payload["digest"])
    return StreamReference(payload["stream"], payload["through_seq"], payload["digest"])


def _read_grader(payload: _Payload) -> GraderIdentity | None:
    if payload is None:
        return None
    return GraderIdentity(payload["name"], payload["version"], payload["definition"], payload["semantics"])
