"""Tails: where a log and its streams ended when this process last wrote, so that the next append need not look.

A guess, never trusted: the insert it leads to is refused by the database unless all of it still holds.
"""

from typing import Final

from spine.ends import Ends

_STREAMS: Final = 4096


class Tails:
    """The ends of the streams written to lately. Safe to use from several threads: a torn guess is a wrong one."""

    def __init__(self) -> None:
        self._log: tuple[str, int, int] | None = None
        self._streams: dict[str, tuple[int, int, bytes]] = {}

    def guess(self, stream: str) -> tuple[str, int, int, int, int, bytes] | None:
        """The log's name, last position and its time; the stream's id, last seq and its leaf. None: look."""
        log, end = self._log, self._streams.get(stream)
        return None if log is None or end is None else (*log, *end)

    def moved(self, log: str, position: int, recorded_at: int, stream: str, end: tuple[int, int, bytes]) -> None:
        """One event was appended."""
        self._log = log, position, recorded_at
        self._streams[stream] = end

    def seen(self, ends: Ends) -> None:
        """An append that looked was committed, and things end there now."""
        if ends.log is None:
            return
        if len(self._streams) + len(ends.streams) > _STREAMS:
            self._streams.clear()
        self._log = ends.log, ends.position, ends.recorded_at
        for stream, end in list(ends.streams.items())[:_STREAMS]:
            if end.stream_id is not None and end.leaf is not None:
                self._streams[stream] = end.stream_id, end.seq, end.leaf

    def forget(self) -> None:
        """The guess was wrong."""
        self._log = None
        self._streams.clear()
