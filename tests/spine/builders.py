"""Builders of test data."""

from typing import Any

from spine import Actor, Log, NewEvent


def found(**payload: Any) -> NewEvent:
    """An event of a type nobody has defined."""
    return NewEvent("finding.reported", payload, actor=Actor.SYSTEM)


def fill(log: Log, stream: str, number: int, *, type: str = "finding.reported") -> list[NewEvent]:
    """Append `number` events to the stream."""
    events = [NewEvent(type, {"n": n}, actor=Actor.SYSTEM) for n in range(1, number + 1)]
    log.append(stream, events)
    return events
