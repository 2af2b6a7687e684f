"""Chain: whether stored events are what was appended, from their own digests and those before them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from spine.canonical import ZERO_LEAF, around, enveloped, event_part, leaf_hash, metadata_digest, payload_digest
from spine.errors import LogCorrupt
from spine.events import Event, EventRow
from spine.identifiers import uuid_text

_STREAMS: Final = 4096  # splices kept at a time
_START: Final = (0, ZERO_LEAF)
_SEQ: Final = 2
_LEAF: Final = 20


class Chain:
    """Follows streams of one log from their first events on, in any interleaving."""

    def __init__(self, log: str) -> None:
        """`log` is the log's name, which every leaf is bound to."""
        self._log: Final = log
        self._around: dict[str, tuple[str, str]] = {}
        self._last: dict[str, tuple[int, bytes]] = {}

    def take(self, row: EventRow) -> None:
        """Check the next event of its stream. Raises LogCorrupt naming stream, seq and what does not hold."""
        self.follow(row.stream, row)

    def follow(self, stream: str, row: Sequence[Any]) -> None:
        """The same for what is in order a row, but for the stream's name."""
        seq, prev = self._last.get(stream, _START)
        if row[_SEQ] != seq + 1:
            raise _corrupt(stream, row, f"it follows seq {seq}" if seq else "the events before it are missing")
        splice = self._around.get(stream)
        if splice is None:
            splice = self._splice(stream)
        _check(stream, row, splice, prev)
        self._last[stream] = row[_SEQ], row[_LEAF]

    def _splice(self, stream: str) -> tuple[str, str]:
        if len(self._around) >= _STREAMS:
            self._around.clear()
        splice = self._around[stream] = around(self._log, stream)
        return splice


def verified(events: Iterable[Event], log: str) -> Iterator[Event]:
    """The events as they come, each checked before it is given: those of a stream from its first, or of the whole log
    `log` in order of position. Memory grows with the number of streams, not of events. Raises LogCorrupt."""
    follow = Chain(log).follow
    for event in events:
        follow(event.stream, event.columns)
        yield event


def envelope_of(row: Sequence[Any], splice: tuple[str, str], prev: bytes) -> bytes:
    """The envelope of a stored event, erased or not: the one that its leaf was made of. `splice` is what stands around
    those of its stream, `prev` the leaf before it."""
    # Taken apart at once: for a whole log, every look-up by name counts.
    (_, _, seq, id_, type_, version, actor, principal, time, recorded_at, correlation_id, causation_id) = row[:12]
    (trace_id, span_id, origin, payload_digest, metadata_digest) = row[12:17]
    part = event_part(
        actor,
        "" if causation_id is None else uuid_text(causation_id),
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
    return enveloped(part, *splice, prev, recorded_at, seq)


def _check(stream: str, row: Sequence[Any], splice: tuple[str, str], prev: bytes) -> None:
    digest, digest_of_metadata, salt, payload, metadata, leaf = row[15:]
    if payload is None:
        if salt is not None or metadata is not None:
            raise _corrupt(stream, row, "its payload is missing, but its salt or metadata is not")
    elif salt is None:
        raise _corrupt(stream, row, "its salt is missing, but its payload is not")
    elif payload_digest(salt, payload.encode()) != digest:
        raise _corrupt(stream, row, "its payload is not the one its digest was made of")
    elif (metadata is None) != (digest_of_metadata is None):
        raise _corrupt(stream, row, "its metadata and its digest do not stand together")
    elif metadata is not None and metadata_digest(salt, metadata.encode()) != digest_of_metadata:
        raise _corrupt(stream, row, "its metadata is not the one its digest was made of")
    if leaf_hash(envelope_of(row, splice, prev)) != leaf:
        raise _corrupt(stream, row, "its leaf is not that of its columns behind the event before it")


def _corrupt(stream: str, row: Sequence[Any], what: str) -> LogCorrupt:
    return LogCorrupt(f"{stream} seq {row[_SEQ]} (position {row[0]}): {what}")
