"""Mishaps: the same run with events dropped, in another order, or there twice; which ones is fixed by the run alone.

A call and its return (whatever shares a `call_id` and a tool) keep together and in their order, for they are one thing
to a check. The reference stays where it is: it is no part of what the agent did.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, islice
from typing import Final, TypeAlias

from grading.calls import CALLED, RETURNED
from grading.polarity import Change
from spine import Event
from spine.events import EventRow

MAX_MISHAPS: Final = 200
_MIN_MISHAPS: Final = 12
_MAX_EVENTS: Final = 200_000
"""How many events the mishaps of one run may have together, unless that would be fewer than _MIN_MISHAPS."""
_PINNED: Final = ("case.expected",)

Unit: TypeAlias = tuple[int, ...]
"""The indexes of the events that keep together, ascending."""


@dataclass(frozen=True, slots=True)
class Mishap:
    """What befell a run. `seqs` are those of the events it befell, as they stand on the log."""

    change: Change
    seqs: tuple[int, ...]
    rows: tuple[EventRow, ...]


def mishaps(rows: Sequence[EventRow]) -> Iterator[Mishap]:
    """At most 200 of them, fewer for a long run: the three changes in turn, each at places that the leaves of the run
    choose."""
    if not rows:
        return
    limit = min(MAX_MISHAPS, max(_MIN_MISHAPS, _MAX_EVENTS // len(rows)))
    units = _units(rows)
    free = [unit for unit in units if rows[unit[0]].type not in _PINNED]
    if free:
        kinds = (_dropped(rows, free), _reordered(rows, units, free, limit), _duplicated(rows, free))
        yield from islice(_in_turn(*kinds), limit)


def renumbered(rows: Sequence[EventRow]) -> tuple[EventRow, ...]:
    """The rows as a stream would have them: seqs dense from 1, times of recording that never go back."""
    latest = 0
    numbered: list[EventRow] = []
    for seq, row in enumerate(rows, start=1):
        latest = max(latest, row.recorded_at)
        numbered.append(row._replace(position=seq, seq=seq, recorded_at=latest))
    return tuple(numbered)


def _units(rows: Sequence[EventRow]) -> list[Unit]:
    """What keeps together, by its first event."""
    found: dict[object, list[int]] = {}
    for index, row in enumerate(rows):
        found.setdefault(_key(row, index), []).append(index)
    return [tuple(unit) for unit in found.values()]


def _key(row: EventRow, index: int) -> object:
    if row.type in _PINNED:
        return row.type
    if row.type in (CALLED, RETURNED) and row.payload is not None:
        payload: Mapping[str, object] = Event(row).payload
        return str(payload.get("call_id")), str(payload.get("tool"))
    return index


def _dropped(rows: Sequence[EventRow], free: Sequence[Unit]) -> Iterator[Mishap]:
    """All of a type; the end, from a half on; the beginning; then one by one."""
    half = len(free) // 2
    types = sorted({rows[unit[0]].type for unit in free})
    several = [[unit for unit in free if rows[unit[0]].type == type] for type in types]
    for gone in chain(several, [free[half:], free[:half]], ([unit] for unit in _chosen(rows, free, "drop"))):
        lost = {index for unit in gone for index in unit}
        kept = [row for index, row in enumerate(rows) if index not in lost]
        yield _mishap(Change.DROPPED, rows, lost, kept)


def _reordered(rows: Sequence[EventRow], units: Sequence[Unit], free: Sequence[Unit], limit: int) -> Iterator[Mishap]:
    """Backwards; one moved to the front, and to the end; then all shuffled."""
    yield _mishap(Change.REORDERED, rows, chain(*free), _laid(rows, units, free[::-1]))
    for unit in _chosen(rows, free, "move"):
        rest = [other for other in free if other != unit]
        yield _mishap(Change.REORDERED, rows, unit, _laid(rows, units, [unit, *rest]))
        yield _mishap(Change.REORDERED, rows, unit, _laid(rows, units, [*rest, unit]))
    for number in range(limit):
        yield _mishap(Change.REORDERED, rows, chain(*free), _laid(rows, units, _chosen(rows, free, f"mix {number}")))


def _duplicated(rows: Sequence[EventRow], free: Sequence[Unit]) -> Iterator[Mishap]:
    """Everything twice over; then one by one, right behind itself and at the end."""
    whole = [unit for unit in free if rows[unit[0]].type != RETURNED]  # a return alone would come to answer a call
    yield _mishap(Change.DUPLICATED, rows, chain(*whole), [*rows, *(rows[index] for unit in whole for index in unit)])
    for unit in _chosen(rows, whole, "repeat"):
        again = [rows[index] for index in unit]
        for place in (unit[-1] + 1, len(rows)):
            yield _mishap(Change.DUPLICATED, rows, unit, [*rows[:place], *again, *rows[place:]])


def _chosen(rows: Sequence[EventRow], units: Sequence[Unit], purpose: str) -> list[Unit]:
    """The units in an order that looks like chance and is the same wherever the run is."""

    def draw(unit: Unit) -> bytes:
        return sha256(purpose.encode() + rows[unit[0]].leaf + str(unit[0]).encode()).digest()

    return sorted(units, key=draw)


def _laid(rows: Sequence[EventRow], units: Sequence[Unit], order: Sequence[Unit]) -> list[EventRow]:
    """The rows with the units in this order, those that are pinned first."""
    moved = set(order)
    return [rows[index] for unit in chain((unit for unit in units if unit not in moved), order) for index in unit]


def _mishap(change: Change, rows: Sequence[EventRow], befell: Iterable[int], after: Sequence[EventRow]) -> Mishap:
    return Mishap(change, tuple(rows[index].seq for index in sorted(befell)), renumbered(after))


def _in_turn(*kinds: Iterator[Mishap]) -> Iterator[Mishap]:
    """One of each, until none has any left."""
    waiting = list(kinds)
    while waiting:
        for kind in list(waiting):
            found = next(kind, None)
            if found is None:
                waiting.remove(kind)
            else:
                yield found
