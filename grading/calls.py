"""Calls: a `tool.called` and the `tool.returned` that answers it, as one thing that a check can look at."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from spine import Actor, Event, PayloadErased

CALLED: Final = "tool.called"
RETURNED: Final = "tool.returned"
RETURN_KEYS: Final = ("returned", "result", "error")
"""What is known of a call only from its `tool.returned`."""


class UnreadReturn(dict[str, Any]):
    """A call of which an erased `tool.returned` may tell: opening what that would say raises PayloadErased."""

    def __init__(self, known: dict[str, Any], erased: Event) -> None:
        super().__init__(known)
        self._erased = erased

    def __contains__(self, key: object) -> bool:
        return self._opened(key) or super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self._opened(key)
        return super().__getitem__(key)

    def items(self) -> NoReturn:
        self._open()

    def __iter__(self) -> NoReturn:
        self._open()

    def _opened(self, key: object) -> bool:
        if key in RETURN_KEYS:
            self._open()
        return False

    def _open(self) -> NoReturn:
        raise PayloadErased(self._erased.stream, self._erased.seq)


@dataclass(slots=True)
class Call:
    """A call under way: unpaired until the system's `tool.returned` of its `call_id` comes."""

    called: Event
    place: int
    ordinal: int
    returned: Event | None = None
    unread: Event | None = None

    @property
    def value(self) -> dict[str, Any]:
        """{call_id, tool, arguments, returned} and, once it returned, what it gave of {result, error}."""
        payload = self.called.payload
        known = {key: payload[key] for key in ("call_id", "tool", "arguments") if key in payload}
        if self.returned is None:
            known["returned"] = False
            return known if self.unread is None else UnreadReturn(known, self.unread)
        answer = self.returned.payload
        return known | {"returned": True} | {key: answer[key] for key in ("result", "error") if key in answer}

    @property
    def seqs(self) -> tuple[int, ...]:
        return (self.called.seq,) if self.returned is None else (self.called.seq, self.returned.seq)


@dataclass(slots=True)
class Pairing:
    """Calls waiting for their return, by call_id. An id is unique in a run; where it is not, the oldest call is
    answered first."""

    waiting: dict[str, deque[Call]] = field(default_factory=dict)

    def call(self, event: Event, place: int, ordinal: int) -> Call:
        """A call began. Its payload is opened."""
        call = Call(event, place, ordinal)
        self.waiting.setdefault(event.payload["call_id"], deque()).append(call)
        return call

    def returned(self, event: Event) -> Iterator[Call]:
        """The calls that this `tool.returned` tells of: one, none (not ours), or, when it was erased, perhaps any."""
        if event.actor is not Actor.SYSTEM:
            return
        if event.erased:
            for calls in self.waiting.values():
                for call in calls:
                    call.unread = event
                    yield call
            return
        calls = self.waiting.get(event.payload["call_id"], deque())
        if calls:
            call = calls.popleft()
            call.returned = event
            if not calls:
                del self.waiting[event.payload["call_id"]]
            yield call
