"""Strict JSON with lines: no duplicate keys, no NaN, no comments, nothing after the value."""

import re
from json import JSONDecodeError, decoder
from typing import Any, Final

from grading.reader.nodes import Nodes
from grading.reader.place import Place, Steps

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: Final = {"null": None, "true": True, "false": False}


def read_json(text: str, root: Place, lines: dict[Steps, int]) -> Any:
    """The value. Raises InvalidLadder with the line."""
    reading = _Reading(text, Nodes(root, lines))
    value = reading.value(())
    reading.skip()
    if reading.at < len(text):
        raise reading.wrong((), "something stands after the end of the document")
    return value


class _Reading:
    def __init__(self, text: str, nodes: Nodes) -> None:
        self.text = text
        self.at = 0
        self.nodes = nodes
        self._line = 1
        self._counted = 0

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def wrong(self, steps: Steps, reason: str) -> Exception:
        return self.nodes.refusal(steps, f"not JSON: {reason}", self.line())

    def line(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = max(self.at, self._counted)
        return self._line

    def value(self, steps: Steps) -> Any:
        self.skip()
        self.nodes.enter(steps, self.line())
        match self.text[self.at : self.at + 1]:
            case "{":
                return self._object(steps)
            case "[":
                return self._array(steps)
            case '"':
                return self.nodes.scalar(self._string(steps), steps)
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            return self.nodes.scalar(_number(number), steps, number.group())
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return self.nodes.scalar(value, steps, word)
        raise self.wrong(steps, "a value is missing here, or is none of JSON's")

    def _object(self, steps: Steps) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        while not self._closes("}", first=not found, steps=steps):
            self.skip()
            if not self.text.startswith('"', self.at):
                raise self.wrong(steps, "a key in double quotes is missing")
            line = self.line()
            key = self._string(steps)
            self.nodes.text(key, steps, line)
            if key in found:
                raise self.nodes.refusal((*steps, key), "this key stands here twice", line)
            self.skip()
            if not self.text.startswith(":", self.at):
                raise self.wrong((*steps, key), "a colon is missing after the key")
            self.at += 1
            found[key] = self.value((*steps, key))
        return found

    def _array(self, steps: Steps) -> list[Any]:
        self.at += 1
        found: list[Any] = []
        while not self._closes("]", first=not found, steps=steps):
            found.append(self.value((*steps, len(found))))
        return found

    def _closes(self, bracket: str, *, first: bool, steps: Steps) -> bool:
        self.skip()
        if self.text.startswith(bracket, self.at):
            self.at += 1
            return True
        if not first:
            if not self.text.startswith(",", self.at):
                raise self.wrong(steps, f"a comma or {bracket} is missing")
            self.at += 1
        return False

    def _string(self, steps: Steps) -> str:
        try:
            text: str
            text, self.at = decoder.scanstring(self.text, self.at + 1, True)  # type: ignore[attr-defined]  # since 2.6
        except JSONDecodeError as error:
            self.at = error.pos
            raise self.wrong(steps, error.msg.lower()) from None
        return text


def _number(found: re.Match[str]) -> int | float:
    text = found.group()
    if found.group(1) or found.group(2):
        return float(text)
    # So many digits are refused as too large; int() would refuse, or be slow, at some thousands.
    return int(text) if len(text) <= 20 else 2**63
