"""What every node of a document has to keep to, whichever text it is read from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grading.errors import InvalidLadder
from grading.reader.place import MAX_DEPTH, MAX_NODES, Place, Steps
from spine.canonical import MAX_INTEGER


@dataclass(slots=True)
class Nodes:
    """Counts the nodes of a document as they are read, and notes their lines."""

    root: Place
    lines: dict[Steps, int]
    count: int = field(default=0)

    def enter(self, steps: Steps, line: int) -> None:
        """A node begins. Raises InvalidLadder when it is one too many, or too deep."""
        self.lines[steps] = line
        self.count += 1
        if self.count > MAX_NODES:
            raise self.refusal(steps, f"more than {MAX_NODES:,} values")
        if len(steps) >= MAX_DEPTH:
            raise self.refusal(steps[:8], f"nested deeper than {MAX_DEPTH} levels")

    def refusal(self, steps: Steps, reason: str, line: int | None = None) -> InvalidLadder:
        if line is None:
            return self.root.at(*steps).refusal(reason)
        return InvalidLadder(reason, path=self.root.at(*steps).path, source=self.root.source, line=line)

    def scalar(self, value: Any, steps: Steps, written: str = "") -> Any:
        """The value, which the text has as `written`. Raises InvalidLadder for what JSON, or everyone's reading of it,
        cannot hold."""
        if written and not isinstance(value, str):
            self.root.written[steps] = written
        if isinstance(value, int) and not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise self.refusal(steps, "an integer beyond ±(2^53 − 1); write it as text, in quotes")
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            raise self.refusal(steps, "a number too large for JSON; write it as text, in quotes")
        if isinstance(value, str):
            self.text(value, steps)
        return value

    def text(self, value: str, steps: Steps, line: int | None = None) -> None:
        """Raises InvalidLadder unless this is Unicode text without NUL."""
        if "\0" in value:
            raise self.refusal(steps, "holds a NUL character", line)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.refusal(steps, "holds half of a surrogate pair, which is no character", line) from None


def check_value(value: Any, root: Place) -> Any:
    """A document that came without a text, in plain JSON types. Raises InvalidLadder for what no text could hold."""
    nodes = Nodes(root, {})
    return _checked(value, (), nodes)


def _checked(value: Any, steps: Steps, nodes: Nodes) -> Any:
    nodes.enter(steps, 0)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise nodes.refusal(steps, f"the key {key!r} is not text")
            nodes.text(key, steps)
        return {key: _checked(item, (*steps, key), nodes) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_checked(item, (*steps, index), nodes) for index, item in enumerate(value)]
    if value is not None and not isinstance(value, bool | int | float | str):
        raise nodes.refusal(steps, f"{type(value).__name__} is not a JSON type")
    return nodes.scalar(value, steps)
