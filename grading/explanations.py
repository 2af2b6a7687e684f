"""Explanations: a grade with the events that decided each of its rungs."""

from collections.abc import Mapping
from dataclasses import dataclass

from grading.rows import GradeRow, RungRow
from spine import Event, Log


@dataclass(frozen=True, slots=True)
class ExplainedRung:
    """A rung with the events it cites."""

    rung: RungRow
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a run has the grade it has."""

    grade: GradeRow
    rungs: tuple[ExplainedRung, ...]


def explained(log: Log, grade: GradeRow) -> Explanation:
    """The grade with what it cites, read from the log."""
    cited = {seq for rung in grade.rungs for seq in rung.citations}
    events: dict[int, Event] = {}
    if cited:
        read = log.read(grade.stream, after=min(cited) - 1, until=max(cited))
        events = {event.seq: event for event in read if event.seq in cited}
    return Explanation(grade, tuple(_with_events(rung, events) for rung in grade.rungs))


def _with_events(rung: RungRow, events: Mapping[int, Event]) -> ExplainedRung:
    return ExplainedRung(rung, tuple(events[seq] for seq in rung.citations if seq in events))
