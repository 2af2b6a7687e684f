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
        for key in stream.members():
            found.append(key)
            stream.skip()
    except Unreadable:
        pass
    return found
