"""Definitions: what stands under `define`, and the bounds of a document with every `use` written out."""

from dataclasses import dataclass, field
from typing import Any

from grading.patterns import weight
from grading.reader.objects import text
from grading.reader.place import MAX_DEPTH, MAX_NODES, Place, nearest

MAX_PATTERNS = 500_000
_LITERALS = frozenset({"eq", "in", "json_schema", "not_json_schema"})
"""Keys whose value is data, in which a `use` is nothing special."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large and deep a part of a document is, written out."""

    nodes: int
    depth: int


@dataclass(slots=True)
class Definitions:
    """The parts a document names. Each may use others, but not itself."""

    parts: dict[str, Any] = field(default_factory=dict)
    place: Place = field(default_factory=Place)
    _sizes: dict[str, Size] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _patterns: int = 0

    def count_pattern(self, pattern: str, place: Place) -> None:
        """Raises InvalidLadder when the patterns of the document, as far as they are read, are too large together: each
        is kept compiled, and one of a hundred characters may take megabytes."""
        self._patterns += weight(pattern)
        if self._patterns > MAX_PATTERNS:
            raise place.refusal(f"the patterns of the document are larger than {MAX_PATTERNS:,} instructions together")

    def named(self, name: Any, place: Place) -> tuple[Any, Place]:
        """The part and where it stands. Raises InvalidLadder when it is not defined."""
        if text(name, place, "use") not in self.parts:
            raise place.refusal(f"nothing is defined as {name!r}{nearest(name, self.parts)}")
        return self.parts[name], self.place.at(name)

    def check_bounds(self, document: dict[str, Any], root: Place) -> None:
        """Raises InvalidLadder for a definition that uses itself, and for a document too large when written out."""
        sizes = [self._named_size(name) for name in self.parts]
        if sum(size.nodes for size in sizes) > MAX_NODES:
            raise self.place.refusal(f"more than {MAX_NODES:,} values with every use written out")
        size = self._size({key: value for key, value in document.items() if key != "define"})
        if size.nodes > MAX_NODES:
            raise root.refusal(f"more than {MAX_NODES:,} values with every use written out")
        if size.depth > MAX_DEPTH:
            raise root.refusal(f"nested deeper than {MAX_DEPTH} levels with every use written out")

    def _named_size(self, name: str) -> Size:
        if name in self._open:
            way = " uses ".join([*self._open[self._open.index(name) :], name])
            raise self.place.at(name).refusal(f"a definition may not use itself: {way}")
        if len(self._open) > MAX_DEPTH:
            raise self.place.at(name).refusal(f"definitions that use each other more than {MAX_DEPTH} deep")
        if name not in self._sizes:
            self._open.append(name)
            size = self._size(self.parts[name])
            self._open.pop()
            if size.nodes > MAX_NODES or size.depth > MAX_DEPTH:
                raise self.place.at(name).refusal(
                    f"more than {MAX_NODES:,} values, or deeper than {MAX_DEPTH} levels, with every use written out"
                )
            self._sizes[name] = size
        return self._sizes[name]

    def _size(self, value: Any) -> Size:
        if isinstance(value, dict):
            used = value.get("use")
            if len(value) == 1 and isinstance(used, str) and used in self.parts:
                size = self._named_size(used)
                return Size(size.nodes, size.depth + 1)  # a use is a level, so that a chain of them ends
            parts = [self._size(part) for key, part in value.items() if key not in _LITERALS]
            plain = len(value) - len(parts)
        elif isinstance(value, list):
            parts, plain = [self._size(part) for part in value], 0
        else:
            parts, plain = [], 0
        nodes = 1 + plain + sum(part.nodes for part in parts)
        return Size(nodes, 1 + max((part.depth for part in parts), default=0))
