"""Texts and times of an Inspect log: attachments put back in place, content parts joined, offsets understood."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from spine.importers.json_values import Tally, Unreadable
from spine.importers.recording import RunEvents

_PROTOCOLS: Final = ("attachment://", "tc://")  # the second is of 2024
_EARLIEST: Final = datetime(1685, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(2255, 1, 1, tzinfo=UTC)


class Attachments:
    """The long texts of a sample, which stand in it by reference."""

    def __init__(self, texts: Mapping[str, Any], tally: Tally) -> None:
        self._texts = texts
        self._tally = tally

    def resolved(self, value: Any) -> Any:
        """The same value with every reference replaced by its text; one to nothing stays, and is counted."""
        if isinstance(value, str):
            return self._text(value) if value.startswith(_PROTOCOLS) else value
        if isinstance(value, list):
            return [self.resolved(item) for item in value]
        if isinstance(value, dict):
            return {key: self.resolved(item) for key, item in value.items()}
        return value

    def _text(self, reference: str) -> str:
        found = self._texts.get(reference.partition("://")[2])
        if isinstance(found, str):
            return found
        self._tally["attachment_missing"] += 1
        return reference


def identity(found: Any) -> str | None:
    """An id or a kind; none where the log has something else in its place."""
    return found if isinstance(found, str) else None


def objects(found: Any, what: str) -> list[dict[str, Any]]:
    """A list of objects, empty for null. Raises Unreadable."""
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise Unreadable(f"{what} is not a list of objects")
    return found


def text_of(content: Any, run: RunEvents) -> str:
    """The text of a message's content; parts that are no text are left out, and counted by kind."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content if isinstance(content, list) else []:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part, str):
            texts.append(part)
        else:
            run.leave_out(identity(kind))
    return "\n".join(texts)


def moment(text: Any, tally: Tally) -> datetime | None:
    """An ISO 8601 time; one without an offset is taken as UTC, and one that cannot be read as none: both counted."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            tally["time_without_offset"] += 1
            found = found.replace(tzinfo=UTC)
        if _EARLIEST < found < _LATEST:
            return found
    except (ValueError, TypeError, OverflowError):
        pass
    tally["time_unreadable"] += 1
    return None
