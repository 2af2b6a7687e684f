"""What append promises, on every implementation."""

import dataclasses
import threading
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import uuid4

import pytest

from spine import (
    ANY,
    NO_STREAM,
    STREAM_EXISTS,
    Actor,
    Append,
    Appended,
    Expect,
    IdentityClash,
    InvalidInput,
    Log,
    NewEvent,
    Refused,
    StreamConflict,
)
from tests.conftest import OpenLog
from tests.spine.builders import fill, found


def test_seqs_count_in_the_stream_and_positions_in_the_log(log: Log) -> None:
    first = log.append("run/a", [found(n=1), found(n=2)])
    other = log.append("run/b", [found(n=3)])
    again = log.append("run/a", [found(n=4)])

    assert first == Appended(1, 2, 1, 2, new=True)
    assert other == Appended(1, 1, 3, 3, new=True)
    assert again == Appended(3, 3, 4, 4, new=True)
    assert [(e.position, e.stream, e.seq, e.payload["n"]) for e in log.read_all()] == [
        (1, "run/a", 1, 1),
        (2, "run/a", 2, 2),
        (3, "run/b", 1, 3),
        (4, "run/a", 3, 4),
    ]


def test_every_field_comes_back(log: Log) -> None:
    said = NewEvent(
        "finding.reported",
        {"text": 'a\x00b\r\n\u2028\x7f"\\ é 😀', "numbers": [0, -0.0, 1e21, 1e-7, 0.1, 1e16, 5e-324], "none": None},
        actor=Actor.HUMAN,
        time=datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=UTC),
        schema_version=2,
        principal="ada",
        metadata={"client": "x"},
        correlation_id="c",
        causation_id=uuid4(),
        trace_id="t",
        span_id="s",
        origin="o",
    )

    log.append("run/ünï/2", [said])

    [event] = log.read("run/ünï/2")
    for field in dataclasses.fields(NewEvent):
        assert getattr(event, field.name) == getattr(said, field.name), field.name
    assert not event.erased


def test_the_log_names_itself_with_its_first_event(log: Log) -> None:
    before = log.name

    log.append("run/a", [found()])

    assert before is None
    assert str(log.name).startswith("gradespine/")


@pytest.mark.parametrize("expect", [ANY, NO_STREAM, 0])
def test_a_new_stream_meets(log: Log, expect: Expect | int) -> None:
    assert log.append("run/a", [found()], expect).new


@pytest.mark.parametrize("expect", [ANY, STREAM_EXISTS, 2])
def test_a_stream_at_seq_2_meets(log: Log, expect: Expect | int) -> None:
    fill(log, "run/a", 2)

    assert log.append("run/a", [found()], expect).first_seq == 3


@pytest.mark.parametrize("expect", [STREAM_EXISTS, 1])
def test_a_new_stream_does_not_meet(log: Log, expect: Expect | int) -> None:
    with pytest.raises(StreamConflict) as refused:
        log.append("run/a", [found()], expect)

    assert refused.value.actual == 0
    assert list(log.read_all()) == []


@pytest.mark.parametrize("expect", [NO_STREAM, 0, 1, 3])
def test_a_stream_at_seq_2_does_not_meet(log: Log, expect: Expect | int) -> None:
    fill(log, "run/a", 2)

    with pytest.raises(StreamConflict, match=r"run/a.*at seq 2.*read it again"):
        log.append("run/a", [found()], expect)

    assert log.position() == 2


@pytest.mark.parametrize("expect", [ANY, NO_STREAM, STREAM_EXISTS, 0, 1, 7])
def test_a_repeat_is_answered_before_the_expectation(log: Log, expect: Expect | int) -> None:
    batch = [found(n=1), found(n=2)]
    log.append("run/a", batch, NO_STREAM)
    fill(log, "run/a", 1)

    assert log.append("run/a", batch, expect) == Appended(1, 2, 1, 2, new=False)
    assert log.position() == 3


def test_a_part_of_a_batch_is_a_repeat_too(log: Log) -> None:
    batch = [found(n=n) for n in range(4)]
    log.append("run/a", batch)

    assert log.append("run/a", batch[1:3]) == Appended(2, 3, 2, 3, new=False)


