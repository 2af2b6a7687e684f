"""What a rung's detail names of the reference (`actions.0`), by value, and how what was done differs from it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from grading.cli.text import clipped, compact
from grading.gradebook import Gradebook
from grading.rows import GradeRow
from spine import Actor, Event

_VALUE: Final = 240
_PART: Final = 60
_PARTS: Final = 5
_NOTHING: Final = object()
_PLACE: Final = re.compile(r"\b([a-z]\w*)\.(\d{1,6})\b")


@dataclass(frozen=True, slots=True)
class Named:
    """A value of the reference, and its place there. Grades keep places only, since values can be erased."""

    place: str
    value: Any

    def __str__(self) -> str:
        return f"expected {self.place}: {clipped(compact(self.value), _VALUE)}"


def reference(gradebook: Gradebook, grade: GradeRow) -> Event | None:
    """The reference that the grade went by: the last `case.expected` of its evidence that the system wrote."""
    if grade.through_seq is None:
        return None
    found = gradebook.events(grade.stream, until=grade.through_seq, types=["case.expected"])
    return next((event for event in reversed(list(found)) if event.actor is Actor.SYSTEM), None)


def named(detail: str, expected: Event | None) -> Iterator[Named]:
    """The values of the reference that the detail names."""
    if expected is None or expected.erased:
        return
    for key, at in (match.groups() for match in _PLACE.finditer(detail)):
        values = expected.payload.get(key)
        if isinstance(values, list) and int(at) < len(values):
            yield Named(f"{key}.{at}", values[int(at)])


def departures(wanted: Named, events: Sequence[Event]) -> Iterator[str]:
    """How the calls of the tool that was wanted, among these events, differ from what was wanted."""
    if not isinstance(wanted.value, dict):
        return
    for event in events:
        if event.type != "tool.called" or event.erased or event.payload.get("tool") != wanted.value.get("tool"):
            continue
        parts = list(_differences(wanted.value.get("arguments"), event.payload.get("arguments"), ""))
        more = f"; and {len(parts) - _PARTS} more" if len(parts) > _PARTS else ""
        if parts:
            yield f"seq {event.seq} differs from {wanted.place}: {'; '.join(parts[:_PARTS])}{more}"


def _differences(wanted: Any, got: Any, path: str) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key in dict.fromkeys((*wanted, *got)):
            yield from _differences(wanted.get(key, _NOTHING), got.get(key, _NOTHING), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for at, pair in enumerate(zip(wanted, got, strict=True)):
            yield from _differences(*pair, f"{path}.{at}")
    elif wanted != got:
        yield f"{path.removeprefix('.')} is {_short(got)}, expected {_short(wanted)}"


def _short(value: Any) -> str:
    return "nothing" if value is _NOTHING else clipped(compact(value), _PART)
