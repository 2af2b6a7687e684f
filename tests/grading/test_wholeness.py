"""What is decided fast of a grade is what `is_whole` and `is_broken_of` decide slowly, and no more."""

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grading.errors import BrokenCode
from grading.evidence import StreamReference, SuppliedReference
from grading.grades import BrokenGrade, is_broken_of, is_whole, record, record_broken
from grading.ladders import Grade, GraderIdentity, Mode, Rung
from grading.wholeness import broken_grade, plain_summary, plain_weights
from spine import Actor, Event, MemoryLog, NewEvent
from spine.briefs import Brief
from spine.canonical import encode

Payload: TypeAlias = dict[str, Any]

names = st.sampled_from(["n", "näh \U0001f600", 'a "b" \\ c', "x\ny\x1f", "]},{"])
weights = st.sampled_from([1.0, 0.5, 2.25, 0.1, 1e-7, 1e21, 0.0, 3.0, 1 / 3])
rungs = st.builds(
    Rung,
    name=names,
    weight=weights,
    passed=st.booleans(),
    reached=st.booleans(),
    detail=st.sampled_from(["", 'seq 3 says "no"', "tab\t, back\\slash", '","grade_id":"x', "é\u2028"]),
    required=st.booleans(),
    citations=st.lists(st.integers(1, 9), max_size=3, unique=True).map(lambda seqs: tuple(sorted(seqs))),
    cited=st.integers(0, 5),
)
graders = st.none() | st.builds(GraderIdentity, names, st.just("1"), st.just("ab" * 32), st.integers(1, 3))
digests = st.just("cd" * 32)
references = st.one_of(st.builds(SuppliedReference, digests), st.just(StreamReference("run/a", 0, "00" * 32)))


@st.composite
def grades(draw: st.DrawFn) -> Grade:
    drawn = tuple(draw(st.lists(rungs, max_size=4)))
    return Grade(
        draw(names),
        draw(st.sampled_from(Mode)),
        drawn,
        attained=draw(weights),
        total=draw(weights),
        score=draw(weights),
        reached=sum(rung.passed for rung in drawn),
        passed=draw(st.booleans()),
        evidence=draw(references),
        grader=draw(graders),
    )


def recorded(grade: Grade) -> list[Event]:
    with MemoryLog() as log:
        log.append("run/a", [NewEvent("a.thing", {}, actor=Actor.AGENT)])
        record(log, "run/a", grade)
        return list(log.read("run/a", after=1))


def changed(event: Event, payload: Payload) -> Event:
    return Event(event.row._replace(payload=encode(payload).decode()))


def believed_fast(block: list[Event]) -> bool:
    *before, summary = block
    said = plain_summary(Brief.of(summary))
    return said is not None and plain_weights(said, ",".join(event.row.payload or "" for event in before)) is not None


def believed_slowly(block: list[Event]) -> bool:
    *before, summary = block
    try:
        return is_whole("run/a", summary, before)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def is_plain(grade: Grade) -> bool:
    numbers = [grade.attained, grade.total, grade.score, *(rung.weight for rung in grade.rungs)]
    return all((number.is_integer() and abs(number) < 2**53) or abs(number) >= 1e-3 for number in numbers)


@given(grade=grades())
def test_what_the_service_writes_is_believed_at_once(grade: Grade) -> None:
    block = recorded(grade)

    assert believed_slowly(block)
    if grade.rungs and is_plain(grade) and all(number < 1e15 for number in (grade.attained, grade.total, grade.score)):
        assert believed_fast(block) or any(rung.weight >= 1e15 for rung in grade.rungs)


values = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 3), weights, st.just("x"), st.just([]), st.just([1, "x"]), st.just({}),
    st.just(2.5), st.just({"digest": "cd" * 32, "kind": "supplied"}),
)  # fmt: skip


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from paths(item, (*path, key))


@settings(max_examples=400)
@given(grade=grades(), data=st.data())
def test_nothing_is_believed_that_the_service_could_not_have_written(grade: Grade, data: st.DataObject) -> None:
    block = recorded(grade)
    number = data.draw(st.integers(0, len(block) - 1))
    payload: Payload = json.loads(block[number].row.payload or "")
    path = data.draw(st.sampled_from([*paths(payload), ("more",)]))
    holder: Any = payload
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = data.draw(values)
    block[number] = changed(block[number], payload)

    if believed_fast(block):
        assert believed_slowly(block)


@given(grade=grades(), data=st.data())
def test_rungs_in_another_order_or_number_are_not_believed(grade: Grade, data: st.DataObject) -> None:
    *before, summary = recorded(grade)
    other = data.draw(st.permutations(before)) if data.draw(st.booleans()) else before[:-1]
    if other != before:
        assert not believed_fast([*other, summary])


@pytest.mark.parametrize(
    "text",
    ['"weight":1.0}', '"weight":1e0}', '"weight":true}', '"weight": 1}', '"weight":1,"weight":1}', '"weight":"1"}'],
)
def test_a_rung_that_is_written_otherwise_is_left_to_the_slow_way(text: str) -> None:
    rung = Rung("n", 1.0, True, True, "", True, (1,), 1)
    *before, summary = recorded(
        Grade("l", Mode.CUMULATIVE, (rung,), 1.0, 1.0, 1.0, 1, True, SuppliedReference("cd" * 32))
    )
    [event] = before
    assert event.row.payload is not None
    forged = Event(event.row._replace(payload=event.row.payload.replace('"weight":1}', text)))

    assert believed_fast([event, summary])
    assert not believed_fast([forged, summary])


@settings(max_examples=200)
@given(where=names, milestone=names, grader=graders, data=st.data())
@example(where="x", milestone="n", grader=None, data=None)
def test_broken_grades_are_believed_alike(where: str, milestone: str, grader: GraderIdentity | None, data: Any) -> None:
    with MemoryLog() as log:
        broken = BrokenGrade("l", SuppliedReference("cd" * 32), BrokenCode.WRONG_TYPE, milestone, where, grader)
        record_broken(log, "run/a", broken)
        [event] = log.read("run/a")

        assert broken_grade(log, Brief.of(event)) == event.payload
        if data is None:
            return
        payload: Payload = json.loads(event.row.payload or "")
        path = data.draw(st.sampled_from([*paths(payload), ("more",)]))
        holder: Any = payload
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = data.draw(values)
        forged = changed(event, payload)
        try:
            slowly = is_broken_of("run/a", forged)
        except (KeyError, TypeError, ValueError, AttributeError):
            slowly = False
        if forged.row.payload != event.row.payload:
            # The slow way reads the log, where the event is as it was: what is decided at once is told apart by that.
            assert not slowly
            assert broken_grade(log, Brief.of(forged)) in (None, event.payload)
