"""Checking stored events by their digests: what was appended passes, whatever is changed is found."""

from typing import Any
from uuid import UUID

import pytest

from spine import Actor, Event, Log, LogCorrupt, NewEvent
from spine.chain import verified
from spine.events import EventRow
from tests.spine.builders import fill

TEXT = {"type": "other.type", "actor": "human", "principal": "p", "correlation_id": "c", "trace_id": "t"}
CHANGED: dict[str, Any] = TEXT | {
    "seq": 7,
    "id": UUID(int=1).bytes,
    "schema_version": 9,
    "time": 1,
    "recorded_at": 2,
    "causation_id": UUID(int=2).bytes,
    "span_id": "s",
    "origin": "o",
    "payload_digest": bytes(32),
    "metadata_digest": bytes(32),
    "salt": bytes(32),
    "payload": '{"n":99}',
    "metadata": '{"n":99}',
    "leaf": bytes(32),
}


@pytest.fixture
def rows(lasting_log: Log) -> list[EventRow]:
    if lasting_log.position() == 0:
        for stream in ("run/a", "run/b", "run/a"):
            fill(lasting_log, stream, 2)
        lasting_log.append("run/a", [NewEvent("x.y", {"k": 1}, actor=Actor.AGENT, metadata={"m": 1})])
        lasting_log.erase("run/a", [2], reason="asked for", actor=Actor.HUMAN, principal="dpo")
    return [event.row for event in lasting_log.read_all()]


def check(log: Log, rows: list[EventRow]) -> int:
    return len(list(verified(map(Event, rows), log.name or "")))


def test_what_was_appended_passes(lasting_log: Log, rows: list[EventRow]) -> None:
    assert check(lasting_log, rows) == len(rows) == 8
    assert check(lasting_log, [row for row in rows if row.stream == "run/a"]) == 6


@pytest.mark.parametrize("column", CHANGED)
def test_a_changed_column_is_found(lasting_log: Log, rows: list[EventRow], column: str) -> None:
    for index in (at for at, row in enumerate(rows) if getattr(row, column) != CHANGED[column]):
        changed = [row._replace(**{column: CHANGED[column]}) if at == index else row for at, row in enumerate(rows)]
        with pytest.raises(LogCorrupt, match=f"{rows[index].stream} seq"):
            check(lasting_log, changed)


def test_a_missing_event_and_another_log_are_found(lasting_log: Log, rows: list[EventRow]) -> None:
    with pytest.raises(LogCorrupt, match=r"seq 2 .*: the events before it are missing"):
        check(lasting_log, rows[1:])
    with pytest.raises(LogCorrupt, match=r"run/a seq 4 .*: it follows seq 2"):
        check(lasting_log, rows[:4] + rows[5:])
    with pytest.raises(LogCorrupt, match="leaf"):
        list(verified(map(Event, rows), "gradespine/other"))
