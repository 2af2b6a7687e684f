"""The spine: streams of events on an append-only log, for anyone to write, read, replay and verify."""

from spine.errors import (
    AppendOutcomeUnknown,
    IdentityClash,
    InvalidInput,
    LogBusy,
    LogCorrupt,
    LogUnavailable,
    PayloadErased,
    Refused,
    RestoreDetected,
    SchemaOutdated,
    SpineError,
    StreamConflict,
    WriterNotAllowed,
)
from spine.events import Actor, ErasedPayload, Event, NewEvent
from spine.log import ANY, NO_STREAM, STREAM_EXISTS, Append, Appended, Expect, Head, Log, Snapshot
from spine.memory import MemoryLog
from spine.sql_log import SqlLog, open_log

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
    "Expect",
    "Head",
    "IdentityClash",
    "InvalidInput",
    "Log",
    "LogBusy",
    "LogCorrupt",
    "LogUnavailable",
    "MemoryLog",
    "NewEvent",
    "PayloadErased",
    "Refused",
    "RestoreDetected",
    "SchemaOutdated",
    "Snapshot",
    "SpineError",
    "SqlLog",
    "StreamConflict",
    "WriterNotAllowed",
    "open_log",
]
