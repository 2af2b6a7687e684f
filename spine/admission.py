"""What an append has to pass: checks before the lock, the decision under it, and the places it gives.

One piece for every implementation of Log, so that they refuse, answer and hash alike.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

from spine import canonical
from spine.canonical import MAX_INTEGER, ZERO_LEAF
from spine.clock import as_microseconds
from spine.errors import IdentityClash, InvalidInput, StreamConflict
from spine.events import Actor, EventRow, NewEvent
from spine.log import ANY, NO_STREAM, STREAM_EXISTS, Append, Appended, Expect
from spine.vocabulary import check_payload, check_writer

MAX_PAYLOAD: Final = 16 * 1024 * 1024
MAX_METADATA: Final = 16 * 1024
MAX_STREAM: Final = 512
MAX_TYPE: Final = 128
MAX_IDENTIFIER: Final = 256

_TYPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Sealed:
    """An event that has passed every check of its own; it lacks only its place."""

    id: bytes
    type: str
    schema_version: int
    actor: str
    principal: str
    time: int
    time_given: bool
    correlation_id: str
    causation_id: bytes | None
    trace_id: str
    span_id: str
    origin: str
    salt: bytes
    payload: bytes
    metadata: bytes | None
    payload_digest: bytes
    metadata_digest: bytes | None
    part: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """One stream's part of an append, checked and sealed."""

    stream: str
    events: tuple[Sealed, ...]
    expect: Expect | int
    field: str


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


def check_stream(stream: str, field: str = "stream") -> None:
    """Raises InvalidInput for what cannot be the name of a stream."""
    check_identifier(stream, field, MAX_STREAM)
    if not stream:
        raise InvalidInput(field, "a stream needs a name")


