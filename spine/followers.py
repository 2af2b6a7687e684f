"""Followers: how far each has come, what it has put aside, and setting it right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final

from sqlalchemy import Connection, delete, select

from spine import places
from spine.briefs import Brief
from spine.errors import InvalidInput, SchemaOutdated
from spine.parking import Parked, apply_or_park
from spine.projection import Projection
from spine.schema import followers, parked
from spine.sql_log import SqlLog

_REBUILD: Final = "/rebuild"
_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Held:
    """A stream that a follower has put aside, from the event on that it could not take."""

    stream: str
    seq: int
    type: str
    error: str


@dataclass(frozen=True, slots=True)
class Follower:
    """A follower: the position reached and how many are left. `rebuild` is the position that the making anew under way
    has reached. One whose place was forgotten has neither version nor position until it begins anew."""

    name: str
    version: int | None
    position: int | None
    lag: int
    parked: Sequence[Held]
    rebuild: int | None


def list_followers(log: SqlLog) -> list[Follower]:
    """All that have begun to follow the log, by name."""
    with log.database.read_transaction() as connection:
        rows = connection.execute(select(followers.c.name, followers.c.version, followers.c.position)).all()
        held = _held(connection)
    head = log.position()
    places = {name: (version, position) for name, version, position in rows if not name.endswith(_REBUILD)}
    rebuilds = {name.removesuffix(_REBUILD): position for name, _, position in rows if name.endswith(_REBUILD)}
    found = []
    for name in sorted(places.keys() | rebuilds.keys()):
        version, position = places.get(name, (None, None))
        lag = max(head - (position or 0), 0)
        found.append(Follower(name, version, position, lag, held.get(name, []), rebuilds.get(name)))
    return found


def reset(log: SqlLog, name: str) -> None:
    """Let a follower forget its place and what it has put aside: the next catch-up makes its tables anew, beside those
    that serve meanwhile. One without tables of its own is given every event again."""
    with log.database.write_transaction(name) as connection:
        for each in (name, name + _REBUILD):
            connection.execute(delete(parked).where(parked.c.follower == each))
            places.forget(connection, each)


def unpark(log: SqlLog, projection: Projection, stream: str) -> Parked | None:
    """Let a projection take the events of a stream that it has put aside, up to its place, and follow it again. All of
    it or nothing is committed, and nobody moves the place meanwhile.

    Returns None when it could take them all, else the event it cannot take: the stream stays aside from there on, with
    what came before taken. These events come later than those of other streams that they stood between: a projection
    in which streams meet is better rebuilt.

    Raises InvalidInput for a stream that is not put aside, RestoreDetected, SchemaOutdated.
    """
    with log.database.write_transaction(projection.name) as connection:
        position = _position(connection, projection)
        row = (parked.c.follower == projection.name) & (parked.c.stream == stream)
        seq = connection.scalar(select(parked.c.seq).where(row))
        if seq is None:
            raise InvalidInput("stream", f"{projection.name} has not put {stream} aside")
        connection.execute(delete(parked).where(row))
        for events in _batches(log, projection, stream, seq, position):
            found = _take(connection, projection, events)
            if found:
                return found[0]
    return None


def _take(connection: Connection, projection: Projection, events: Sequence[Brief]) -> list[Parked]:
    tables = {table.name: table for table in projection.tables}
    return apply_or_park(
        connection, projection.name, events, lambda events: projection.apply(connection, tables, events)
    )


def _batches(log: SqlLog, projection: Projection, stream: str, seq: int, position: int) -> Iterator[list[Brief]]:
    """What the projection has held back of the stream, from a seq up to a position of the log."""
    briefs = map(Brief.of, log.read(stream, after=seq - 1, types=projection.types))
    held = takewhile(lambda brief: brief.position <= position, briefs)
    while batch := list(islice(held, _BATCH)):
        yield batch


def _position(connection: Connection, projection: Projection) -> int:
    place = places.place(connection, projection.name)
    if place is None or place.version < projection.version:
        raise InvalidInput(
            "projection",
            f"{projection.name} is made anew by its next catch-up, which begins with no stream put aside",
        )
    if place.version > projection.version:
        raise SchemaOutdated(
            f"{projection.name} is at version {place.version}, this program knows version {projection.version}: "
            "upgrade gradespine"
        )
    places.check(connection, projection.name, place)
    return place.position


def _held(connection: Connection) -> dict[str, list[Held]]:
    columns = (parked.c.follower, parked.c.stream, parked.c.seq, parked.c.type, parked.c.error)
    held: dict[str, list[Held]] = {}
    for name, *rest in connection.execute(select(*columns).order_by(parked.c.follower, parked.c.stream)):
        held.setdefault(name, []).append(Held(*rest))
    return held
