"""Followers: how far each has come, what it has put aside, and setting it right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, select

from spine import places, unparking
from spine.errors import InvalidInput, SchemaOutdated
from spine.parking import Parked
from spine.projection import Projection
from spine.schema import followers, parked
from spine.sql_log import SqlLog

_REBUILD: Final = "/rebuild"


@dataclass(frozen=True, slots=True)
class Held:
    """A stream that a follower has put aside, from the event on that it could not take. `again`: it is asked to take it
    at its next catch-up."""

    stream: str
    seq: int
    type: str
    error: str
    again: bool = False


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
            unparking.forget(connection, each)
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
        until = _position(connection, projection)
        unparking.require_aside(connection, projection.name, stream)
        tables = {table.name: table for table in projection.tables}
        return unparking.take_again(
            connection,
            log,
            projection.name,
            stream,
            types=projection.types,
            until=until,
            apply=lambda events: projection.apply(connection, tables, events),
        )


def ask(log: SqlLog, name: str, stream: str) -> None:
    """Ask a follower, whatever program it belongs to, to take a stream again that it has put aside. It does so at its
    next catch-up, as `unpark` would, and is not asked any more then. Raises InvalidInput for a stream that is not put
    aside."""
    with log.database.write_transaction(name) as connection:
        unparking.require_aside(connection, name, stream)
        unparking.ask(connection, name, stream)


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
    rows = connection.execute(select(*columns).order_by(parked.c.follower, parked.c.stream)).all()
    asked = {(row.follower, row.stream) for row in rows if row.follower.endswith(unparking.AGAIN)}
    held: dict[str, list[Held]] = {}
    for name, stream, seq, type_, error in rows:
        again = (name + unparking.AGAIN, stream) in asked
        held.setdefault(name, []).append(Held(stream, seq, type_, error, again))
    return held
