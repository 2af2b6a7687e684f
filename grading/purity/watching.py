"""Watched evidence: what a check is given in a trial, and what it changed of that.

A payload is changed when it no longer is what the stored text says; that is compared after every check, however it was
done. To name the line, the check is asked once more over frozen payloads.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from grading.evidence import Evidence, MapEvidence, StreamReference
from grading.prefixes import Prefixes
from grading.purity.samples import Sample
from spine import Event
from spine.canonical import decode
from spine.events import EventRow


class Changed(Exception):
    """A frozen payload was to be changed."""


class WatchedEvidence:
    """The evidence of a sample, fresh. `frozen`: payloads refuse to be changed, with Changed."""

    def __init__(self, sample: Sample, *, frozen: bool = False) -> None:
        events = [Event(row) for row in sample.rows]
        self._rows: Final = {row.seq: row for row in sample.rows}
        self._inner: Final[Evidence] = (
            _of_stream(events) if sample.answers is None else MapEvidence(events, sample.answers)
        )
        self._frozen = frozen
        self._handed: list[_WatchedEvent] = []
        self._references: list[tuple[Mapping[str, Any], str]] = []
        self._answers: list[tuple[Mapping[str, str], dict[str, str]]] = []
        self.reference: Final = self._inner.reference

    def events(self, *, also: Collection[str] = ()) -> Sequence[Event]:
        return _Watched(self, self._inner.events(also=also))

    def answer(self, key: str) -> str | None:
        return self._inner.answer(key)

    def answered_at(self, key: str) -> int | None:
        return self._inner.answered_at(key)

    def expected(self) -> Mapping[str, Any] | None:
        payload = self._inner.expected()
        if payload is None or not isinstance(payload, dict):
            return payload
        given: Mapping[str, Any] = freeze(payload) if self._frozen else payload
        self._references.append((given, repr(payload)))
        return given

    @property
    def supplied_answers(self) -> Mapping[str, str] | None:
        answers = self._inner.supplied_answers
        if answers is not None:
            answers = cast("Mapping[str, str]", freeze(dict(answers))) if self._frozen else answers
            self._answers.append((answers, dict(answers)))
        return answers

    def handed(self, event: Event) -> Event:
        """The event as it is handed out, kept in mind."""
        watched = _WatchedEvent(event.row, frozen=self._frozen)
        self._handed.append(watched)
        return watched

    def changed(self) -> str:
        """What was changed of all that was handed out; "" for nothing."""
        for event in self._handed:
            found = event.changed(self._rows)
            if found:
                return found
        if any(repr(_plain(given)) != said for given, said in self._references):
            return "the payload of case.expected"
        return "the answers" if any(dict(given) != said for given, said in self._answers) else ""


class _WatchedEvent(Event):
    """An event that knows what was given of it."""

    __slots__ = ("_frozen", "_given")

    def __init__(self, row: EventRow, *, frozen: bool) -> None:
        super().__init__(row)
        self._frozen = frozen
        self._given: Mapping[str, Any] | None = None

    @property
    def payload(self) -> Mapping[str, Any]:
        if self._given is None:
            given = super().payload
            self._given = freeze(given) if self._frozen else given
        return self._given

    def changed(self, rows: Mapping[int, EventRow]) -> str:
        row = rows.get(self.seq)
        if row is None or self.row != row:
            return f"an event near seq {self.seq}"
        if self._given is None or row.payload is None or repr(_plain(self._given)) == repr(decode(row.payload)):
            return ""
        return f"the payload of seq {self.seq}"


@dataclass(frozen=True, slots=True)
class _Streamed:
    """The evidence of a stream that is at hand, as far as its prefixes are made of it."""

    kept: Sequence[Event]
    reference: StreamReference
    supplied_answers: None = None

    def events(self, *, also: Collection[str] = ()) -> Sequence[Event]:
        return self.kept


def _of_stream(events: Sequence[Event]) -> Evidence:
    stream = events[0].stream if events else "run/sample"
    last = events[-1] if events else None
    reference = StreamReference(stream, 0 if last is None else last.seq, "" if last is None else last.digest)
    return Prefixes(cast("Evidence", _Streamed(events, reference))).at(len(events))


class _Watched(Sequence[Event]):
    """A sequence of events, each of which is kept in mind when it is looked at."""

    def __init__(self, evidence: WatchedEvidence, events: Sequence[Event]) -> None:
        self._evidence = evidence
        self._events = events

    def __iter__(self) -> Iterator[Event]:
        return map(self._evidence.handed, self._events)

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, index: Any) -> Any:
        found = self._events[index]
        return (
            [self._evidence.handed(one) for one in found] if isinstance(index, slice) else self._evidence.handed(found)
        )


def freeze(value: Any) -> Any:
    """The value with dicts and lists that raise Changed instead of changing; they are dicts and lists for all else."""
    if isinstance(value, dict):
        return _FrozenDict({key: freeze(item) for key, item in value.items()})
    return _FrozenList([freeze(item) for item in value]) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _refuse(*_: Any, **__: Any) -> Any:
    raise Changed


class _FrozenDict(dict[str, Any]):
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def __deepcopy__(self, memo: Any) -> Any:
        return _plain(self)


class _FrozenList(list[Any]):
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> Any:
        return list, (list(self),)

    def __deepcopy__(self, memo: Any) -> Any:
        return _plain(self)
