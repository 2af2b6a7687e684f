"""The part of YAML that ladder documents use, with a resolver of our own: the same text means the same everywhere.

Plain scalars: `null`, `~` or nothing; `true`, `false`; integers `-?(0|[1-9][0-9]*)`; decimal floats as in JSON. Every
other plain scalar is text (so `yes`, `on`, `0x1F`, `1_000`, `012`, `12:30` and `2024-01-01` are). No tags, anchors,
aliases, duplicate keys, directives or second document.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from grading.errors import InvalidLadder
from grading.reader.nodes import Nodes
from grading.reader.place import Place, Steps

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS: Final = {"null": None, "~": None, "": None, "true": True, "false": False}


def read_yaml(text: str, root: Place, lines: dict[Steps, int]) -> Any:
    """The value. Raises InvalidLadder with the line."""
    reading = _Reading(yaml.parse(text, Loader=yaml.SafeLoader), Nodes(root, lines))
    try:
        return reading.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        line = None if mark is None else mark.line + 1
        raise InvalidLadder(f"not YAML: {reason}", source=root.source, line=line) from None
    except (ValueError, OverflowError):
        raise InvalidLadder("not YAML: an escape that is no character", source=root.source) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"the character U+{ord(text[error.position]):04X} may not stand in a document"
        raise InvalidLadder(f"not YAML: {reason}", source=root.source, line=line) from None


def resolve(plain: str) -> bool | int | float | str | None:
    """What a plain scalar means."""
    if plain in _WORDS:
        return _WORDS[plain]
    if _INTEGER.fullmatch(plain):
        # So many digits are refused as too large; int() would refuse, or be slow, at some thousands.
        return int(plain) if len(plain) <= 20 else 2**63
    return float(plain) if _FLOAT.fullmatch(plain) else plain


class _Reading:
    def __init__(self, events: Iterator[yaml.Event], nodes: Nodes) -> None:
        self._events = events
        self._nodes = nodes

    def document(self) -> Any:
        next(self._events)  # the stream starts
        start = next(self._events)
        if isinstance(start, yaml.StreamEndEvent):
            raise self._nodes.refusal((), "the document is empty", 1)
        if isinstance(start, yaml.DocumentStartEvent) and (start.version or start.tags):
            raise self._nodes.refusal((), "a YAML directive; documents have none", _line(start))
        value = self._value(next(self._events), ())
        next(self._events)  # the document ends
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._nodes.refusal((), "a second document in the same text", _line(after))
        return value

    def _value(self, event: yaml.Event, steps: Steps) -> Any:
        self._nodes.enter(steps, _line(event))
        self._check_bare(event, steps)
        if isinstance(event, yaml.ScalarEvent):
            value = resolve(event.value) if event.style is None else event.value
            return self._nodes.scalar(value, steps, event.value)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(steps)
        return self._mapping(steps)

    def _check_bare(self, event: yaml.Event, steps: Steps) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise self._nodes.refusal(steps, "an alias (*name); use define and use instead", _line(event))
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            if event.anchor is not None:
                raise self._nodes.refusal(steps, "an anchor (&name); use define and use instead", _line(event))
            if event.tag is not None:
                raise self._nodes.refusal(steps, "a tag (!name); documents have none", _line(event))

    def _sequence(self, steps: Steps) -> list[Any]:
        found: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            found.append(self._value(event, (*steps, len(found))))
        return found

    def _mapping(self, steps: Steps) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, steps)
            if key in found:
                raise self._nodes.refusal((*steps, key), "this key stands here twice", _line(event))
            found[key] = self._value(next(self._events), (*steps, key))
            self._nodes.lines[*steps, key] = _line(event)  # an error is looked for at the key
        return found

    def _key(self, event: yaml.Event, steps: Steps) -> str:
        line = _line(event)
        self._check_bare(event, steps)
        if not isinstance(event, yaml.ScalarEvent):
            raise self._nodes.refusal(steps, "a key that is not text", line)
        if event.style is None and not isinstance(resolve(event.value), str):
            raise self._nodes.refusal(
                steps, f"the key {event.value or '(nothing)'} is not text: put it in quotes", line
            )
        self._nodes.text(event.value, steps, line)
        return str(event.value)


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else int(event.start_mark.line) + 1
