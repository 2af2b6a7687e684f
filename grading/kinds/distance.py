"""Distance: how far two things stand apart in a run, in events or in seconds, and by whose clock."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from spine.canonical import MAX_INTEGER


class Unit(StrEnum):
    EVENTS = "events"
    """Places among the events of evidence: the next event is 1 away."""
    SECONDS = "seconds"


class Clock(StrEnum):
    """Which time of an event seconds go by."""

    RECORDED_AT = "recorded_at"
    """When the log took it: no producer can forge it, and it never decreases. One import gives it to a whole run."""
    TIME = "time"
    """When it happened, as its producer says; an agent may say what it likes of its own events."""


class Standing(Protocol):
    """What stands somewhere in a run. Times are microseconds since 1970."""

    @property
    def ordinal(self) -> int: ...
    @property
    def time(self) -> int: ...
    @property
    def recorded_at(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Distance:
    """At most `limit` of a unit. The clock matters to seconds only."""

    unit: Unit
    limit: float
    clock: Clock = Clock.RECORDED_AT

    def point(self, standing: Standing) -> int:
        """Where that is, as a number that `reach` is in the unit of."""
        return _POINTS[self.unit if self._places else self.clock](standing)

    @property
    def reach(self) -> float:
        """The limit, in places or in microseconds."""
        if self._places:
            return self.limit
        microseconds = self.limit * 1_000_000
        return microseconds if microseconds > MAX_INTEGER else round(microseconds)

    @property
    def forgeable(self) -> bool:
        """Whether it goes by what producers say."""
        return not self._places and self.clock is Clock.TIME

    @property
    def _places(self) -> bool:
        return self.unit is Unit.EVENTS

    def __str__(self) -> str:
        unit = self.unit.removesuffix("s") if self.limit == 1 else self.unit
        return f"{self.limit} {unit}" + (" by the producers' clock" if self.forgeable else "")


_POINTS: Final[dict[str, Callable[[Standing], int]]] = {
    Unit.EVENTS: lambda standing: standing.ordinal,
    Clock.RECORDED_AT: lambda standing: standing.recorded_at,
    Clock.TIME: lambda standing: standing.time,
}
