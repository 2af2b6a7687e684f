"""What may be asked of a read, and the upper end of a prefix; one piece for every implementation of Log."""

from collections.abc import Sequence
from typing import Final

from spine.canonical import MAX_INTEGER
from spine.errors import InvalidInput
from spine.identifiers import MAX_IDENTIFIER, MAX_STREAM, MAX_TYPE, check_identifier

MAX_TYPES: Final = 256  # SQLite takes 500 selects in one statement


def check_name(stream: str, field: str = "stream") -> None:
    """Raises InvalidInput for what no stream can be called. The empty name is taken for that of an unknown stream."""
    check_identifier(stream, field, MAX_STREAM)


def check_range(after: int, until: int | None, limit: int | None, types: Sequence[str] | None) -> None:
    """Raises InvalidInput for bounds that mean nothing."""
    _check_whole(after, "after")
    if until is not None:
        _check_whole(until, "until")
    check_limit(limit)
    if types is not None:
        if isinstance(types, str) or not all(isinstance(type_, str) for type_ in types):
            raise InvalidInput("types", f"{types!r} is not a list of event types")
        if len(types) > MAX_TYPES:
            raise InvalidInput("types", f"{len(types)} types, more than the {MAX_TYPES} of one read")
        for index, type_ in enumerate(types):
            check_identifier(type_, f"types[{index}]", MAX_TYPE)


def check_limit(limit: int | None) -> None:
    """Raises InvalidInput for a limit that is not a count."""
    if limit is not None:
        _check_whole(limit, "limit")


def check_snapshot_range(stream: str, fold: str, version: int, until: int | None) -> None:
    """Raises InvalidInput for a request that no snapshot can answer."""
    check_name(stream)
    check_identifier(fold, "fold", MAX_IDENTIFIER)
    _check_whole(version, "version")
    if until is not None:
        _check_whole(until, "until")


def after_prefix(prefix: str) -> str | None:
    """The least text greater than every text with this prefix, in byte order of UTF-8; None when there is no such text.

    Code points and UTF-8 bytes have the same order, so raising the last code point that can be raised does it.
    """
    while prefix:
        last = ord(prefix[-1])
        if last < 0x10FFFF:
            # surrogates are no characters: the next one after U+D7FF is U+E000
            return prefix[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
        prefix = prefix[:-1]
    return None


def _check_whole(value: object, field: str) -> None:
    if type(value) is not int or not 0 <= value <= MAX_INTEGER:
        raise InvalidInput(field, f"{value!r} is not a whole number from 0")
