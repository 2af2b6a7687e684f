"""A ladder as a document: read from YAML or JSON text, or from the parsed document that the log keeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from grading.kinds.combination import DocumentCheck
from grading.kinds.reading import types_read
from grading.ladder_schema import json_schema
from grading.ladders import Ladder
from grading.reader.ladders import SEMANTICS, read_document
from grading.reader.nodes import check_value
from grading.reader.notes import notes
from grading.reader.place import Place
from grading.reader.text import parse
from grading.wording.sentences import paragraph
from spine.canonical import encode

__all__ = [
    "SEMANTICS",
    "LadderDocument",
    "definition_digest",
    "event_types",
    "explain_document",
    "json_schema",
    "ladder_from_document",
    "read_ladder",
]


@dataclass(frozen=True, slots=True)
class LadderDocument:
    """A ladder with the document it was read from. `definition` is that document's digest, `semantics` the number of
    the language it is written in, `notes` what its author should look at again, though it is allowed."""

    name: str
    version: str
    document: Mapping[str, Any] = field(repr=False)
    ladder: Ladder = field(repr=False)
    definition: str
    semantics: int
    notes: tuple[str, ...] = field(default=(), repr=False)


def read_ladder(text: str | bytes, source: str = "") -> LadderDocument:
    """The ladder of a YAML or JSON text. `source` is the file's name, for errors. Raises InvalidLadder with file, line
    and path."""
    parsed = parse(text, source)
    ladder = read_document(parsed.value, parsed.root)
    document = parsed.value
    remarks = tuple(notes(document, parsed.root))
    return LadderDocument(
        ladder.name, ladder.version, document, ladder, definition_digest(document), SEMANTICS, remarks
    )


def ladder_from_document(document: Mapping[str, Any]) -> Ladder:
    """The ladder of a parsed document. Raises InvalidLadder with the path."""
    root = Place()
    return read_document(check_value(document, root), root)


def definition_digest(document: Mapping[str, Any]) -> str:
    """Hex SHA-256 of the parsed document's RFC 8785 bytes, with no defaults filled in."""
    return sha256(encode(document, "document")).hexdigest()


def event_types(ladder: Ladder, document: Mapping[str, Any]) -> list[str]:
    """The types of the events that the ladder of a document reads, in order; the reference among them."""
    checks = [milestone.check for milestone in ladder.milestones]
    read = [types_read(check.node) for check in checks if isinstance(check, DocumentCheck)]
    reference = {"case.expected"} if _asks_the_reference(document) else set()
    return sorted(reference.union(*read))


def explain_document(document: Mapping[str, Any]) -> str:
    """What the ladder of a valid document asks, in one paragraph of plain words."""
    return paragraph(document)


def _asks_the_reference(part: Any) -> bool:
    if isinstance(part, list):
        return any(map(_asks_the_reference, part))
    if not isinstance(part, Mapping):
        return False
    return any(key in ("expected", "$expected") or _asks_the_reference(item) for key, item in part.items())
