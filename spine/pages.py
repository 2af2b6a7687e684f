"""Reading a database in pages: ordered, in constant memory, holding no transaction between pages.

The log is append-only and dense, so pages up to a fixed end are one point in time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final, Literal, TypeAlias

from spine.database import Database
from spine.events import Event, EventRow
from spine.log import Head

_FIRST_PAGE: Final = 250
_LARGEST_PAGE: Final = 1000
_PAGE_BYTES: Final = 4 * 1024 * 1024
_FETCH: Final = 16
_LARGE: Final = 32 * 1024
"""Bytes of a payload that is not sent with a page: a driver that takes in a page whole would hold 16 GiB."""
_STREAMS_PAGE: Final = 1000
_NAMES: Final = 20_000
_NAMES_OF: Final = "SELECT stream_id, name FROM streams WHERE stream_id"

_JOIN_HEAD: Final = (
    "JOIN events e ON e.stream_id = s.stream_id "
    "AND e.seq = (SELECT max(seq) FROM events WHERE stream_id = s.stream_id AND position <= ?)"
)
_JOIN_HEAD_LATERAL: Final = (
    "CROSS JOIN LATERAL (SELECT seq, position, leaf FROM events WHERE stream_id = s.stream_id AND position <= ? "
    "ORDER BY seq DESC LIMIT 1) e"
)
"""SQLite has no LATERAL; Postgres would join the other with all of `events`, for every page."""

_POSITION: Final = 0
_STREAM: Final = 1
_SEQ: Final = 2
_SALT: Final = 17
_PAYLOAD: Final = 18
"""Places in an EventRow; a page has the number of the stream where the row has its name."""

PageQuery: TypeAlias = Callable[[int, int, int], tuple[str, tuple[object, ...]]]
"""(low, high, size) → statement and parameters for the next page of low < key ≤ high."""


class Pages:
    """Keyset pages over events and streams."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Names are looked up for a page at once: a join takes a step down an index for every row.
        columns = database.event_columns.replace("s.name", "e.stream_id")
        self._alone = database.sql(f"SELECT {columns} FROM events e WHERE e.position = ?")
        self._driver_takes_all = database.engine.dialect.name == "postgresql"
        self._join_head = _JOIN_HEAD
        if self._driver_takes_all:
            self._join_head = _JOIN_HEAD_LATERAL
            small = f"CASE WHEN octet_length(e.payload) <= {_LARGE} THEN e.payload END"
            columns = columns.replace("e.payload,", f"{small},")
        self._select = f"SELECT {columns} FROM events e"

    def of_stream(
        self,
        stream_id: int,
        name: str,
        after: int,
        last: int,
        limit: int | None,
        types: Sequence[str] | None,
        backwards: bool,
    ) -> Iterator[Event]:
        """The stream's events with after < seq ≤ last."""
        types = _distinct(types)
        where = "e.stream_id = ? AND e.seq > ? AND e.seq <= ?"
        given: tuple[object, ...] = ()
        if types is not None:
            # Not e.type: no index of the log's types must be looked through for a stream.
            where += f" AND (e.type || '') IN ({_marks(types)})"
            given = tuple(types)
        order = "DESC" if backwards else "ASC"
        statement = self._database.sql(f"{self._select} WHERE {where} ORDER BY e.seq {order} LIMIT ?")
        pages = self._pages(
            lambda low, high, size: (statement, (stream_id, low, high, *given, size)),
            after,
            last,
            limit if types is None or types else 0,
            backwards,
            key=_SEQ,
        )
        return self._events(pages, lambda _rows: repeat(name))

    def of_log(
        self, after: int, last: int, limit: int | None, types: Sequence[str] | None, backwards: bool
    ) -> Iterator[Event]:
        """The log's events with after < position ≤ last."""
        types = _distinct(types)
        order = "DESC" if backwards else "ASC"
        if types is None:
            statement = self._database.sql(
                f"{self._select} WHERE e.position > ? AND e.position <= ? ORDER BY e.position {order} LIMIT ?"
            )
        else:
            # One range of (type, position) for each type: an IN list would be sorted as a whole for every page.
            one = (
                "SELECT position FROM (SELECT position FROM events WHERE type = ? AND position > ? AND position <= ? "
                f"ORDER BY position {order} LIMIT ?) AS p"
            )
            wanted = " UNION ALL ".join([one] * len(types))
            statement = self._database.sql(
                f"{self._select} WHERE e.position IN (SELECT position FROM ({wanted}) AS q "
                f"ORDER BY position {order} LIMIT ?) ORDER BY e.position {order}"
            )

        def page(low: int, high: int, size: int) -> tuple[str, tuple[object, ...]]:
            if types is None:
                return statement, (low, high, size)
            ranges = tuple(value for type_ in types for value in (type_, low, high, size))
            return statement, (*ranges, size)

        nothing = types is not None and not types
        pages = self._pages(page, after, last, 0 if nothing else limit, backwards, key=_POSITION)
        return self._events(pages, _Names(self._database).of)

    def of_streams(self, prefix: str, end: str | None, after: str, limit: int | None, position: int) -> Iterator[Head]:
        """Heads of the streams from `prefix` up to (not including) `end`, behind the name `after`, by name."""
        below = "" if end is None else " AND s.name < ?"
        statement = self._database.sql(
            f"SELECT s.name, e.seq, e.position, e.leaf FROM streams s {self._join_head} "
            f"WHERE s.name >= ? AND s.name > ?{below} ORDER BY s.name LIMIT ?"
        )
        left = limit
        while left is None or left > 0:
            size = _STREAMS_PAGE if left is None else min(_STREAMS_PAGE, left)
            bounds = (position, prefix, after) if end is None else (position, prefix, after, end)
            with self._database.read() as cursor:
                cursor.execute(statement, (*bounds, size))
                rows = cursor.fetchall()
            for name, seq, at, leaf in rows:
                yield Head(name, seq, at, bytes(leaf).hex())
            if len(rows) < size:
                return
            after = rows[-1][0]
            left = None if left is None else left - size

    def _events(
        self, pages: Iterator[list[EventRow]], names: Callable[[list[EventRow]], Iterable[str]]
    ) -> Iterator[Event]:
        for rows in pages:
            whole: Iterable[EventRow] = rows
            if self._driver_takes_all and None in [row[_PAYLOAD] for row in rows]:
                whole = map(self._completed, rows)
            yield from map(Event, whole, names(rows))

    def _pages(
        self, page: PageQuery, low: int, high: int, limit: int | None, backwards: bool, key: Literal[0, 2]
    ) -> Iterator[list[EventRow]]:
        size = _FIRST_PAGE
        left = high - low if limit is None else min(limit, high - low)
        while low < high and left > 0:
            wanted = min(size, left)
            statement, parameters = page(low, high, wanted)
            with self._database.read() as cursor:
                rows, held = self._fetched(cursor, statement, parameters, wanted)
            yield rows
            if len(rows) < wanted and held < _PAGE_BYTES:
                return
            last = rows[-1][key]
            if backwards:
                high = last - 1
            else:
                low = last
            left -= len(rows)
            # As many as a page may hold at the mean size of these: events may be a hundred bytes or 16 MiB.
            size = max(4, min(_LARGEST_PAGE, 4 * len(rows), _PAGE_BYTES * len(rows) // (held + 1)))

    def _fetched(
        self, cursor: Any, statement: str, parameters: tuple[object, ...], wanted: int
    ) -> tuple[list[EventRow], int]:
        """The rows of a page, as the driver's tuples, and how much payload they hold: fewer rows than wanted when that
        is enough, or when they are the last."""
        if self._driver_takes_all:
            rows = cursor.execute(statement, parameters, prepare=True, binary=True).fetchall()
            return rows, _held(rows)
        cursor.execute(statement, parameters)
        rows = []
        held = 0
        while len(rows) < wanted and held < _PAGE_BYTES:
            more = cursor.fetchmany(_FETCH)
            if not more:
                break
            rows += more
            held += _held(more)
        return rows, held

    def _completed(self, row: EventRow) -> EventRow:
        """The row with its payload, when that was too large to come with the page."""
        if row[_PAYLOAD] is not None or row[_SALT] is None:
            return row
        with self._database.read() as cursor:
            cursor.execute(self._alone, (row[_POSITION],))
            found: EventRow = cursor.fetchall()[0]
            return found


class _Names:
    """The names of the streams that one read meets. No longer than that: another database may be put in its place."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[int, str] = {}

    def of(self, rows: Sequence[EventRow]) -> list[str]:
        """The name of each row's stream."""
        known = self._known
        try:
            return [known[row[_STREAM]] for row in rows]  # type: ignore[index]
        except KeyError:
            numbers: list[Any] = [row[_STREAM] for row in rows]
            self._look_up(set(numbers))
            return [self._known[number] for number in numbers]

    def _look_up(self, numbers: set[int]) -> None:
        if len(self._known) + len(numbers) > _NAMES:
            self._known = {}
        unknown = [number for number in numbers if number not in self._known]
        with self._database.read() as cursor:
            if self._database.engine.dialect.name == "postgresql":
                cursor.execute(f"{_NAMES_OF} = ANY(%s)", (unknown,))  # a thousand parameters take it long
            else:
                cursor.execute(f"{_NAMES_OF} IN ({_marks(unknown)})", unknown)
            self._known.update(cursor.fetchall())


def _held(rows: Sequence[EventRow]) -> int:
    return sum([len(row[_PAYLOAD] or "") for row in rows])


def _distinct(types: Sequence[str] | None) -> list[str] | None:
    """A type named twice would count twice against the size of a page."""
    return None if types is None else list(dict.fromkeys(types))


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"
