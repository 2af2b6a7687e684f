"""What the first bytes of a JSON file tell: the keys of its first object, as far as they were read."""

import io
from typing import Final

from spine.importers.json_stream import JsonStream
from spine.importers.json_values import Unreadable

HEAD: Final = 256 * 1024
"""How many bytes of a file are looked at to recognise it."""


def keys_of_first_object(head: bytes) -> list[str]:
    """The keys of the object the file is, or of the first object of the list it is; none for anything else.

    The head may end anywhere: the last key may be one whose value is cut off.
    """
    found: list[str] = []
    stream = JsonStream(io.BytesIO(head), 0)
    try:
        if stream.peek() == "[":
            stream.enter()
        _collect(stream, found)
    except Unreadable:
        pass
    return found


def keys_of_first_member(head: bytes, inside: str = "") -> list[str]:
    """The keys of the first object in the object that the file is; with `inside`, in its member of that name.

    None for anything else. The head may end anywhere.
    """
    found: list[str] = []
    stream = JsonStream(io.BytesIO(head), 0)
    try:
        for key in stream.members():
            if key == inside:
                next(stream.members())
            if key == inside or not inside:
                _collect(stream, found)
                break
            stream.skip()
    except (Unreadable, StopIteration):
        pass
    return found


def _collect(stream: JsonStream, found: list[str]) -> None:
    for key in stream.members():
        found.append(key)
        stream.skip()
