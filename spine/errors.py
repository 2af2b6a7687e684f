"""Everything the spine can refuse or fail at; one class for each decision its caller can take.

SpineError
├── Refused                  the request itself; nothing was written, repeating it as it is cannot help
│   ├── InvalidInput         a value breaks a rule: names the field
│   ├── WriterNotAllowed     this actor may not write this type
│   ├── IdentityClash        an event id is known with other content, or only a part of a batch is known
│   ├── StreamConflict       the stream is not where the caller expected it: read again, decide again
│   └── SnapshotStale        what the state was folded from was erased meanwhile: replay
├── LogUnavailable           the log cannot be reached or opened; nothing was written
│   ├── LogBusy              another writer held the lock too long: retry
│   ├── Overloaded           too many appends wait already: retry after so many seconds
│   └── SchemaOutdated       the database is not at the revision this program needs
├── AppendOutcomeUnknown     the connection was lost, or the disk failed, while committing: repeat with the same ids
├── LogCorrupt               what is stored breaks a promise of the log: stop, and look
├── RestoreDetected          a follower is ahead of the log, or saw another history: rebuild it
├── PayloadErased            an erased payload had to be opened
├── UpcastersBroken          the upcasters of a type have a gap or a double: found when they are put together
├── UpcastFailed             an upcaster raised, or gave something other than a JSON object
└── EventTooNew              an event is of a newer schema version than this program knows, and it was to be strict
"""

from collections.abc import Collection
from typing import Final


class SpineError(Exception):
    """Root of every error of the spine."""


class Refused(SpineError):
    """The request breaks a rule. Nothing was written."""


class InvalidInput(Refused):
    """A value breaks a rule of the log.

    `field` is a path into the request, such as `events[2].payload.rows[3].x`.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field: Final = field
        self.reason: Final = reason

    def under(self, parent: str) -> "InvalidInput":
        """The same refusal, seen from the object that holds the field."""
        return InvalidInput(f"{parent}.{self.field}", self.reason)


class WriterNotAllowed(Refused):
    """A known event type was to be written by an actor who may not write it."""

    def __init__(self, field: str, type: str, actor: str, allowed: Collection[str]) -> None:
        writers = " or ".join(sorted(allowed))
        super().__init__(f"{field}: {type} may be written by {writers}, not by {actor}")
        self.field: Final = field
        self.type: Final = type
        self.actor: Final = actor
        self.allowed: Final = frozenset(allowed)

    def under(self, parent: str) -> "WriterNotAllowed":
        """The same refusal, seen from the object that holds the field."""
        return WriterNotAllowed(f"{parent}.{self.field}", self.type, self.actor, self.allowed)


class IdentityClash(Refused):
    """Event ids of the batch are known to the stream, but not as this batch.

    `field` names the first event that differs.
    """

    def __init__(self, stream: str, field: str, reason: str) -> None:
        super().__init__(f"{stream}: {field}: {reason}")
        self.stream: Final = stream
        self.field: Final = field
        self.reason: Final = reason


class StreamConflict(Refused):
    """The stream is at `actual` (0: it has no events), which is not what the append expected."""

    def __init__(self, stream: str, *, expected: object, actual: int) -> None:
        at = f"at seq {actual}" if actual else "empty"
        super().__init__(f"{stream}: expected {expected}, but the stream is {at}: read it again and decide again")
        self.stream: Final = stream
        self.expected: Final = expected
        self.actual: Final = actual


class SnapshotStale(Refused):
    """Something up to the snapshot's seq was erased, perhaps after the state was folded: it may hold what is gone."""

    def __init__(self, stream: str, seq: int, erased: int) -> None:
        super().__init__(f"{stream}: seq {erased} was erased behind the snapshot's seq {seq}: replay, and save that")
        self.stream: Final = stream
        self.seq: Final = seq
        self.erased: Final = erased


class LogUnavailable(SpineError):
    """The log cannot be reached, opened or written to. Nothing was written."""


class LogBusy(LogUnavailable):
    """Another writer held the log's lock for longer than the time allowed. Nothing was written: retry."""


class Overloaded(LogUnavailable):
    """Too many appends wait already. Nothing was written: retry after `retry_after` seconds."""

    def __init__(self, *, retry_after: float) -> None:
        super().__init__(f"too many appends wait already: nothing was written; retry in {retry_after:g} s")
        self.retry_after: Final = retry_after


class SchemaOutdated(LogUnavailable):
    """The database is not at the revision this program needs; the message says which command to run."""


class AppendOutcomeUnknown(SpineError):
    """The connection was lost, or the disk failed, while the append was committing: it may or may not stand.

    Repeat it with the same event ids: what stands is answered, what does not is written.
    """


class LogCorrupt(SpineError):
    """What is stored breaks a promise of the log (a gap, a torn chain, an unreadable row)."""


class RestoreDetected(SpineError):
    """A follower has seen what the log does not hold: the database was put back to an older copy, or is another log.

    What the follower derived can no longer be trusted: rebuild it.
    """


class PayloadErased(SpineError):
    """A payload that was erased had to be opened."""

    def __init__(self, stream: str, seq: int) -> None:
        super().__init__(f"{stream}: the payload of seq {seq} was erased")
        self.stream: Final = stream
        self.seq: Final = seq


class UpcastersBroken(SpineError):
    """The upcasters of a type do not lead from version 1 to the current one, a step for each version.

    `version` is the first version from which none leads, or two lead, or one that must not. It is found when the
    upcasters are put together, before any event is read.
    """

    def __init__(self, type: str, version: int, reason: str) -> None:
        super().__init__(f"{type}: {reason}")
        self.type: Final = type
        self.version: Final = version
        self.reason: Final = reason


class UpcastFailed(SpineError):
    """The upcaster of a type from `version` to the next could not take an event. What is stored is as it was."""

    def __init__(self, stream: str, seq: int, type: str, version: int, reason: str) -> None:
        super().__init__(
            f"{stream}: seq {seq}: {type} could not be brought from version {version} to {version + 1}: {reason}"
        )
        self.stream: Final = stream
        self.seq: Final = seq
        self.type: Final = type
        self.version: Final = version
        self.reason: Final = reason


class EventTooNew(SpineError):
    """An event is of schema version `version`; this program knows its type up to `known`. Read it with a newer one."""

    def __init__(self, stream: str, seq: int, type: str, *, version: int, known: int) -> None:
        super().__init__(
            f"{stream}: seq {seq} is {type} in version {version}, and this program knows it up to version {known}: "
            "read it with a newer program"
        )
        self.stream: Final = stream
        self.seq: Final = seq
        self.type: Final = type
        self.version: Final = version
        self.known: Final = known
