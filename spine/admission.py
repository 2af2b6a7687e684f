"""What an append has to pass: the checks before the lock, the decision under it, and the places it gives.

One piece for every implementation of Log, so that they refuse, answer and hash alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from spine import canonical
from spine.canonical import MAX_INTEGER, ZERO_LEAF
from spine.errors import IdentityClash, InvalidInput, StreamConflict
from spine.events import EventRow
from spine.identifiers import check_stream
from spine.log import ANY, NO_STREAM, STREAM_EXISTS, Append, Appended, Expect
from spine.sealing import Sealed, seal
from spine.vocabulary import ERASED


@dataclass(frozen=True, slots=True)
class Batch:
    """One stream's part of an append, checked and sealed."""

    stream: str
    events: tuple[Sealed, ...]
    expect: Expect | int
    field: str


@dataclass(frozen=True, slots=True)
class Admitted:
    """An append that has passed every check before the lock: its parts, and the clock when they passed."""

    batches: Sequence[Batch]
    now: int


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of the log: its last position and the time that was recorded there."""

    position: int
    recorded_at: int


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The end of one stream: seq 0 and the zero leaf before its first event."""

    seq: int
    leaf: bytes


EMPTY_STREAM: Final = StreamEnd(0, ZERO_LEAF)


def admit_one(append: Append, *, now: int, salt: Callable[[], bytes]) -> Batch:
    """Check and seal an append to one stream. Raises the first refusal, naming the field."""
    _check_no_erasure(append, "")
    return _admit(append, "", now, salt)


def admit_erasure(append: Append, *, now: int, salt: Callable[[], bytes]) -> Batch:
    """The same for the events that tell of an erasure, by the erasure itself."""
    return _admit(append, "", now, salt)


def admit(appends: Sequence[Append], *, now: int, salt: Callable[[], bytes]) -> list[Batch]:
    """Check and seal an append to several streams. Raises the first refusal, naming the field."""
    if not appends:
        raise InvalidInput("appends", "there is nothing to append")
    for index, append in enumerate(appends):
        _check_no_erasure(append, f"appends[{index}].")
    batches = [_admit(append, f"appends[{index}].", now, salt) for index, append in enumerate(appends)]
    seen: set[str] = set()
    for batch in batches:
        if batch.stream in seen:
            raise InvalidInput(f"{batch.field}stream", f"{batch.stream} stands twice in one append")
        seen.add(batch.stream)
    return batches


def answer_known(batches: Sequence[Batch], known: Sequence[Mapping[bytes, EventRow]]) -> list[Appended] | None:
    """The answer to a repeated append; None when none of its ids is known.

    `known` holds, for each batch, the stored events of its stream under those ids. Raises IdentityClash when only some
    are known, when they are not contiguous and in order, or when the content differs.
    """
    if not any(known):
        return None
    return [_answer(batch, rows) for batch, rows in zip(batches, known, strict=True)]


def check_expected(batch: Batch, actual: int) -> None:
    """Raises StreamConflict unless the stream, which is at seq `actual`, is where the batch expects it."""
    match batch.expect:
        case Expect.ANY:
            met = True
        case Expect.NO_STREAM:
            met = actual == 0
        case Expect.STREAM_EXISTS:
            met = actual > 0
        case seq:
            met = actual == seq
    if not met:
        expected = batch.expect if isinstance(batch.expect, Expect) else f"seq {batch.expect}"
        raise StreamConflict(batch.stream, expected=expected, actual=actual)


def place(batch: Batch, *, log: str, end: StreamEnd, position: int, recorded_at: int) -> list[EventRow]:
    """The rows of a batch behind `end`, the first of them at `position`, each chained to the one before it."""
    rows: list[EventRow] = []
    prev = end.leaf
    for offset, event in enumerate(batch.events):
        seq = end.seq + 1 + offset
        envelope = canonical.envelope(
            event.part, log=log, prev=prev, recorded_at=recorded_at, seq=seq, stream=batch.stream
        )
        prev = canonical.leaf_hash(envelope)
        rows.append(_row(event, batch.stream, seq, position + offset, recorded_at, prev))
    return rows


