"""Course: where a run began and how far it has come, for checks that measure from its start or to its end."""

from typing import NamedTuple

from spine import Actor, Event


class Point(NamedTuple):
    """Where an event stands. Times are microseconds since 1970."""

    seq: int
    ordinal: int
    time: int
    recorded_at: int


class Course:
    """The start and the end of the events so far; of each, also without the agent's own events."""

    __slots__ = ("_first", "_others_first", "_started", "last", "others_last")

    def __init__(self) -> None:
        self.last: Point | None = None
        """The event that was taken last."""
        self.others_last: Point | None = None
        """The last one by the system or a human."""
        self._first: Point | None = None
        self._others_first: Point | None = None
        self._started: Point | None = None

    def take(self, event: Event, ordinal: int) -> None:
        """The next event of evidence."""
        row = event.row
        point = Point(row.seq, ordinal, row.time, row.recorded_at)
        self.last = point
        self._first = self._first or point
        if row.actor != Actor.AGENT:
            self.others_last = point
            self._others_first = self._others_first or point
            if row.type == "run.started" and row.actor == Actor.SYSTEM:
                self._started = self._started or point

    def start(self, *, own: bool = True) -> Point | None:
        """Where the run began, as far as is known by now: at the first `run.started` by the system; before there is
        one, at the first event by the system or a human; before that, with `own`, at the agent's first.

        So an agent that writes before its run began moves nothing.
        """
        return self._started or self._others_first or (self._first if own else None)
