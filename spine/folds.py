"""fold: a state built from events, left to right; and what a snapshot of one must keep to."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from spine.canonical import MAX_INTEGER
from spine.errors import InvalidInput
from spine.events import Event
from spine.identifiers import MAX_IDENTIFIER, check_identifier
from spine.log import Snapshot

State = TypeVar("State")


def fold(events: Iterable[Event], initial: State, reduce: Callable[[State, Event], State]) -> State:
    """reduce(… reduce(reduce(initial, first), second) …): the state after the last event, `initial` without events."""
    state = initial
    for event in events:
        state = reduce(state, event)
    return state


def check_snapshot(snapshot: Snapshot, head: int) -> None:
    """Raises InvalidInput unless the snapshot is of a state the stream has had; one ahead of it would hide events."""
    if type(snapshot.seq) is not int or not 1 <= snapshot.seq <= head:
        raise InvalidInput("seq", f"{snapshot.seq!r} is not a seq of {snapshot.stream}, which is at {head}")
    check_identifier(snapshot.fold, "fold", MAX_IDENTIFIER)
    if not snapshot.fold:
        raise InvalidInput("fold", "a snapshot names its fold")
    if type(snapshot.version) is not int or not 0 <= snapshot.version <= MAX_INTEGER:
        raise InvalidInput("version", f"{snapshot.version!r} is not a whole number from 0")
    if not isinstance(snapshot.state, bytes):
        raise InvalidInput("state", f"{type(snapshot.state).__name__} is not bytes")
