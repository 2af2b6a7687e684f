"""Unparking: a follower takes up again a stream that it has put aside.

Only the program that a follower belongs to can do that. Another one leaves word beside what is put aside, in a row
under `<follower>/again`; the follower heeds it at its next catch-up.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, literal, select

from spine.briefs import Brief
from spine.errors import InvalidInput
from spine.parking import Apply, Parked, apply_or_park
from spine.schema import parked
from spine.sql_log import SqlLog

AGAIN: Final = "/again"
_BATCH: Final = 500


def require_aside(connection: Connection, follower: str, stream: str) -> None:
    """Raises InvalidInput unless the follower has put the stream aside."""
    if not connection.scalar(select(exists().where(_row(follower, stream)))):
        raise InvalidInput("stream", f"{follower} has not put {stream} aside")


def ask(connection: Connection, follower: str, stream: str) -> None:
    """Leave word that the follower is to take the stream again; asking twice is asking once."""
    if connection.scalar(select(exists().where(_row(follower + AGAIN, stream)))):
        return
    others = [column for column in parked.c if column is not parked.c.follower]
    word = select(literal(follower + AGAIN), *others).where(_row(follower, stream))
    connection.execute(insert(parked).from_select(["follower", *(column.name for column in others)], word))


def asked(log: SqlLog, follower: str) -> list[str]:
    """The streams that the follower is asked to take again."""
    with log.database.read() as cursor:
        cursor.execute(log.database.sql("SELECT stream FROM parked WHERE follower = ?"), (follower + AGAIN,))
        return [stream for (stream,) in cursor.fetchall()]


def take_again(
    connection: Connection,
    log: SqlLog,
    follower: str,
    stream: str,
    *,
    types: Sequence[str] | None,
    until: int,
    apply: Apply,
) -> Parked | None:
    """Apply what the follower has held back of the stream, of these types and up to a position of the log, in the
    transaction at hand. Whoever asked for it is answered with that, however it ends.

    Returns None when all could be taken, or nothing is aside; else the event that cannot: the stream stays aside from
    there on.
    """
    connection.execute(delete(parked).where(_row(follower + AGAIN, stream)))
    seq = connection.scalar(select(parked.c.seq).where(_row(follower, stream)))
    if seq is None:
        return None
    connection.execute(delete(parked).where(_row(follower, stream)))
    for events in _batches(log, stream, seq, types, until):
        found = apply_or_park(connection, follower, events, apply)
        if found:
            return found[0]
    return None


def forget(connection: Connection, follower: str) -> None:
    """Nothing is put aside any more, nor asked for."""
    connection.execute(delete(parked).where(parked.c.follower.in_((follower, follower + AGAIN))))


def _row(follower: str, stream: str) -> ColumnElement[bool]:
    return (parked.c.follower == follower) & (parked.c.stream == stream)


def _batches(log: SqlLog, stream: str, seq: int, types: Sequence[str] | None, until: int) -> Iterator[list[Brief]]:
    briefs = map(Brief.of, log.read(stream, after=seq - 1, types=types))
    held = takewhile(lambda brief: brief.position <= until, briefs)
    while batch := list(islice(held, _BATCH)):
        yield batch
