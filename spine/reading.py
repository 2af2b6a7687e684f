"""What may be asked of a read, and the upper end of a prefix; one piece for every implementation of Log."""

from collections.abc import Sequence

from spine.canonical import MAX_INTEGER
from spine.errors import InvalidInput


def check_range(after: int, until: int | None, limit: int | None, types: Sequence[str] | None) -> None:
    """Raises InvalidInput for bounds that mean nothing."""
    _check_whole(after, "after")
    if until is not None:
        _check_whole(until, "until")
    check_limit(limit)
    if types is not None and (isinstance(types, str) or not all(isinstance(type_, str) for type_ in types)):
        raise InvalidInput("types", f"{types!r} is not a list of event types")


def check_limit(limit: int | None) -> None:
    """Raises InvalidInput for a limit that is not a count."""
    if limit is not None:
        _check_whole(limit, "limit")


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
