"""The one place that reads the time. Times are whole microseconds since 1970-01-01 UTC."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], int]
"""Gives the present in microseconds since 1970 UTC. Injectable wherever the spine needs the time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """The wall clock."""
    return time.time_ns() // 1000


def as_datetime(microseconds: int) -> datetime:
    """An aware UTC datetime. Exact: a datetime counts microseconds too."""
    return _EPOCH + timedelta(microseconds=microseconds)


def as_microseconds(moment: datetime) -> int:
    """Microseconds since 1970 UTC of an aware datetime. Raises ValueError for a naive one."""
    if moment.utcoffset() is None:
        raise ValueError("the time has no UTC offset; give an aware datetime")
    return (moment - _EPOCH) // _MICROSECOND
