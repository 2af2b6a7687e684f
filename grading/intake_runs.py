"""A recorded run, put onto its stream: what is missing there, in one append, when what is there is the same run."""

from typing import Final

from spine.canonical import encode
from spine.clock import as_microseconds
from spine.errors import IdentityClash, SpineError, StreamConflict
from spine.events import Event, NewEvent
from spine.importers import Recording
from spine.log import Log

_TRIES: Final = 20
_REFERENCE: Final = "case.expected"


class Differs(SpineError):
    """The run is not the one that is recorded on its stream."""


def append_run(log: Log, run: Recording) -> tuple[int, bool]:
    """How many events the log did not have, and whether the stream is new. Others may write to the stream meanwhile."""
    for attempt in range(1, _TRIES + 1):
        missing, head = _missing(log, run)
        if not missing:
            return 0, False
        try:
            appended = log.append(run.stream, missing, head)
        except (StreamConflict, IdentityClash):  # somebody wrote to it since: read it again, decide again
            if attempt == _TRIES:
                raise
            continue
        return (len(missing), len(missing) == len(run.events)) if appended.new else (0, False)
    raise AssertionError("unreachable")


def _missing(log: Log, run: Recording) -> tuple[list[NewEvent], int]:
    """The run's events that do not stand on its stream, and where the stream is. Raises Differs.

    What is there has to be the run's beginning, but for the reference: it counts wherever it stands, so it may come
    later than the rest. Grades and whatever else was written since may stand behind or between them.
    """
    ordinals = {event.id: ordinal for ordinal, event in enumerate(run.events)}
    rest = [ordinal for ordinal, event in enumerate(run.events) if event.type != _REFERENCE]
    known: set[int] = set()
    following = head = 0
    for stored in log.read(run.stream):
        head = stored.seq
        ordinal = ordinals.get(stored.id)
        if ordinal is None:
            if not known:
                raise Differs(f"{run.stream} is recorded already, by another import or another writer")
            continue
        difference = _difference(run.events[ordinal], stored)
        if run.events[ordinal].type != _REFERENCE:
            difference = difference if rest[following] == ordinal else "place"
            following += 1
        if difference:
            raise Differs(f"{run.stream} is recorded with another {difference} at seq {stored.seq}")
        known.add(ordinal)
    return [event for ordinal, event in enumerate(run.events) if ordinal not in known], head


def _difference(event: NewEvent, stored: Event) -> str | None:
    """The rule of the log (FORMATS 3); what was erased cannot differ."""
    if event.type != stored.type:
        return "type"
    if event.actor != stored.actor:
        return "actor"
    if event.time is not None and as_microseconds(event.time) != as_microseconds(stored.time):
        return "time"
    if stored.row.payload is not None and encode(event.payload).decode() != stored.row.payload:
        return "payload"
    return None
