"""What an importer makes of a foreign file: recorded runs, as events to append, and refusals."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

from spine.events import Actor, NewEvent
from spine.identity import derived_id
from spine.importers.json_values import Tally, adapted

MAX_RUN: Final = 256 * 1024 * 1024
"""Bytes of JSON that one run may have; it is in memory whole while it is read."""


_KIND: Final = re.compile("[a-z_]{1,40}")


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run: the events of one stream, in order, with ids that are the same at every import.

    `where` says which part of its file it was; `adapted` counts what could not be stored as it stood there. `reference`
    is the SHA-256 of the file beside it that its `case.expected` comes from, where one was brought.
    """

    stream: str
    events: Sequence[NewEvent]
    where: str
    adapted: Mapping[str, int] = field(default_factory=dict)
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A part of a recognised file that cannot be imported: which (a line, a member, a run), and why."""

    where: str
    reason: str


class Importer(Protocol):
    """A foreign format. Pure parsing: it reads the file it is given and nothing else."""

    @property
    def format(self) -> str:
        """Its name, as on the command line and in `import.recorded`."""

    @property
    def mapping(self) -> int:
        """The version of its mapping to events: raised when the same file would give other events."""

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins so is of this format. Content decides, never a name."""

    def read(self, path: Path, prefix: str) -> Iterator[Recording | Refusal]:
        """The file's runs, one at a time. `prefix` stands for the file where the format names no run.

        What is bad is a Refusal, and the reading goes on behind it where it can. Raises OSError.
        """


@dataclass(frozen=True, slots=True)
class CallRef:
    """A tool call of a run: the source's id, which may repeat in the run, and the one that was minted for it."""

    source_id: Any
    call_id: str
    tool: str


class RunEvents:
    """The events of one run as they are found. Payloads are adapted, ids are derived, call ids are minted here."""

    def __init__(self, stream: str, mapping: int, tally: Tally | None = None) -> None:
        self.stream: Final = stream
        self.tally: Final = Tally() if tally is None else tally
        self._mapping: Final = mapping
        self.reference = ""
        self._events: list[NewEvent] = []
        self._ordinal = 0
        self._calls = 0

    def add(self, type: str, payload: Mapping[str, Any], actor: Actor, time: datetime | None = None) -> None:
        """The next event."""
        self._ordinal += 1
        identity = derived_id({"mapping": self._mapping, "ordinal": self._ordinal, "stream": self.stream})
        stored = adapted(dict(payload), self.tally)
        self._events.append(NewEvent(type, stored, actor=actor, id=identity, time=time))

    def leave_free(self) -> None:
        """Keep the next ordinal for an event that this import does not have and a later one may bring."""
        self._ordinal += 1

    def message(self, role: str, text: str, time: datetime | None = None) -> None:
        """A message, by a human unless its role is `assistant`; one without text makes no event."""
        if text:
            actor = Actor.AGENT if role == "assistant" else Actor.HUMAN
            self.add("message.sent", {"role": role, "content": text}, actor, time)

    def call(self, tool: str, arguments: Any, source_id: Any, time: datetime | None = None) -> CallRef:
        """A tool call. The source's own id may repeat in a run, so it is only kept beside."""
        call = self._numbered(source_id, tool)
        payload = {"call_id": call.call_id, "tool": tool, "arguments": arguments, "source_call_id": source_id}
        self.add("tool.called", payload, Actor.AGENT, time)
        return call

    def leave_out(self, kind: str | None) -> None:
        """Count something of this kind that has no place in the mapping."""
        self.tally[f"left_out_{kind if kind and _KIND.fullmatch(kind) else 'other'}"] += 1

    def orphan(self, source_id: Any, tool: str) -> CallRef:
        """A call that the source does not hold, for the answer to it that it does."""
        self.tally["answer_without_call"] += 1
        return self._numbered(source_id, tool)

    def returned(
        self,
        call: CallRef,
        result: Any,
        *,
        error: Any = None,
        time: datetime | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """What a call gave back; `more` is what else the source says of that."""
        payload = {
            "call_id": call.call_id,
            "tool": call.tool,
            "result": result,
            "error": error,
            "source_call_id": call.source_id,
        }
        self.add("tool.returned", payload | dict(more or {}), Actor.SYSTEM, time)

    def _numbered(self, source_id: Any, tool: str) -> CallRef:
        self._calls += 1
        return CallRef(source_id, f"c{self._calls}", tool)

    def recording(self, where: str) -> Recording:
        """The run with all its events."""
        return Recording(self.stream, tuple(self._events), where, dict(self.tally), self.reference)


def stream_name(format: str, *parts: str) -> str:
    """`run/<format>/…`, each part percent-encoded."""
    return "/".join(("run", format, *(quote(readable(part), safe="") for part in parts)))


def source_of(stream: str) -> dict[str, str]:
    """What `run.started` says of the source: its format, and what identifies the run in it."""
    _, format, identity = stream.split("/", 2)
    return {"format": format, "id": identity}


def readable(text: str) -> str:
    """The text with every lone surrogate replaced."""
    return str(adapted(text, Tally()))
