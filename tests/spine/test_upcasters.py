"""Upcasters: what is found when they are put together, and what they make of an event."""

import pickle
from typing import Any

import pytest

from spine import (
    Actor,
    Event,
    EventTooNew,
    InvalidInput,
    Log,
    MemoryLog,
    NewEvent,
    Upcaster,
    Upcasters,
    UpcastersBroken,
    UpcastFailed,
    fold,
    upcast,
)

TYPE = "count.made"


def renamed(payload: dict[str, Any]) -> dict[str, Any]:
    return {"number": payload["n"], **{key: value for key, value in payload.items() if key != "n"}}


def with_unit(payload: dict[str, Any]) -> dict[str, Any]:
    return {**payload, "unit": "m"}


TO_2 = Upcaster(TYPE, 1, renamed)
TO_3 = Upcaster(TYPE, 2, with_unit)
BOTH = Upcasters([TO_3, TO_2])


def stored(payload: dict[str, Any], version: int = 1, *, type: str = TYPE) -> Event:
    log = MemoryLog()
    log.append("run/a", [NewEvent(type, payload, actor=Actor.AGENT, schema_version=version, metadata={"m": 1})])
    return next(log.read("run/a"))


def test_each_step_is_taken_from_the_version_of_the_event() -> None:
    assert BOTH.apply(stored({"n": 1})).payload == {"number": 1, "unit": "m"}
    assert BOTH.apply(stored({"number": 1}, 2)).payload == {"number": 1, "unit": "m"}
    assert BOTH.apply(stored({"n": 1})).schema_version == 3


def test_what_is_stored_stays_as_it_is(log: Log) -> None:
    log.append("run/a", [NewEvent(TYPE, {"n": 1}, actor=Actor.AGENT, metadata={"m": 1})])
    [raw] = log.read("run/a")

    [event] = upcast(log.read("run/a"), BOTH)

    assert event.row == raw.row
    assert event.row.schema_version == 1
    assert (event.id, event.digest, event.time, event.actor, event.metadata) == (
        raw.id,
        raw.digest,
        raw.time,
        raw.actor,
        raw.metadata,
    )
    assert raw.payload == {"n": 1}
    assert [kept.payload for kept in log.read("run/a")] == [{"n": 1}]


def test_there_is_nothing_to_do() -> None:
    current, unregistered = stored({"number": 1, "unit": "m"}, 3), stored({"n": 1}, type="other.type")

    assert BOTH.apply(current) is current
    assert BOTH.apply(unregistered) is unregistered
    assert Upcasters().apply(unregistered) is unregistered
    assert list(upcast([current, unregistered], None)) == [current, unregistered]


def test_an_event_that_was_brought_up_is_current() -> None:
    event = BOTH.apply(stored({"n": 1}))

    assert BOTH.apply(event) is event


def test_an_erased_event_stays_erased(log: Log) -> None:
    log.append("run/a", [NewEvent(TYPE, {"n": 1}, actor=Actor.AGENT)])
    log.erase("run/a", [1], reason="asked for", actor=Actor.HUMAN, principal="ada")
    erased = next(log.read("run/a"))

    assert BOTH.apply(erased) is erased


def test_an_event_newer_than_the_program_passes_through() -> None:
    newer = stored({"x": 1}, 4)

    assert BOTH.apply(newer) is newer


@pytest.mark.parametrize("upcasters", [[TO_2, TO_3], []])
def test_who_is_strict_refuses_what_is_newer(upcasters: list[Upcaster]) -> None:
    strict = Upcasters(upcasters, current={TYPE: len(upcasters) + 1}, strict=True)

    with pytest.raises(EventTooNew, match=rf"run/a: seq 1 is count.made in version 4, .* version {len(upcasters) + 1}"):
        strict.apply(stored({"x": 1}, 4))


