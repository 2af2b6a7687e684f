"""fold and replay: a state built from events, left to right; and what a snapshot of one must keep to."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce as left_fold
from hashlib import sha256
from typing import Final, Generic, Protocol, TypeVar

from spine.canonical import MAX_INTEGER, decode, encode
from spine.errors import AppendOutcomeUnknown, InvalidInput, LogUnavailable, SnapshotStale
from spine.events import Event
from spine.identifiers import MAX_IDENTIFIER, check_identifier
from spine.log import Log, Snapshot
from spine.reading import check_range
from spine.upcasters import Upcasters, upcast

State = TypeVar("State")

_DIGEST: Final = sha256().digest_size


class Fold(Protocol[State]):
    """A way to build a state from the events of a stream, whose states can be kept.

    `reduce` is deterministic: the state before and the event give the state after, without clock, chance or I/O. It
    may change and return the state it was given. `decode(encode(state))` is a state like `state`. No base class: any
    object that has these will do.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int:
        """Raised whenever equal events may give another state or another encoding: older snapshots are ignored then."""

    @property
    def types(self) -> Sequence[str] | None:
        """The types of events it reads, at most 256; the others are never fetched. None: all."""

    def initial(self) -> State: ...

    def reduce(self, state: State, event: Event) -> State: ...

    def encode(self, state: State) -> bytes: ...

    def decode(self, kept: bytes) -> State: ...


@dataclass(frozen=True, slots=True)
class Replayed(Generic[State]):
    """A fold's state after `seq` of a stream (0: no events), from the snapshot at seq `resumed_from` (0: from zero)."""

    state: State
    seq: int
    resumed_from: int


def fold(
    events: Iterable[Event],
    initial: State,
    reduce: Callable[[State, Event], State],
    upcasters: Upcasters | None = None,
) -> State:
    """reduce(… reduce(reduce(initial, first), second) …): the state after the last event, `initial` without events."""
    return left_fold(reduce, upcast(events, upcasters), initial)


def replay(
    log: Log,
    stream: str,
    fold: Fold[State],
    *,
    until: int | None = None,
    upcasters: Upcasters | None = None,
    snapshot_every: int | None = None,
) -> Replayed[State]:
    """The fold's state of the stream as it stands, or after seq `until` where that is earlier.

    It starts from the newest snapshot at or before there and reads only what follows. A snapshot that is of another
    version of the fold or of the types it reads, or that cannot be decoded, counts for nothing: with or without
    snapshots the state is the same. The state is kept as a new snapshot if it is `snapshot_every` events or more ahead
    of the one it started from; that it could not be kept is no error.

    Raises what `reduce` raises: PayloadErased where it opens what was erased.
    """
    check_range(0, until, None, fold.types)
    if snapshot_every is not None and (type(snapshot_every) is not int or snapshot_every < 1):
        raise InvalidInput("snapshot_every", f"{snapshot_every!r} is not a number of events from 1")
    # Read first: what was erased up to here is seen erased, so a state never holds more than its seq can excuse.
    head = log.head(stream)
    seq = 0 if head is None else head.seq if until is None else min(until, head.seq)
    keeping = _Keeping(log, stream, fold, upcasters)
    start, state = keeping.newest(seq)
    events = log.read(stream, after=start, until=seq, types=fold.types)
    state = left_fold(fold.reduce, upcast(events, upcasters), state)
    if snapshot_every is not None and seq - start >= snapshot_every:
        keeping.save(seq, state)
    return Replayed(state, seq, start)


def check_snapshot(snapshot: Snapshot, head: int) -> None:
    """Raises InvalidInput unless the snapshot is of a state the stream has had; one ahead of it would hide events."""
    if type(snapshot.seq) is not int or not 1 <= snapshot.seq <= head:
        raise InvalidInput("seq", f"{snapshot.seq!r} is not a seq of {snapshot.stream}, which is at {head}")
    check_identifier(snapshot.fold, "fold", MAX_IDENTIFIER)
    if not snapshot.fold:
        raise InvalidInput("fold", "a snapshot names its fold")
    if type(snapshot.version) is not int or not 0 <= snapshot.version <= MAX_INTEGER:
        raise InvalidInput("version", f"{snapshot.version!r} is not a whole number from 0")
    if not isinstance(snapshot.state, bytes):
        raise InvalidInput("state", f"{type(snapshot.state).__name__} is not bytes")


def check_not_erased(snapshot: Snapshot, erasures: Iterable[str]) -> None:
    """Raises SnapshotStale if one of these erasures, payloads of the `event.erased` behind the snapshot's seq, took
    something that the state may have been folded from."""
    for payload in erasures:
        erased = decode(payload)["seq"]
        if erased <= snapshot.seq:
            raise SnapshotStale(snapshot.stream, snapshot.seq, erased)


class _Keeping(Generic[State]):
    """Keeps states of a fold on a stream, each behind a digest that binds it to what it is a state of."""

    def __init__(self, log: Log, stream: str, fold: Fold[State], upcasters: Upcasters | None) -> None:
        self._log = log
        self._stream = stream
        self._fold = fold
        self._versions = {} if upcasters is None else upcasters.versions(fold.types)

    def newest(self, until: int) -> tuple[int, State]:
        """The newest readable state at or before seq `until`, and its seq."""
        found = self._log.latest_snapshot(self._stream, self._fold.name, self._fold.version, until=until)
        if found is not None:
            digest, kept = found.state[:_DIGEST], found.state[_DIGEST:]
            if digest == self._digest(found.seq, kept):
                # Whatever is wrong with it, the events are still there.
                with suppress(Exception):
                    return found.seq, self._fold.decode(kept)
        return 0, self._fold.initial()

    def save(self, seq: int, state: State) -> None:
        kept = self._fold.encode(state)
        snapshot = Snapshot(self._stream, seq, self._fold.name, self._fold.version, self._digest(seq, kept) + kept)
        # The state is known and right; another replay will keep one.
        with suppress(LogUnavailable, AppendOutcomeUnknown, SnapshotStale):
            self._log.save_snapshot(snapshot)

    def _digest(self, seq: int, kept: bytes) -> bytes:
        said = {
            "fold": self._fold.name,
            "seq": seq,
            "stream": self._stream,
            "upcasters": self._versions,
            "version": self._fold.version,
        }
        return sha256(encode(said) + kept).digest()
