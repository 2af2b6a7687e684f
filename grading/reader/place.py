"""Place: where in a document something stands, so that a refusal can say it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias

from grading.errors import InvalidLadder

Steps: TypeAlias = tuple[str | int, ...]

MAX_NODES = 10_000
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a document. `lines` holds the line of every node, and of none when the document came without a text."""

    source: str = ""
    lines: Mapping[Steps, int] = field(default_factory=dict)
    steps: Steps = ()

    def at(self, *steps: str | int) -> "Place":
        return Place(self.source, self.lines, self.steps + steps)

    def refusal(self, reason: str) -> InvalidLadder:
        """The error to raise: with file, line and path."""
        line = next((self.lines[up] for up in self._upwards() if up in self.lines), None)
        return InvalidLadder(reason, path=self.path, source=self.source, line=line)

    @property
    def path(self) -> str:
        """`milestones[2].check.compare.want`."""
        text = ""
        for step in self.steps:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text

    def _upwards(self) -> Iterable[Steps]:
        return (self.steps[:end] for end in range(len(self.steps), -1, -1))


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, or a list of what there is."""
    words = sorted(known)
    close = get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(words)}" if words else ""
