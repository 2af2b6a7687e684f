"""Folds that resume: from whatever snapshot they start, they come to the same state; on every implementation."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.engine.interfaces import DBAPICursor

from spine import (
    Actor,
    Event,
    Fold,
    InvalidInput,
    Log,
    LogBusy,
    NewEvent,
    PayloadErased,
    Replayed,
    Snapshot,
    SnapshotStale,
    SqlLog,
    Upcaster,
    Upcasters,
    fold,
    replay,
)
from tests.spine.builders import fill, found

COUNT = "count.made"
OTHER = "note.taken"


class Numbers:
    """What every event said, in order; an erased one said nothing."""

    name = "numbers"
    types: Sequence[str] | None = (COUNT,)

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.reduced = 0

    def initial(self) -> list[Any]:
        return []

    def reduce(self, state: list[Any], event: Event) -> list[Any]:
        self.reduced += 1
        said = "erased" if event.erased else dict(event.payload)
        state.append([event.seq, event.schema_version, self.version, said])
        return state

    def encode(self, state: list[Any]) -> bytes:
        return json.dumps(state).encode()

    def decode(self, kept: bytes) -> list[Any]:
        decoded: list[Any] = json.loads(kept)
        return decoded


class Everything(Numbers):
    name = "everything"
    types = None


class Opening(Numbers):
    """Looks into every payload it reads."""

    name = "opening"

    def reduce(self, state: list[Any], event: Event) -> list[Any]:
        return [*state, event.payload["n"]]


TO_2 = Upcaster(COUNT, 1, lambda payload: {"number": payload["n"]})
TO_3 = Upcaster(COUNT, 2, lambda payload: {**payload, "unit": "m"})
REGISTRIES = [None, Upcasters([TO_2]), Upcasters([TO_2, TO_3])]


def count(n: int, version: int = 1, *, type: str = COUNT) -> NewEvent:
    return NewEvent(type, {"n" if version == 1 else "number": n}, actor=Actor.SYSTEM, schema_version=version)


def erase(log: Log, stream: str, *seqs: int) -> None:
    log.erase(stream, list(seqs), reason="asked for", actor=Actor.HUMAN, principal="ada")


def snapshots(log: Log, of: Fold[Any], stream: str = "run/a", *, head: int = 50) -> list[int]:
    found = {log.latest_snapshot(stream, of.name, of.version, until=until) for until in range(1, head)}
    return sorted(one.seq for one in found if one is not None)


def test_the_state_of_the_stream_and_of_any_seq_before(log: Log) -> None:
    fill(log, "run/a", 4, type=COUNT)

    assert replay(log, "run/a", Opening()) == Replayed([1, 2, 3, 4], 4, 0)
    assert replay(log, "run/a", Opening(), until=2) == Replayed([1, 2], 2, 0)
    assert replay(log, "run/a", Opening(), until=99) == Replayed([1, 2, 3, 4], 4, 0)
    assert replay(log, "run/a", Opening(), until=0) == Replayed([], 0, 0)
    assert replay(log, "run/none", Opening()) == Replayed([], 0, 0)


def test_only_what_follows_the_newest_snapshot_is_read(log: Log) -> None:
    fill(log, "run/a", 9, type=COUNT)
    replay(log, "run/a", Numbers(), until=3, snapshot_every=1)
    replay(log, "run/a", Numbers(), until=6, snapshot_every=1)

    whole, earlier, exact = Numbers(), Numbers(), Numbers()
    answers = [
        replay(log, "run/a", whole),
        replay(log, "run/a", earlier, until=5),
        replay(log, "run/a", exact, until=6),
    ]

    assert [(answer.seq, answer.resumed_from) for answer in answers] == [(9, 6), (5, 3), (6, 6)]
    assert [whole.reduced, earlier.reduced, exact.reduced] == [3, 2, 0]


def test_a_snapshot_is_kept_when_the_state_is_far_enough_ahead(log: Log) -> None:
    fill(log, "run/a", 5, type=COUNT)
    replay(log, "run/a", Numbers())
    replay(log, "run/a", Numbers(), snapshot_every=6)
    assert snapshots(log, Numbers()) == []

    replay(log, "run/a", Numbers(), snapshot_every=5)
    fill(log, "run/a", 4, type=OTHER)
    replay(log, "run/a", Numbers(), snapshot_every=5)
    assert snapshots(log, Numbers()) == [5]

    fill(log, "run/a", 1, type=OTHER)
    replay(log, "run/a", Numbers(), snapshot_every=5)
    assert snapshots(log, Numbers()) == [5, 10]


def test_types_that_are_not_read_are_not_fetched(log: Log) -> None:
    log.append("run/a", [count(1), found(), count(2, type=OTHER), count(3)])

    every = Everything()
    assert [entry[0] for entry in replay(log, "run/a", Numbers()).state] == [1, 4]
    assert [entry[0] for entry in replay(log, "run/a", every).state] == [1, 2, 3, 4]


def test_another_version_of_the_fold_starts_from_zero(log: Log) -> None:
    fill(log, "run/a", 3, type=COUNT)
    replay(log, "run/a", Numbers(), snapshot_every=1)

    assert replay(log, "run/a", Numbers(version=2)).resumed_from == 0
    assert replay(log, "run/a", Everything()).resumed_from == 0
    assert replay(log, "run/a", Numbers()).resumed_from == 3


def test_other_upcasters_of_a_type_it_reads_start_from_zero(log: Log) -> None:
    fill(log, "run/a", 3, type=COUNT)
    of_another_type = Upcasters([Upcaster(OTHER, 1, dict)])
    replay(log, "run/a", Numbers(), snapshot_every=1)

    assert replay(log, "run/a", Numbers(), upcasters=REGISTRIES[1]).resumed_from == 0
    assert replay(log, "run/a", Numbers(), upcasters=Upcasters()).resumed_from == 3
    assert replay(log, "run/a", Numbers(), upcasters=of_another_type).resumed_from == 3


class Unreadable(Numbers):
    def decode(self, kept: bytes) -> list[Any]:
        raise KeyError("of an older encoding")


def test_a_snapshot_that_cannot_be_decoded_counts_for_nothing(log: Log) -> None:
    fill(log, "run/a", 3, type=COUNT)
    expected = replay(log, "run/a", Numbers(), snapshot_every=1)

    assert replay(log, "run/a", Unreadable()) == expected


def test_a_damaged_snapshot_counts_for_nothing_and_is_replaced(log: Log) -> None:
    fill(log, "run/a", 3, type=COUNT)
    for state in (b"", b"\x00", b"[]", b"x" * 32 + b"[]"):
        log.save_snapshot(Snapshot("run/a", 3, "numbers", 1, state))

        assert replay(log, "run/a", Numbers(), snapshot_every=1).resumed_from == 0
        assert replay(log, "run/a", Numbers()).resumed_from == 3


def test_a_snapshot_that_was_put_elsewhere_counts_for_nothing(log: Log) -> None:
    fill(log, "run/a", 3, type=COUNT)
    fill(log, "run/b", 3, type=COUNT)
    replay(log, "run/a", Numbers(), until=2, snapshot_every=1)
    kept = log.latest_snapshot("run/a", "numbers", 1)
    assert kept is not None

    for stream, seq in (("run/b", 2), ("run/a", 3)):
        log.save_snapshot(Snapshot(stream, seq, "numbers", 1, kept.state))
        assert replay(log, stream, Numbers()).resumed_from == 0


def test_deleting_all_snapshots_changes_nothing_but_time(sql_log: SqlLog) -> None:
    fill(sql_log, "run/a", 4, type=COUNT)
    kept = replay(sql_log, "run/a", Numbers(), snapshot_every=1)

    with sql_log.database.write() as cursor:
        cursor.execute("DELETE FROM snapshots")

    assert replay(sql_log, "run/a", Numbers()) == kept


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"until": -1}, "until"),
        ({"until": True}, "until"),
        ({"snapshot_every": 0}, "snapshot_every"),
        ({"snapshot_every": 1.5}, "snapshot_every"),
    ],
)
def test_what_means_nothing_is_refused(lasting_log: Log, given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        replay(lasting_log, "run/a", Numbers(), **given)

    assert refused.value.field == field


def test_an_erasure_takes_the_snapshots_that_may_hold_what_is_erased(log: Log) -> None:
    for stream in ("run/a", "run/b"):
        fill(log, stream, 6, type=COUNT)
        for every in (Numbers(), Everything(), Numbers(version=2)):
            for until in (2, 4, 6):
                replay(log, stream, every, until=until, snapshot_every=1)

    erase(log, "run/a", 5, 4)

    for every in (Numbers(), Everything(), Numbers(version=2)):
        assert snapshots(log, every) == [2]
        assert snapshots(log, every, "run/b") == [2, 4, 6]


def test_an_erasure_that_is_refused_takes_nothing(log: Log) -> None:
    fill(log, "run/a", 2, type=COUNT)
    replay(log, "run/a", Numbers(), snapshot_every=1)

    with pytest.raises(InvalidInput):
        log.erase("run/a", [1], reason="x", actor=Actor.HUMAN, principal="a" * 257)

    assert snapshots(log, Numbers()) == [2]


def test_erased_evidence_is_an_error_only_where_it_is_opened(log: Log) -> None:
    fill(log, "run/a", 4, type=COUNT)
    replay(log, "run/a", Opening(), until=1, snapshot_every=1)
    erase(log, "run/a", 2)

    assert [entry[3] for entry in replay(log, "run/a", Numbers()).state] == [{"n": 1}, "erased", {"n": 3}, {"n": 4}]
    assert replay(log, "run/a", Opening(), until=1).state == [1]
    with pytest.raises(PayloadErased):
        replay(log, "run/a", Opening())


class Erasing(Numbers):
    """While it folds the last event, somebody erases the first, which it has read."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log = log

    def reduce(self, state: list[Any], event: Event) -> list[Any]:
        if event.seq == 3:
            erase(self.log, event.stream, 1)
        return super().reduce(state, event)


