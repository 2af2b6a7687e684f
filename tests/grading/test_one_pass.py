"""Incremental checks share one pass over the events, and no check can spoil it for another."""

from collections.abc import Mapping
from typing import Any

from grading.checks import Check, Verdict, event_recorded
from grading.evidence import Evidence, MapEvidence, StreamEvidence
from grading.ladders import Mode
from spine import Event
from tests.grading.builders import RUN, evidence, fixed_log, ladder, said, says

YES, NO = says(True), says(False)
INDEPENDENT = Mode.INDEPENDENT
NOTHING = evidence()


class Counting:
    """An incremental check that passes, and counts how often the evidence was gone through."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def start(self, expected: Mapping[str, Any] | None, answers: Mapping[str, str] | None = None) -> "Counting":
        return self

    def step(self, event: Event) -> None:
        self.steps.append(event.seq)
        event.payload.clear()  # type: ignore[attr-defined]

    def result(self) -> Verdict:
        return Verdict(True, f"{len(self.steps)} events")

    def __call__(self, evidence: Evidence) -> Verdict:
        raise AssertionError("a ladder feeds its incremental checks itself")


class OnePass(MapEvidence):
    """Evidence that counts how often it is asked for its events."""

    passes = 0

    def events(self, **also: Any) -> Any:
        self.passes += 1
        return super().events(**also)


def test_incremental_checks_are_graded_in_one_pass() -> None:
    found = OnePass([*evidence(said("x.y"), said("x.z")).events()])

    grade = ladder(Counting(), event_recorded("x.z"), Counting(), event_recorded("x.y")).grade(found)

    assert grade.passed
    assert found.passes == 1
    assert grade.rungs[0].detail == "2 events"


def test_an_incremental_check_is_given_what_was_expected() -> None:
    class Expecting(Counting):
        def start(self, expected: Mapping[str, Any] | None, answers: Mapping[str, str] | None = None) -> "Expecting":
            assert expected == {"target": "x"}
            return self

    assert ladder(Expecting()).grade(evidence(said("case.expected", target="x"))).passed


def test_no_check_can_change_what_the_next_one_sees_or_the_log() -> None:
    def vandal(payload: Any) -> bool:
        payload["n"].append("changed")
        return True

    def python_vandal(evidence: Evidence) -> Verdict:
        for event in evidence.events():
            vandal(event.payload)
        return Verdict(True, "")

    def untouched(evidence: Evidence) -> Verdict:
        return Verdict(all(event.payload == {"n": [1]} for event in evidence.events()), "")

    log = fixed_log()
    log.append(RUN, [said("x.y", n=[1])])
    clean = event_recorded("x.y", lambda payload: payload == {"n": [1]})
    checks: list[Check] = [Counting(), event_recorded("x.y", vandal), clean, python_vandal, untouched, clean]

    for found in (StreamEvidence(log, RUN), MapEvidence(log.read(RUN))):
        assert ladder(*checks).grade(found).passed
        assert ladder(*reversed(checks)).grade(found).passed
    assert next(log.read(RUN)).payload == {"n": [1]}
