"""Place: how far a follower has come, and the leaf that stood there. Kept beside what the follower writes."""

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from spine.canonical import ZERO_LEAF
from spine.errors import RestoreDetected
from spine.schema import events, followers


@dataclass(frozen=True, slots=True)
class Place:
    """Where a follower of this version is; position 0 is before the first event."""

    version: int
    position: int
    leaf: bytes


def place(connection: Connection, name: str) -> Place | None:
    """The place of a follower; None for one that has not begun."""
    columns = (followers.c.version, followers.c.position, followers.c.leaf)
    row = connection.execute(select(*columns).where(followers.c.name == name)).one_or_none()
    return None if row is None else Place(row.version, row.position, bytes(row.leaf))


def move(connection: Connection, name: str, version: int, position: int) -> None:
    """Move a follower to a position of the log, or let it begin there."""
    reached = {"version": version, "position": position, "leaf": leaf_at(connection, position)}
    moved = connection.execute(update(followers).where(followers.c.name == name).values(reached))
    if moved.rowcount == 0:
        connection.execute(insert(followers).values(name=name, **reached))


def forget(connection: Connection, name: str) -> None:
    """Let a follower be one that has not begun."""
    connection.execute(delete(followers).where(followers.c.name == name))


def leaf_at(connection: Connection, position: int) -> bytes:
    """The leaf at a position; zeros where the log has none."""
    leaf = connection.scalar(select(events.c.leaf).where(events.c.position == position))
    return ZERO_LEAF if leaf is None else bytes(leaf)


def check(connection: Connection, name: str, place: Place) -> None:
    """Raises RestoreDetected when the log is not the one that the follower has been following."""
    if leaf_at(connection, place.position) != place.leaf:
        raise RestoreDetected(
            f"{name} has followed another history up to position {place.position}: the database was put back to an "
            "older copy, or is another log; run `gradespine rebuild`"
        )
