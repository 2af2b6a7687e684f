"""The projector: grade and grader events become rows. The same events give the same rows, in any batches."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from grading import tables
from grading.graders import EV_ACTIVATED, EV_REGISTERED
from grading.grades import EV_BROKEN, EV_MILESTONE, EV_SUMMARY, is_broken_of, is_whole
from spine import Actor, Event, Log

EV_HIDDEN: Final = "stream.hidden"
EV_SHOWN: Final = "stream.shown"


class Grades:
    """Grades, their rungs, the graders with the active version of each, and which streams are hidden.

    Believed is what the service itself could have written: whole grades by the system on the stream they are about, and
    graders on their own stream. Anything else in the log leaves no row.
    """

    name = "grades"
    version = 1
    types = (EV_MILESTONE, EV_SUMMARY, EV_BROKEN, EV_REGISTERED, EV_ACTIVATED, EV_HIDDEN, EV_SHOWN)
    tables: Sequence[Table] = (tables.grades, tables.rungs, tables.graders, tables.hidden_streams)

    def __init__(self, log: Log) -> None:
        self._log = log

    def apply(self, connection: Connection, events: Sequence[Event]) -> None:
        """Take events in order."""
        grades: list[dict[str, Any]] = []
        rungs: list[dict[str, Any]] = []
        here = {(event.stream, event.seq): event for event in events if event.type == EV_MILESTONE}
        for event in events:
            if event.schema_version != 1:
                continue
            match event.type:
                case "stream.hidden" | "stream.shown":
                    _set_hidden(connection, event)
                case _ if event.actor is not Actor.SYSTEM:
                    continue
                case "grade.summary":
                    block = self._block(event, here)
                    if is_whole(event.stream, event, block):
                        rungs += map(_rung, block)
                        grades.append(_grade(event))
                case "grade.broken" if is_broken_of(event.stream, event):
                    grades.append(_grade(event))
                case "grader.registered" if event.stream == f"grader/{event.payload['name']}":
                    _insert_new(connection, tables.graders, [_grader(event)])
                case "grader.activated" if event.stream == f"grader/{event.payload['name']}":
                    _activate(connection, event.payload["name"], event.payload["version"])
        _insert_new(connection, tables.rungs, rungs)
        _insert_new(connection, tables.grades, grades)

    def _block(self, summary: Event, here: Mapping[tuple[str, int], Event]) -> list[Event]:
        """As many events as the grade has rungs, right before its summary; those of an earlier batch from the log."""
        first = max(summary.seq - summary.payload["rungs"], 1)
        block = [here.get((summary.stream, seq)) for seq in range(first, summary.seq)]
        found = [event for event in block if event is not None]
        if len(found) == len(block):
            return found
        return list(self._log.read(summary.stream, after=first - 1, until=summary.seq - 1))


def _rung(event: Event) -> dict[str, Any]:
    payload = event.payload
    kept = ("grade_id", "index", "name", "weight", "required", "passed", "reached", "detail", "cited")
    return {key: payload[key] for key in kept} | {"citations": json.dumps(payload["citations"])}


def _grade(event: Event) -> dict[str, Any]:
    payload = event.payload
    grader = payload["grader"] or {}
    evidence = payload["evidence"]
    broken = event.type == EV_BROKEN
    return {
        "grade_id": payload["grade_id"],
        "stream": event.stream,
        "ladder": payload["ladder"],
        "grader": grader.get("name"),
        "version": grader.get("version"),
        "definition": grader.get("definition"),
        "semantics": grader.get("semantics"),
        "status": "broken" if broken else "graded",
        "mode": payload.get("mode"),
        "passed": payload.get("passed"),
        "score": payload.get("score"),
        "attained": payload.get("attained"),
        "total": payload.get("total"),
        "reached": payload.get("reached"),
        "rungs": payload.get("rungs"),
        "through_seq": evidence.get("through_seq"),
        "evidence_digest": evidence["digest"],
        "outcome_digest": payload.get("outcome"),
        "code": payload["code"] if broken else None,
        "milestone": payload["milestone"] if broken else None,
        "place": payload["where"] if broken else None,
        "seq": event.seq,
        "position": event.position,
        "recorded_at": event.row.recorded_at,
    }


def _grader(event: Event) -> dict[str, Any]:
    kept = ("name", "version", "definition", "semantics", "kind")
    row = {key: event.payload[key] for key in kept}
    return row | {"active": False, "position": event.position, "recorded_at": event.row.recorded_at}


def _activate(connection: Connection, name: str, version: str) -> None:
    """Make a registered version the active one; one that is not registered changes nothing."""
    graders = tables.graders
    known = select(graders.c.name).where(graders.c.name == name, graders.c.version == version)
    if connection.execute(known).first() is not None:
        connection.execute(update(graders).where(graders.c.name == name).values(active=graders.c.version == version))


def _set_hidden(connection: Connection, event: Event) -> None:
    hidden = tables.hidden_streams
    connection.execute(delete(hidden).where(hidden.c.stream == event.stream))
    if event.type == EV_HIDDEN:
        _insert_new(connection, hidden, [{"stream": event.stream, "reason": event.payload["reason"]}])


def _insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert what is not there yet: the first of an identity stands."""
    if not rows:
        return
    make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    clean = [{key: _storable(value) for key, value in row.items()} for row in rows]
    connection.execute(make(table).on_conflict_do_nothing(), clean)


def _storable(value: Any) -> Any:
    """Postgres takes no NUL in text, which an event may hold."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
