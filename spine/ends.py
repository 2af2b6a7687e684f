"""Ends: where a log and some of its streams end, as they were read under the log's lock."""

from typing import Final, NamedTuple

BEFORE_TIME: Final = -(2**62)
"""Earlier than any clock: the `recorded_at` of the tail of an empty log."""


class End(NamedTuple):
    """The end of a stream; without id and leaf if there is none. `known`: some of the wanted ids stand there."""

    stream_id: int | None
    seq: int
    leaf: bytes | None
    known: bool


class Ends(NamedTuple):
    """The log's name, if it has one, its last position (0: empty) and the time recorded there; its streams' ends."""

    log: str | None
    position: int
    recorded_at: int
    streams: dict[str, End]
