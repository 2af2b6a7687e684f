"""Series: things in order of their places, which stay in order as some come, go and change."""

from bisect import bisect_left, insort
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

T = TypeVar("T")
P = TypeVar("P", int, tuple[int, int])


class Series(Generic[T]):
    """One thing at a place, in order of places; those of one class are also told apart. A change costs no more than
    finding its place."""

    def __init__(self, apart: type) -> None:
        self._class: Final = apart
        self._at: Final[dict[int, T]] = {}
        self.places: Final[list[int]] = []
        """The places of all, ascending."""
        self.apart: Final[list[int]] = []
        """Of those that are told apart."""
        self.others: Final[list[int]] = []
        """Of all the others."""

    def __getitem__(self, place: int) -> T:
        return self._at[place]

    def __contains__(self, place: int) -> bool:
        return place in self._at

    def between(self, first: int, end: int) -> list[T]:
        """Those from the first of these numbers to before the second, in order."""
        return list(map(self._at.__getitem__, self.places[first:end]))

    def fill(self, things: Mapping[int, T], places: list[int]) -> None:
        """Put these at their places, which ascend, where there was nothing yet: all at once it costs less."""
        self._at.update(things)
        self.places.extend(places)
        apart = [place for place in places if isinstance(things[place], self._class)]
        self.apart.extend(apart)
        without = set(apart)
        self.others.extend([place for place in places if place not in without] if apart else places)

    def put(self, place: int, thing: T | None) -> T | None:
        """Put something there, or with None nothing, in place of what is returned."""
        before = self._at.get(place)
        if before is not None:
            remove(self._part(before), place)
        if thing is not None:
            self._at[place] = thing
            insert(self._part(thing), place)
            if before is None:
                insert(self.places, place)
        elif before is not None:
            del self._at[place]
            remove(self.places, place)
        return before

    def _part(self, thing: T) -> list[int]:
        return self.apart if isinstance(thing, self._class) else self.others


def insert(places: list[P], place: P) -> None:
    """Into a sorted list; at its end, where most go, without looking for the place."""
    if not places or places[-1] < place:
        places.append(place)
    else:
        insort(places, place)


def remove(places: list[P], place: P) -> None:
    """From a sorted list that holds it."""
    if places[-1] == place:
        places.pop()
    else:
        del places[bisect_left(places, place)]
