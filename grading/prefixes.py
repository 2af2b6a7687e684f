"""Prefixes: the evidence of a run as it was after each of its events."""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, cast

from grading.evidence import Evidence, MapEvidence, StreamEvidence, StreamReference
from grading.trust import NAMED_ONLY
from spine import Actor, Event, Log
from spine.events import EventRow


class Prefixes:
    """Evidence, and all of its prefixes. A prefix goes by its `place`: how many events of the evidence it holds."""

    def __init__(self, evidence: Evidence) -> None:
        self.events: Final = list(evidence.events(also=NAMED_ONLY))
        reference = evidence.reference
        self._answers: Final = evidence.supplied_answers
        self._stream: Final = reference.stream if isinstance(reference, StreamReference) else None
        self._rows: Final = _Rows([event.row for event in self.events])

    def at(self, place: int) -> Evidence:
        """The evidence as it was after so many events: what grading the run then would have seen."""
        if self._stream is None:
            return MapEvidence(self.events[:place], self._answers)
        until = self.events[place - 1].seq if place else 0
        # Of a log, evidence needs no more than to be read.
        return StreamEvidence(cast("Log", self._rows), self._stream, until=until)

    def references(self) -> list[int]:
        """The places from which on a prefix has another `case.expected` than before; 0 is the first of them."""
        places = [0]
        before: str | None = None
        for place, event in enumerate(self.events, 1):
            if event.type == "case.expected" and event.actor is Actor.SYSTEM:
                payload = event.row.payload
                if payload is None or payload != before:
                    places.append(place)
                before = payload
        return places


@dataclass(frozen=True, slots=True)
class _Rows:
    """The reading side of a log that holds one stream: rows in order of seq."""

    rows: Sequence[EventRow]

    def read(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        types: Collection[str] | None = None,
        backwards: bool = False,
    ) -> Iterator[Event]:
        first = bisect_right(self.rows, after, key=_seq)
        last = len(self.rows) if until is None else bisect_right(self.rows, until, key=_seq)
        places = range(last - 1, first - 1, -1) if backwards else range(first, last)
        wanted = (self.rows[at] for at in places if types is None or self.rows[at].type in types)
        return (Event(row) for row in islice(wanted, limit))


def _seq(row: EventRow) -> int:
    return row.seq
