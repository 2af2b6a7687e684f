"""Parking: a stream whose event a follower cannot take is put aside, from that event on; all others flow."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import psycopg
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import DBAPIError

from spine.briefs import Brief
from spine.clock import now
from spine.errors import PayloadErased, SpineError
from spine.schema import parked


@dataclass(frozen=True, slots=True)
class Parked:
    """A stream that was put aside at an event, and why."""

    follower: str
    stream: str
    seq: int
    error: str


Apply: TypeAlias = Callable[[Sequence[Brief]], None]
OnParked: TypeAlias = Callable[[Parked], None]


def apply_or_park(connection: Connection, follower: str, events: Sequence[Brief], apply: Apply) -> list[Parked]:
    """Apply the events but those of streams that are parked; returns which streams were parked now.

    What an event cannot be blamed for (an error of the log, a lost connection, a full disk) rises as it is.
    """
    held = set(connection.scalars(select(parked.c.stream).where(parked.c.follower == follower)))
    flowing = [event for event in events if event.stream not in held] if held else events
    if not flowing or _applied(connection, flowing, apply) is None:
        return []
    found: dict[str, Parked] = {}
    for event in flowing:
        if event.stream in found:
            continue
        error = _applied(connection, [event], apply)
        if error is not None:
            found[event.stream] = _park(connection, follower, event, error)
    return list(found.values())


def _applied(connection: Connection, events: Sequence[Brief], apply: Apply) -> Exception | None:
    """Apply the events, or nothing of them; returns what they are to blame for."""
    try:
        with connection.begin_nested():
            apply(events)
    except Exception as error:
        if not _is_to_blame(error):
            raise
        return error
    return None


def _is_to_blame(error: Exception) -> bool:
    """Whether an error is the event's: another time it would be the same."""
    if isinstance(error, SpineError):
        return isinstance(error, PayloadErased)
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return False
    lost = (psycopg.OperationalError, psycopg.InterfaceError, sqlite3.OperationalError, sqlite3.InterfaceError, OSError)
    return not isinstance(cause, (*lost, MemoryError))


def _park(connection: Connection, follower: str, event: Brief, error: Exception) -> Parked:
    said = f"{type(error).__name__}: {error}".replace("\0", "\ufffd")
    row = {"seq": event.seq, "position": event.position, "type": event.type, "error": said, "parked_at": now()}
    connection.execute(insert(parked).values(follower=follower, stream=event.stream, **row))
    return Parked(follower, event.stream, event.seq, said)
