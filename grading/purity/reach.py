"""Reach: which of what the scan saw can be come to from the check of a milestone, by plain names.

An edge is a name that means one function for certain; a method of an object of unknown class is none. So what is
reached here is no accusation by likeness of names.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from grading.purity.impurities import SUSPICIOUS
from grading.purity.report import Finding
from grading.purity.source import Body, Place, Scanned, Seen


class Reach:
    """The modules that were read, as a graph."""

    def __init__(self, modules: Sequence[Scanned]) -> None:
        self._modules: Final = {one.module: one for one in modules}
        self._bodies: Final = [body for one in modules for body in one.bodies]
        self._by_path: Final = {body.path: body for body in self._bodies}
        self._by_place: Final[dict[Place, list[Body]]] = {}
        for body in self._bodies:
            self._by_place.setdefault(body.place, []).append(body)

    def seen_from(self, roots: Iterable[Place]) -> list[Seen]:
        """What stands in the functions that begin at these places, and in all that they come to."""
        waiting = [body for root in roots for body in self._by_place.get(root, ())]
        met: dict[str, Body] = {}
        while waiting:
            body = waiting.pop()
            if body.path in met:
                continue
            met[body.path] = body
            waiting.extend(filter(None, (self._find(name) for name in sorted(body.uses))))
        return [seen for body in met.values() for seen in body.seen]

    def findings(self, roots: Mapping[str, Sequence[Place]]) -> Iterator[Finding]:
        """What the scan says: refused where a milestone's check comes to it by names, else noted."""
        reached: set[Seen] = set()
        for milestone, places in roots.items():
            for seen in self.seen_from(places):
                reached.add(seen)
                refused = seen.impurity not in SUSPICIOUS and not seen.name.startswith(".")
                where = "" if not refused else ", found in its source"
                yield _finding(seen, milestone, refused, where)
        for body in self._bodies:
            for seen in body.seen:
                if seen not in reached and body.place.line and seen.impurity not in SUSPICIOUS:
                    yield _finding(seen, "", False, ", where no check is known to come")

    def _find(self, name: str) -> Body | None:
        """The body that a full name means, also where a module only passes it on."""
        for _ in range(10):
            found = self._by_path.get(name)
            if found is not None:
                return found
            module, _, attribute = name.rpartition(".")
            passed_on = self._modules[module].names.get(attribute, "") if module in self._modules else ""
            if not passed_on or passed_on == name:
                return None
            name = passed_on
        return None


def _finding(seen: Seen, milestone: str, refused: bool, where: str) -> Finding:
    return Finding(f"{seen.impurity} ({seen.name}){where}", milestone, seen.place.module, seen.place.line, refused)
