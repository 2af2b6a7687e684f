"""Text from elsewhere, made fit to print: nothing in it can move the cursor, change colours or reorder a line."""

import json
from typing import Any
from unicodedata import category


def printable(text: str) -> str:
    """The text with control, format, bidi and other invisible characters spelled out (`\\n`, `\\x1b`, `\\u202e`)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or category(c) == "Zs" else _spelled(c) for c in text)


def compact(value: Any) -> str:
    """A JSON value on one line; a text, and what is no JSON, as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def clipped(text: str, limit: int) -> str:
    """The text up to about so many characters, saying how many are left out."""
    left = len(text) - limit
    return text if left <= 20 else f"{text[:limit].rstrip()} … ({left:,} more characters)"


def plural(count: int, noun: str) -> str:
    """`1 run`, `2 runs`, `1,000 runs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
