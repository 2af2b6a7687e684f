"""Every implementation against a model of a list of events, through any sequence of what a caller can do."""

import dataclasses
import itertools
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

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
    Expect,
    GroupCommit,
    IdentityClash,
    Log,
    NewEvent,
    Refused,
    SqlLog,
    StreamConflict,
    open_log,
)
from tests.conftest import OpenLog
from tests.spine.builders import found
from tests.spine.verification import findings_in

T = TypeVar("T")

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclasses.dataclass
class Stored:
    """What the model knows of an event."""

    stream: str
    said: NewEvent
    erased: bool = False


class Model:
    """The events of a log in order, and what an append to it must answer."""

    def __init__(self) -> None:
        self.everything: list[Stored] = []

    def of(self, stream: str) -> list[tuple[int, Stored]]:
        """(position, event) of a stream; the seq is the place in this list."""
        return [(at, stored) for at, stored in enumerate(self.everything, start=1) if stored.stream == stream]

    def answers(self, appends: Sequence[Append]) -> list[Appended] | type[Refused]:
        """What the log must answer: where the events stand, or which error."""
        if any(len({event.id for event in append.events}) < len(append.events) for append in appends):
            return IdentityClash
        streams = [self.of(append.stream) for append in appends]
        ids = [{stored.said.id for _, stored in own} for own in streams]
        if any(event.id in known for append, known in zip(appends, ids, strict=True) for event in append.events):
            standing = [standing_in(own, append.events) for append, own in zip(appends, streams, strict=True)]
            found = [answer for answer in standing if answer is not None]
            return found if len(found) == len(appends) else IdentityClash
        if not all(is_met(append.expect, len(own)) for append, own in zip(appends, streams, strict=True)):
            return StreamConflict
        new: list[Appended] = []
        position = len(self.everything)
        for append, own in zip(appends, streams, strict=True):
            number = len(append.events)
            new.append(Appended(len(own) + 1, len(own) + number, position + 1, position + number, new=True))
            position += number
        return new

    def take(self, appends: Sequence[Append]) -> None:
        self.everything += [Stored(append.stream, event) for append in appends for event in append.events]


def standing_in(own: list[tuple[int, Stored]], events: Sequence[NewEvent]) -> Appended | None:
    """Where all these events stand, contiguous, in order and as they are; None if they do not."""
    ids = [stored.said.id for _, stored in own]
    if any(event.id not in ids for event in events):
        return None
    first = ids.index(events[0].id)
    there = own[first : first + len(events)]
    if [stored.said.id for _, stored in there] != [event.id for event in events]:
        return None
    if any(differs(event, stored) for event, (_, stored) in zip(events, there, strict=True)):
        return None
    return Appended(first + 1, first + len(events), there[0][0], there[-1][0], new=False)


def is_met(expect: Any, seq: int) -> bool:
    named = {ANY: True, NO_STREAM: seq == 0, STREAM_EXISTS: seq > 0}
    return named[expect] if expect in named else bool(expect == seq)


def differs(event: NewEvent, stored: Stored) -> bool:
    """Whether a repeat says something else; of what was erased, its content is not known any more."""
    said = stored.said
    if any(getattr(event, name) != getattr(said, name) for name in ("type", "actor", "schema_version")):
        return True
    if event.time is not None and event.time != said.time:
        return True
    if stored.erased:
        return (event.metadata is None) != (said.metadata is None)
    return (event.payload, event.metadata) != (said.payload, said.metadata)


