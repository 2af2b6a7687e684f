"""Graders on the log: one meaning for a version, one active version, and all of it readable from the log alone."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import pytest

from grading.errors import GraderConflict, InvalidLadder, NotFound
from grading.evidence import StreamEvidence
from grading.graders import (
    Grader,
    GraderRef,
    activate,
    active,
    grader_names,
    load,
    register,
    registered,
)
from grading.ladders import GraderIdentity
from spine import ANY, Actor, Appended, Event, Expect, InvalidInput, MemoryLog, NewEvent
from spine.canonical import encode
from tests.grading.builders import RUN, fixed_log, log_of, said

HERE = "tests.grading.python_graders"


def document(version: str = "1", type: str = "finding.reported", name: str = "exploit") -> dict[str, Any]:
    milestones = [{"name": "find", "check": {"event": {"type": type}}}]
    return {"gradespine": 1, "ladder": name, "version": version, "mode": "cumulative", "milestones": milestones}


def exploit(version: str = "1", **other: str) -> Grader:
    return Grader.from_document(document(version, **other))


def on_log(log: MemoryLog, name: str = "exploit") -> list[str]:
    return [f"{event.type} {event.payload['version']}" for event in log.read(f"grader/{name}")]


def test_a_document_is_identified_by_its_content() -> None:
    grader = exploit()

    assert grader.identity == GraderIdentity("exploit", "1", sha256(encode(document())).hexdigest(), 1)
    assert str(grader.ref) == "exploit@1"


def test_the_first_version_registered_is_active() -> None:
    log = fixed_log()

    assert register(log, exploit("1"))
    assert register(log, exploit("2"))

    assert on_log(log) == ["grader.registered 1", "grader.activated 1", "grader.registered 2"]
    assert active(log, "exploit").identity.version == "1"
    assert [str(version.ref) for version in registered(log, "exploit")] == ["exploit@1", "exploit@2"]


def test_registering_again_writes_nothing() -> None:
    log = fixed_log()
    register(log, exploit())
    position = log.position()

    assert not register(log, exploit())
    assert log.position() == position


def test_a_version_never_changes_its_meaning() -> None:
    log = fixed_log()
    register(log, exploit())
    other = exploit(type="x.y")

    with pytest.raises(GraderConflict, match=r"exploit@1 is registered with") as caught:
        register(log, other)

    for definition in (exploit().definition, other.definition):
        assert definition in str(caught.value)
    assert "raise the version" in str(caught.value)


def test_activating_moves_the_active_version() -> None:
    log = fixed_log()
    register(log, exploit("1"))
    register(log, exploit("2"))

    assert activate(log, "exploit", "2", reason="re-graded")
    assert not activate(log, "exploit", "2")

    assert active(log, "exploit").identity.version == "2"
    assert on_log(log)[-1] == "grader.activated 2"


def test_what_is_not_registered_is_not_found_and_what_is_gets_named() -> None:
    log = fixed_log()
    register(log, exploit("1"))

    assert registered(log, "other") == []
    with pytest.raises(NotFound, match="there is no grader other"):
        active(log, "other")
    with pytest.raises(NotFound, match="no grader exploit@3; registered: 1"):
        activate(log, "exploit", "3")
    with pytest.raises(NotFound, match="no grader exploit@3; registered: 1"):
        load(log, "exploit@3")


def test_the_graders_of_a_log_are_listed() -> None:
    log = log_of(said("x.y"))
    for name in ("b", "a"):
        register(log, exploit(name=name))

    assert list(grader_names(log)) == ["a", "b"]


def test_a_grader_is_rebuilt_from_the_log_alone() -> None:
    log = log_of(said("finding.reported"))
    register(log, exploit("1"))
    register(log, exploit("2", type="x.y"))

    one, two = load(log, "exploit"), load(log, GraderRef("exploit", "2"))

    assert (one.identity, two.identity) == (exploit("1").identity, exploit("2", type="x.y").identity)
    grade = one.grade(StreamEvidence(log, RUN))
    assert (grade.grader, grade.passed) == (one.identity, True)
    assert not two.grade(StreamEvidence(log, RUN)).passed


def test_the_document_on_the_log_is_the_one_registered_whole() -> None:
    log = fixed_log()
    given = document()
    grader = Grader.from_document(given)
    given["milestones"].clear()

    register(log, grader)

    assert active(log, "exploit").document == document()


class Overtaken(MemoryLog):
    """A log on which others append to a stream just before we do."""

    def __init__(self, *others: Sequence[NewEvent]) -> None:
        super().__init__()
        self.others = list(others)

    def append(self, stream: str, events: Sequence[NewEvent], expect: Expect | int = ANY) -> Appended:
        if self.others:
            super().append(stream, self.others.pop(0))
        return super().append(stream, events, expect)


def events_of(grader: Grader) -> list[NewEvent]:
    """What registering leaves on an empty log."""
    log = fixed_log()
    register(log, grader)
    return [NewEvent(event.type, event.payload, actor=event.actor) for event in log.read(f"grader/{grader.name}")]


def test_two_who_register_at_once_do_not_give_a_version_two_meanings() -> None:
    log = Overtaken(events_of(exploit(type="x.y")))

    with pytest.raises(GraderConflict):
        register(log, exploit())

    assert on_log(log) == ["grader.registered 1", "grader.activated 1"]


def test_two_who_register_the_same_at_once_register_it_once() -> None:
    log = Overtaken(events_of(exploit()))

    assert not register(log, exploit())
    assert on_log(log) == ["grader.registered 1", "grader.activated 1"]


def test_only_one_of_two_first_versions_becomes_active() -> None:
    log = Overtaken(events_of(exploit("1")))

    assert register(log, exploit("2"))

    assert on_log(log) == ["grader.registered 1", "grader.activated 1", "grader.registered 2"]


@pytest.mark.parametrize("name", ["a", "A", "taubench-airline", "ctf.v2", "x_1", "a" * 100])
def test_a_grader_name_can_stand_in_a_stream_a_url_and_a_command(name: str) -> None:
    assert GraderRef.parse(f"{name}@1.0-rc.1") == GraderRef(name, "1.0-rc.1")
    assert GraderRef.parse(name) == GraderRef(name)
    assert exploit(name=name).ref == GraderRef(name, "1")


@pytest.mark.parametrize(
    "name", ["", "a b", "a/b", "a@b", "-a", ".a", "..", "a.", "a:b", "ä", "a\n", "a%20b", "a" * 101]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="grader: "):
        GraderRef.parse(f"{name}@1")
    with pytest.raises(InvalidInput, match=r"grader: .* version"):
        GraderRef.parse(f"exploit@{name}")


def test_a_document_cannot_take_the_version_of_a_python_grader() -> None:
    log = fixed_log()
    register(log, Grader.from_python(f"{HERE}:found"))

    with pytest.raises(GraderConflict, match="kind python, this has document"):
        register(log, exploit(name="found"))


def test_a_grader_that_needs_a_newer_language_is_refused() -> None:
    log = fixed_log()
    [there, _] = events_of(exploit())
    log.append("grader/exploit", [NewEvent(there.type, {**there.payload, "semantics": 99}, actor=Actor.SYSTEM)])

    with pytest.raises(InvalidLadder, match="needs language 99"):
        load(log, "exploit@1")


def test_registering_leaves_events_of_the_system() -> None:
    log = fixed_log()

    register(log, exploit())

    events: list[Event] = list(log.read("grader/exploit"))
    assert {event.actor for event in events} == {Actor.SYSTEM}
    assert events[0].payload == {
        "name": "exploit",
        "version": "1",
        "definition": exploit().definition,
        "semantics": 1,
        "kind": "document",
        "document": document(),
    }
