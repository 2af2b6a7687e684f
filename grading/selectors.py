"""Selectors: which recorded events, or calls, a check is about; and a selection of them that grows event by event.

The parts apply in this order: type or call, trust, `latest_by`, `where`, `pick`. Payloads are opened only by what has
to: `latest_by`, `where`, the pairing of calls, and what the check itself takes.
"""

from bisect import insort
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from grading.budget import Work
from grading.calls import CALLED, RETURN_KEYS, RETURNED, Call, Pairing
from grading.course import Course
from grading.entries import Entry, Found, Outcome, Rivals, Unread, readable
from grading.errors import BrokenCode
from grading.operators import equal_key
from grading.paths import MISSING, Path
from grading.predicates import Asked, Mismatch, Predicate
from grading.trust import default_trust
from spine import Actor, Event, PayloadErased


class View(StrEnum):
    """Whose events a selector that names no actors looks at."""

    BELIEVED = "believed"
    """The actors who may write the type; of an unknown type, system and human."""
    EVERYONE = "everyone"


class Pick(StrEnum):
    FIRST = "first"
    LAST = "last"


@dataclass(slots=True)
class Context:
    """What the parts of a check under way share: the reference, the budget, and where the pass over the events is.

    Order goes by `place`, which counts every event: supplied evidence may hold the same seq twice. `ordinal` counts
    those that are evidence without being named.
    """

    expected: Mapping[str, Any] | None
    work: Work
    answers: Mapping[str, str] | None = None
    """Supplied answers, which hold instead of those that events give."""
    place: int = 0
    ordinal: int = 0
    course: Course | None = None
    """Kept only where a check asks for it."""
    looked_at: int = 0
    """How much was looked at to ask how the check stands: entries, steps and (hundreds of) bytes."""

    def follow(self) -> Course:
        """Where the run began and how far it has come, as the events are taken."""
        if self.course is None:
            self.course = Course()
        return self.course


Thing: TypeAlias = Event | Call
Keep: TypeAlias = Callable[[Thing, Work], Any]
"""What to keep of a selected thing. Raises Mismatch, PayloadErased, OutOfBudget."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Events of these types; or, with `tools`, calls of them (of any tool when empty), where trust is about the
    `tool.called`."""

    types: tuple[str, ...]
    tools: tuple[str, ...] | None = None
    trust: frozenset[Actor] | None = None
    latest_by: Path | None = None
    where: Predicate | None = None
    pick: Pick | None = None

    def actors(self, view: View) -> dict[str, frozenset[Actor]]:
        """Whose events are looked at, by type."""
        everyone = frozenset(Actor)
        chosen = {
            type: self.trust or (default_trust(type) if view is View.BELIEVED else everyone) for type in self.types
        }
        return chosen if self.tools is None else chosen | {RETURNED: frozenset({Actor.SYSTEM})}

    def __str__(self) -> str:
        what = " or ".join(self.types) if self.tools is None else " ".join(["call", *self._tools()])
        return f"{what} that fits" if self.where else what

    def _tools(self) -> list[str]:
        return ["of", " or ".join(self.tools)] if self.tools else []


def value_of(thing: Thing) -> Any:
    """The JSON value that predicates and `take` look at."""
    return thing.value if isinstance(thing, Call) else thing.payload


