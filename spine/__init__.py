"""The spine: streams of events on an append-only log, for anyone to write, read, replay and verify."""

from spine.errors import (
    AppendOutcomeUnknown,
    EventTooNew,
    IdentityClash,
    InvalidInput,
    LogBusy,
    LogCorrupt,
    LogUnavailable,
    Overloaded,
    PayloadErased,
    Refused,
    RestoreDetected,
    SchemaOutdated,
    SnapshotStale,
    SpineError,
    StreamConflict,
    UpcastersBroken,
    UpcastFailed,
    WriterNotAllowed,
)
from spine.events import Actor, ErasedPayload, Event, NewEvent
from spine.folds import Fold, Replayed, fold, replay
from spine.group_commit import GroupCommit
from spine.log import ANY, NO_STREAM, STREAM_EXISTS, Append, Appended, Expect, Head, Log, Snapshot
from spine.memory import MemoryLog
from spine.sql_log import SqlLog, open_log
from spine.upcasters import Upcaster, Upcasters, upcast

__all__ = [
    "ANY",
    "NO_STREAM",
    "STREAM_EXISTS",
    "Actor",
    "Append",
    "AppendOutcomeUnknown",
    "Appended",
    "ErasedPayload",
    "Event",
    "EventTooNew",
    "Expect",
    "Fold",
    "GroupCommit",
    "Head",
    "IdentityClash",
    "InvalidInput",
    "Log",
    "LogBusy",
    "LogCorrupt",
    "LogUnavailable",
    "MemoryLog",
    "NewEvent",
    "Overloaded",
    "PayloadErased",
    "Refused",
    "Replayed",
    "RestoreDetected",
    "SchemaOutdated",
    "Snapshot",
    "SnapshotStale",
    "SpineError",
    "SqlLog",
    "StreamConflict",
    "UpcastFailed",
    "Upcaster",
    "Upcasters",
    "UpcastersBroken",
    "WriterNotAllowed",
    "fold",
    "open_log",
    "replay",
    "upcast",
]
