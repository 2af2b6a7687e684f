"""Given the same ids, clock, salts and name, every implementation stores the same bytes and gives the same answers."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spine import (
    ANY,
    NO_STREAM,
    STREAM_EXISTS,
    Actor,
    Append,
    Log,
    MemoryLog,
    NewEvent,
    Refused,
    SqlLog,
)
from spine.canonical import ZERO_LEAF, leaf_hash
from spine.clock import as_datetime
from spine.events import EventRow
from tests.conftest import OpenLog
from tests.spine.vectors import envelope_of

NAME = "gradespine/6f1c0d7e-3b52-4a43-9c55-0d3f6f1b2a10"
Numbered = Callable[[], UUID]

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=4)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=3)
SAID = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["finding.reported", "a.b", "grade.nothing"]),
        "payload": OBJECTS,
        "actor": st.sampled_from(Actor),
        "metadata": st.none() | OBJECTS,
        "schema_version": st.integers(1, 3),
        "time": st.none() | st.integers(-(2**50), 2**50).map(as_datetime),
        "principal": TEXT,
        "correlation_id": TEXT,
        "trace_id": TEXT,
        "span_id": TEXT,
        "origin": TEXT,
        "causation_id": st.none() | st.uuids(),
    }
)
PARTS = st.dictionaries(
    st.sampled_from(["run/a", "run/b", "run/ü\u2028"]),
    st.tuples(
        st.lists(SAID, min_size=1, max_size=3),
        st.sampled_from([ANY, ANY, ANY, NO_STREAM, STREAM_EXISTS]) | st.integers(0, 6),
    ),
    min_size=1,
)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), PARTS),
        st.tuples(st.just("append"), PARTS),
        st.tuples(st.just("commit"), st.lists(PARTS, min_size=1, max_size=3)),
        st.tuples(st.just("again"), st.integers(0, 20)),
        st.tuples(st.just("erase"), st.tuples(st.sampled_from(["run/a", "run/b"]), st.integers(1, 6))),
    ),
    min_size=3,
    max_size=12,
)
CLOCKS = st.lists(st.integers(-(2**50), 2**50), min_size=4, max_size=4)


def numbered() -> Numbered:
    numbers = count()
    return lambda: UUID(int=next(numbers) | 7 << 76 | 2 << 62)


def injected(times: list[int]) -> dict[str, Any]:
    drawn, salts = count(), count()
    return {
        "name": NAME,
        "clock": lambda: times[next(drawn) % len(times)],
        "salt": lambda: next(salts).to_bytes(32),
    }


class Player:
    """Does operations to a log and notes the answers."""

    def __init__(self, log: Log, new_id: Numbered) -> None:
        self.log = log
        self.new_id = new_id
        self.said: list[list[Append]] = []
        self.answers: list[object] = []

    def play(self, operation: str, given: Any) -> None:
        match operation:
            case "append":
                self._note(self._append_all, self._appends(given))
            case "commit":
                self._commit([self._appends(parts) for parts in given])
            case "again" if self.said:
                self._note(self._append_all, self.said[given % len(self.said)])
            case "erase":
                self._note(self._erase, *given)

    def _appends(self, parts: dict[str, Any]) -> list[Append]:
        appends = [
            Append(stream, [NewEvent(**said, id=self.new_id()) for said in events], expect)
            for stream, (events, expect) in parts.items()
        ]
        self.said.append(appends)
        return appends

    def _append_all(self, appends: list[Append]) -> object:
        if len(appends) == 1:
            return [self.log.append(appends[0].stream, appends[0].events, appends[0].expect)]
        return self.log.append_all(appends)

    def _erase(self, stream: str, seq: int) -> object:
        return self.log.erase(stream, [seq], reason="asked for", actor=Actor.HUMAN, principal="ada")

    def _commit(self, group: list[list[Append]]) -> None:
        """In one commit where the log can: it is to be as if each came alone."""
        if not isinstance(self.log, SqlLog):
            for appends in group:
                self._note(self.log.append_all, appends)
            return
        admitted = []
        places: list[int] = []
        for appends in group:
            try:
                admitted.append(self.log.admit(appends))
                places.append(len(self.answers))
                self.answers.append(None)
            except Refused as refusal:
                self.answers.append(shown(refusal))
        for place, answer in zip(places, self.log.commit(admitted), strict=True):
            self.answers[place] = shown(answer) if isinstance(answer, Refused) else answer

    def _note(self, do: Callable[..., object], *given: Any) -> None:
        try:
            self.answers.append(do(*given))
        except Refused as refusal:
            self.answers.append(shown(refusal))


def shown(refusal: Refused) -> tuple[str, str]:
    return type(refusal).__name__, str(refusal)


def rows(log: Log) -> list[EventRow]:
    return [event.row for event in log.read_all()]


def envelopes(stored: Sequence[EventRow]) -> list[bytes]:
    """As they were hashed: the leaf of each is the one that is stored."""
    found: list[bytes] = []
    ends: dict[str, bytes] = {}
    for row in stored:
        envelope = envelope_of(row, log=NAME, prev=ends.get(row.stream, ZERO_LEAF))
        assert leaf_hash(envelope) == row.leaf
        ends[row.stream] = row.leaf
        found.append(envelope)
    return found


def played(log: Log, operations: list[tuple[str, Any]]) -> tuple[list[object], list[EventRow], list[bytes]]:
    new_id = numbered()
    player = Player(log, new_id)
    for operation, given_ in operations:
        player.play(operation, given_)
    stored = rows(log)
    return player.answers, stored, envelopes(stored)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(operations=OPERATIONS, times=CLOCKS)
def test_the_same_bytes_and_answers_as_the_reference(
    open_a_log: OpenLog, operations: list[tuple[str, Any]], times: list[int]
) -> None:
    reference = played(MemoryLog(**injected(times)), operations)

    with open_a_log(**injected(times)) as log:
        assert played(log, operations) == reference
