"""Quoting: how a reason shows a text, as Go's strconv.Quote does; and texts made fit for UTF-8."""

import re
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NAMED: Final = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


def quoted(text: str) -> str:
    """The text in double quotes, what cannot be printed escaped (`\\n`, `\\x00`, `\\u200b`); printable characters
    stay. A byte that was no UTF-8 (decoded with surrogateescape) is `\\xff`."""
    return '"' + "".join(map(_shown, text)) + '"'


def well_formed(text: str) -> str:
    """The text with U+FFFD in place of every lone surrogate: as many characters, and it can be UTF-8."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def decoded(data: bytes) -> str:
    """UTF-8 bytes as text; every byte that is none of it becomes one U+FFFD."""
    return well_formed(data.decode(errors="surrogateescape"))


def _shown(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