@pytest.mark.parametrize(
    ("versions", "current", "at"),
    [
        ([1, 3], None, 2),
        ([2], None, 1),
        ([1, 2, 5], None, 3),
        ([1, 1], None, 1),
        ([1, 2, 2], None, 2),
        ([1], 3, 2),
        ([], 2, 1),
        ([1, 2], 2, 2),
        ([1], 1, 1),
        ([2**31 - 2], None, 1),
    ],
)
def test_a_gap_or_a_double_is_found_when_they_are_put_together(
    versions: list[int], current: int | None, at: int
) -> None:
    steps = [Upcaster(TYPE, version, with_unit) for version in versions]

    with pytest.raises(UpcastersBroken, match=rf"count.made: .*version {at}") as broken:
        Upcasters(steps, current=None if current is None else {TYPE: current})

    assert (broken.value.type, broken.value.version) == (TYPE, at)


@pytest.mark.parametrize(
    ("step", "field"),
    [
        (Upcaster("Count", 1, renamed), "type"),
        (Upcaster(TYPE, 0, renamed), "from_version"),
        (Upcaster(TYPE, True, renamed), "from_version"),
        (Upcaster(TYPE, 2**31 - 1, renamed), "from_version"),
    ],
)
def test_what_no_event_can_be_of_has_no_upcaster(step: Upcaster, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Upcasters([step])

    assert refused.value.field == field


def test_what_is_current_is_said() -> None:
    upcasters = Upcasters([TO_2, TO_3], current={"other.type": 1})

    assert [upcasters.current(type) for type in (TYPE, "other.type", "none.such")] == [3, 1, None]


def raises(payload: dict[str, Any]) -> dict[str, Any]:
    return {"number": payload["absent"]}


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (raises, "raised KeyError"),
        (lambda payload: None, "gave NoneType, not a JSON object"),
        (lambda payload: [payload], "gave list, not a JSON object"),
        (lambda payload: {"x": float("nan")}, "payload.x: nan"),
        (lambda payload: {"x": 2**60}, "payload.x: an integer beyond"),
        (lambda payload: {1: 1}, "not text"),
    ],
)
def test_an_upcaster_that_fails_is_named_with_the_event(function: Any, reason: str) -> None:
    upcasters = Upcasters([TO_2, Upcaster(TYPE, 2, function)])

    with pytest.raises(UpcastFailed, match=f"run/a: seq 1: count.made .* from version 2 to 3: .*{reason}") as failed:
        upcasters.apply(stored({"n": 1}))

    assert (failed.value.seq, failed.value.version) == (1, 2)


def test_what_an_upcaster_changes_is_its_own() -> None:
    """One that changes what it is given, or gives what it keeps, reaches neither the event nor the next reader."""
    kept: list[str] = []

    def careless(payload: dict[str, Any]) -> dict[str, Any]:
        payload["tags"] = kept
        return payload

    event = stored({"n": [1]})
    upcasters = Upcasters([Upcaster(TYPE, 1, careless)])
    assert event.payload == {"n": [1]}

    first = upcasters.apply(event)
    first.payload["tags"].append("mine")

    assert event.payload == {"n": [1]}
    assert upcasters.apply(event).payload == {"n": [1], "tags": []}


def test_equal_events_are_read_equal_and_are_not_the_raw_one() -> None:
    event = stored({"n": 1})

    assert BOTH.apply(event) == BOTH.apply(event)
    assert hash(BOTH.apply(event)) == hash(BOTH.apply(event))
    assert event != BOTH.apply(event)
    assert BOTH.apply(event) != event
    assert pickle.loads(pickle.dumps(BOTH.apply(event))) == BOTH.apply(event)


def test_numbers_come_out_as_they_are_stored() -> None:
    event = stored({"n": [1.0, 1e16, 0.1]})

    assert repr(BOTH.apply(event).payload["number"]) == "[1, 1e+16, 0.1]"


def test_fold_reads_the_current_version(log: Log) -> None:
    said: list[tuple[dict[str, Any], int]] = [({"n": 1}, 1), ({"number": 2}, 2), ({"number": 3, "unit": "m"}, 3)]
    log.append("run/a", [NewEvent(TYPE, payload, actor=Actor.AGENT, schema_version=v) for payload, v in said])

    def add(total: int, event: Event) -> int:
        assert event.payload["unit"] == "m"
        return total + int(event.payload["number"])

    assert fold(log.read("run/a"), 0, add, upcasters=BOTH) == 6
