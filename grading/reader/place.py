"""Place: where in a document something stands, so that a refusal can say it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from grading.errors import InvalidLadder
from grading.suggestions import closest

Steps: TypeAlias = tuple[str | int, ...]

MAX_NODES = 10_000
MAX_DEPTH = 63  # the log takes 64, and registering a document nests it once more


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a document. `lines` holds the line of every node, and of none when the document came without a text;
    `written` how the text writes what is no text: `1.10` stays that, and is not 1.1."""

    source: str = ""
    lines: Mapping[Steps, int] = field(default_factory=dict)
    steps: Steps = ()
    written: dict[Steps, str] = field(default_factory=dict)

    def at(self, *steps: str | int) -> "Place":
        return Place(self.source, self.lines, self.steps + steps, self.written)

    def as_written(self, value: object) -> str:
        """The value as the text of the document has it."""
        return self.written.get(self.steps, str(value))

    def refusal(self, reason: str) -> InvalidLadder:
        """The error to raise: with file, line and path."""
        line = next((self.lines[up] for up in self._upwards() if up in self.lines), None)
        return InvalidLadder(reason, path=self.path, source=self.source, line=line)

    def message(self, reason: str) -> str:
        """The reason with file, line and path."""
        return str(self.refusal(reason))

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
    words = sorted(map(str, known))  # the text of an enum's word, not how Python shows it
    close = closest(word, words)
    if close is not None:
        return f"; did you mean {close!r}?"
    return f"; known are {', '.join(words)}" if words else ""
