"""Reading a database in pages: ordered, in constant memory, holding no transaction between pages.

The log is append-only and dense, so pages up to a fixed end are one point in time.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from spine.database import Database
from spine.events import Event, EventRow
from spine.log import Head

_FIRST_PAGE: Final = 64
_LARGEST_PAGE: Final = 2000
_PAGE_BYTES: Final = 4 * 1024 * 1024
_STREAMS_PAGE: Final = 1000

PageQuery: TypeAlias = Callable[[int, int, int], tuple[str, tuple[object, ...]]]
"""(low, high, size) → statement and parameters for the next page of low < key ≤ high."""
RowKey: TypeAlias = Callable[[EventRow], int]


class Pages:
    """Keyset pages over events and streams."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._select = f"SELECT {database.event_columns} FROM events e JOIN streams s ON s.stream_id = e.stream_id"

    def of_stream(
        self, stream_id: int, after: int, last: int, limit: int | None, types: Sequence[str] | None, backwards: bool
    ) -> Iterator[Event]:
        """The stream's events with after < seq ≤ last."""
        types = _distinct(types)
        where = "e.stream_id = ? AND e.seq > ? AND e.seq <= ?"
        given: tuple[object, ...] = ()
        if types is not None:
            where += f" AND e.type IN ({_marks(types)})"
            given = tuple(types)
        order = "DESC" if backwards else "ASC"
        statement = self._database.sql(f"{self._select} WHERE {where} ORDER BY e.seq {order} LIMIT ?")
        rows = self._rows(
            lambda low, high, size: (statement, (stream_id, low, high, *given, size)),
            after,
            last,
            limit if types is None or types else 0,
            backwards,
            key=lambda row: row.seq,
        )
        return map(Event, rows)

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
        rows = self._rows(page, after, last, 0 if nothing else limit, backwards, key=lambda row: row.position)
        return map(Event, rows)

    def of_streams(self, prefix: str, end: str | None, after: str, limit: int | None, position: int) -> Iterator[Head]:
        """Heads of the streams from `prefix` up to (not including) `end`, behind the name `after`, by name."""
        below = "" if end is None else " AND s.name < ?"
        statement = self._database.sql(
            "SELECT s.name, e.seq, e.position, e.leaf FROM streams s JOIN events e ON e.stream_id = s.stream_id "
            "AND e.seq = (SELECT max(seq) FROM events WHERE stream_id = s.stream_id AND position <= ?) "
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

    def _rows(
        self, page: PageQuery, low: int, high: int, limit: int | None, backwards: bool, key: RowKey
    ) -> Iterator[EventRow]:
        size = _FIRST_PAGE
        left = limit
        while low < high and (left is None or left > 0):
            wanted = size if left is None else min(size, left)
            statement, parameters = page(low, high, wanted)
            with self._database.read() as cursor:
                cursor.execute(statement, parameters)
                rows = [EventRow._make(row) for row in cursor.fetchall()]
            yield from rows
            if len(rows) < wanted:
                return
            if backwards:
                high = key(rows[-1]) - 1
            else:
                low = key(rows[-1])
            left = None if left is None else left - len(rows)
            size = _next_size(rows)


def _next_size(rows: Sequence[EventRow]) -> int:
    """As many rows as a page may hold at the mean size of these: events may be a hundred bytes or 16 MiB."""
    mean = sum(len(row.payload or "") for row in rows) // len(rows) + 1
    return max(4, min(_LARGEST_PAGE, 4 * len(rows), _PAGE_BYTES // mean))


def _distinct(types: Sequence[str] | None) -> list[str] | None:
    """A type named twice would count twice against the size of a page."""
    return None if types is None else list(dict.fromkeys(types))


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "NULL"
