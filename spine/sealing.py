"""Sealing: everything an event has to pass before the log's lock is taken, and everything computed there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from spine import canonical
from spine.canonical import MAX_INTEGER
from spine.clock import as_microseconds
from spine.errors import InvalidInput
from spine.events import Actor, EventRow, NewEvent
from spine.identifiers import MAX_IDENTIFIER, check_identifier, check_type, checked_id
from spine.vocabulary import check_known, check_payload, check_writer

MAX_PAYLOAD: Final = 16 * 1024 * 1024
MAX_METADATA: Final = 16 * 1024


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
    part: bytes = field(init=False)
    """The envelope's `event` object: all that is hashed and does not depend on the place."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "part", _part(self))


def seal(event: NewEvent, now: int, salt: bytes, field: str) -> Sealed:
    """Check an event and compute what does not depend on its place. Raises the first refusal, naming the field."""
    check_type(event.type, f"{field}.type")
    actor = _checked_actor(event.actor, f"{field}.actor")
    check_writer(event.type, actor, f"{field}.actor")
    for name in ("principal", "correlation_id", "trace_id", "span_id", "origin"):
        value = getattr(event, name)
        if value != "":
            check_identifier(value, f"{field}.{name}", MAX_IDENTIFIER)
    version = event.schema_version
    if type(version) is not int or not 1 <= version < 2**31:
        raise InvalidInput(f"{field}.schema_version", f"{version!r} is not a whole number from 1")
    payload = _object(event.payload, f"{field}.payload", MAX_PAYLOAD)
    check_known(event.type, version, field)
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
    )


def envelope_of(row: EventRow, *, log: str, prev: bytes) -> bytes:
    """The envelope of a stored event, rebuilt from its columns; erased or not, it is the one its leaf was made of."""
    return canonical.envelope(
        _part(row), log=log, prev=prev, recorded_at=row.recorded_at, seq=row.seq, stream=row.stream
    )


def _part(event: Sealed | EventRow) -> bytes:
    """The envelope's `event` object."""
    return canonical.event_part(
        actor=event.actor,
        causation_id="" if event.causation_id is None else str(UUID(bytes=event.causation_id)),
        correlation_id=event.correlation_id,
        id=str(UUID(bytes=event.id)),
        metadata="" if event.metadata_digest is None else event.metadata_digest.hex(),
        origin=event.origin,
        payload=event.payload_digest.hex(),
        principal=event.principal,
        schema_version=event.schema_version,
        span_id=event.span_id,
        time=event.time,
        trace_id=event.trace_id,
        type=event.type,
    )


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
