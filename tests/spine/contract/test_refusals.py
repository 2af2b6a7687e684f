"""What append refuses: with an error that names the field, and with nothing written."""

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from spine import Actor, Append, InvalidInput, Log, MemoryLog, NewEvent, Refused, WriterNotAllowed
from spine.vocabulary import ERASED, KNOWN, SERVICE_NAMESPACES
from tests.spine.builders import found

GOOD = NewEvent("finding.reported", {"a": 1}, actor=Actor.SYSTEM)


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"d": value}
    return value


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"type": ""}, "type", "dotted lower case"),
        ({"type": "Tool.called"}, "type", "dotted lower case"),
        ({"type": "tool..called"}, "type", "dotted lower case"),
        ({"type": "tool called"}, "type", "dotted lower case"),
        ({"type": "tool.called\n"}, "type", "dotted lower case"),
        ({"type": 7}, "type", "dotted lower case"),
        ({"type": "a." + "a" * 127}, "type", "128"),
        ({"type": "tool"}, "type", "dotted lower case"),
        ({"type": "tool.called", "schema_version": 2, "actor": Actor.AGENT}, "schema_version", "no version 2"),
        ({"type": "grade.anything"}, "type", "knows no such type"),
        ({"type": "event.erased"}, "type", "Log.erase"),
        ({"actor": "robot"}, "actor", "agent, human or system"),
        ({"actor": None}, "actor", "agent, human or system"),
        ({"principal": "a\x00b"}, "principal", "U\\+0000"),
        ({"principal": "a\x85b"}, "principal", "U\\+0085"),
        ({"trace_id": "a\ud800"}, "trace_id", "U\\+D800"),
        ({"span_id": "x" * 257}, "span_id", "256 bytes"),
        ({"origin": "é" * 129}, "origin", "256 bytes"),
        ({"correlation_id": 1}, "correlation_id", "not text"),
        ({"causation_id": "x"}, "causation_id", "not a UUID"),
        ({"id": "x"}, "id", "not a UUID"),
        ({"schema_version": 0}, "schema_version", "from 1"),
        ({"schema_version": True}, "schema_version", "from 1"),
        ({"schema_version": 2**31}, "schema_version", "from 1"),
        ({"time": datetime(2026, 1, 1)}, "time", "UTC offset"),
        ({"time": datetime(9999, 1, 1, tzinfo=UTC)}, "time", "microseconds"),
        ({"time": 5}, "time", "utcoffset"),
        ({"payload": [1]}, "payload", "not a JSON object"),
        ({"payload": None}, "payload", "not a JSON object"),
        ({"payload": {"rows": [0, 1, 2, {"x": float("nan")}]}}, "payload.rows[3].x", "nan"),
        ({"payload": {"x": float("inf")}}, "payload.x", "inf"),
        ({"payload": {"x": 2**53}}, "payload.x", "2\\^53"),
        ({"payload": {"x": -(2**53)}}, "payload.x", "2\\^53"),
        ({"payload": {"x": 10**30}}, "payload.x", "2\\^53"),
        ({"payload": {"x": "\ud800"}}, "payload.x", "surrogate"),
        ({"payload": {"\udfff": 1}}, "payload.'\\udfff'", "surrogate"),
        ({"payload": {1: 1}}, "payload", "not text"),
        ({"payload": {"x": {1, 2}}}, "payload.x", "set"),
        ({"payload": {"x": b"x"}}, "payload.x", "bytes"),
        ({"payload": deep(65)}, "payload" + ".d" * 64, "64 levels"),
        ({"payload": {"x": "a" * 16 * 2**20}}, "payload", "16,777,216"),
        ({"metadata": {"x": "a" * 16384}}, "metadata", "16,384"),
        ({"metadata": {"x": float("nan")}}, "metadata.x", "nan"),
        ({"metadata": [1]}, "metadata", "not a JSON object"),
        ({"metadata": []}, "metadata", "not a JSON object"),
        ({"metadata": ""}, "metadata", "not a JSON object"),
    ],
)
def test_an_event_is_refused(lasting_log: Log, change: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        lasting_log.append("run/a", [found(), dataclasses.replace(GOOD, **change)])

    assert refused.value.field == f"events[1].{field}"
    assert lasting_log.position() == 0


@pytest.mark.parametrize(
    ("stream", "reason"),
    [("", "needs a name"), ("a\nb", "U\\+000A"), ("é" * 257, "512 bytes"), (None, "not text"), ("\udc00", "U\\+DC00")],
)
def test_a_stream_name_is_refused(lasting_log: Log, stream: Any, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        lasting_log.append(stream, [found()])

    assert refused.value.field == "stream"


@pytest.mark.parametrize("expect", [-1, True, "any", None, 1.5])
def test_an_expectation_is_refused(lasting_log: Log, expect: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        lasting_log.append("run/a", [found()], expect)

    assert refused.value.field == "expect"


def test_nothing_to_append_is_refused(lasting_log: Log) -> None:
    with pytest.raises(InvalidInput, match="nothing to append"):
        lasting_log.append("run/a", [])
    with pytest.raises(InvalidInput, match="nothing to append"):
        lasting_log.append_all([])
    with pytest.raises(InvalidInput) as refused:
        lasting_log.append_all([Append("run/a", [found()]), Append("run/b", [])])
    assert refused.value.field == "appends[1].events"


def test_the_largest_of_everything_is_taken(log: Log) -> None:
    log.append(
        "é" * 256,
        [
            NewEvent(
                "a." + "a" * 126,
                {"n": [2**53 - 1, -(2**53 - 1)], "deep": deep(63)},
                actor=Actor.AGENT,
                principal="é" * 128,
                metadata={"x": "a" * 16376},
            ),
            found(x="a" * (16 * 2**20 - 8)),
        ],
    )

    assert log.position() == 2


@pytest.mark.parametrize("type", [type for type in KNOWN if type != ERASED])
@pytest.mark.parametrize("actor", list(Actor))
def test_who_may_not_write_a_known_type(type: str, actor: Actor) -> None:
    """On one implementation: the check is one piece."""
    log = MemoryLog()
    if actor in KNOWN[type].writers:
        return

    with pytest.raises(WriterNotAllowed) as refused:
        log.append("run/a", [NewEvent(type, {}, actor=actor)])

    assert refused.value.field == "events[0].actor"
    assert log.position() == 0


@pytest.mark.parametrize("type", [ERASED, *(f"{namespace}anything" for namespace in SERVICE_NAMESPACES)])
@pytest.mark.parametrize("actor", list(Actor))
def test_the_services_namespaces_hold_what_it_knows(type: str, actor: Actor) -> None:
    log = MemoryLog()

    with pytest.raises(Refused):
        log.append("run/a", [NewEvent(type, {}, actor=actor)])

    assert log.position() == 0


def test_an_agent_cannot_grade_itself(lasting_log: Log) -> None:
    with pytest.raises(WriterNotAllowed, match=r"grade\.summary may be written by system, not by agent"):
        lasting_log.append("run/a", [NewEvent("grade.summary", {}, actor=Actor.AGENT)])


@pytest.mark.parametrize(
    ("type", "payload", "field"),
    [
        ("tool.returned", {"tool": "bash"}, "payload.call_id"),
        ("command.exited", {"command": "ls", "exit_code": "0"}, "payload.exit_code"),
        ("case.expected", {"actions": [{"tool": "a", "arguments": {}}, {"arguments": {}}]}, "payload.actions[1].tool"),
    ],
)
def test_a_known_type_has_what_its_readers_rely_on(lasting_log: Log, type: str, payload: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        lasting_log.append("run/a", [NewEvent(type, payload, actor=Actor.SYSTEM)])

    assert refused.value.field == f"events[0].{field}"
