"""Evidence: the recorded events of a run that a check may reason over, and the answers folded from them.

What a reader gets is its own: events are handed out as fresh objects whose payloads are decoded on demand from the
stored text, so that nothing one check does to a payload reaches the next check or the log.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, Final, Protocol, TypeAlias, overload

from grading.trust import NAMED_ONLY, default_trust
from spine import Actor, Event, Log
from spine.canonical import ZERO_LEAF, encode
from spine.events import EventRow, Json
from spine.vocabulary import counts_as_evidence

_KEPT_BYTES: Final = 8 * 1024 * 1024  # a stream up to this size is read once, a larger one again for every pass


@dataclass(frozen=True, slots=True)
class StreamReference:
    """The evidence of a stream: all of it up to `through_seq`, whose leaf is `digest`. 0 and zeros: there is none."""

    stream: str
    through_seq: int
    digest: str

    def to_json(self) -> dict[str, Json]:
        return {"stream": self.stream, "through_seq": self.through_seq, "digest": self.digest}


@dataclass(frozen=True, slots=True)
class SuppliedReference:
    """Evidence that the caller put together. `digest` binds the answers and the events' leaves."""

    digest: str

    def to_json(self) -> dict[str, Json]:
        return {"kind": "supplied", "digest": self.digest}


Reference: TypeAlias = StreamReference | SuppliedReference


class Evidence(Protocol):
    """What a check sees: recorded events in order of seq, and the run's answers. Never the service's own events."""

    def events(self, *, also: Collection[str] = ()) -> Sequence[Event]:
        """The recorded events, in order; each look at the sequence gives events of its own.

        `score.imported`, a foreign verdict kept for comparison, is left out unless `also` names the type: nothing sees
        it by accident.
        """

    def answer(self, key: str) -> str | None:
        """The run's answer to the question posed under `key` (the last one given), or None."""

    def answered_at(self, key: str) -> int | None:
        """The seq of the event that gave this answer; None where there is none (no answer, or answers supplied)."""

    def expected(self) -> Mapping[str, Any] | None:
        """The payload of the last `case.expected` by the system, or None. If it was erased, looking into it raises."""

    @property
    def supplied_answers(self) -> Mapping[str, str] | None:
        """Answers that were supplied, and hold instead of any that events give; None where answers are events."""

    @property
    def reference(self) -> Reference:
        """What a grade cites as its evidence."""


class MapEvidence:
    """Supplied evidence: events and answers, as the caller gives them. Service events among them are not evidence.

    Answers come from `answers` alone: an `answer.given` among the events is an event like any other.
    """

    def __init__(self, recorded: Iterable[Event], answers: Mapping[str, str] | None = None) -> None:
        self._rows: Final = tuple(event.row for event in recorded if counts_as_evidence(event.type))
        self._answers: Final = dict(answers or {})

    def events(self, *, also: Collection[str] = ()) -> Sequence[Event]:
        return _Recorded(lambda: map(Event, self._rows), also)

    def answer(self, key: str) -> str | None:
        return self._answers.get(key)

    def answered_at(self, key: str) -> int | None:
        return None

    def expected(self) -> Mapping[str, Any] | None:
        for row in reversed(self._rows):
            if row.type == "case.expected" and row.actor == Actor.SYSTEM:
                return Event(row).payload
        return None

    @property
    def supplied_answers(self) -> Mapping[str, str]:
        return dict(self._answers)

    @property
    def reference(self) -> SuppliedReference:
        text = encode({"answers": self._answers, "events": [row.leaf.hex() for row in self._rows]}, "evidence")
        return SuppliedReference(sha256(text).hexdigest())


class StreamEvidence:
    """The evidence of a stream up to seq `until` (by default, all there is now), read from its log.

    It is a prefix of the stream, fixed when this is made: what is appended later does not change it. A large stream is
    read anew for every pass, so memory does not grow with it.
    """

    def __init__(self, log: Log, stream: str, until: int | None = None) -> None:
        self._log: Final = log
        last = _last_counting(log, stream, until)
        seq, digest = (0, ZERO_LEAF.hex()) if last is None else (last.seq, last.digest)
        self._reference: Final = StreamReference(stream, seq, digest)
        self._kept: tuple[EventRow, ...] | None = None
        self._given: list[EventRow] | None = None
        self._expected: list[EventRow] | None = None

    def events(self, *, also: Collection[str] = ()) -> Sequence[Event]:
        return _Recorded(self._pass, also)

    def answer(self, key: str) -> str | None:
        given = self._answering(key)
        return None if given is None else str(given.payload["answer"])

    def answered_at(self, key: str) -> int | None:
        given = self._answering(key)
        return None if given is None else given.seq

    def expected(self) -> Mapping[str, Any] | None:
        if self._expected is None:
            self._expected = list(islice(self._of_type("case.expected", {Actor.SYSTEM}), 1))
        return Event(self._expected[0]).payload if self._expected else None

    @property
    def supplied_answers(self) -> None:
        return None

    @property
    def reference(self) -> StreamReference:
        return self._reference

    def _answering(self, key: str) -> Event | None:
        """The last answer under `key`. An erased one, met before it is found, may have been it: opening it raises."""
        if self._given is None:
            self._given = list(self._of_type("answer.given", default_trust("answer.given")))
        return next((event for event in map(Event, self._given) if _answers(event.payload, key)), None)

    def _of_type(self, type: str, trusted: Collection[Actor]) -> Iterator[EventRow]:
        reference = self._reference
        events = self._log.read(reference.stream, until=reference.through_seq, types=[type], backwards=True)
        return (event.row for event in events if event.actor in trusted)

    def _pass(self) -> Iterator[Event]:
        if self._kept is not None:
            yield from map(Event, self._kept)
            return
        kept: list[EventRow] | None = []
        size = 0
        for event in self._log.read(self._reference.stream, until=self._reference.through_seq):
            if not counts_as_evidence(event.type):
                continue
            if kept is not None:
                size += len(event.row.payload or "")
                kept.append(event.row)
                kept = kept if size <= _KEPT_BYTES else None
            yield event
        self._kept = None if kept is None else tuple(kept)


class _Recorded(Sequence[Event]):
    """Evidence events as a sequence that gives a fresh Event at every look."""

    __slots__ = ("_hidden", "_read")

    def __init__(self, read: Callable[[], Iterator[Event]], also: Collection[str]) -> None:
        self._read = read
        self._hidden = NAMED_ONLY.difference([also] if isinstance(also, str) else also)

    def __iter__(self) -> Iterator[Event]:
        return (event for event in self._read() if event.type not in self._hidden)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...

    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        if isinstance(index, slice):
            return list(self)[index]
        place = index if index >= 0 else len(self) + index
        found = next(islice(self, place, None), None) if place >= 0 else None
        if found is None:
            raise IndexError(index)
        return found


def _answers(payload: Mapping[str, Any], key: str) -> bool:
    """Whether this answers `key`. (A later schema version may have another shape: then it answers nothing.)"""
    return payload.get("key") == key and isinstance(payload.get("answer"), str)


def _last_counting(log: Log, stream: str, until: int | None) -> Event | None:
    """The last event that counts as evidence. Behind it may stand many grades: the way back goes in growing steps."""
    limit = 1
    while True:
        page = list(log.read(stream, until=until, limit=limit, backwards=True))
        for event in page:
            if counts_as_evidence(event.type):
                return event
        if len(page) < limit:
            return None
        until = page[-1].seq - 1
        limit = min(limit * 16, 256)
