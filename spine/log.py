"""Log: the contract every implementation keeps, and the small values it speaks in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Protocol, Self
from uuid import UUID

from spine.events import Actor, Event, NewEvent


class Expect(Enum):
    """What an append expects of its stream, where it is not an exact seq."""

    ANY = "any"
    NO_STREAM = "no stream"
    STREAM_EXISTS = "an existing stream"

    def __str__(self) -> str:
        return self.value


ANY = Expect.ANY
NO_STREAM = Expect.NO_STREAM
STREAM_EXISTS = Expect.STREAM_EXISTS


@dataclass(frozen=True, slots=True)
class Append:
    """One stream's part of an atomic append. `expect` may be the exact seq the stream must be at (0: no events)."""

    stream: str
    events: Sequence[NewEvent]
    expect: Expect | int = ANY


@dataclass(frozen=True, slots=True)
class Appended:
    """Where the events stand. `new` is False when they stood there before this append."""

    first_seq: int
    last_seq: int
    first_position: int
    last_position: int
    new: bool


@dataclass(frozen=True, slots=True)
class Head:
    """The last event of a stream."""

    stream: str
    seq: int
    position: int
    digest: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A fold's state after `seq` of a stream: a cache that may be deleted at any time."""

    stream: str
    seq: int
    fold: str
    version: int
    state: bytes


class Log(Protocol):
    """Streams of events on one append-only log.

    Every refusal is an error of `spine.errors` that names the field, and nothing is written. Reads see the log as it
    stands when they are called, stream their events, and hold neither locks nor memory for the whole of it.
    """

    @property
    def name(self) -> str | None:
        """`gradespine/<uuid>`, the log's own name: part of every digest. None while the log is empty."""

    def append(self, stream: str, events: Sequence[NewEvent], expect: Expect | int = ANY) -> Appended:
        """Append events to one stream, durably and all or none.

        A batch whose ids all stand on the stream, contiguous, in order and with the same content, is answered with
        `new=False`, before `expect` is looked at: every retry is safe.
        Raises InvalidInput, WriterNotAllowed, IdentityClash, StreamConflict; LogBusy, AppendOutcomeUnknown.
        """

    def append_all(self, appends: Sequence[Append]) -> list[Appended]:
        """Append to several streams in one commit; answers in the order of `appends`. Each stream may stand once."""

    def read(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Sequence[str] | None = None,
        backwards: bool = False,
    ) -> Iterator[Event]:
        """The stream's events with after < seq ≤ until, in order of seq (or the reverse); none for an unknown stream.

        `limit` counts what is returned, from the end at which reading begins.
        """

    def read_all(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Sequence[str] | None = None,
        backwards: bool = False,
    ) -> Iterator[Event]:
        """The whole log's events with after < position ≤ until, in order of position (or the reverse)."""

    def streams(self, prefix: str = "", *, after: str = "", limit: int | None = None) -> Iterator[Head]:
        """The streams whose names start with `prefix`, by name in byte order, from behind the name `after`."""

    def head(self, stream: str) -> Head | None:
        """The stream's last event, or None for a stream without events."""

    def find(self, stream: str, id: UUID) -> Event | None:
        """The event of this id on this stream."""

    def position(self) -> int:
        """The position of the log's last event; 0 for an empty log."""

    def erase(self, stream: str, seqs: Sequence[int], *, reason: str, actor: Actor, principal: str) -> Appended:
        """Erase payload, metadata and salt of evidence events, and append an `event.erased` for each, in one commit.

        Rows, digests and positions stay. Erasing what is erased already writes nothing for it. `principal` is who
        authorised it. Raises InvalidInput for an unknown seq and for service events, WriterNotAllowed for an agent.
        Snapshots that may hold what was erased go with it.
        """

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a fold's state; replaces one of the same stream, fold, version and seq.

        Raises SnapshotStale when something the state may hold has been erased since it was folded.
        """

    def latest_snapshot(self, stream: str, fold: str, version: int, *, until: int | None = None) -> Snapshot | None:
        """The fold's newest state at or before seq `until`."""

    def close(self) -> None:
        """Release what the log holds. It cannot be used afterwards."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
