"""Projection: tables that follow the log. They are derived from it alone, and can be made anew from it at any time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final, Protocol

from sqlalchemy import Connection, Table, delete, insert, select, update

from spine.canonical import ZERO_LEAF
from spine.errors import RestoreDetected
from spine.events import Event
from spine.schema import followers
from spine.sql_log import SqlLog

_BATCH: Final = 500

Progress = Callable[[int, int], None]
"""Told the position reached and the position to reach."""


class Projection(Protocol):
    """What to derive: `apply` is given events of `types` in position order, each exactly once, and writes to `tables`
    on the connection it is handed. A raised `version` makes the next catch-up start anew."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def types(self) -> Sequence[str]: ...

    @property
    def tables(self) -> Sequence[Table]: ...

    def apply(self, connection: Connection, events: Sequence[Event]) -> None:
        """Take these events into the tables. The place reached is committed together with what this writes."""


def catch_up(log: SqlLog, projection: Projection, *, progress: Progress | None = None) -> int:
    """Bring the projection to the end of the log; returns how many positions it moved.

    Raises RestoreDetected when the log is not the one the projection has been following.
    """
    start, head = _position(log, projection), log.position()
    reached = start
    while reached < head:
        with _leading(log, projection) as (connection, at):
            # Somebody else may have moved it further than `head` meanwhile.
            reached = at if at >= head else _step(log, projection, connection, at, head)
        if progress is not None:
            progress(reached, head)
    return max(reached - start, 0)


def rebuild(log: SqlLog, projection: Projection, *, progress: Progress | None = None) -> int:
    """Make the projection anew from the whole log; returns the position reached. Readers see the old tables until the
    new ones are whole."""
    with log.database.write_transaction(projection.name) as connection:
        head = log.position()
        _clear(connection, projection)
        reached = 0
        while reached < head:
            reached = _step(log, projection, connection, reached, head)
            if progress is not None:
                progress(reached, head)
        return reached


def lag(log: SqlLog, projection: Projection) -> int:
    """How many positions the projection is behind the log; 0 is in step."""
    return max(log.position() - _position(log, projection), 0)


def _position(log: SqlLog, projection: Projection) -> int:
    """Where the projection is; 0 for one that has to start anew. Raises RestoreDetected."""
    with log.database.read_transaction() as connection:
        return _followed(log, projection, connection)


@contextmanager
def _leading(log: SqlLog, projection: Projection) -> Iterator[tuple[Connection, int]]:
    """A transaction in which nobody else moves the projection, and where it is."""
    with log.database.write_transaction(projection.name) as connection:
        at = _followed(log, projection, connection)
        if at == 0:
            _clear(connection, projection)
        yield connection, at


def _followed(log: SqlLog, projection: Projection, connection: Connection) -> int:
    row = connection.execute(
        select(followers.c.version, followers.c.position, followers.c.leaf).where(followers.c.name == projection.name)
    ).one_or_none()
    if row is None or row.version != projection.version or row.position == 0:
        return 0
    if _leaf(log, row.position) != bytes(row.leaf):
        raise RestoreDetected(
            f"{projection.name} has followed another history up to position {row.position}: the database was put back "
            "to an older copy, or is another log; run `gradespine rebuild`"
        )
    return int(row.position)


def _step(log: SqlLog, projection: Projection, connection: Connection, at: int, head: int) -> int:
    """Apply the next batch; returns the position reached, past whatever is of no interest."""
    wanted = log.read_all(after=at, until=head, types=projection.types)
    events = list(islice(wanted, _BATCH))
    if events:
        projection.apply(connection, events)
    reached = events[-1].position if len(events) == _BATCH else head
    leaf = _leaf(log, reached)
    moved = connection.execute(
        update(followers)
        .where(followers.c.name == projection.name)
        .values(version=projection.version, position=reached, leaf=leaf)
    )
    if moved.rowcount == 0:
        connection.execute(
            insert(followers).values(name=projection.name, version=projection.version, position=reached, leaf=leaf)
        )
    return reached


def _clear(connection: Connection, projection: Projection) -> None:
    for table in projection.tables:
        connection.execute(delete(table))
    connection.execute(delete(followers).where(followers.c.name == projection.name))


def _leaf(log: SqlLog, position: int) -> bytes:
    """The leaf at a position; zeros where the log has none."""
    event = next(log.read_all(after=position - 1, until=position), None)
    return ZERO_LEAF if event is None else event.row.leaf