def test_what_a_repeat_may_say_otherwise(log: Log) -> None:
    said = NewEvent("finding.reported", {"a": 1}, actor=Actor.AGENT, metadata={"m": 1})
    log.append("run/a", [said])

    again = dataclasses.replace(
        said, principal="p", correlation_id="c", causation_id=uuid4(), trace_id="t", span_id="s", origin="o"
    )

    assert not log.append("run/a", [again]).new
    [event] = log.read("run/a")
    assert event.principal == ""


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"type": "finding.withdrawn"}, "type"),
        ({"schema_version": 2}, "schema_version"),
        ({"actor": Actor.HUMAN}, "actor"),
        ({"payload": {"a": 2}}, "payload"),
        ({"metadata": {"m": 2}}, "metadata"),
        ({"metadata": None}, "metadata"),
        ({"time": NOON + timedelta(microseconds=1)}, "time"),
    ],
)
def test_an_id_with_other_content_clashes(log: Log, change: dict[str, object], differs: str) -> None:
    said = NewEvent("finding.reported", {"a": 1}, actor=Actor.AGENT, metadata={"m": 1}, time=NOON)
    log.append("run/a", [said])

    with pytest.raises(IdentityClash, match=rf"events\[0\].*another {differs}"):
        log.append("run/a", [dataclasses.replace(said, **change)])  # type: ignore[arg-type]

    assert log.position() == 1


def test_a_repeat_without_a_time_matches_any(log: Log) -> None:
    said = NewEvent("finding.reported", {}, actor=Actor.AGENT, time=NOON)
    log.append("run/a", [said])

    assert not log.append("run/a", [dataclasses.replace(said, time=None)]).new


def test_equal_json_is_the_same_content(log: Log) -> None:
    said = NewEvent("finding.reported", {"a": 1, "b": [1.0, 2]}, actor=Actor.AGENT)
    log.append("run/a", [said])

    assert not log.append("run/a", [dataclasses.replace(said, payload={"b": (1, 2.0), "a": 1.0})]).new


@pytest.mark.parametrize("pick", [[0, "new"], ["new", 0], [0, 1, "new"]])
def test_known_mixed_with_new_clashes(log: Log, pick: list[object]) -> None:
    known = fill(log, "run/a", 2)
    batch = [found(fresh=True) if n == "new" else known[int(str(n))] for n in pick]

    with pytest.raises(IdentityClash):
        log.append("run/a", batch)

    assert log.position() == 2


@pytest.mark.parametrize("order", [[1, 0], [0, 2], [2, 1, 0]])
def test_known_but_not_contiguous_and_in_order_clashes(log: Log, order: list[int]) -> None:
    known = fill(log, "run/a", 3)

    with pytest.raises(IdentityClash):
        log.append("run/a", [known[n] for n in order])


def test_one_id_twice_in_a_batch_clashes(log: Log) -> None:
    event = found()

    with pytest.raises(IdentityClash, match=r"events\[1\].id.*events\[0\]"):
        log.append("run/a", [event, event])

    assert log.position() == 0


def test_an_id_is_unique_in_its_stream_only(log: Log) -> None:
    event = found()

    assert log.append("run/a", [event]).new
    assert log.append("run/b", [event]).new


def test_more_events_than_one_statement_takes(log: Log) -> None:
    batch = [found(n=n) for n in range(1203)]

    assert log.append("run/a", batch).last_seq == 1203
    assert not log.append("run/a", batch).new


def test_several_streams_in_one_commit(log: Log) -> None:
    fill(log, "run/b", 1)
    parts = [Append("run/a", [found(), found()], NO_STREAM), Append("run/b", [found()], 1)]

    answers = log.append_all(parts)

    assert answers == [Appended(1, 2, 2, 3, new=True), Appended(2, 2, 4, 4, new=True)]
    assert [a.new for a in log.append_all(parts)] == [False, False]


def test_several_streams_all_or_none(log: Log) -> None:
    fill(log, "run/b", 1)

    with pytest.raises(StreamConflict):
        log.append_all([Append("run/a", [found()]), Append("run/b", [found()], NO_STREAM)])
    with pytest.raises(IdentityClash):
        log.append_all([Append("run/a", [found()]), Append("run/b", list(map(again, log.read("run/b"))))])
    with pytest.raises(InvalidInput, match=r"appends\[1\].stream.*twice"):
        log.append_all([Append("run/a", [found()]), Append("run/a", [found()])])

    assert log.position() == 1
    assert log.head("run/a") is None


def again(event: object) -> NewEvent:
    stored = event
    return NewEvent(stored.type, stored.payload, actor=stored.actor, id=stored.id)  # type: ignore[attr-defined]


