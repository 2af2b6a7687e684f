"""Appending to a database, under the log's lock: what is known, where things end, and the insert."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy.engine.interfaces import DBAPICursor

from spine import admission
from spine.admission import EMPTY_STREAM, Admitted, Batch, StreamEnd
from spine.canonical import SPEC
from spine.database import Database
from spine.ends import End, Ends
from spine.errors import Refused
from spine.events import EventRow
from spine.log import Appended

_CHUNK: Final = 500  # ids in one IN list


class Appending:
    """Decides on appends and inserts what is new, on a cursor whose transaction holds the log's lock."""

    def __init__(self, database: Database, name: str) -> None:
        """`name` is what the log is called if this gives it its first event."""
        self._database = database
        self._new_name = name
        self._known: dict[int, str] = {}
        sql = database.sql
        self._new_log = sql("INSERT INTO log (name, spec, created_at) VALUES (?, ?, ?)")
        self._last_stream = "SELECT coalesce(max(stream_id), 0) FROM streams"
        self._new_stream = sql("INSERT INTO streams (stream_id, name) VALUES (?, ?)")

    def commit(self, cursor: DBAPICursor, appends: Sequence[Admitted]) -> tuple[list[list[Appended] | Refused], Ends]:
        """Decide on each append in order, as if each came alone; one that is refused is answered with its error. Also
        tells where things end once this is committed."""
        wanted: dict[str, list[bytes]] = {}
        for append in appends:
            for batch in append.batches:
                wanted.setdefault(batch.stream, []).extend([event.id for event in batch.events])
        group = _Group(self, cursor, self._database.ends(cursor, list(wanted.items())), alone=len(appends) == 1)
        answers: list[list[Appended] | Refused] = []
        for append in appends:
            try:
                answers.append(group.decide(append))
            except Refused as refusal:
                answers.append(refusal)
        group.insert()
        return answers, group.ends()

    def stored(self, cursor: DBAPICursor, stream_id: int, ids: Sequence[bytes]) -> dict[bytes, EventRow]:
        """The stored events of a stream under these ids."""
        known: dict[bytes, EventRow] = {}
        values = [self._database.id_value(id_) for id_ in ids]
        for start in range(0, len(values), _CHUNK):
            chunk = values[start : start + _CHUNK]
            cursor.execute(self._known_of(len(chunk)), (stream_id, *chunk))
            known.update((row[3], EventRow._make(row)) for row in cursor.fetchall())
        return known

    def add(self, cursor: DBAPICursor, name_at: int | None, streams: Sequence[str], rows: list[list[Any]]) -> None:
        """Insert rows, whose streams are numbers, or indexes into `streams`, the new ones, as negative numbers."""
        if name_at is not None:
            cursor.execute(self._new_log, (self._new_name, SPEC, name_at))
        if streams:
            cursor.execute(self._last_stream)
            last = int(cursor.fetchall()[0][0])
            cursor.executemany(
                self._new_stream, [(last + number, name) for number, name in enumerate(streams, start=1)]
            )
            for row in rows:
                if row[1] < 0:
                    row[1] = last - row[1]
        self._database.insert_events(cursor, rows)

    @property
    def new_name(self) -> str:
        """What a log without a name is called by its first event."""
        return self._new_name

    def _known_of(self, count: int) -> str:
        statement = self._known.get(count)
        if statement is None:
            marks = ", ".join("?" * count)
            statement = self._known[count] = self._database.sql(
                f"SELECT {self._database.event_columns} FROM events e JOIN streams s ON s.stream_id = e.stream_id"
                f" WHERE e.stream_id = ? AND e.id IN ({marks})"
            )
        return statement


class _Group:
    """Appends that are decided one after the other, on one reading of where things end, and inserted together."""

    def __init__(self, appending: Appending, cursor: DBAPICursor, ends: Ends, *, alone: bool) -> None:
        self._appending = appending
        self._cursor = cursor
        self._log = ends.log or appending.new_name
        self._name_at: int | None = None
        self._named = ends.log is not None
        self._position = ends.position
        self._recorded_at = ends.recorded_at
        self._ids = {stream: end.stream_id for stream, end in ends.streams.items()}
        self._ends = {
            stream: EMPTY_STREAM if end.leaf is None else StreamEnd(end.seq, end.leaf)
            for stream, end in ends.streams.items()
        }
        self._stored = {stream for stream, end in ends.streams.items() if end.known}
        self._new_streams: list[str] = []
        self._rows: list[list[Any]] = []
        self._fresh: dict[tuple[str, bytes], int] | None = None if alone else {}

    def decide(self, append: Admitted) -> list[Appended]:
        """Where the append's batches stand, all of them new or all known. Raises IdentityClash, StreamConflict."""
        answered = admission.answer_known(append.batches, [self._known(batch) for batch in append.batches])
        if answered is not None:
            return answered
        for batch in append.batches:
            admission.check_expected(batch, self._ends[batch.stream].seq)
        self._recorded_at = max(append.now, self._recorded_at)
        if not self._named:
            self._named, self._name_at = True, self._recorded_at
        return [self._place(batch) for batch in append.batches]

    def insert(self) -> None:
        """Put what was decided into the tables."""
        if self._rows:
            self._appending.add(self._cursor, self._name_at, self._new_streams, self._rows)

    def ends(self) -> Ends:
        """Where things end, for the streams that had an id before."""
        streams = {
            stream: End(self._ids[stream], end.seq, end.leaf, False)
            for stream, end in self._ends.items()
            if (self._ids[stream] or -1) > 0
        }
        return Ends(self._log if self._named else None, self._position, self._recorded_at, streams)

    def _place(self, batch: Batch) -> Appended:
        stream, recorded_at = batch.stream, self._recorded_at
        end = self._ends[stream]
        stream_id = self._ids[stream]
        if stream_id is None:
            self._new_streams.append(stream)
            stream_id = self._ids[stream] = -len(self._new_streams)
        leaves = admission.place(batch, log=self._log, end=end, recorded_at=recorded_at)
        answer = admission.placed(batch, end, self._position + 1)
        position, seq = self._position, end.seq
        for event, leaf in zip(batch.events, leaves, strict=True):
            position += 1
            seq += 1
            if self._fresh is not None:
                self._fresh[stream, event.id] = len(self._rows)
            self._rows.append([position, stream_id, seq, *event.values(recorded_at, leaf)])
        self._position = position
        self._ends[stream] = StreamEnd(seq, leaves[-1])
        return answer

    def _known(self, batch: Batch) -> dict[bytes, EventRow]:
        """What stands under the batch's ids: in the tables, or decided on before it in this group."""
        known: dict[bytes, EventRow] = {}
        stream_id = self._ids[batch.stream]
        if batch.stream in self._stored and stream_id is not None:
            known = self._appending.stored(self._cursor, stream_id, [event.id for event in batch.events])
        if self._fresh:
            for event in batch.events:
                row = self._fresh.get((batch.stream, event.id))
                if row is not None:
                    position, _, seq, *values = self._rows[row]
                    known[event.id] = EventRow(position, batch.stream, seq, *values)
        return known