def appended(rows: Sequence[EventRow], *, new: bool = True) -> Appended:
    """Where these rows stand."""
    return Appended(rows[0].seq, rows[-1].seq, rows[0].position, rows[-1].position, new)


def _admit(append: Append, field: str, now: int, salt: Callable[[], bytes]) -> Batch:
    check_stream(append.stream, f"{field}stream")
    _check_expect(append.expect, f"{field}expect")
    if not append.events:
        raise InvalidInput(f"{field}events", "there is nothing to append")
    events = tuple(seal(event, now, salt(), f"{field}events[{index}]") for index, event in enumerate(append.events))
    _check_distinct(append.stream, events, field)
    return Batch(append.stream, events, append.expect, field)


def _row(event: Sealed, stream: str, seq: int, position: int, recorded_at: int, leaf: bytes) -> EventRow:
    return EventRow(
        position,
        stream,
        seq,
        event.id,
        event.type,
        event.schema_version,
        event.actor,
        event.principal,
        event.time,
        recorded_at,
        event.correlation_id,
        event.causation_id,
        event.trace_id,
        event.span_id,
        event.origin,
        event.payload_digest,
        event.metadata_digest,
        event.salt,
        event.payload.decode(),
        None if event.metadata is None else event.metadata.decode(),
        leaf,
    )


def _answer(batch: Batch, known: Mapping[bytes, EventRow]) -> Appended:
    for number, event in enumerate(batch.events):
        field = f"{batch.field}events[{number}]"
        row = known.get(event.id)
        if row is None:
            raise IdentityClash(batch.stream, field, "this id is new, but others of the batch stand on the stream")
        differs = _difference(event, row)
        if differs:
            raise IdentityClash(batch.stream, field, f"its id stands at seq {row.seq} with another {differs}")
    rows = [known[event.id] for event in batch.events]
    for number, (before, row) in enumerate(pairwise(rows), start=1):
        if row.seq != before.seq + 1:
            field = f"{batch.field}events[{number}]"
            raise IdentityClash(batch.stream, field, f"it stands at seq {row.seq}, the one before it at {before.seq}")
    return appended(rows, new=False)


def _difference(event: Sealed, row: EventRow) -> str | None:
    """Which part of the content differs from the stored event; None when they are the same. What was erased cannot
    differ."""
    if event.type != row.type:
        return "type"
    if event.schema_version != row.schema_version:
        return "schema_version"
    if event.actor != row.actor:
        return "actor"
    if event.time_given and event.time != row.time:
        return "time"
    if (event.metadata is None) != (row.metadata_digest is None):
        return "metadata"
    if row.salt is None:
        return None
    if canonical.payload_digest(row.salt, event.payload) != row.payload_digest:
        return "payload"
    if event.metadata is not None and canonical.metadata_digest(row.salt, event.metadata) != row.metadata_digest:
        return "metadata"
    return None


def _check_no_erasure(append: Append, field: str) -> None:
    """An `event.erased` excuses a payload that is gone, so nobody says it of one that is not."""
    for number, event in enumerate(append.events):
        if event.type == ERASED:
            raise InvalidInput(f"{field}events[{number}].type", f"{ERASED} is written by erasing alone: Log.erase")


def _check_distinct(stream: str, events: Sequence[Sealed], field: str) -> None:
    seen: dict[bytes, int] = {}
    for number, event in enumerate(events):
        first = seen.setdefault(event.id, number)
        if first != number:
            raise IdentityClash(stream, f"{field}events[{number}].id", f"it is the id of events[{first}] too")


def _check_expect(expect: object, field: str) -> None:
    if expect in (ANY, NO_STREAM, STREAM_EXISTS):
        return
    if type(expect) is not int or not 0 <= expect <= MAX_INTEGER:
        raise InvalidInput(field, f"{expect!r} is neither ANY, NO_STREAM, STREAM_EXISTS nor a seq")
