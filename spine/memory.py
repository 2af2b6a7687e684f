"""MemoryLog: the reference implementation, for tests and for runs that need not last."""

import secrets
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from types import TracebackType
from typing import Self
from uuid import UUID, uuid4

from spine import admission
from spine.admission import EMPTY_STREAM, Batch, StreamEnd
from spine.clock import Clock, now
from spine.erasure import check_erasure, erasures
from spine.errors import InvalidInput
from spine.events import Actor, Event, EventRow, NewEvent
from spine.folds import check_not_erased, check_snapshot
from spine.identifiers import checked_id
from spine.log import ANY, Append, Appended, Expect, Head, Snapshot
from spine.reading import after_prefix, check_limit, check_name, check_range, check_snapshot_range
from spine.vocabulary import ERASED


def random_salt() -> bytes:
    """32 random bytes, so that a digest tells nothing of what it was made from."""
    return secrets.token_bytes(32)


class MemoryLog:
    """A Log that keeps its events in this process. They are held as their stored text, so nothing a caller does to what
    it gave or got reaches them."""

    def __init__(self, *, clock: Clock = now, salt: Callable[[], bytes] = random_salt, name: str | None = None) -> None:
        self._clock = clock
        self._salt = salt
        self._new_name = name or f"gradespine/{uuid4()}"
        self._rows: list[EventRow] = []
        self._streams: dict[str, list[int]] = {}  # positions, by stream
        self._ids: dict[str, dict[bytes, int]] = {}  # positions, by stream and id
        self._snapshots: dict[tuple[str, str, int], dict[int, Snapshot]] = {}
        self._lock = Lock()

    @property
    def name(self) -> str | None:
        return self._new_name if self._rows else None

    def append(self, stream: str, events: Sequence[NewEvent], expect: Expect | int = ANY) -> Appended:
        now = self._clock()
        batch = admission.admit_one(Append(stream, events, expect), now=now, salt=self._salt)
        with self._lock:
            return self._commit([batch], now)[0]

    def append_all(self, appends: Sequence[Append]) -> list[Appended]:
        now = self._clock()
        batches = admission.admit(appends, now=now, salt=self._salt)
        with self._lock:
            return self._commit(batches, now)

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
        check_name(stream)
        check_range(after, until, limit, types)
        positions = self._streams.get(stream, [])[after:until]
        return self._events(positions, limit, types, backwards)

    def read_all(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Sequence[str] | None = None,
        backwards: bool = False,
    ) -> Iterator[Event]:
        check_range(after, until, limit, types)
        last = len(self._rows) if until is None else min(until, len(self._rows))
        return self._events(range(after + 1, last + 1), limit, types, backwards)

    def streams(self, prefix: str = "", *, after: str = "", limit: int | None = None) -> Iterator[Head]:
        check_name(prefix, "prefix")
        check_name(after, "after")
        check_limit(limit)
        with self._lock:
            names = sorted(self._streams)
        end = after_prefix(prefix)
        first = bisect_left(names, max(prefix, f"{after}\0" if after else ""))
        chosen = names[first : None if end is None else bisect_left(names, end)]
        return (head for head in map(self.head, chosen[:limit]) if head is not None)

    def head(self, stream: str) -> Head | None:
        check_name(stream)
        positions = self._streams.get(stream)
        if not positions:
            return None
        row = self._rows[positions[-1] - 1]
        return Head(stream, row.seq, row.position, row.leaf.hex())

    def find(self, stream: str, id: UUID) -> Event | None:
        check_name(stream)
        position = self._ids.get(stream, {}).get(checked_id(id, "id"))
        return None if position is None else Event(self._rows[position - 1])

    def position(self) -> int:
        return len(self._rows)

    def erase(self, stream: str, seqs: Sequence[int], *, reason: str, actor: Actor, principal: str) -> Appended:
        check_erasure(stream, seqs, reason=reason, actor=actor, principal=principal)
        now = self._clock()
        with self._lock:
            rows = [self._row(stream, seq) for seq in sorted(set(seqs))]
            kept = [row for row in rows if row.payload is not None]
            said = erasures(kept, reason=reason, actor=actor, principal=principal)
            if not said:
                return admission.standing(rows)
            batch = admission.admit_erasure(Append(stream, said), now=now, salt=self._salt)
            for row in kept:
                self._rows[row.position - 1] = row._replace(payload=None, metadata=None, salt=None)
            self._drop_snapshots(stream, kept[0].seq)
            return self._commit([batch], now)[0]

    def save_snapshot(self, snapshot: Snapshot) -> None:
        check_name(snapshot.stream)
        with self._lock:
            head = self.head(snapshot.stream)
            check_snapshot(snapshot, 0 if head is None else head.seq)
            behind = self.read(snapshot.stream, after=snapshot.seq, types=[ERASED])
            check_not_erased(snapshot, (event.row.payload or "" for event in behind))
            kept = self._snapshots.setdefault((snapshot.stream, snapshot.fold, snapshot.version), {})
            kept[snapshot.seq] = snapshot

    def latest_snapshot(self, stream: str, fold: str, version: int, *, until: int | None = None) -> Snapshot | None:
        check_snapshot_range(stream, fold, version, until)
        with self._lock:
            kept = self._snapshots.get((stream, fold, version), {})
            seq = max((seq for seq in kept if until is None or seq <= until), default=None)
            return None if seq is None else kept[seq]

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _commit(self, batches: Sequence[Batch], now: int) -> list[Appended]:
        known = [self._known(batch) for batch in batches]
        answered = admission.answer_known(batches, known)
        if answered is not None:
            return answered
        ends = [self._end(batch.stream) for batch in batches]
        for batch, end in zip(batches, ends, strict=True):
            admission.check_expected(batch, end.seq)
        recorded_at = max(now, self._rows[-1].recorded_at) if self._rows else now
        rows: list[EventRow] = []
        answers: list[Appended] = []
        for batch, end in zip(batches, ends, strict=True):
            position = len(self._rows) + len(rows) + 1
            answers.append(admission.placed(batch, end, position))
            leaves = admission.place(batch, log=self._new_name, end=end, recorded_at=recorded_at)
            for offset, (event, leaf) in enumerate(zip(batch.events, leaves, strict=True)):
                values = event.values(recorded_at, leaf)
                rows.append(EventRow(position + offset, batch.stream, end.seq + 1 + offset, *values))
        # In one step, since readers take no lock: they see the whole append or nothing of it.
        self._rows.extend(rows)
        for row in rows:
            self._streams.setdefault(row.stream, []).append(row.position)
            self._ids.setdefault(row.stream, {})[row.id] = row.position
        return answers

    def _known(self, batch: Batch) -> dict[bytes, EventRow]:
        ids = self._ids.get(batch.stream, {})
        return {event.id: self._rows[ids[event.id] - 1] for event in batch.events if event.id in ids}

    def _end(self, stream: str) -> StreamEnd:
        positions = self._streams.get(stream)
        if not positions:
            return EMPTY_STREAM
        row = self._rows[positions[-1] - 1]
        return StreamEnd(row.seq, row.leaf)

    def _drop_snapshots(self, stream: str, seq: int) -> None:
        """Those at or behind `seq`: their states may hold what is erased there."""
        for (of, _, _), kept in self._snapshots.items():
            if of == stream:
                for at in [at for at in kept if at >= seq]:
                    del kept[at]

    def _row(self, stream: str, seq: int) -> EventRow:
        positions = self._streams.get(stream, [])
        if not 1 <= seq <= len(positions):
            raise InvalidInput("seqs", f"{stream} has no seq {seq}")
        return self._rows[positions[seq - 1] - 1]

    def _events(
        self, positions: Sequence[int], limit: int | None, types: Sequence[str] | None, backwards: bool
    ) -> Iterator[Event]:
        wanted = None if types is None else frozenset(types)
        left = len(positions) if limit is None else limit
        for position in reversed(positions) if backwards else positions:
            if left <= 0:
                return
            row = self._rows[position - 1]
            if wanted is None or row.type in wanted:
                left -= 1
                yield Event(row)
