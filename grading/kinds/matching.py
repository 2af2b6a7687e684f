"""Matching: which of some wanted things can be paired off, each with one of its own."""

from collections.abc import Iterator, Sequence
from typing import Final

from grading.budget import Work


class Pairs:
    """A greatest pairing of things on the left with things on the right, grown one left thing at a time.

    A left thing that finds no partner, though all before it may take others, has none in any pairing that keeps them:
    so the first that is told so is the first of the list for which there is none.

    Source: augmenting paths, H. W. Kuhn, "The Hungarian method for the assignment problem", 1955.
    """

    def __init__(self, fits: Sequence[Sequence[int]], work: Work) -> None:
        """`fits[left]` are the places on the right that could be its partner. Each look at one is a step."""
        self._fits: Final = fits
        self._work: Final = work
        self._left_of: Final[dict[int, int]] = {}
        self._right_of: Final[dict[int, int]] = {}
        self.exhausted: Final[set[int]] = set()
        """The things on the left all of whose places were looked at: only theirs would others have followed."""

    def pair(self, left: int) -> bool:
        """Give it a partner, moving others where that helps; False when there is none for it."""
        reached: set[int] = set()
        path: list[tuple[int, Iterator[int]]] = [(left, iter(self._fits[left]))]
        while path:
            _, places = path[-1]
            place = next((place for place in places if self._is_new(place, reached)), None)
            if place is None:
                self.exhausted.add(path.pop()[0])
                continue
            reached.add(place)
            holder = self._left_of.get(place)
            if holder is None:
                self._give(place, [looking for looking, _ in path])
                return True
            path.append((holder, iter(self._fits[holder])))
        return False

    def taken(self) -> frozenset[int]:
        """The places on the right that have a partner."""
        return frozenset(self._left_of)

    def _is_new(self, place: int, reached: set[int]) -> bool:
        self._work.step()
        return place not in reached

    def _give(self, place: int, path: Sequence[int]) -> None:
        """Each along the path takes the place it was looking at, which the one behind it leaves."""
        for looking in reversed(path):
            left = self._right_of.get(looking)
            self._left_of[place], self._right_of[looking] = looking, place
            if left is not None:
                place = left