class Pair:
    """A log and its model, which are asked the same."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.model = Model()

    def append(self, append: Append) -> None:
        expected = self.model.answers([append])
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.log.append(append.stream, append.events, append.expect)
            return
        assert [self.log.append(append.stream, append.events, append.expect)] == expected
        if expected[0].new:
            self.model.take([append])

    def append_all(self, appends: Sequence[Append]) -> None:
        expected = self.model.answers(appends)
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.log.append_all(appends)
            return
        assert self.log.append_all(appends) == expected
        if expected[0].new:
            self.model.take(appends)

    def commit(self, group: Sequence[Sequence[Append]]) -> None:
        """Several appends in one commit, where the log can; each is answered as if it came alone."""
        if isinstance(self.log, SqlLog):
            admitted, expected = self.taken(group, self.log.admit)
            answers: list[Any] = list(self.log.commit(admitted))
        elif isinstance(self.log, GroupCommit):
            with self.log._log.database.write():  # the first waits for this, and the others queue behind it
                futures, expected = self.taken(group, self.log.submit)
            answers = [future.exception() or future.result() for future in futures]
        else:
            for appends in group:
                self.append_all(appends)
            return
        assert [type(answer) if isinstance(answer, Refused) else answer for answer in answers] == expected

    def taken(
        self, group: Sequence[Sequence[Append]], take: Callable[[Sequence[Append]], T]
    ) -> tuple[list[T], list[list[Appended] | type[Refused]]]:
        """What each append is taken in as, and the answer it has to get. One that clashes with itself is not taken."""
        taken = []
        expected: list[list[Appended] | type[Refused]] = []
        for appends in group:
            try:
                taken.append(take(appends))
            except IdentityClash:
                assert self.model.answers(appends) is IdentityClash
                continue
            expected.append(self.model.answers(appends))
            if not isinstance(expected[-1], type) and expected[-1][0].new:
                self.model.take(appends)
        return taken, expected

    def erase(self, stream: str, seqs: list[int]) -> None:
        own = self.model.of(stream)
        kept = sorted({seq for seq in seqs if not own[seq - 1][1].erased})

        answer = self.log.erase(stream, seqs, reason="asked for", actor=Actor.HUMAN, principal="ada")

        assert answer.new is bool(kept)
        for seq in kept:
            own[seq - 1][1].erased = True
        said = [as_said(event) for event in self.log.read(stream, after=len(own))]
        assert [event.payload["seq"] for event in said] == kept
        self.model.take([Append(stream, said)])

    def check(self) -> None:
        """The log holds what the model holds."""
        everything = self.model.everything
        assert self.log.position() == len(everything)
        seqs: dict[str, int] = {}
        for position, (event, stored) in enumerate(zip(self.log.read_all(), everything, strict=True), start=1):
            seqs[stored.stream] = seqs.get(stored.stream, 0) + 1
            assert (event.position, event.stream, event.seq) == (position, stored.stream, seqs[stored.stream])
            assert (event.id, event.type, event.actor) == (stored.said.id, stored.said.type, stored.said.actor)
            assert event.erased is stored.erased
            if not stored.erased:
                assert event.payload == stored.said.payload
                assert event.metadata == (stored.said.metadata or {})
        assert {head.stream: head.seq for head in self.log.streams()} == seqs


def as_said(event: Event) -> NewEvent:
    return NewEvent(event.type, event.payload, actor=event.actor, id=event.id)


WAYS = [
    "as it was",
    "a part",
    "reversed",
    "with a new one",
    "a gap",
    "twice one",
    "other payload",
    "other metadata",
    "other actor",
    "other type",
    "other version",
    "other time",
    "new",
]


def changed(events: Sequence[NewEvent], way: str, new: NewEvent) -> list[NewEvent]:
    """A batch that was appended, said again in a way of its own."""
    first, *rest = events
    others: dict[str, dict[str, Any]] = {
        "other payload": {"payload": {"other": 1}},
        "other metadata": {"metadata": {"other": 1}},
        "other actor": {"actor": Actor.HUMAN if first.actor is not Actor.HUMAN else Actor.AGENT},
        "other type": {"type": "other.type"},
        "other version": {"schema_version": 9},
        "other time": {"time": NOON},
    }
    if way in others:
        return [dataclasses.replace(first, **others[way]), *rest]
    ways: dict[str, list[NewEvent]] = {
        "a part": rest or [first],
        "reversed": list(events[::-1]),
        "with a new one": [*events, new],
        "a gap": [first, *rest[1:]],
        "twice one": [first, *events],
        "new": [new],
    }
    return ways.get(way, list(events))


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
    time=st.none() | st.just(NOON),
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


class LogMachine(RuleBasedStateMachine):
    """Every answer is worked out from the model before the log is asked."""

    def __init__(self, make: Callable[[], Log]) -> None:
        super().__init__()
        self.pair = Pair(make())
        self.batches: list[Append] = []

    def teardown(self) -> None:
        assert findings_in(self.pair.log) == []
        self.pair.log.close()

    def said(self, data: st.DataObject) -> Append:
        """A new batch, or one that was said before, in whatever way."""
        expect = data.draw(EXPECTATIONS)
        if not self.batches or data.draw(st.booleans()):
            append = Append(data.draw(STREAMS), data.draw(BATCHES), expect)
            self.batches.append(append)
            return append
        before = data.draw(st.sampled_from(self.batches))
        return Append(before.stream, changed(before.events, data.draw(st.sampled_from(WAYS)), data.draw(NEW)), expect)

    def several(self, data: st.DataObject) -> list[Append]:
        drawn = [self.said(data) for _ in range(data.draw(st.integers(1, 3)))]
        return list({append.stream: append for append in drawn}.values())

    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        self.pair.append(self.said(data))

    @rule(data=st.data())
    def append_all(self, data: st.DataObject) -> None:
        self.pair.append_all(self.several(data))

    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        self.pair.commit([self.several(data) for _ in range(data.draw(st.integers(1, 4)))])

    @precondition(lambda self: self.pair.model.everything)
    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        model = self.pair.model
        stream = data.draw(st.sampled_from(sorted({stored.stream for stored in model.everything})))
        own = enumerate(model.of(stream), start=1)
        evidence = [seq for seq, (_, stored) in own if stored.said.type != "event.erased"]
        self.pair.erase(stream, data.draw(st.lists(st.sampled_from(evidence), min_size=1, max_size=2)))

    @rule(stream=STREAMS, within=RANGES)
    def read(self, stream: str, within: dict[str, Any]) -> None:
        own = [stored for _, stored in self.pair.model.of(stream)]
        assert list(map(ids_of, self.pair.log.read(stream, **within))) == chosen(own, within)

    @rule(within=RANGES)
    def read_all(self, within: dict[str, Any]) -> None:
        assert list(map(ids_of, self.pair.log.read_all(**within))) == chosen(self.pair.model.everything, within)

    @invariant()
    def the_log_holds_what_the_model_holds(self) -> None:
        self.pair.check()


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


EXAMPLES = {"memory": 40, "sqlite": 20, "postgres": 6, "group": 10}


def test_a_log_is_a_list_of_events(open_a_log: OpenLog, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kind = request.node.callspec.params["open_a_log"]
    empty = tmp_path / "empty.db"
    open_log(f"sqlite:///{empty}").close()

    def copied() -> SqlLog:
        """Migrating a file for every example would take longer than the example."""
        file = Path(tempfile.mkdtemp(dir=tmp_path)) / "log.db"
        file.write_bytes(empty.read_bytes())
        return open_log(f"sqlite:///{file}")

    makers: dict[str, Callable[[], Log]] = {"sqlite": copied, "group": lambda: GroupCommit(copied())}

    class Machine(LogMachine):
        def __init__(self) -> None:
            super().__init__(makers.get(kind, open_a_log))

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES[kind],
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


STATES = ["none", "three events", "three events, the first erased"]
ROUTES = ["append", "append_all", "commit"]
EVERY_EXPECTATION: list[Expect | int] = [ANY, NO_STREAM, STREAM_EXISTS, 0, 2, 3, 4, 5]


def test_every_expectation_with_every_repeat(log: Log) -> None:
    """Nothing left to chance: each expectation, each way of saying a batch again, each state of the stream, by each
    of the ways to append."""
    pair = Pair(log)
    beside = Append("run/beside", [found(beside=True)])
    pair.append(beside)
    for number, (state, way, route) in enumerate(itertools.product(STATES, WAYS, ROUTES)):
        batch = [dataclasses.replace(found(n=n), metadata={"n": n}, time=None) for n in range(3)]
        for expect in EVERY_EXPECTATION:
            stream = f"run/{number}/{expect}"
            if state != "none":
                pair.append(Append(stream, batch))
            if state == STATES[2]:
                pair.erase(stream, [1])
            again = Append(stream, changed(batch, way, found(new=expect != ANY)), expect)
            if route == "append":
                pair.append(again)
            elif route == "append_all":
                pair.append_all([again, Append(f"{stream}/b", [found()])])
                pair.append_all([beside, again])
            else:
                pair.commit([[again], [beside], [again], [Append(stream, changed(batch, way, found()), expect)]])
    pair.check()
