"""Calls: a `tool.called` and the `tool.returned` that answers it, as one thing that a check can look at."""

from collections import Counter
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
    """A call under way: unpaired until the system's `tool.returned` of its `call_id` and tool comes. Of one that is
    known only from its return, `called` is None."""

    called: Event | None
    place: int
    ordinal: int
    returned: Event | None = None
    unread: Event | None = None

    @property
    def value(self) -> dict[str, Any]:
        """{call_id, tool, arguments, returned} and, once it returned, what it gave of {result, error}."""
        payload = self.event.payload
        keys = ("call_id", "tool") if self.called is None else ("call_id", "tool", "arguments")
        known = {key: payload[key] for key in keys if key in payload}
        if self.returned is None:
            known["returned"] = False
            return known if self.unread is None else UnreadReturn(known, self.unread)
        answer = self.returned.payload
        return known | {"returned": True} | {key: answer[key] for key in ("result", "error") if key in answer}

    @property
    def event(self) -> Event:
        """The event that it is named after."""
        event = self.called or self.returned
        assert event is not None
        return event

    @property
    def seqs(self) -> tuple[int, ...]:
        return tuple(event.seq for event in (self.called, self.returned) if event is not None)


@dataclass(slots=True)
class Pairing:
    """Calls waiting for their return, by call_id and tool.

    A call_id is unique in a run. But it is the agent who writes `tool.called`, and one that uses an id again could have
    the return of what it did stand for what it did not. So where several calls wait for one return, the doubt is
    resolved against it: looking for something, none of them is answered (`suspicious` is False); looking for a
    violation, each is, and a return that no call waits for is a call of its tool with arguments unknown.
    """

    suspicious: bool
    waiting: dict[tuple[str, str], list[Call]] = field(default_factory=dict)
    _others: Counter[tuple[str, str]] = field(default_factory=Counter)
    _unreadable: int = 0

    def call(self, event: Event, place: int, ordinal: int) -> Call:
        """A call began. Its payload is opened."""
        call = Call(event, place, ordinal)
        self.waiting.setdefault(_key(event), []).append(call)
        return call

    def other(self, event: Event) -> None:
        """A call began that is not looked at: of another tool or actor, or an erased one. Its return is not a call's of
        its own."""
        if not self.suspicious:
            return
        if event.erased:
            self._unreadable += 1
        else:
            self._others[_key(event)] += 1

    def returned(self, event: Event, place: int, ordinal: int) -> Iterator[Call]:
        """The calls that this `tool.returned` tells of; when it was erased, perhaps any that waits."""
        if event.actor is not Actor.SYSTEM:
            return
        if event.erased:
            for calls in self.waiting.values():
                for call in calls:
                    call.unread = event
                    yield call
            return
        calls = self.waiting.pop(_key(event), [])
        if not calls and self.suspicious:
            if not self._is_of_another(event):
                yield Call(None, place, ordinal, event)
        elif len(calls) == 1 or self.suspicious:
            for call in calls:
                call.returned = event
                yield call

    def _is_of_another(self, event: Event) -> bool:
        key = _key(event)
        if self._others[key]:
            self._others[key] -= 1
            return True
        if self._unreadable:
            self._unreadable -= 1
            return True
        return False


def _key(event: Event) -> tuple[str, str]:
    return event.payload["call_id"], event.payload["tool"]