def test_a_state_folded_while_something_was_erased_is_not_kept(log: Log) -> None:
    fill(log, "run/a", 3, type=COUNT)

    answer = replay(log, "run/a", Erasing(log), snapshot_every=1)

    assert answer.state[0][3] == {"n": 1}
    assert snapshots(log, Numbers()) == []
    with pytest.raises(SnapshotStale, match="run/a: seq 1 was erased behind the snapshot's seq 3"):
        log.save_snapshot(Snapshot("run/a", 3, "numbers", 1, b"of before"))
    replay(log, "run/a", Numbers(), snapshot_every=1)
    assert snapshots(log, Numbers()) == [4]


def test_a_state_from_before_what_was_erased_is_kept(log: Log) -> None:
    fill(log, "run/a", 3, type=COUNT)
    erase(log, "run/a", 3)

    replay(log, "run/a", Numbers(), until=2, snapshot_every=1)

    assert snapshots(log, Numbers()) == [2]


def test_an_erasure_that_comes_just_before_the_lock_is_seen(sql_log: SqlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(sql_log, "run/a", 3, type=COUNT)
    write = sql_log.database.write

    @contextmanager
    def late() -> Iterator[DBAPICursor]:
        monkeypatch.undo()
        erase(sql_log, "run/a", 1)
        with write() as cursor:
            yield cursor

    monkeypatch.setattr(sql_log.database, "write", late)

    with pytest.raises(SnapshotStale):
        sql_log.save_snapshot(Snapshot("run/a", 3, "numbers", 1, b"of before"))

    assert snapshots(sql_log, Numbers()) == []


def test_a_snapshot_that_cannot_be_kept_is_no_error(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(snapshot: Snapshot) -> None:
        raise LogBusy("another writer")

    fill(log, "run/a", 3, type=COUNT)
    monkeypatch.setattr(log, "save_snapshot", busy)

    assert replay(log, "run/a", Numbers(), snapshot_every=1).seq == 3


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("append"), st.lists(st.tuples(st.sampled_from([COUNT, OTHER]), st.integers(1, 4)), max_size=4)
        ),
        st.tuples(st.just("erase"), st.integers(1, 8)),
        st.tuples(
            st.just("replay"),
            st.tuples(st.none() | st.integers(1, 12), st.integers(1, 3), st.integers(0, 2), st.integers(1, 2)),
        ),
        st.tuples(st.just("damage"), st.integers(1, 12)),
    ),
    min_size=4,
    max_size=16,
)


