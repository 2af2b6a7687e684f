"""MemoryLog and SqliteLog against a model of a dict of lists, through any sequence of what a caller can do."""

import dataclasses
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from spine import (
    ANY,
    NO_STREAM,
    STREAM_EXISTS,
    Actor,
    Append,
    Appended,
    Event,
    IdentityClash,
    Log,
    MemoryLog,
    NewEvent,
    Refused,
    StreamConflict,
    open_log,
)
from tests.spine.verification import findings_in

STREAMS = st.sampled_from(["run/a", "run/b", "run/ü"])
TYPES = ["finding.reported", "a.b", "x0.y_1.z"]
EXPECTATIONS = st.one_of(st.sampled_from([ANY, NO_STREAM, STREAM_EXISTS]), st.integers(0, 8))
NEW = st.builds(
    NewEvent,
    st.sampled_from(TYPES),
    st.dictionaries(
        st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3), max_size=2
    ),
    actor=st.sampled_from(Actor),
    schema_version=st.integers(1, 3),
    metadata=st.none() | st.just({"m": 1}),
)
BATCHES = st.lists(NEW, min_size=1, max_size=3)
RANGES = st.fixed_dictionaries(
    {
        "after": st.integers(0, 9),
        "until": st.none() | st.integers(0, 9),
        "limit": st.none() | st.integers(0, 5),
        "types": st.none() | st.lists(st.sampled_from([*TYPES, "event.erased", "none.such"]), max_size=3),
        "backwards": st.booleans(),
    }
)
WAYS = ["as it was", "a part", "reversed", "with a new one", "other payload", "other actor", "a gap", "twice one"]


@dataclasses.dataclass
class Stored:
    """What the model knows of an event."""

    stream: str
    said: NewEvent
    erased: bool = False


