"""Identifiers: what may stand in the names and ids of a log, and how long they may be (FORMATS 4)."""

import re
from typing import Final
from uuid import UUID

from spine.errors import InvalidInput

MAX_STREAM: Final = 512
MAX_TYPE: Final = 128
MAX_IDENTIFIER: Final = 256
"""In bytes of UTF-8."""

_TYPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_stream(stream: str, field: str = "stream") -> None:
    """Raises InvalidInput for what cannot be the name of a stream."""
    check_identifier(stream, field, MAX_STREAM)
    if not stream:
        raise InvalidInput(field, "a stream needs a name")


def check_type(type_: object, field: str) -> None:
    """Raises InvalidInput for what is not an event type: dotted lower case."""
    if not isinstance(type_, str) or not _TYPE.fullmatch(type_):
        raise InvalidInput(field, f"{type_!r} is not dotted lower case, such as tool.returned")
    if len(type_) > MAX_TYPE:
        raise InvalidInput(field, f"longer than {MAX_TYPE} bytes")


def check_identifier(value: object, field: str, limit: int) -> None:
    """Raises InvalidInput for what cannot stand in an identifier: control characters, surrogates, too many bytes."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"{value!r} is not text")
    if value.isascii() and value.isprintable() and len(value) <= limit:
        return
    found = _FORBIDDEN.search(value)
    if found:
        raise InvalidInput(field, f"U+{ord(found[0]):04X} at character {found.start()} may not stand in an identifier")
    if len(value.encode()) > limit:
        raise InvalidInput(field, f"longer than {limit} bytes")


def checked_id(value: object, field: str) -> bytes:
    """The 16 bytes of an event id. Raises InvalidInput for what is not a UUID."""
    if not isinstance(value, UUID):
        raise InvalidInput(field, f"{value!r} is not a UUID")
    return value.bytes


def uuid_text(id_: bytes) -> str:
    """As `str` of a UUID has it, without making one."""
    digits = id_.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
