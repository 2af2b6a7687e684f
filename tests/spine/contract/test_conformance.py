"""The seed's conformance list: what no other file of this folder proves of every implementation."""

import dataclasses
import json
from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spine import Actor, Append, Event, InvalidInput, Log, NewEvent, Refused, StreamConflict
from tests.conftest import OpenLog
from tests.spine.builders import fill, found

SCALARS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False) | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(payload=st.dictionaries(st.text(), JSON | st.binary(), max_size=4))
def test_whatever_is_said_makes_one_event_that_says_the_same_or_none(lasting_log: Log, payload: dict[str, Any]) -> None:
    stream = f"run/{uuid4()}"
    before = lasting_log.position()
    said = NewEvent("action.ended", payload, actor=Actor.AGENT)
    refused = ""
    try:
        lasting_log.append(stream, [said])
    except InvalidInput as refusal:
        refused = refusal.field

    stored = [event.payload for event in lasting_log.read(stream)]
    assert stored == ([] if refused else [payload])
    assert refused == "" or refused.startswith("events[0].payload")
    assert lasting_log.position() == before + len(stored)


@pytest.mark.parametrize("principal", ["", "ada", "ünï 😀"])
def test_the_principal_is_as_it_was_said(lasting_log: Log, principal: str) -> None:
    stream = f"run/{uuid4()}"
    lasting_log.append(stream, [dataclasses.replace(found(), principal=principal)])

    assert [event.principal for event in lasting_log.read(stream)] == [principal]


class Flaky(Exception):
    """Nothing the log knows of."""


def every_second(draw: Callable[[], Any]) -> Callable[[], Any]:
    calls = count(1)

    def flaky() -> Any:
        if next(calls) % 2 == 0:
            raise Flaky
        return draw()

    return flaky


@pytest.mark.parametrize("injected", ["clock", "salt"])
def test_when_every_second_append_fails_the_others_are_dense(open_a_log: OpenLog, injected: str) -> None:
    draw: Callable[[], Any] = (lambda: 1) if injected == "clock" else (lambda: bytes(32))
    log = open_a_log(**{injected: every_second(draw)})
    outcomes: list[object] = []

    for n in range(12):
        try:
            outcomes.append(log.append("run/a", [found(n=n)]).last_seq)
        except Flaky:
            outcomes.append(None)

    assert outcomes == [seq for n in range(1, 7) for seq in (n, None)]
    assert [(event.seq, event.payload["n"]) for event in log.read("run/a")] == [(n + 1, 2 * n) for n in range(6)]


def test_when_every_second_append_is_refused_the_others_are_dense(log: Log) -> None:
    for n in range(1, 7):
        log.append("run/a", [found(n=n)], n - 1)
        with pytest.raises(StreamConflict):
            log.append("run/a", [found(lost=n)], n - 1)
        with pytest.raises(Refused):
            log.append_all([Append("run/b", [found()]), Append("run/a", [found(lost=float("nan"))])])

    assert [(event.position, event.seq, event.payload["n"]) for event in log.read_all()] == [
        (n, n, n) for n in range(1, 7)
    ]


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(calls=st.lists(st.sampled_from(["append", "append two", "repeat", "erase", "snapshot", "refused"]), max_size=60))
def test_there_is_an_event_for_every_change_and_for_nothing_else(lasting_log: Log, calls: list[str]) -> None:
    stream = f"run/{uuid4()}"
    first = fill(lasting_log, stream, 1)
    before = lasting_log.position()
    changes = erased = 0
    for call in calls:
        match call:
            case "append":
                changes += lasting_log.append(stream, [found()]).new
            case "append two":
                answers = lasting_log.append_all([Append(stream, [found()]), Append(f"{stream}/b", [found()])])
                changes += sum(answer.new for answer in answers)
            case "repeat":
                changes += lasting_log.append(stream, first).new
            case "erase":
                answer = lasting_log.erase(stream, [1], reason="x", actor=Actor.SYSTEM, principal="ada")
                changes += answer.new
                erased += answer.new
            case "snapshot":
                assert lasting_log.latest_snapshot(stream, "none", 1) is None
            case _:
                with pytest.raises(StreamConflict):
                    lasting_log.append(stream, [found()], 99)

    assert lasting_log.position() - before == changes
    assert erased == ("erase" in calls)
    assert [event.seq for event in lasting_log.read(stream)] == list(range(1, len(list(lasting_log.read(stream))) + 1))


def test_the_same_clock_ids_and_salts_give_the_same_json(open_a_log: OpenLog) -> None:
    written: list[str] = []
    for _ in range(2):
        ids, salts, times = count(1), count(), count(1_795_987_843_000_104)
        with open_a_log(
            name=f"gradespine/{UUID(int=1)}",
            clock=lambda times=times: next(times),
            salt=lambda salts=salts: next(salts).to_bytes(32),
        ) as log:
            for n in range(3):
                log.append("run/a", [dataclasses.replace(found(n=n), id=UUID(int=next(ids)))])
            written.append(json.dumps([as_json(event) for event in log.read("run/a")]))

    assert written[0] == written[1]
    assert len(json.loads(written[0])) == 3


def as_json(event: Event) -> dict[str, str]:
    return {name: str(value) for name, value in event.row._asdict().items()} | {"digest": event.digest}


def test_what_append_answers_cannot_be_changed(log: Log) -> None:
    answer = log.append("run/a", [found()])

    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.last_seq = 7  # type: ignore[misc]