@dataclass(slots=True)
class Selection:
    """What a selector selects of the events so far: found entries, and in their places what could not be read.

    `enough`: how many outcomes, from the front, the check needs. Only what may still matter is remembered. It is put in
    order when it is asked for, and then only what was remembered since.
    """

    selector: Selector
    context: Context
    view: View
    keep: Keep | None = None
    enough: int | None = None
    types: frozenset[str] = field(init=False)
    _actors: dict[str, frozenset[Actor]] = field(init=False)
    _where: Asked | None = field(init=False)
    _items: dict[int, Outcome | None] = field(default_factory=dict)
    _keys: dict[int, object] = field(default_factory=dict)
    _newest: dict[object, int] = field(default_factory=dict)
    _final: list[int] = field(default_factory=list)
    found: Found = field(init=False)
    """What is selected so far."""
    _pairing: Pairing = field(init=False)
    _late_key: bool = field(init=False)

    def __post_init__(self) -> None:
        selector = self.selector
        self._actors = selector.actors(self.view)
        self._pairing = Pairing(suspicious=self.view is View.EVERYONE)
        self.types = frozenset(self._actors)
        self._where = None if selector.where is None else selector.where.bind(self.context.expected)
        if selector.pick is not None:
            self.enough = 1 if selector.pick is Pick.FIRST else None
        steps = () if selector.latest_by is None else selector.latest_by.steps
        self._late_key = selector.tools is not None and (not steps or steps[0] in RETURN_KEYS)
        rivals = Rivals(self._keys) if self._late_key and selector.latest_by is not None else None
        self.found = Found(self._items, rivals, last=selector.pick is Pick.LAST, enough=self.enough)

    def step(self, event: Event) -> None:
        """Take the next event; of types and actors that are not looked at, nothing is opened."""
        actors = self._actors.get(event.row.type)
        if actors is None:
            return
        if event.row.actor not in actors:
            if event.row.type == CALLED and self.selector.tools is not None:
                self._pairing.other(event)
            return
        if self.selector.tools is None:
            if not self._full():
                self._put(event, self.context.place, final=True)
        elif event.type == CALLED:
            if not self._full():
                self._call(event)
        else:
            for call in self._pairing.returned(event, self.context.place, self.context.ordinal):
                if call.called is not None or not self.selector.tools or event.payload["tool"] in self.selector.tools:
                    self._put(call, call.place, final=call.returned is not None)

    def outcomes(self) -> list[Outcome]:
        """What is selected so far, in order."""
        return self.found.outcomes()

    def entries(self) -> list[Entry]:
        """What is selected so far. Raises CheckBroken at the first of it that could not be read."""
        return [readable(outcome) for outcome in self.outcomes()]

    def _full(self) -> bool:
        return self.enough is not None and len(self._final) >= self.enough and self.selector.latest_by is None

    def _call(self, event: Event) -> None:
        selector = self.selector
        if event.erased:
            self._pairing.other(event)
            opens = selector.tools or selector.where or selector.latest_by or self.keep
            place = self.context.place
            outcome = _erased(place, event.seq) if opens else self._entry(event, place, None)
            self._remember(place, place, outcome, final=True)
        elif not selector.tools or event.payload.get("tool") in selector.tools:
            place = self.context.place
            self._put(self._pairing.call(event, place, self.context.ordinal), place, final=False)
        else:
            self._pairing.other(event)

    def _put(self, thing: Thing, place: int, *, final: bool) -> None:
        key: object = place
        outcome: Outcome | None
        try:
            if self.selector.latest_by is not None:
                found = self.selector.latest_by.find(value_of(thing))
                key = place if found is MISSING else equal_key(found, self.context.work)
            kept = self._considered(thing)
            outcome = None if kept is None else self._entry(thing, place, kept[0])
        except Mismatch as error:
            where = f"seq {event_of(thing).seq}: {error.path}: {error.what}"
            outcome = Unread(place, BrokenCode.WRONG_TYPE, where)
        except PayloadErased as error:
            outcome = _erased(place, error.seq)
        self._remember(place, key, outcome, final=final)

    def _remember(self, place: int, key: object, outcome: Outcome | None, *, final: bool) -> None:
        if self.selector.latest_by is None:
            self._settle(place, outcome, final=final)
        elif self._is_newest(key, place):
            self._items[place] = outcome
            self.found.touched.append(place)

    def _considered(self, thing: Thing) -> tuple[Any] | None:
        """None where `where` does not hold, else what is to be kept."""
        work = self.context.work
        if self._where is not None and not self._where(value_of(thing), work):
            return None
        return (None if self.keep is None else self.keep(thing, work),)

    def _entry(self, thing: Thing, place: int, kept: Any) -> Entry:
        event = event_of(thing)
        ordinal = thing.ordinal if isinstance(thing, Call) else self.context.ordinal
        seqs = thing.seqs if isinstance(thing, Call) else (event.seq,)
        return Entry(place, event.seq, seqs, ordinal, event.row.time, event.row.recorded_at, kept)

    def _is_newest(self, key: object, place: int) -> bool:
        """Whether this is the newest of its key, which then forgets the one before. An event without the path, or
        whose key could not be read, has its place for a key."""
        self._keys[place] = key
        if self._late_key:
            return True  # a key that comes with the return can change: who is newest is seen when asked
        before = self._newest.get(key, place)
        if before > place:
            del self._keys[place]
            return False
        self._newest[key] = place
        if before < place:
            del self._items[before], self._keys[before]
            self.found.touched.append(before)
            self.found.drop_gone()
        return True

    def _settle(self, place: int, outcome: Outcome | None, *, final: bool) -> None:
        """Remember an outcome, and forget what it makes irrelevant."""
        if self.selector.pick is Pick.LAST and self._final and place < self._final[-1]:
            return
        if outcome is None:
            self._forget([place])
            return
        self._items[place] = outcome
        self.found.touched.append(place)
        if not final or (self.enough is None and self.selector.pick is not Pick.LAST):
            return
        insort(self._final, place)
        if self.selector.pick is Pick.LAST:
            self._forget([at for at in self._items if at < place])
            self._final = [place]
        elif self.enough is not None and len(self._final) > self.enough:
            self._forget([self._final.pop()])

    def _forget(self, places: list[int]) -> None:
        for place in places:
            if self._items.pop(place, None) is not None:
                self.found.touched.append(place)
                self.found.drop_gone()


def event_of(thing: Thing) -> Event:
    """The event that it is named after: of a call, the `tool.called` where there is one."""
    return thing.event if isinstance(thing, Call) else thing


def _erased(place: int, seq: int) -> Unread:
    return Unread(place, BrokenCode.EVIDENCE_ERASED, f"seq {seq}")
