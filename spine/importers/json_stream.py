"""A JSON file read piece by piece in constant memory, as bytes of whole values with the line they begin at.

A streaming parser would refuse NaN, which Inspect writes, and lose its place at the first bad value. Here only the
brackets and strings are followed; a value is parsed by whoever takes it, and a bad one does not hide the next.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from spine.importers.json_values import Unreadable, parse

CHUNK: Final = 1024 * 1024
_LONGEST_WORD: Final = 1024 * 1024  # of a key, and of a number
_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_STRUCTURE: Final = re.compile(rb'["{}\[\]]')
_IN_STRING: Final = re.compile(rb'["\\]')
_SCALAR: Final = re.compile(rb"[^,\]}\s]*")
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one JSON value, and the line it begins at. None: it was larger than allowed, and was passed over."""

    line: int
    data: bytes | None


class JsonStream:
    """A place in a JSON file, moving forward. Everything raises Unreadable with the line as `where`."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        self._limit = limit
        self._buffer = bytearray()
        self._at = 0
        self._ended = False
        self._line = 1
        self._more()
        if self._buffer.startswith(_BOM):
            self._at = len(_BOM)

    @property
    def where(self) -> str:
        """The line of this place."""
        return f"line {self._line}"

    def peek(self) -> str:
        """The next character that is not space; empty at the end of the file."""
        while True:
            found = _SPACE.match(self._buffer, self._at)
            self._move(found.end() if found else self._at)
            if self._at < len(self._buffer):
                return chr(self._buffer[self._at])
            if not self._more():
                return ""

    def enter(self) -> None:
        """Step inside the array that begins here, to its first value."""
        self._take("[")

    def items(self) -> Iterator[Piece]:
        """The values of the array that begins here."""
        yield from (self.value() for _ in self._separated("[", "]"))

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here. Before the next key its value has to be taken or skipped."""
        for _ in self._separated("{", "}"):
            key = parse(self._next(_LONGEST_WORD).data or b"") if self.peek() == '"' else None
            if not isinstance(key, str):
                raise Unreadable("not JSON: a key is expected", self.where)
            self._take(":")
            yield key

    def value(self) -> Piece:
        """The value that begins here."""
        return self._next(self._limit)

    def skip(self) -> None:
        """Pass over the value that begins here, however large."""
        self._next(0)

    def end(self) -> None:
        """The file ends here."""
        if self.peek():
            raise Unreadable("something follows the end of the JSON value", self.where)

    def _separated(self, opening: str, closing: str) -> Iterator[None]:
        self._take(opening)
        more = self.peek() != closing
        while more:
            yield
            more = self.peek() == ","
            if more:
                self._take(",")
        self._take(closing)

    def _take(self, character: str) -> None:
        found = self.peek()
        if found != character:
            reason = f"not JSON: {character!r} is expected, not {found!a}" if found else "the file ends too early"
            raise Unreadable(reason, self.where)
        self._move(self._at + 1)

    def _next(self, limit: int) -> Piece:
        first, line = self.peek(), self._line
        if not first:
            raise Unreadable("the file ends too early", self.where)
        scan = self._brackets if first in '{["' else self._scalar
        return Piece(line, scan(limit, line))

    def _scalar(self, limit: int, line: int) -> bytes:
        while True:
            found = _SCALAR.match(self._buffer, self._at)
            end = found.end() if found else self._at
            if end < len(self._buffer) or end - self._at > _LONGEST_WORD or not self._more():
                break
        if end == self._at or end - self._at > _LONGEST_WORD:
            raise Unreadable("not JSON: a value is expected", f"line {line}")
        return self._taken(end - self._at)

    def _brackets(self, limit: int, line: int) -> bytes | None:
        """A string, or everything up to the bracket that closes the one that stands here."""
        in_string, depth, kept = self._buffer[self._at] == _QUOTE, 0, True
        offset = 1 if in_string else 0
        while True:
            found = (_IN_STRING if in_string else _STRUCTURE).search(self._buffer, self._at + offset)
            offset = (found.start() if found else len(self._buffer)) - self._at
            if offset > limit:  # nobody will have it: only its end matters from here on
                self._move(self._at + offset)
                offset, kept = 0, False
            here = self._at + offset
            escapes = here < len(self._buffer) and self._buffer[here] == _BACKSLASH
            if here + escapes >= len(self._buffer):
                if not self._more():
                    raise Unreadable("the file ends inside the value that begins here", f"line {line}")
                continue
            offset += 1 + escapes
            if escapes:
                continue
            if self._buffer[here] == _QUOTE:
                in_string = not in_string
            else:
                depth += 1 if self._buffer[here] in b"{[" else -1
            if depth <= 0 and not in_string:
                data = self._taken(offset)
                return data if kept and len(data) <= limit else None

    def _taken(self, length: int) -> bytes:
        data = bytes(self._buffer[self._at : self._at + length])
        self._move(self._at + length)
        return data

    def _move(self, to: int) -> None:
        self._line += self._buffer.count(b"\n", self._at, to)
        self._at = to

    def _more(self) -> bool:
        """Read on; what is before this place is forgotten."""
        chunk = b"" if self._ended else self._file.read(CHUNK)
        self._ended = not chunk
        del self._buffer[: self._at]
        self._at = 0
        self._buffer += chunk
        return bool(chunk)
