"""Feed: following a log for as long as a program runs. Of all processes that follow under one name, one leads."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeAlias

from spine.arrivals import Watch
from spine.errors import AppendOutcomeUnknown, LogUnavailable, SchemaOutdated, SpineError
from spine.parking import OnParked
from spine.projection import Projection, catch_up
from spine.sql_log import SqlLog

OnTrouble: TypeAlias = Callable[[SpineError], None]

_FLOOR: Final = 1.0  # seconds after which the log is read even if nothing was heard
_ATTENTIVE: Final = 0.1  # seconds after which a stop is noticed
_STANDBY: Final = 0.2  # seconds between two attempts to take the lead
_PAUSES: Final = (0.1, 0.5, 2.0)  # seconds before it is tried again: the first time, the second, and from then on


def follow(
    log: SqlLog,
    projection: Projection,
    stop: threading.Event,
    *,
    on_parked: OnParked | None = None,
    on_trouble: OnTrouble | None = None,
    patience: float = 60.0,
) -> None:
    """Keep the projection at the end of the log until `stop` is set: within milliseconds of a commit when all is well,
    within a second when the wake-up was lost.

    While another process leads, this one stands by; when that one ends, however it ends, one that stands by goes on
    within a fifth of a second. Each event is applied once: its place is committed together with what it wrote.
    A projection without tables of its own is a follower that writes where it wants through the connection it is given.

    A log that cannot be reached is tried again, `on_trouble` being told each time. After `patience` seconds of nothing
    else the error rises. Raises RestoreDetected and SchemaOutdated at once.
    """
    feed = _Feed(log, projection, stop, on_parked)
    while not stop.is_set():
        try:
            feed.lead()
        except SchemaOutdated:
            raise
        except (LogUnavailable, AppendOutcomeUnknown) as error:
            feed.troubles.append(time.monotonic())
            if feed.troubles[-1] - feed.troubles[0] > patience:
                raise
            if on_trouble is not None:
                on_trouble(error)
            stop.wait(_PAUSES[min(len(feed.troubles), len(_PAUSES)) - 1])


class _StoppedError(Exception):
    """Raised between two batches, to leave a long catch-up: what is done is kept."""


class _Feed:
    def __init__(self, log: SqlLog, projection: Projection, stop: threading.Event, on_parked: OnParked | None) -> None:
        self._log = log
        self._projection = projection
        self._stop = stop
        self._on_parked = on_parked
        self.troubles: list[float] = []
        """When there was trouble since all was well last."""

    def lead(self) -> None:
        """Wait for the lead, and follow until it is lost or there is a stop."""
        database = self._log.database
        with database.lead(self._projection.name) as lead:
            while not lead.take():
                self.troubles.clear()
                if self._stop.wait(_STANDBY):
                    return
            with database.watch() as watch:
                while lead.take() and not self._stop.is_set():
                    self._catch_up()
                    self.troubles.clear()
                    self._sleep(watch)

    def _catch_up(self) -> None:
        with suppress(_StoppedError):
            catch_up(self._log, self._projection, progress=self._heed, on_parked=self._on_parked)

    def _heed(self, _at: int, _of: int) -> None:
        if self._stop.is_set():
            raise _StoppedError

    def _sleep(self, watch: Watch) -> None:
        until = time.monotonic() + _FLOOR
        while not self._stop.is_set() and time.monotonic() < until:
            if watch.wait(_ATTENTIVE):
                return
