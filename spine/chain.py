"""Chain: whether stored events are what was appended, from their own digests and those before them."""

from collections.abc import Iterable, Iterator
from typing import Final

from spine.canonical import ZERO_LEAF, around, enveloped, leaf_hash, metadata_digest, payload_digest
from spine.errors import LogCorrupt
from spine.events import Event, EventRow
from spine.sealing import part_of

_STREAMS: Final = 4096  # splices kept at a time


class Chain:
    """Follows streams of one log from their first events on, in any interleaving."""

    def __init__(self, log: str) -> None:
        """`log` is the log's name, which every leaf is bound to."""
        self._log: Final = log
        self._around: dict[str, tuple[bytes, bytes]] = {}
        self._last: dict[str, tuple[int, bytes]] = {}

    def take(self, row: EventRow) -> None:
        """Check the next event of its stream. Raises LogCorrupt naming stream, seq and what does not hold."""
        seq, prev = self._last.get(row.stream, (0, ZERO_LEAF))
        if row.seq != seq + 1:
            raise _corrupt(row, f"it follows seq {seq}" if seq else "the events before it are missing")
        self.check(row, prev)
        self._last[row.stream] = row.seq, row.leaf

    def check(self, row: EventRow, prev: bytes) -> None:
        """Check one event against the leaf before it in its stream. Raises LogCorrupt."""
        if row.payload is None:
            if row.salt is not None or row.metadata is not None:
                raise _corrupt(row, "its payload is missing, but its salt or metadata is not")
        else:
            _check_contents(row)
        splice = self._around.get(row.stream)
        if splice is None:
            if len(self._around) >= _STREAMS:
                self._around.clear()
            splice = self._around[row.stream] = around(self._log, row.stream)
        envelope = enveloped(part_of(row), *splice, prev=prev, recorded_at=row.recorded_at, seq=row.seq)
        if leaf_hash(envelope) != row.leaf:
            raise _corrupt(row, "its leaf is not that of its columns behind the event before it")


def verified(events: Iterable[Event], log: str) -> Iterator[Event]:
    """The events as they come, each checked before it is given: those of a stream from its first, or of the whole log
    `log` in order of position. Memory grows with the number of streams, not of events. Raises LogCorrupt."""
    chain = Chain(log)
    for event in events:
        chain.take(event.row)
        yield event


def _check_contents(row: EventRow) -> None:
    if row.salt is None or row.payload is None:
        raise _corrupt(row, "its salt is missing, but its payload is not")
    if payload_digest(row.salt, row.payload.encode()) != row.payload_digest:
        raise _corrupt(row, "its payload is not the one its digest was made of")
    if (row.metadata is None) != (row.metadata_digest is None):
        raise _corrupt(row, "its metadata and its digest do not stand together")
    if row.metadata is not None and metadata_digest(row.salt, row.metadata.encode()) != row.metadata_digest:
        raise _corrupt(row, "its metadata is not the one its digest was made of")


def _corrupt(row: EventRow, what: str) -> LogCorrupt:
    return LogCorrupt(f"{row.stream} seq {row.seq} (position {row.position}): {what}")
