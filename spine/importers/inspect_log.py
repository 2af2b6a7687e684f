"""Inspect logs: `.eval` archives and EvalLog JSON, versions 1 to 4, by their content."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from spine.importers.inspect_archive import read_archive
from spine.importers.inspect_sample import FORMAT, MAPPING, LogHeader, log_header, recorded
from spine.importers.json_stream import JsonStream
from spine.importers.json_values import Unreadable, parse
from spine.importers.recording import MAX_RUN, Recording, Refusal
from spine.importers.sniffing import keys_of_first_object

_ZIP: Final = b"PK\x03\x04"
_FIRST_MEMBERS: Final = ("_journal/", "samples/", "header.json", "summaries.json", "reductions.json")
_HEADER_KEYS: Final = frozenset({"version", "status", "eval", "plan"})


class InspectLog:
    """Importer of Inspect logs: a run for each sample and epoch, named after the evaluation in the log."""

    format: Final = FORMAT
    mapping: Final = MAPPING

    def recognises(self, head: bytes) -> bool:
        """An archive whose first member is one of theirs, or a JSON object that begins as an EvalLog does."""
        if head.startswith(_ZIP):
            return _first_member(head).startswith(_FIRST_MEMBERS)
        if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
            return False
        keys = keys_of_first_object(head)
        return "version" in keys and ("eval" in keys or keys == ["version", "status"])

    def read(self, path: Path, prefix: str) -> Iterator[Recording | Refusal]:
        """Its samples in order of the file; a bad one is refused by line or member."""
        with path.open("rb") as file:
            try:
                if file.read(len(_ZIP)) == _ZIP:
                    yield from read_archive(file)
                else:
                    yield from _read_json(file)
            except Unreadable as problem:
                yield Refusal(problem.where or "the file", problem.reason)


def _first_member(head: bytes) -> str:
    """The name in the first local header of a zip."""
    if len(head) < 30:
        return ""
    (length,) = struct.unpack_from("<H", head, 26)
    return head[30 : 30 + length].decode("utf-8", "replace")


def _read_json(file: BinaryIO) -> Iterator[Recording | Refusal]:
    # The header is read first, wherever it stands; in a cut-off file the samples before the cut are good.
    header = _json_header(file)
    file.seek(0)
    stream = JsonStream(file, MAX_RUN)
    for key in stream.members():
        if key != "samples" or stream.peek() != "[":
            stream.skip()
            continue
        for piece in stream.items():
            where = f"line {piece.line}"
            if piece.data is None:
                yield Refusal(where, f"a sample of more than {MAX_RUN:,} bytes")
            else:
                yield recorded(piece.data, header, where)
    stream.end()


def _json_header(file: BinaryIO) -> LogHeader:
    file.seek(0)
    stream = JsonStream(file, MAX_RUN)
    found: dict[str, Any] = {}
    cut: Unreadable | None = None
    try:
        for key in stream.members():
            if key in _HEADER_KEYS:
                found[key] = _parsed(stream)
            else:
                stream.skip()
    except Unreadable as problem:
        cut = problem
    if cut is not None and "eval" not in found:
        raise cut
    return log_header(found)


def _parsed(stream: JsonStream) -> Any:
    piece = stream.value()
    if piece.data is None:
        raise Unreadable(f"a value of more than {MAX_RUN:,} bytes", f"line {piece.line}")
    try:
        return parse(piece.data)
    except Unreadable as problem:
        raise Unreadable(problem.reason, f"line {piece.line}") from None
