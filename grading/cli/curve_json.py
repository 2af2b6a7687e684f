"""A curve as JSON."""

from datetime import timedelta
from typing import Any

from grading.curve import Change, Curve, Point, RungCurve
from grading.explanations import Drawn
from grading.rows import verdict


def to_json(stream: str, drawn: Drawn, *, every: bool) -> dict[str, Any]:
    """The curve as `explain --curve --json` prints it. An `event` is its number among the events of evidence, from 1; 0
    is before the first. `seconds` go by the events' own times, from the first."""
    found = drawn.curve
    grader = None if drawn.identity is None else drawn.identity.to_json()
    if found is None:
        return {"stream": stream, "grader": grader, "name": drawn.name, "reason": drawn.reason, "points": None}
    return {
        "stream": stream,
        "grader": grader,
        "name": drawn.name,
        "mode": found.mode.value,
        "total": found.total,
        "pass_at": found.pass_at,
        "events": len(found.events),
        "first_passed": _place_json(found, found.first_passed),
        "passed_since": _place_json(found, found.passed_since),
        "best": _place_json(found, None if found.best is None else found.best.place),
        "points": [_point_json(found, point) for point in (found.every() if every else found.points)],
        "rungs": [_rung_json(found, rung) for rung in found.rungs],
    }


def seconds(found: Curve, place: int) -> float | None:
    """From the first event to the one at a place, by their own times; None before the first."""
    if not place:
        return None
    since: timedelta = found.events[place - 1].time - found.events[0].time
    return since.total_seconds()


def _place_json(found: Curve, place: int | None) -> dict[str, Any] | None:
    if place is None:
        return None
    event = found.events[place - 1] if place else None
    return {
        "event": place,
        "seq": 0 if event is None else event.seq,
        "type": None if event is None else event.type,
        "time": None if event is None else event.time.isoformat(),
        "seconds": seconds(found, place),
    }


def _point_json(found: Curve, point: Point) -> dict[str, Any]:
    cause = point.cause
    why = None if cause is None else {"milestone": point.milestone, "code": cause.code.value, "where": cause.where}
    return {
        **(_place_json(found, point.place) or {}),
        "score": point.score,
        "attained": point.attained,
        "passed": point.passed,
        "verdict": verdict(point.passed),
        "broken": why,
        "rungs": [standing.value for standing in point.standings],
    }


def _rung_json(found: Curve, rung: RungCurve) -> dict[str, Any]:
    return {
        "name": rung.name,
        "weight": rung.weight,
        "required": rung.required,
        "limit": rung.limit,
        "violated": _place_json(found, rung.violated),
        "earned": [_place_json(found, place) for place in rung.earned],
        "lost": [_place_json(found, place) for place in rung.lost],
        "changes": [_change_json(found, change) for change in rung.changes],
    }


def _change_json(found: Curve, change: Change) -> dict[str, Any]:
    cause = change.cause
    why = {} if cause is None else {"code": cause.code.value, "where": cause.where}
    return {**(_place_json(found, change.place) or {}), "standing": change.standing.value, **why}