def check_identifier(value: object, field: str, limit: int) -> None:
    """Raises InvalidInput for what cannot stand in an identifier: control characters, surrogates, too many bytes."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"{value!r} is not text")
    if value.isascii() and value.isprintable() and len(value) <= limit:
        return
    found = _FORBIDDEN.search(value)
    if found:
        raise InvalidInput(field, f"U+{ord(found[0]):04X} at character {found.start()} may not stand in an identifier")
    if len(value.encode()) > limit:
        raise InvalidInput(field, f"longer than {limit} bytes")


def checked_id(value: object, field: str) -> bytes:
    """The 16 bytes of an event id. Raises InvalidInput for what is not a UUID."""
    if not isinstance(value, UUID):
        raise InvalidInput(field, f"{value!r} is not a UUID")
    return value.bytes


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


def envelope_of(row: EventRow, *, log: str, prev: bytes) -> bytes:
    """The envelope of a stored event, rebuilt from its columns; erased or not, it is the one its leaf was made of."""
    part = _part(
        id=row.id,
        type=row.type,
        schema_version=row.schema_version,
        actor=row.actor,
        principal=row.principal,
        time=row.time,
        correlation_id=row.correlation_id,
        causation_id=row.causation_id,
        trace_id=row.trace_id,
        span_id=row.span_id,
        origin=row.origin,
        payload_digest=row.payload_digest,
        metadata_digest=row.metadata_digest,
    )
    return canonical.envelope(part, log=log, prev=prev, recorded_at=row.recorded_at, seq=row.seq, stream=row.stream)


def _admit(append: Append, field: str, now: int, salt: Callable[[], bytes]) -> Batch:
    check_stream(append.stream, f"{field}stream")
    _check_expect(append.expect, f"{field}expect")
    if not append.events:
        raise InvalidInput(f"{field}events", "there is nothing to append")
    events = tuple(_seal(event, now, salt(), f"{field}events[{index}]") for index, event in enumerate(append.events))
    _check_distinct(append.stream, events, field)
    return Batch(append.stream, events, append.expect, field)


def _seal(event: NewEvent, now: int, salt: bytes, field: str) -> Sealed:
    _check_type(event.type, f"{field}.type")
    actor = _checked_actor(event.actor, f"{field}.actor")
    check_writer(event.type, actor, f"{field}.actor")
    for name in ("principal", "correlation_id", "trace_id", "span_id", "origin"):
        check_identifier(getattr(event, name), f"{field}.{name}", MAX_IDENTIFIER)
    version = event.schema_version
    if type(version) is not int or not 1 <= version < 2**31:
        raise InvalidInput(f"{field}.schema_version", f"{version!r} is not a whole number from 1")
    payload = _object(event.payload, f"{field}.payload", MAX_PAYLOAD)
    if version == 1:
        check_payload(event.type, payload, f"{field}.payload")
    metadata = None if event.metadata is None else _object(event.metadata, f"{field}.metadata", MAX_METADATA)
    if metadata == b"{}":
        metadata = None
    identity = checked_id(event.id, f"{field}.id")
    causation = None if event.causation_id is None else checked_id(event.causation_id, f"{field}.causation_id")
    time = now if event.time is None else _time(event, field)
    payload_digest = canonical.payload_digest(salt, payload)
    metadata_digest = None if metadata is None else canonical.metadata_digest(salt, metadata)
    return Sealed(
        id=identity,
        type=event.type,
        schema_version=version,
        actor=actor.value,
        principal=event.principal,
        time=time,
        time_given=event.time is not None,
        correlation_id=event.correlation_id,
        causation_id=causation,
        trace_id=event.trace_id,
        span_id=event.span_id,
        origin=event.origin,
        salt=salt,
        payload=payload,
        metadata=metadata,
        payload_digest=payload_digest,
        metadata_digest=metadata_digest,
        part=_part(
            id=identity,
            type=event.type,
            schema_version=version,
            actor=actor.value,
            principal=event.principal,
            time=time,
            correlation_id=event.correlation_id,
            causation_id=causation,
            trace_id=event.trace_id,
            span_id=event.span_id,
            origin=event.origin,
            payload_digest=payload_digest,
            metadata_digest=metadata_digest,
        ),
    )


def _part(
    *,
    id: bytes,
    type: str,
    schema_version: int,
    actor: str,
    principal: str,
    time: int,
    correlation_id: str,
    causation_id: bytes | None,
    trace_id: str,
    span_id: str,
    origin: str,
    payload_digest: bytes,
    metadata_digest: bytes | None,
) -> bytes:
    return canonical.event_part(
        actor=actor,
        causation_id="" if causation_id is None else str(UUID(bytes=causation_id)),
        correlation_id=correlation_id,
        id=str(UUID(bytes=id)),
        metadata="" if metadata_digest is None else metadata_digest.hex(),
        origin=origin,
        payload=payload_digest.hex(),
        principal=principal,
        schema_version=schema_version,
        span_id=span_id,
        time=time,
        trace_id=trace_id,
        type=type,
    )


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


def _check_type(type_: object, field: str) -> None:
    if not isinstance(type_, str) or not _TYPE.fullmatch(type_):
        raise InvalidInput(field, f"{type_!r} is not dotted lower case, such as tool.returned")
    if len(type_) > MAX_TYPE:
        raise InvalidInput(field, f"longer than {MAX_TYPE} bytes")


def _checked_actor(actor: Any, field: str) -> Actor:
    try:
        return Actor(actor)
    except ValueError:
        raise InvalidInput(field, f"{actor!r} is not agent, human or system") from None


def _object(value: object, field: str, limit: int) -> bytes:
    if not isinstance(value, Mapping):
        raise InvalidInput(field, "not a JSON object")
    text = canonical.encode(value, field)
    if len(text) > limit:
        raise InvalidInput(field, f"{len(text):,} bytes, more than the {limit:,} allowed")
    return text


def _time(event: NewEvent, field: str) -> int:
    try:
        time = as_microseconds(event.time)  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{field}.time", str(error)) from None
    if not -MAX_INTEGER <= time <= MAX_INTEGER:
        raise InvalidInput(f"{field}.time", "more than 2^53 − 1 microseconds from 1970")
    return time
