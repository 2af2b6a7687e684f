"""A file that is one JSON object of runs by key: how InterCode and FireAct write their results."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from spine.importers.json_stream import JsonStream, Piece
from spine.importers.json_values import Unreadable, parse
from spine.importers.recording import MAX_RUN, Recording, Refusal, RunEvents
from spine.importers.shapes import a_name, an_object

Mapped = Callable[[str, Any], RunEvents]
"""The events of the run under this key. Raises Unreadable."""

LOGS: Final = "logs"
"""The member that holds the runs where the file begins with a `meta` about them (InterCode's plan-and-solve)."""
_META: Final = "meta"


def keyed_runs(path: Path, mapped: Mapped) -> Iterator[Recording | Refusal]:
    """The runs in order of the file, one in memory at a time; a bad one is refused by line and key. Raises OSError.

    Of two runs under one key the second is refused: nothing says which is the run of that name.
    """
    seen: set[str] = set()
    with path.open("rb") as file:
        stream = JsonStream(file, MAX_RUN)
        try:
            for key in _keys(stream):
                piece = stream.value()
                yield _run(key, piece, mapped) if key not in seen else _twice(key, piece)
                seen.add(key)
            stream.end()
        except Unreadable as problem:
            yield Refusal(problem.where, problem.reason)


def _keys(stream: JsonStream) -> Iterator[str]:
    """The keys of the runs. Before the next one its value has to be taken."""
    wrapped = False
    for number, key in enumerate(stream.members()):
        wrapped = wrapped or (number == 0 and key in (_META, LOGS))
        if not wrapped:
            yield key
        elif key == LOGS:
            yield from stream.members()
        else:
            stream.skip()


def _run(key: str, piece: Piece, mapped: Mapped) -> Recording | Refusal:
    where = f"line {piece.line}"
    if piece.data is None:
        return Refusal(where, f"a run of more than {MAX_RUN:,} bytes")
    try:
        where = f"{where}: run {a_name(key, 'the key of the run')}"
        return mapped(key, an_object(parse(piece.data), "the run")).recording(where)
    except Unreadable as problem:
        return Refusal(where, problem.reason)
    except RecursionError:
        return Refusal(where, "nested too deep")


def _twice(key: str, piece: Piece) -> Refusal:
    return Refusal(f"line {piece.line}", f"the key {key!a} stands twice in the file: only its first run is read")
