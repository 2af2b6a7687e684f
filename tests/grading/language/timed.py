"""Runs whose times are known: by the log's clock, and by the producers'."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat

from spine import Event, MemoryLog, NewEvent
from spine.vocabulary import counts_as_evidence
from tests.grading.language.cases import HUMAN, RUN, new

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float, event: NewEvent) -> NewEvent:
    """The event, so many seconds into the run by its producer."""
    return replace(event, time=BEGIN + timedelta(seconds=seconds))


def charge(amount: float, resource: str = "tokens", scope: str = "run") -> NewEvent:
    return new("budget.charged", scope=scope, resource=resource, amount=amount)


def limit(amount: float, resource: str = "tokens", scope: str = "run") -> NewEvent:
    return new("budget.set", scope=scope, resource=resource, limit=amount)


def exhausted(resource: str = "tokens", scope: str = "run") -> NewEvent:
    return new("budget.exhausted", scope=scope, resource=resource)


def started() -> NewEvent:
    return new("run.started", agent="a", model="m", task="t", case="c")


def again(event: NewEvent) -> NewEvent:
    """One more event that says the same."""
    return NewEvent(event.type, event.payload, actor=event.actor, time=event.time)


def timed(*events: tuple[float, NewEvent], erase: Sequence[int] = ()) -> list[Event]:
    """The evidence of a run whose events were recorded so many seconds into it."""
    ticks = [int(BEGIN.timestamp() * 1_000_000 + seconds * 1_000_000) for seconds, _ in events]
    clock = chain(ticks, repeat(ticks[-1] if ticks else 0))
    log = MemoryLog(clock=lambda: next(clock))
    for _, event in events:
        log.append(RUN, [again(event)])
    if erase:
        log.erase(RUN, erase, reason="test", actor=HUMAN, principal="p")
    return [event for event in log.read(RUN) if counts_as_evidence(event.type)]
