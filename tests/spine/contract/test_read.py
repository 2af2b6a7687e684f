"""What reading promises, on every implementation."""

import itertools
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from spine import Actor, Append, Event, InvalidInput, Log, NewEvent
from tests.spine.builders import fill, found

TYPES = ["a.one", "b.two", "c.three"]


@pytest.fixture
def filled(log: Log) -> Log:
    """Two streams, 200 events in all, of three types in turn."""
    types = itertools.cycle(TYPES)
    for _ in range(20):
        for stream in ("run/a", "run/b"):
            log.append(stream, [NewEvent(next(types), {}, actor=Actor.SYSTEM) for _ in range(5)])
    return log


CASES: list[dict[str, Any]] = [
    {"after": after, "until": until, "limit": limit, "types": types, "backwards": backwards}
    for after in (0, 3, 60, 99, 500)
    for until in (None, 0, 70, 500)
    for limit in (None, 0, 1, 65)
    for types in (None, [], ["b.two"], ["a.one", "c.three"], ["no.such"])
    for backwards in (False, True)
]


def expected(events: list[Event], key: str, case: dict[str, Any]) -> list[Event]:
    """The same, over a list."""
    until = case["until"]
    chosen = [
        event
        for event in events
        if getattr(event, key) > case["after"]
        and (until is None or getattr(event, key) <= until)
        and (case["types"] is None or event.type in case["types"])
    ]
    if case["backwards"]:
        chosen.reverse()
    return chosen[: case["limit"]]


def test_a_stream_within_any_bounds(filled: Log) -> None:
    everything = list(filled.read("run/a"))
    assert [event.seq for event in everything] == list(range(1, 101))

    for case in CASES:
        assert list(filled.read("run/a", **case)) == expected(everything, "seq", case), case


def test_the_log_within_any_bounds(filled: Log) -> None:
    everything = list(filled.read_all())
    assert [event.position for event in everything] == list(range(1, 201))

    for case in CASES:
        assert list(filled.read_all(**case)) == expected(everything, "position", case), case


@pytest.mark.parametrize(
    "bounds", [{"after": -1}, {"after": 1.0}, {"until": -1}, {"limit": -1}, {"limit": True}, {"types": "a.one"}]
)
def test_bounds_that_mean_nothing_are_refused(log: Log, bounds: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        log.read("run/a", **bounds)
    with pytest.raises(InvalidInput):
        log.read_all(**bounds)


def test_an_unknown_stream_has_no_events(log: Log) -> None:
    assert list(log.read("run/none")) == []
    assert log.head("run/none") is None
    assert log.find("run/none", uuid4()) is None


def test_a_read_sees_the_log_as_it_was_when_asked(log: Log) -> None:
    fill(log, "run/a", 100)
    stream, everything = log.read("run/a"), log.read_all()
    next(stream)
    next(everything)

    fill(log, "run/a", 10)

    assert len(list(stream)) == 99
    assert len(list(everything)) == 99


def test_an_abandoned_read_holds_nothing(log: Log) -> None:
    fill(log, "run/a", 500)
    reads: list[Iterator[Event]] = [log.read("run/a") for _ in range(50)]
    for read in reads:
        next(read)

    assert log.append("run/a", [found()]).first_seq == 501


def test_find_and_head(log: Log) -> None:
    events = fill(log, "run/a", 3)

    second = log.find("run/a", events[1].id)
    head = log.head("run/a")

    assert second is not None
    assert second.seq == 2
    assert log.find("run/b", events[1].id) is None
    last = list(log.read("run/a"))[-1]
    assert head is not None
    assert (head.stream, head.seq, head.position, head.digest) == ("run/a", 3, 3, last.digest)


NAMES = ["a", "a/1", "a/10", "a/2", "a0", "aé", "aﬀ", "a😀", "b", "B", "%", "_", "a%", "a_"]


def test_streams_are_listed_in_byte_order(log: Log) -> None:
    for name in NAMES:
        fill(log, name, 2)

    names = [head.stream for head in log.streams()]

    assert names == sorted(NAMES, key=str.encode)
    assert all(head.seq == 2 for head in log.streams())


def test_streams_by_prefix_and_page(log: Log) -> None:
    for name in NAMES:
        fill(log, name, 1)

    for prefix in ["", "a", "a/", "a/1", "aé", "a😀", "a%", "a_", "%", "b", "z", "\U0010ffff", "\ud7ff"]:
        for after in ["", "a/1", "a0", "zz"]:
            for limit in [None, 0, 1, 3]:
                listed = [head.stream for head in log.streams(prefix, after=after, limit=limit)]
                names = sorted((name for name in NAMES if name.startswith(prefix) and name > after), key=str.encode)
                assert listed == names[:limit], (prefix, after, limit)


def test_more_streams_than_a_page(log: Log) -> None:
    for start in range(0, 2100, 300):
        log.append_all([Append(f"run/{n:05}", [found()]) for n in range(start, start + 300)])

    names = [head.stream for head in log.streams("run/")]

    assert names == [f"run/{n:05}" for n in range(2100)]


def test_a_type_named_twice_is_asked_for_once(log: Log) -> None:
    fill(log, "run/a", 150, type="a.one")

    assert len(list(log.read_all(types=["a.one", "a.one"]))) == 150
    assert len(list(log.read("run/a", types=["a.one", "a.one"]))) == 150


def test_as_many_types_as_anybody_needs(log: Log) -> None:
    fill(log, "run/a", 100, type="a.one")
    types = [f"b.t{n}" for n in range(255)]

    assert len(list(log.read_all(types=[*types, "a.one"]))) == 100
    assert len(list(log.read("run/a", types=[*types, "a.one"]))) == 100
    with pytest.raises(InvalidInput, match="256"):
        log.read_all(types=[*types, "a.one", "b.two"])


def test_what_no_stream_can_be_called_is_refused_and_the_empty_name_is_unknown(log: Log) -> None:
    for name in ("a\x00b", "\ud800", "a" * 513):
        for ask in (log.read, log.head, log.streams):
            with pytest.raises(InvalidInput):
                ask(name)

    assert log.head("") is None
    assert list(log.read("")) == []


def test_a_page_begins_behind_what_was_read_last(log: Log) -> None:
    fill(log, "run/a", 5)

    assert [event.seq for event in log.read("run/a", after=2, limit=2)] == [3, 4]
    assert list(log.read("run/a", after=99)) == []