class LogMachine(RuleBasedStateMachine):
    """Every answer is worked out from the lists before the log is asked."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self._stack = ExitStack()
        self.log: Log = self._stack.enter_context(make())
        self.everything: list[Stored] = []
        self.batches: list[tuple[str, list[NewEvent]]] = []

    def teardown(self) -> None:
        assert findings_in(self.log) == []
        self._stack.close()

    def of(self, stream: str) -> list[tuple[int, Stored]]:
        """(position, event) of a stream; the seq is the place in this list."""
        return [(at, stored) for at, stored in enumerate(self.everything, start=1) if stored.stream == stream]

    def answer(self, stream: str, events: list[NewEvent], expect: Any, start: int) -> Appended | type[Refused]:
        """What append must answer when the log ends at `start`."""
        own = self.of(stream)
        ids = [stored.said.id for _, stored in own]
        known = [event for event in events if event.id in ids]
        if len({event.id for event in events}) < len(events):
            return IdentityClash
        if known:
            seqs = [ids.index(event.id) + 1 for event in known]
            contiguous = seqs == list(range(seqs[0], seqs[0] + len(events)))
            if not contiguous or any(differs(event, own[seq - 1][1]) for event, seq in zip(known, seqs, strict=True)):
                return IdentityClash
            return Appended(seqs[0], seqs[-1], own[seqs[0] - 1][0], own[seqs[-1] - 1][0], new=False)
        met = {ANY: True, NO_STREAM: not own, STREAM_EXISTS: bool(own)}.get(expect, expect == len(own))
        if not met:
            return StreamConflict
        return Appended(len(own) + 1, len(own) + len(events), start + 1, start + len(events), new=True)

    def check_append(self, stream: str, events: list[NewEvent], expect: Any) -> None:
        expected = self.answer(stream, events, expect, len(self.everything))
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.log.append(stream, events, expect)
            return
        assert self.log.append(stream, events, expect) == expected
        if expected.new:
            self.everything += [Stored(stream, event) for event in events]
            self.batches.append((stream, events))

    @rule(stream=STREAMS, events=BATCHES, expect=EXPECTATIONS)
    def append(self, stream: str, events: list[NewEvent], expect: Any) -> None:
        self.check_append(stream, events, expect)

    @precondition(lambda self: self.batches)
    @rule(data=st.data(), way=st.sampled_from(WAYS), expect=EXPECTATIONS, new=NEW)
    def repeat(self, data: st.DataObject, way: str, expect: Any, new: NewEvent) -> None:
        stream, events = data.draw(st.sampled_from(self.batches))
        self.check_append(stream, changed(events, way, new), expect)

    @rule(parts=st.dictionaries(STREAMS, st.tuples(BATCHES, EXPECTATIONS), min_size=1))
    def append_all(self, parts: dict[str, tuple[list[NewEvent], Any]]) -> None:
        appends = [Append(stream, events, expect) for stream, (events, expect) in parts.items()]
        start = len(self.everything)
        expected = []
        for append in appends:
            expected.append(self.answer(append.stream, list(append.events), append.expect, start))
            start += len(append.events)
        if any(isinstance(one, type) for one in expected):
            with pytest.raises(Refused):
                self.log.append_all(appends)
            return
        assert self.log.append_all(appends) == expected
        self.everything += [Stored(append.stream, event) for append in appends for event in append.events]

    @precondition(lambda self: self.everything)
    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        stream = data.draw(st.sampled_from(sorted({stored.stream for stored in self.everything})))
        own = self.of(stream)
        evidence = [seq for seq, (_, stored) in enumerate(own, start=1) if stored.said.type != "event.erased"]
        seqs = data.draw(st.lists(st.sampled_from(evidence), min_size=1, max_size=2))
        kept = sorted({seq for seq in seqs if not own[seq - 1][1].erased})

        answer = self.log.erase(stream, seqs, reason="asked for", actor=Actor.HUMAN, principal="ada")

        assert answer.new is bool(kept)
        for seq in kept:
            own[seq - 1][1].erased = True
        said = self.log.read(stream, after=len(own))
        self.everything += [Stored(stream, as_said(event)) for event in said]
        assert len(self.everything) == self.log.position()

    @rule(stream=STREAMS, within=RANGES)
    def read(self, stream: str, within: dict[str, Any]) -> None:
        own = [stored for _, stored in self.of(stream)]
        assert list(map(ids_of, self.log.read(stream, **within))) == chosen(own, within)

    @rule(within=RANGES)
    def read_all(self, within: dict[str, Any]) -> None:
        assert list(map(ids_of, self.log.read_all(**within))) == chosen(self.everything, within)

    @invariant()
    def the_log_holds_what_the_model_holds(self) -> None:
        assert self.log.position() == len(self.everything)
        seqs: dict[str, int] = {}
        for position, (event, stored) in enumerate(zip(self.log.read_all(), self.everything, strict=True), start=1):
            seqs[stored.stream] = seqs.get(stored.stream, 0) + 1
            assert (event.position, event.stream, event.seq) == (position, stored.stream, seqs[stored.stream])
            assert (event.id, event.type, event.actor) == (stored.said.id, stored.said.type, stored.said.actor)
            assert event.erased is stored.erased
            if not stored.erased:
                assert event.payload == stored.said.payload
                assert event.metadata == (stored.said.metadata or {})
        assert {head.stream: head.seq for head in self.log.streams()} == seqs


def ids_of(event: Event) -> tuple[str, Any]:
    return event.stream, event.id


def chosen(events: list[Stored], within: dict[str, Any]) -> list[tuple[str, Any]]:
    """The same read, over a list."""
    until = len(events) if within["until"] is None else within["until"]
    found = [
        (stored.stream, stored.said.id)
        for place, stored in enumerate(events, start=1)
        if within["after"] < place <= until and (within["types"] is None or stored.said.type in within["types"])
    ]
    return (found[::-1] if within["backwards"] else found)[: within["limit"]]


def as_said(event: Event) -> NewEvent:
    return NewEvent(event.type, event.payload, actor=event.actor, id=event.id)


def differs(event: NewEvent, stored: Stored) -> bool:
    """Whether a repeat says something else; of what was erased, its content is not known any more."""
    same = ("type", "actor", "schema_version") + (() if stored.erased else ("payload", "metadata"))
    return any(getattr(event, name) != getattr(stored.said, name) for name in same)


def changed(events: list[NewEvent], way: str, new: NewEvent) -> list[NewEvent]:
    first, *rest = events
    match way:
        case "a part":
            return rest or [first]
        case "reversed":
            return events[::-1]
        case "with a new one":
            return [*events, new]
        case "other payload":
            return [dataclasses.replace(first, payload={"other": 1}), *rest]
        case "other actor":
            return [dataclasses.replace(first, actor=Actor.HUMAN), *rest]
        case "a gap":
            return [first, *rest[1:]]
        case "twice one":
            return [first, *events]
        case _:
            return events


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_log_is_a_dict_of_lists(kind: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    open_log(f"sqlite:///{empty}").close()

    def make() -> Log:
        if kind == "memory":
            return MemoryLog()
        copied = Path(tempfile.mkdtemp(dir=tmp_path)) / "log.db"
        copied.write_bytes(empty.read_bytes())
        return open_log(f"sqlite:///{copied}")

    class Machine(LogMachine):
        def __init__(self) -> None:
            super().__init__(make)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=60 if kind == "memory" else 25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
