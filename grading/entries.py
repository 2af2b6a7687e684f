"""Entries: what a selection found, in order; and what of it has changed since it was asked for."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from grading.errors import BrokenCode, CheckBroken
from grading.series import Series, insert, remove


@dataclass(frozen=True, slots=True)
class Entry:
    """Something selected: where it stands, all seqs that tell of it, and what the check wanted kept of it."""

    place: int
    seq: int
    seqs: tuple[int, ...]
    ordinal: int
    time: int
    recorded_at: int
    kept: Any = None


@dataclass(frozen=True, slots=True)
class Unread:
    """Stands where something could not be read: whether it would be selected is not known."""

    place: int
    code: BrokenCode
    where: str

    def error(self) -> CheckBroken:
        return CheckBroken(self.code, self.where)


Outcome: TypeAlias = Entry | Unread


class Changed(NamedTuple):
    """What stood at a place of a selection, and what stands there now; None: nothing that is selected."""

    place: int
    before: Outcome | None
    after: Outcome | None


def readable(outcome: Outcome) -> Entry:
    """The entry; raises what stands in its place."""
    if isinstance(outcome, Unread):
        raise outcome.error()
    return outcome


_ROOM: Final = 4096
"""So many places may wait to be put in order before those that no longer matter are dropped."""


class Found:
    """Outcomes in order of place; of them, selected are all, or the `last`, or the first `enough`.

    They are put in order when they are asked for, and then only those that were touched since.
    """

    def __init__(
        self, items: Mapping[int, Outcome | None], rivals: "Rivals | None", *, last: bool, enough: int | None
    ) -> None:
        """`items` are the outcomes as they are now, by place. With `rivals`, only the newest of each key counts."""
        self._items: Final = items
        self._rivals: Final = rivals
        self._last: Final = last
        self._enough: Final = enough
        self._series: Final[Series[Outcome]] = Series(Unread)
        self.touched: Final[list[int]] = []
        """The places at which something came, went or changed since it was asked for."""
        self._room = _ROOM
        self._journal: list[Changed] | None = None
        self._told: Outcome | None = None
        self._synced = 0

    def outcomes(self) -> list[Outcome]:
        """What is selected so far, in order."""
        first, end = self._span()
        return self._series.between(first, end)

    def after(self, place: int) -> Outcome | None:
        """The first of them behind a place."""
        first, end = self._span()
        at = max(first, bisect_right(self._series.places, place))
        return self._series[self._series.places[at]] if at < end else None

    def count(self) -> int:
        """How many of them are entries."""
        first, end = self._span()
        apart = self._series.apart
        if first == end or not apart:
            return end - first
        places = self._series.places
        return end - first - (bisect_right(apart, places[end - 1]) - bisect_left(apart, places[first]))

    def first_entry(self) -> Entry | None:
        """The first that could be read."""
        found = self._first(self._series.others)
        return found if isinstance(found, Entry) else None

    def first_unread(self) -> Unread | None:
        """The first that could not be read."""
        found = self._first(self._series.apart)
        return found if isinstance(found, Unread) else None

    def check_readable(self) -> None:
        """Raises CheckBroken where one of them could not be read, for the first."""
        unread = self.first_unread()
        if unread is not None:
            raise unread.error()

    def changes(self) -> list[Changed]:
        """How what is selected differs from when this was asked last; at first, from nothing. An entry of which the
        same is kept as before is no change. For one that asks, and not for selections of so many as are `enough`."""
        if self._last or self._enough == 1:
            now = next(iter(self.outcomes()), None)
            before, self._told = self._told, now
            return [] if _alike(before, now) else _replaced(before, now)
        if self._journal is None:
            found = self.outcomes()
            self._journal = []
            return [Changed(outcome.place, None, outcome) for outcome in found]
        self._sync()
        journal, self._journal = self._journal, []
        return journal

    @property
    def version(self) -> int:
        """Another number whenever something else may be selected."""
        self._sync()
        return self._synced

    def _span(self) -> tuple[int, int]:
        """Where, in the series, what is selected begins and ends."""
        self._sync()
        count = len(self._series.places)
        if self._last:
            return max(0, count - 1), count
        return 0, count if self._enough is None else min(count, self._enough)

    def _first(self, places: list[int]) -> Outcome | None:
        first, end = self._span()
        at = 0 if first == 0 else bisect_left(places, self._series.places[first])
        if first == end or at == len(places) or places[at] > self._series.places[end - 1]:
            return None
        return self._series[places[at]]

    def drop_gone(self) -> None:
        """Forget, now and then, what came and went since it was asked for: else that would add up."""
        if len(self.touched) > self._room:
            self.touched[:] = [at for at in set(self.touched) if at in self._items or at in self._series]
            self._room = max(_ROOM, 2 * len(self.touched))

    def _sync(self) -> None:
        if not self.touched:
            return
        touched = self.touched[:]
        self.touched.clear()
        self._synced += 1
        if len(touched) > 1:
            if self._fill():
                return
            touched = sorted(set(touched))
        for place in touched:
            outcome = self._items.get(place)
            if self._rivals is None:
                self._put_in_order(place, outcome)
            else:
                for rival, newest in self._rivals.put(place):
                    self._put_in_order(rival, self._items[rival] if newest else None)

    def _fill(self) -> bool:
        """All at once, where this is asked for the first time."""
        if self._series.places or self._rivals is not None or self._journal is not None:
            return False
        items = {place: outcome for place, outcome in self._items.items() if outcome is not None}
        self._series.fill(items, sorted(items))
        return True

    def _put_in_order(self, place: int, outcome: Outcome | None) -> None:
        before = self._series.put(place, outcome)
        if self._journal is not None and not _alike(before, outcome):
            self._journal.append(Changed(place, before, outcome))


class Rivals:
    """Places by a key that can change, of which the last is the newest of its key."""

    def __init__(self, keys: Mapping[int, object]) -> None:
        """`keys` are the keys that the places have now."""
        self._now: Final = keys
        self._keys: Final[dict[int, object]] = {}
        self._places: Final[dict[object, list[int]]] = {}

    def put(self, place: int) -> list[tuple[int, bool]]:
        """Take the key that a place has now; the places for which that matters, and whether they are the newest of
        theirs."""
        told: list[tuple[int, bool]] = []
        key, before = self._now[place], self._keys.get(place, _NONE)
        if before != key:
            if before is not _NONE:
                left = self._places[before]
                remove(left, place)
                told.extend([(left[-1], True)] if left else [])
            self._keys[place] = key
            insert(self._places.setdefault(key, []), place)
        rivals = self._places[key]
        told.append((place, rivals[-1] == place))
        if rivals[-1] == place and len(rivals) > 1:
            told.append((rivals[-2], False))
        return told


_NONE: Final = object()


def _alike(before: Outcome | None, after: Outcome | None) -> bool:
    if isinstance(before, Entry) and isinstance(after, Entry):
        return before.place == after.place and bool(before.kept == after.kept)
    return before == after


def _replaced(before: Outcome | None, after: Outcome | None) -> list[Changed]:
    if before is not None and after is not None and before.place == after.place:
        return [Changed(after.place, before, after)]
    gone = [] if before is None else [Changed(before.place, before, None)]
    return gone if after is None else [*gone, Changed(after.place, None, after)]
