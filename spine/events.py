"""NewEvent (what a producer says), Event (what the log holds), and the three kinds of actor."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias
from uuid import UUID

from uuid_utils.compat import uuid7

from spine.canonical import decode
from spine.clock import as_datetime
from spine.errors import PayloadErased

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Actor(StrEnum):
    """Who caused an event: the agent under test, a person, or the runtime itself."""

    AGENT = "agent"
    HUMAN = "human"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event as its producer says it; the log adds its place, its time of recording and its digest.

    The id is made here, so that repeating an append with the same objects is harmless.
    `time` is when it happened (aware; the log's clock if absent). `metadata` holds facts of transport and
    tools and is never evidence. `principal` says on whose authority, as an opaque id.
    Nothing is checked before the event is appended.
    """

    type: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    actor: Actor = field(kw_only=True)
    id: UUID = field(default_factory=uuid7, kw_only=True)
    time: datetime | None = field(default=None, kw_only=True)
    schema_version: int = field(default=1, kw_only=True)
    principal: str = field(default="", kw_only=True)
    metadata: Mapping[str, Any] | None = field(default=None, kw_only=True)
    correlation_id: str = field(default="", kw_only=True)
    causation_id: UUID | None = field(default=None, kw_only=True)
    trace_id: str = field(default="", kw_only=True)
    span_id: str = field(default="", kw_only=True)
    origin: str = field(default="", kw_only=True)


class EventRow(NamedTuple):
    """An event as it is stored: a row of `events`, with the stream's name in place of its number."""

    position: int
    stream: str
    seq: int
    id: bytes
    type: str
    schema_version: int
    actor: str
    principal: str
    time: int
    recorded_at: int
    correlation_id: str
    causation_id: bytes | None
    trace_id: str
    span_id: str
    origin: str
    payload_digest: bytes
    metadata_digest: bytes | None
    salt: bytes | None
    payload: str | None
    metadata: str | None
    leaf: bytes


_POSITION: Final = 0
_STREAM: Final = 1
_SEQ: Final = 2
_TYPE: Final = 4
_PAYLOAD: Final = 18
"""Places in an EventRow of what is asked of every event."""


class ErasedPayload(Mapping[str, Any]):
    """Stands where a payload was erased. It can be shown; looking into it raises PayloadErased."""

    __slots__ = ("_seq", "_stream")

    def __init__(self, stream: str, seq: int) -> None:
        self._stream: Final = stream
        self._seq: Final = seq

    def _open(self) -> NoReturn:
        raise PayloadErased(self._stream, self._seq)

    def __getitem__(self, key: str) -> NoReturn:
        self._open()

    def __iter__(self) -> Iterator[str]:
        self._open()

    def __len__(self) -> int:
        self._open()

    def __contains__(self, key: object) -> bool:
        self._open()

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ErasedPayload) and (other._stream, other._seq) == (self._stream, self._seq)

    def __hash__(self) -> int:
        return hash((self._stream, self._seq))

    def __repr__(self) -> str:
        return "<erased>"


class Event:
    """An event as the log holds it. Read-only; its payload is decoded when first looked at and is this object's own,
    so nothing done to it reaches the log or another reader."""

    __slots__ = ("_metadata", "_payload", "_row", "_stream")

    def __init__(self, row: EventRow, stream: str | None = None) -> None:
        """With `stream`, the row is a plain tuple that holds something else in its place: most events are never asked
        for their row."""
        self._row = row
        self._stream: str = row[_STREAM] if stream is None else stream
        self._payload: Mapping[str, Any] | None = None
        self._metadata: Mapping[str, Any] | None = None

    @property
    def row(self) -> EventRow:
        """The event as stored, for verifying and copying."""
        row = self._row
        if type(row) is not EventRow:
            row = self._row = tuple.__new__(EventRow, (row[0], self._stream, *row[2:]))  # _make, without its checks
        return row

    @property
    def columns(self) -> Sequence[Any]:
        """The same in order, but something else may stand where the stream's name does: for whom a look at each event
        of a log counts."""
        return self._row

    @property
    def position(self) -> int:
        """Place in the whole log: dense, from 1, in commit order."""
        return self._row[_POSITION]

    @property
    def stream(self) -> str:
        return self._stream

    @property
    def seq(self) -> int:
        """Place in its stream: dense, from 1."""
        return self._row[_SEQ]

    @property
    def id(self) -> UUID:
        return UUID(bytes=self.row.id)

    @property
    def type(self) -> str:
        return self._row[_TYPE]

    @property
    def schema_version(self) -> int:
        return self.row.schema_version

    @property
    def actor(self) -> Actor:
        return Actor(self.row.actor)

    @property
    def principal(self) -> str:
        return self.row.principal

    @property
    def time(self) -> datetime:
        """When it happened, as its producer says."""
        return as_datetime(self.row.time)

    @property
    def recorded_at(self) -> datetime:
        """When the log took it, by the log's clock; never decreases along the log."""
        return as_datetime(self.row.recorded_at)

    @property
    def correlation_id(self) -> str:
        return self.row.correlation_id

    @property
    def causation_id(self) -> UUID | None:
        stored = self.row.causation_id
        return None if stored is None else UUID(bytes=stored)

    @property
    def trace_id(self) -> str:
        return self.row.trace_id

    @property
    def span_id(self) -> str:
        return self.row.span_id

    @property
    def origin(self) -> str:
        return self.row.origin

    @property
    def digest(self) -> str:
        """Its leaf hash, lower-case hex: binds everything but the position (FORMATS: gradespine/event/1)."""
        return self.row.leaf.hex()

    @property
    def erased(self) -> bool:
        """Whether its payload, metadata and salt were erased; the digests stay."""
        return self._row[_PAYLOAD] is None

    @property
    def payload(self) -> Mapping[str, Any]:
        """The JSON object that was appended; an ErasedPayload if it was erased."""
        if self._payload is None:
            text = self._row[_PAYLOAD]
            self._payload = ErasedPayload(self._stream, self.seq) if text is None else decode(text)
        return self._payload

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Facts of transport and tools, never evidence; empty when there are none, an ErasedPayload if erased."""
        if self._metadata is None:
            row = self.row
            if row.metadata is not None:
                self._metadata = decode(row.metadata)
            else:
                self._metadata = {} if row.metadata_digest is None else ErasedPayload(row.stream, row.seq)
        return self._metadata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.row == other.row

    def __hash__(self) -> int:
        return hash(self.row.leaf)

    def __repr__(self) -> str:
        row = self.row
        return f"<Event {row.position} {row.stream}#{row.seq} {row.type} by {row.actor}>"
