"""The text of a document, YAML or JSON, as a JSON value with the line of every node."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from grading.errors import InvalidLadder
from grading.reader.json_text import read_json
from grading.reader.place import Place, Steps
from grading.reader.yaml_text import read_yaml

MAX_TEXT: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Parsed:
    """The value, and its place: where each of its nodes stands."""

    value: Any
    root: Place

    @property
    def lines(self) -> Mapping[Steps, int]:
        return self.root.lines


def parse(text: str | bytes, source: str = "") -> Parsed:
    """The document. One whose first character that is no white space is `{` is strict JSON, any other is YAML."""
    decoded = _decoded(text, source)
    lines: dict[Steps, int] = {}
    root = Place(source, lines)
    read = read_json if decoded.lstrip().startswith("{") else read_yaml
    return Parsed(read(decoded, root, lines), root)


def _decoded(text: str | bytes, source: str) -> str:
    if len(text) > MAX_TEXT:
        raise InvalidLadder(f"a document of more than {MAX_TEXT // 1024 // 1024} MiB", source=source)
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise InvalidLadder(f"byte {error.start} is not UTF-8", source=source, line=line) from None
    for unwanted, name in (("\ufeff", "a byte order mark: save the file without it"), ("\0", "a NUL character")):
        at = text.find(unwanted)
        if at == 0 or (at > 0 and unwanted == "\0"):
            raise InvalidLadder(f"holds {name}", source=source, line=text.count("\n", 0, at) + 1)
    return text
