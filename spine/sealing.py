"""Sealing: everything an event has to pass before the log's lock is taken, and everything computed there."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from spine import canonical
from spine.canonical import MAX_INTEGER
from spine.clock import as_microseconds
from spine.errors import InvalidInput
from spine.events import Actor, NewEvent
from spine.identifiers import MAX_IDENTIFIER, check_identifier, check_type, checked_id, uuid_text
from spine.vocabulary import KNOWN, check_known, check_payload, check_writer

MAX_PAYLOAD: Final = 16 * 1024 * 1024
MAX_METADATA: Final = 16 * 1024

_ACTORS: Final = {actor: actor.value for actor in Actor}


class Sealed(NamedTuple):
    """An event that has passed every check of its own; it lacks only its place.

    The fields up to `metadata` are those of an EventRow in the same order, so that a row is made by slicing.
    """

    id: bytes
    type: str
    schema_version: int
    actor: str
    principal: str
    time: int
    correlation_id: str
    causation_id: bytes | None
    trace_id: str
    span_id: str
    origin: str
    payload_digest: bytes
    metadata_digest: bytes | None
    salt: bytes
    payload: str
    metadata: str | None
    time_given: bool
    part: str
    """The envelope's `event` object: all that is hashed and does not depend on the place."""

    def values(self, recorded_at: int, leaf: bytes) -> tuple[Any, ...]:
        """The columns of its row behind `seq`."""
        return (*self[:6], recorded_at, *self[6:16], leaf)


def seal(event: NewEvent, now: int, salt: bytes) -> Sealed:
    """Check an event and compute what does not depend on its place. Raises the first refusal, naming the field."""
    type_, version = event.type, event.schema_version
    if type(type_) is not str or type_ not in KNOWN:
        check_type(type_, "type")
    actor = _actor(event.actor)
    check_writer(type_, actor, "actor")
    principal = _identifier(event.principal, "principal")
    correlation_id = _identifier(event.correlation_id, "correlation_id")
    trace_id = _identifier(event.trace_id, "trace_id")
    span_id = _identifier(event.span_id, "span_id")
    origin = _identifier(event.origin, "origin")
    if type(version) is not int or not 1 <= version < 2**31:
        raise InvalidInput("schema_version", f"{version!r} is not a whole number from 1")
    payload = _object(event.payload, "payload", MAX_PAYLOAD)
    check_known(type_, version)
    check_payload(type_, payload, "payload", event.payload)
    metadata = None if event.metadata is None else _object(event.metadata, "metadata", MAX_METADATA)
    if metadata == b"{}":
        metadata = None
    id_ = checked_id(event.id, "id")
    causation = None if event.causation_id is None else checked_id(event.causation_id, "causation_id")
    time = now if event.time is None else _time(event)
    payload_digest = canonical.payload_digest(salt, payload)
    metadata_digest = None if metadata is None else canonical.metadata_digest(salt, metadata)
    part = canonical.event_part(
        actor,
        "" if causation is None else uuid_text(causation),
        correlation_id,
        uuid_text(id_),
        "" if metadata_digest is None else metadata_digest.hex(),
        origin,
        payload_digest.hex(),
        principal,
        version,
        span_id,
        time,
        trace_id,
        type_,
    )
    return Sealed(
        id_,
        type_,
        version,
        actor,
        principal,
        time,
        correlation_id,
        causation,
        trace_id,
        span_id,
        origin,
        payload_digest,
        metadata_digest,
        salt,
        payload.decode(),
        None if metadata is None else metadata.decode(),
        event.time is not None,
        part,
    )


def _actor(actor: Any) -> str:
    """The plain text of an actor: its enum would be slower wherever it goes."""
    try:
        return _ACTORS[actor]
    except (KeyError, TypeError):
        raise InvalidInput("actor", f"{actor!r} is not agent, human or system") from None


def _identifier(value: str, field: str) -> str:
    if value != "":
        check_identifier(value, field, MAX_IDENTIFIER)
    return value


def _object(value: object, field: str, limit: int) -> bytes:
    if not isinstance(value, Mapping):
        raise InvalidInput(field, "not a JSON object")
    text = canonical.encode(value, field)
    if len(text) > limit:
        raise InvalidInput(field, f"{len(text):,} bytes, more than the {limit:,} allowed")
    return text


def _time(event: NewEvent) -> int:
    try:
        time = as_microseconds(event.time)  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidInput("time", str(error)) from None
    if not -MAX_INTEGER <= time <= MAX_INTEGER:
        raise InvalidInput("time", "more than 2^53 − 1 microseconds from 1970")
    return time
