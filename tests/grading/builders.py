"""What grading tests are made of: a log whose every byte is known, and short ways to put events on it."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from grading.checks import Check, Verdict
from grading.evidence import Evidence, MapEvidence
from grading.ladders import Ladder, Milestone, Mode
from spine import Actor, Event, MemoryLog, NewEvent

RUN = "run/demo/1"
LOG_NAME = "gradespine/00000000-0000-4000-8000-000000000000"


def fixed_log() -> MemoryLog:
    """A log that is the same, byte for byte, wherever it is filled with the same events."""
    seconds = count(1_767_225_600)  # 2026-01-01
    salts = count(1)
    return MemoryLog(
        clock=lambda: next(seconds) * 1_000_000, salt=lambda: next(salts).to_bytes(32, "big"), name=LOG_NAME
    )


def said(type: str, actor: Actor = Actor.SYSTEM, **payload: Any) -> NewEvent:
    return NewEvent(type, payload, actor=actor)


def answered(key: str, answer: str) -> NewEvent:
    return said("answer.given", Actor.AGENT, key=key, answer=answer)


def log_of(*events: NewEvent, stream: str = RUN) -> MemoryLog:
    log = fixed_log()
    if events:
        log.append(stream, events)
    return log


def recorded(*events: NewEvent) -> list[Event]:
    """The events as a log of their own holds them."""
    return list(log_of(*events).read(RUN))


def evidence(*events: NewEvent, answers: Mapping[str, str] | None = None) -> MapEvidence:
    return MapEvidence(recorded(*events), answers)


def says(passed: bool, detail: str = "", *citations: int) -> Check:
    """A check that has made up its mind."""

    def check(evidence: Evidence) -> Verdict:
        return Verdict(passed, detail, citations)

    return check


def breaks(error: BaseException) -> Check:
    """A check that raises."""

    def check(evidence: Evidence) -> Verdict:
        raise error

    return check


def ladder(*checks: Check | None, mode: Mode = Mode.CUMULATIVE, weights: list[float] | None = None) -> Ladder:
    """A ladder of these checks; unit weights unless given."""
    weights = weights or [1.0] * len(checks)
    pairs = zip(checks, weights, strict=True)
    return Ladder("test", mode, [Milestone(f"m{index}", check, weight) for index, (check, weight) in enumerate(pairs)])