def test_recorded_at_never_decreases(open_a_log: OpenLog) -> None:
    times = iter([1000, 3000, 2000, -5, 4000])
    log = open_a_log(clock=lambda: next(times))
    for _ in range(5):
        log.append("run/a", [found()])

    recorded = [event.row.recorded_at for event in log.read("run/a")]
    claimed = [event.row.time for event in log.read("run/a")]

    assert recorded == [1000, 3000, 3000, 3000, 4000]
    assert claimed == [1000, 3000, 2000, -5, 4000]


def test_what_the_caller_gave_is_not_what_the_log_holds(log: Log) -> None:
    payload = {"list": [1], "nested": {"a": 1}}
    log.append("run/a", [NewEvent("finding.reported", payload, actor=Actor.SYSTEM)])

    payload["list"].append(2)  # type: ignore[attr-defined]
    payload["nested"]["a"] = 2  # type: ignore[index]
    [one] = log.read("run/a")
    one.payload["nested"]["a"] = 3
    [two] = log.read("run/a")

    assert two.payload == {"list": [1], "nested": {"a": 1}}


def test_an_event_cannot_be_assigned_to(log: Log) -> None:
    fill(log, "run/a", 1)
    [event] = log.read("run/a")

    with pytest.raises(AttributeError):
        event.type = "other.type"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        event.comment = "x"  # type: ignore[attr-defined]


def test_threads_append_densely(log: Log) -> None:
    """Ten streams, five appends each, all at once."""
    barrier = threading.Barrier(10)
    failed: list[BaseException] = []

    def work(stream: str) -> None:
        try:
            barrier.wait()
            for _ in range(5):
                log.append(stream, [found(), found()])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(f"run/{n}",)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert [event.position for event in log.read_all()] == list(range(1, 101))
    for head in log.streams():
        assert [event.seq for event in log.read(head.stream)] == list(range(1, 11))


def test_of_many_writers_with_one_expectation_one_wins(log: Log) -> None:
    barrier = threading.Barrier(8)
    outcomes: list[str] = []

    def work() -> None:
        barrier.wait()
        try:
            log.append("run/a", [found()], NO_STREAM)
            outcomes.append("won")
        except StreamConflict:
            outcomes.append("lost")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["lost"] * 7 + ["won"]


def test_every_refusal_is_one_kind_of_error() -> None:
    assert issubclass(InvalidInput, Refused)
    assert issubclass(StreamConflict, Refused)
    assert issubclass(IdentityClash, Refused)


def test_an_event_has_a_version_and_a_time_of_its_own(open_a_log: OpenLog) -> None:
    log = open_a_log(clock=lambda: 1_795_987_843_000_104)
    log.append("run/a", [found(), dataclasses.replace(found(), schema_version=2, time=NOON)])

    first, second = log.read("run/a")

    assert (first.schema_version, first.time) == (1, first.recorded_at)
    assert (second.schema_version, second.time) == (2, NOON)


def test_empty_metadata_is_none(log: Log) -> None:
    said = dataclasses.replace(found(), metadata={})
    log.append("run/a", [said])

    [event] = log.read("run/a")
    assert event.metadata == {}
    assert event.row.metadata_digest is None
    assert not log.append("run/a", [dataclasses.replace(said, metadata=None)]).new


class Word(StrEnum):
    STREAM = "run/a"
    TYPE = "finding.reported"
    TEXT = "text"


def test_text_of_a_kind_of_its_own_is_stored_as_text(log: Log) -> None:
    said = NewEvent(Word.TYPE, {Word.TEXT: Word.TEXT}, actor=Actor.SYSTEM, principal=Word.TEXT, origin=Word.TEXT)
    log.append(Word.STREAM, [said])

    [event] = log.read("run/a")
    assert (event.stream, event.type, event.principal, event.origin) == ("run/a", "finding.reported", "text", "text")
    assert event.payload == {"text": "text"}
    assert not log.append("run/a", [said]).new


def test_a_reader_sees_an_append_to_several_streams_whole(log: Log) -> None:
    done = threading.Event()
    torn: list[int] = []

    def look() -> None:
        while not done.is_set():
            if log.position() % 3:
                torn.append(log.position())

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(60):
        log.append_all([Append(stream, [found()]) for stream in ("run/a", "run/b", "run/c")])
    done.set()
    reader.join()

    assert torn == []
