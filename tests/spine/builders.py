"""Builders of test data."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any
from uuid import UUID

from spine import Actor, Log, NewEvent


def found(**payload: Any) -> NewEvent:
    """An event of a type nobody has defined."""
    return NewEvent("finding.reported", payload, actor=Actor.SYSTEM)


def fill(log: Log, stream: str, number: int, *, type: str = "finding.reported") -> list[NewEvent]:
    """Append `number` events to the stream."""
    events = [NewEvent(type, {"n": n}, actor=Actor.SYSTEM) for n in range(1, number + 1)]
    log.append(stream, events)
    return events


def ticking(start: int = 1_795_987_843_000_000, step: int = 1000) -> Callable[[], int]:
    """A clock that moves on by `step` microseconds each time it is read."""
    ticks = count(start, step)
    return lambda: next(ticks)


def numbered_salts() -> Callable[[], bytes]:
    """Salts that are the same in every run."""
    numbers = count()
    return lambda: next(numbers).to_bytes(32, "big")


def numbered_ids() -> Iterator[UUID]:
    """UUIDv7s that are the same in every run."""
    return (UUID(f"01900000-0000-7000-8000-{number:012x}") for number in count())
