"""What an append has to pass: the checks before the lock, the decision under it, and the places it gives.

One piece for every implementation of Log, so that they refuse, answer and hash alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from spine import canonical
from spine.canonical import MAX_INTEGER, ZERO_LEAF
from spine.errors import IdentityClash, InvalidInput, StreamConflict, WriterNotAllowed
from spine.events import EventRow
from spine.identifiers import check_stream
from spine.log import Append, Appended, Expect
from spine.sealing import Sealed, seal
from spine.vocabulary import ERASED


@dataclass(frozen=True, slots=True)
class Batch:
    """One stream's part of an append, checked and sealed."""

    stream: str
    events: Sequence[Sealed]
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
    return _admit(append, "", now, salt)


def admit_erasure(append: Append, *, now: int, salt: Callable[[], bytes]) -> Batch:
    """The same for the events that tell of an erasure, by the erasure itself."""
    return _admit(append, "", now, salt, erasure=True)


def admit(appends: Sequence[Append], *, now: int, salt: Callable[[], bytes]) -> list[Batch]:
    """Check and seal an append to several streams. Raises the first refusal, naming the field."""
    if not appends:
        raise InvalidInput("appends", "there is nothing to append")
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
    if not meets(batch.expect, actual):
        expected = batch.expect if isinstance(batch.expect, Expect) else f"seq {batch.expect}"
        raise StreamConflict(batch.stream, expected=expected, actual=actual)


def meets(expect: Expect | int, actual: int) -> bool:
    """Whether a stream at seq `actual` is where it is expected."""
    match expect:
        case Expect.ANY:
            return True
        case Expect.NO_STREAM:
            return actual == 0
        case Expect.STREAM_EXISTS:
            return actual > 0
        case seq:
            return actual == seq


def place(batch: Batch, *, log: str, end: StreamEnd, recorded_at: int) -> list[bytes]:
    """The leaves of a batch behind `end`, each chained to the one before it."""
    behind, last = canonical.around(log, batch.stream)
    leaves: list[bytes] = []
    prev = end.leaf
    for seq, event in enumerate(batch.events, start=end.seq + 1):
        envelope = canonical.enveloped(event.part, behind, last, prev, recorded_at, seq)
        prev = canonical.leaf_hash(envelope)
        leaves.append(prev)
    return leaves


def placed(batch: Batch, end: StreamEnd, position: int) -> Appended:
    """Where a new batch stands behind `end`, its first event at `position`."""
    count = len(batch.events)
    return Appended(end.seq + 1, end.seq + count, position, position + count - 1, True)


def standing(rows: Sequence[EventRow]) -> Appended:
    """Where events stand that stood there before."""
    return Appended(rows[0].seq, rows[-1].seq, rows[0].position, rows[-1].position, False)


def _admit(append: Append, field: str, now: int, salt: Callable[[], bytes], *, erasure: bool = False) -> Batch:
    check_stream(append.stream, f"{field}stream" if field else "stream")
    _check_expect(append.expect, field)
    if not append.events:
        raise InvalidInput(f"{field}events", "there is nothing to append")
    events: list[Sealed] = []
    for event in append.events:
        try:
            if event.type == ERASED and not erasure:
                # It excuses a payload that is gone, so nobody says it of one that is not.
                raise InvalidInput("type", f"{ERASED} is written by erasing alone: Log.erase")
            events.append(seal(event, now, salt()))
        except (InvalidInput, WriterNotAllowed) as refusal:
            raise refusal.under(f"{field}events[{len(events)}]") from None
    if len(events) > 1:
        _check_distinct(append.stream, events, field)
    return Batch(append.stream, events, append.expect, field)


def _answer(batch: Batch, stored: Mapping[bytes, EventRow]) -> Appended:
    for number, event in enumerate(batch.events):
        field = f"{batch.field}events[{number}]"
        row = stored.get(event.id)
        if row is None:
            raise IdentityClash(batch.stream, field, "this id is new, but others of the batch stand on the stream")
        differs = _difference(event, row)
        if differs:
            raise IdentityClash(batch.stream, field, f"its id stands at seq {row.seq} with another {differs}")
    rows = [stored[event.id] for event in batch.events]
    for number, (before, row) in enumerate(pairwise(rows), start=1):
        if row.seq != before.seq + 1:
            field = f"{batch.field}events[{number}]"
            raise IdentityClash(batch.stream, field, f"it stands at seq {row.seq}, the one before it at {before.seq}")
    return standing(rows)


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
    if canonical.payload_digest(row.salt, event.payload.encode()) != row.payload_digest:
        return "payload"
    if (
        event.metadata is not None
        and canonical.metadata_digest(row.salt, event.metadata.encode()) != row.metadata_digest
    ):
        return "metadata"
    return None


def _check_distinct(stream: str, events: Sequence[Sealed], field: str) -> None:
    seen: dict[bytes, int] = {}
    for number, event in enumerate(events):
        first = seen.setdefault(event.id, number)
        if first != number:
            raise IdentityClash(stream, f"{field}events[{number}].id", f"it is the id of events[{first}] too")


def _check_expect(expect: object, field: str) -> None:
    if type(expect) is Expect or (type(expect) is int and 0 <= expect <= MAX_INTEGER):
        return
    raise InvalidInput(f"{field}expect", f"{expect!r} is neither ANY, NO_STREAM, STREAM_EXISTS nor a seq")
