"""Grades on the log: what is written, that it is written once, and that it reads back."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from threading import Barrier, Thread
from typing import Any
from uuid import UUID

import pytest

from grading.checks import answer_equals, event_recorded
from grading.errors import BrokenCode, MilestoneBroken
from grading.evidence import MapEvidence, Reference, StreamEvidence, StreamReference, SuppliedReference
from grading.grades import (
    EV_BROKEN,
    EV_MILESTONE,
    EV_SUMMARY,
    MAX_RUNGS,
    BrokenGrade,
    Recorded,
    read_grades,
    record,
    record_broken,
)
from grading.ladders import Grade, GraderIdentity, Ladder, Milestone, Mode, Rung
from spine import Actor, Event, InvalidInput, MemoryLog, NewEvent
from spine.canonical import encode
from tests.grading.builders import RUN, answered, breaks, evidence, fixed_log, log_of, said, says

GOLDEN = Path(__file__).parent / "golden"
GRADER = GraderIdentity("exploit", "2", "ab" * 32, 1)
EXPLOIT = Ladder(
    "exploit",
    Mode.CUMULATIVE,
    [
        Milestone("find", event_recorded("finding.reported")),
        Milestone("extra", says(True, "as it happens", 1, 2), weight=0.1, required=False),
        Milestone("flag", answer_equals("flag", "FLAG{x}"), weight=3),
        Milestone("report", event_recorded("report.written")),
    ],
    pass_at=0.5,
)


def run_of(*events: NewEvent) -> MemoryLog:
    """A log whose ids are fixed too, so that all its bytes are."""
    return log_of(*[replace(event, id=UUID(int=(7 << 76) + (2 << 62) + index)) for index, event in enumerate(events)])


def graded(log: MemoryLog, ladder: Ladder = EXPLOIT) -> Grade:
    return ladder.grade(StreamEvidence(log, RUN))


def attempt() -> MemoryLog:
    return run_of(said("finding.reported", Actor.AGENT, place="login"), answered("flag", "FLAG{y}"))


def service_events(log: MemoryLog) -> list[Event]:
    return list(log.read(RUN, types=[EV_MILESTONE, EV_SUMMARY, EV_BROKEN]))


def stands(log: MemoryLog) -> str:
    """All that stands on the run's stream, as a golden file keeps it."""
    return json.dumps(
        [
            {
                "seq": event.seq,
                "id": str(event.id),
                "type": event.type,
                "actor": event.actor,
                "payload": json.loads(event.row.payload or "null"),
                "leaf": event.digest,
            }
            for event in log.read(RUN)
        ],
        indent=1,
    )


def test_a_grade_is_recorded_byte_for_byte_as_pinned() -> None:
    log = attempt()

    record(log, RUN, replace(graded(log), grader=GRADER))

    assert stands(log) == (GOLDEN / "grade.json").read_text().rstrip()


def test_a_broken_grade_is_recorded_byte_for_byte_as_pinned() -> None:
    log = attempt()
    at = StreamEvidence(log, RUN).reference

    record_broken(log, RUN, BrokenGrade("exploit", at, BrokenCode.WRONG_TYPE, "flag", "seq 2: payload.n", GRADER))

    assert stands(log) == (GOLDEN / "broken.json").read_text().rstrip()


def test_rungs_are_recorded_in_ladder_order_then_the_summary_all_by_the_system() -> None:
    log = attempt()

    record(log, RUN, graded(log))

    events = service_events(log)
    assert [event.type for event in events] == [EV_MILESTONE] * 4 + [EV_SUMMARY]
    assert [event.payload["index"] for event in events[:-1]] == [0, 1, 2, 3]
    assert {event.actor for event in events} == {Actor.SYSTEM}
    assert len({event.recorded_at for event in events}) == 1  # one commit
    assert events[-1].payload["score"] == graded(log).score


def test_the_ids_of_a_grade_are_derived_from_its_summary() -> None:
    log = attempt()

    grade_id = record(log, RUN, graded(log)).grade_id

    events = service_events(log)
    summary = {key: value for key, value in events[-1].payload.items() if key != "grade_id"}
    octets = bytearray(sha256(encode({"stream": RUN, "summary": summary})).digest()[:14] + bytes(2))
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    assert grade_id == UUID(bytes=bytes(octets))
    assert (grade_id.version, grade_id.variant) == (8, "specified in RFC 4122")
    assert [event.id.int - grade_id.int for event in events] == [0, 1, 2, 3, 0xFFFF]
    assert {event.payload["grade_id"] for event in events} == {str(grade_id)}


def test_an_empty_ladder_leaves_only_a_summary() -> None:
    log = attempt()

    record(log, RUN, graded(log, Ladder("empty")))

    [summary] = service_events(log)
    assert (summary.type, summary.payload["rungs"], summary.payload["score"]) == (EV_SUMMARY, 0, 0)


def test_recording_twice_writes_once() -> None:
    log = attempt()

    first = record(log, RUN, graded(log))
    position = log.position()

    assert first.new
    assert record(log, RUN, graded(log)) == Recorded(first.grade_id, new=False)
    assert log.position() == position


@pytest.mark.parametrize("supplied", [True, False])
def test_recording_a_grade_does_not_change_what_the_next_one_sees(supplied: bool) -> None:
    log = attempt()

    def grade() -> Grade:
        return EXPLOIT.grade(MapEvidence(log.read(RUN), {"flag": "x"}) if supplied else StreamEvidence(log, RUN))

    record(log, RUN, grade())

    assert not record(log, RUN, grade()).new


