"""Brief: of an event what a projection needs, read in pages. Half of the columns, and no objects around them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from spine.canonical import decode
from spine.database import Database
from spine.errors import LogCorrupt, PayloadErased
from spine.events import Event

_FIRST_PAGE: Final = 500
_LARGEST_PAGE: Final = 4000
_SPAN: Final = 10_000
_PAGE_BYTES: Final = 4 * 1024 * 1024
_COLUMNS: Final = "e.position, s.name, e.seq, e.type, e.schema_version, e.actor, e.recorded_at, e.payload"
_SELECT: Final = f"SELECT {_COLUMNS} FROM events e JOIN streams s ON s.stream_id = e.stream_id"


class Brief(NamedTuple):
    """An event as a projection sees it. `text` is its payload as stored; None where it was erased."""

    position: int
    stream: str
    seq: int
    type: str
    schema_version: int
    actor: str
    recorded_at: int
    text: str | None

    @classmethod
    def of(cls, event: Event) -> "Brief":
        row = event.row
        return cls(
            row.position, row.stream, row.seq, row.type, row.schema_version, row.actor, row.recorded_at, row.payload
        )

    def payload(self) -> Any:
        """The JSON object that was appended. Raises PayloadErased."""
        if self.text is None:
            raise PayloadErased(self.stream, self.seq)
        return decode(self.text)


class Page(NamedTuple):
    """Events in order, and the position reached with them: past whatever is of no interest behind the last."""

    events: list[Brief]
    reached: int


def pages(database: Database, types: Sequence[str] | None, *, after: int, until: int) -> Iterator[Page]:
    """The events of these types (None: of all) with after < position ≤ until, in order. No transaction is held between
    pages, and a page is no more than some megabytes at the mean size of the page before, from no more than 10,000
    positions: what a projection looks up beside them is bounded too.

    Raises LogCorrupt when events of all types do not follow each other without a gap.
    """
    if types is not None and not types:
        yield Page([], until)
        return
    statement = database.sql(f"{_SELECT} WHERE {_wanted(types)} ORDER BY e.position LIMIT ?")
    size = _FIRST_PAGE
    while after < until:
        end = min(until, after + _SPAN)
        ranges = (after, end) if types is None else tuple(v for type_ in types for v in (type_, after, end, size))
        with database.read() as cursor:
            cursor.execute(statement, (*ranges, size))
            events = list(map(Brief._make, cursor.fetchall()))
        if types is None:
            _check_dense(events, after, end, size)
        after = events[-1].position if len(events) == size else end
        yield Page(events, after)
        size = _next_size(events) if events else size


def _wanted(types: Sequence[str] | None) -> str:
    if types is None:
        return "e.position > ? AND e.position <= ?"
    # One range of (type, position) for each type: an IN list would be sorted as a whole for every page.
    one = (
        "SELECT position FROM (SELECT position FROM events WHERE type = ? AND position > ? AND position <= ? "
        "ORDER BY position LIMIT ?) AS p"
    )
    return f"e.position IN (SELECT position FROM ({' UNION ALL '.join([one] * len(types))}) AS q)"


def _check_dense(events: Sequence[Brief], after: int, end: int, size: int) -> None:
    """Positions are dense: a gap is no event that comes later, it is damage."""
    last = min(after + size, end)
    if [brief.position for brief in events] != list(range(after + 1, last + 1)):
        raise LogCorrupt(f"of the positions {after + 1} to {last} some are missing: run `gradespine db check --full`")


def _next_size(page: Sequence[Brief]) -> int:
    mean = sum(len(brief.text or "") for brief in page) // len(page) + 1
    return max(1, min(_LARGEST_PAGE, 4 * len(page), _PAGE_BYTES // mean))