def take(log: Log, stream: str, step: str, said: Any) -> None:
    """One of the things that happen to a stream between two replays."""
    if step == "append" and said:
        log.append(stream, [count(number, version, type=type) for number, (type, version) in enumerate(said)])
    elif step == "erase":
        with contextlib.suppress(InvalidInput):  # it is not there, or it is an erasure
            erase(log, stream, said)
    elif step == "damage":
        with contextlib.suppress(InvalidInput, SnapshotStale):
            log.save_snapshot(Snapshot(stream, said, "everything", 1, b"[]"))
    elif step == "replay":
        until, every, registry, version = said
        for one in (Numbers(version), Everything(version)):
            replay(log, stream, one, until=until, snapshot_every=every, upcasters=REGISTRIES[registry])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_from_a_snapshot_or_from_zero_the_state_is_the_same_at_every_seq(
    lasting_log: Log, steps: list[tuple[str, Any]]
) -> None:
    stream = f"run/{uuid4()}"
    take(lasting_log, stream, "append", [(COUNT, 1), (COUNT, 2), (OTHER, 1), (COUNT, 3), (COUNT, 4), (COUNT, 1)])
    for step, said in steps:
        take(lasting_log, stream, step, said)

    events = list(lasting_log.read(stream))
    for registry in REGISTRIES:
        for one in (Numbers(), Everything(), Everything(2)):
            assert replay(lasting_log, stream, one, upcasters=registry).seq == len(events)
            for seq in range(len(events) + 1):
                read = [event for event in events[:seq] if one.types is None or event.type in one.types]
                state = fold(read, one.initial(), one.reduce, registry)
                assert replay(lasting_log, stream, one, until=seq, upcasters=registry).state == state