def test_a_grade_with_other_details_is_the_same_grade() -> None:
    log = attempt()
    wordings = [graded(log, Ladder("worded", Mode.CUMULATIVE, [Milestone("m", says(True, text))])) for text in "ab"]

    first, second = (record(log, RUN, grade) for grade in wordings)

    assert (first.new, second.new) == (True, False)
    assert first.grade_id == second.grade_id
    assert service_events(log)[0].payload["detail"] == "a"


@pytest.mark.parametrize("details", ["aaaa", "abcd"])
def test_recorders_that_race_write_one_grade(details: str) -> None:
    log = attempt()
    slow = SlowToFind(log, Barrier(len(details)))
    grades = [graded(log, Ladder("worded", Mode.CUMULATIVE, [Milestone("m", says(True, text))])) for text in details]
    answers: list[Recorded] = []

    threads = [Thread(target=lambda grade=grade: answers.append(record(slow, RUN, grade))) for grade in grades]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answer.new for answer in answers) == [False] * (len(details) - 1) + [True]
    assert len(service_events(log)) == 2


class SlowToFind:
    """A log on which all recorders look first, and only then the first of them writes."""

    def __init__(self, log: MemoryLog, barrier: Barrier) -> None:
        self._log = log
        self._barrier: Barrier | None = barrier

    def find(self, stream: str, id: UUID) -> Event | None:
        found = self._log.find(stream, id)
        if found is None:
            assert self._barrier is not None
            self._barrier.wait()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_another_outcome_is_another_grade_and_both_stand() -> None:
    log = attempt()
    first = record(log, RUN, graded(log))

    log.append(RUN, [answered("flag", "FLAG{x}")])
    second = record(log, RUN, graded(log))

    assert first.grade_id != second.grade_id
    assert [found.grade_id for found in read_grades(log, RUN)] == [first.grade_id, second.grade_id]


def test_the_same_grade_by_another_grader_is_another_grade() -> None:
    log = attempt()

    ids = {record(log, RUN, replace(graded(log), grader=grader)).grade_id for grader in (None, GRADER)}

    assert len(ids) == 2


def test_grades_read_back_as_they_were() -> None:
    log = attempt()
    grade = replace(graded(log), grader=GRADER)
    supplied = EXPLOIT.grade(evidence(answers={"flag": "x"}))

    for one in (grade, supplied):
        record(log, RUN, one)

    assert [found.grade for found in read_grades(log, RUN)] == [grade, supplied]
    assert next(read_grades(log, RUN)).seq == 7


def test_the_recorded_outcome_is_that_of_the_grade_read_back() -> None:
    log = attempt()
    record(log, RUN, graded(log))

    [found] = read_grades(log, RUN)

    assert isinstance(found.grade, Grade)
    assert found.grade.outcome == service_events(log)[-1].payload["outcome"]


def test_a_broken_grade_reads_back_and_is_written_once() -> None:
    log = attempt()
    found = StreamEvidence(log, RUN)
    ladder = Ladder("odd", Mode.CUMULATIVE, [Milestone("m", breaks(ValueError()))])
    with pytest.raises(MilestoneBroken) as caught:
        ladder.grade(found)

    broken = BrokenGrade.of(caught.value, ladder=ladder.name, evidence=found.reference, grader=GRADER)
    first, second = record_broken(log, RUN, broken), record_broken(log, RUN, broken)

    assert (first.new, second.new) == (True, False)
    assert [read.grade for read in read_grades(log, RUN)] == [broken]
    assert service_events(log)[0].id.int - first.grade_id.int == 0xFFFE


def test_rungs_without_their_summary_are_no_grade() -> None:
    log, other = attempt(), attempt()
    record(other, RUN, graded(other))
    block = [NewEvent(event.type, event.payload, actor=event.actor, id=event.id) for event in service_events(other)]

    log.append(RUN, block[:2])
    log.append(RUN, block[3:])  # a rung is missing

    assert list(read_grades(log, RUN)) == []


def test_a_grade_is_recorded_only_where_its_evidence_stands() -> None:
    log = attempt()

    with pytest.raises(InvalidInput, match="the grade is about run/demo/1; it cannot be recorded on run/demo/2"):
        record(log, "run/demo/2", graded(log))

    assert log.head("run/demo/2") is None


@pytest.mark.parametrize(("seq", "found"), [(2, "another one"), (9, "no such event")])
def test_a_grade_of_evidence_that_is_not_on_this_log_is_refused(seq: int, found: str) -> None:
    log = attempt()
    foreign: Reference = StreamReference(RUN, seq, "ab" * 32)

    with pytest.raises(InvalidInput, match=f"this log has {found} at seq {seq}"):
        record(log, RUN, replace(graded(log), evidence=foreign))
    with pytest.raises(InvalidInput, match=r"grade\.evidence"):
        record_broken(log, RUN, BrokenGrade("exploit", foreign, BrokenCode.CHECK_RAISED, "m", "KeyError"))


def test_supplied_evidence_can_be_recorded_on_any_stream_and_says_so() -> None:
    log = fixed_log()

    record(log, "eval/somewhere", EXPLOIT.grade(evidence(answers={"flag": "x"})))

    [found] = read_grades(log, "eval/somewhere")
    assert isinstance(found.grade.evidence, SuppliedReference)


def test_a_grade_of_a_run_without_evidence_can_be_recorded() -> None:
    log = fixed_log()

    assert record(log, RUN, graded(log)).new


def test_a_grade_holds_as_many_rungs_as_there_are_numbers_for_them() -> None:
    log = attempt()
    grade = graded(log)
    rung = Rung("m", 1.0, True, True, "")

    with pytest.raises(InvalidInput, match="65,534 rungs, more than the 65,533"):
        record(log, RUN, replace(grade, rungs=(rung,) * (MAX_RUNGS + 1)))
