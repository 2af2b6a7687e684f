"""The projector: grade and grader events become rows. The same events give the same rows, in any batches."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, update
from sqlalchemy.dialects import postgresql, sqlite

from grading import tables
from grading.graders import EV_ACTIVATED, EV_REGISTERED
from grading.grades import EV_BROKEN, EV_MILESTONE, EV_SUMMARY
from spine import Actor, Event

EV_HIDDEN: Final = "stream.hidden"
EV_SHOWN: Final = "stream.shown"


class Grades:
    """Grades, their rungs, the graders with the active version of each, and which streams are hidden."""

    name = "grades"
    version = 1
    types = (EV_MILESTONE, EV_SUMMARY, EV_BROKEN, EV_REGISTERED, EV_ACTIVATED, EV_HIDDEN, EV_SHOWN)
    tables: Sequence[Table] = (tables.grades, tables.rungs, tables.graders, tables.hidden_streams)

    def apply(self, connection: Connection, events: Sequence[Event]) -> None:
        """Take events in order. A grade is believed only from the system, whatever stands in the log."""
        grades: list[dict[str, Any]] = []
        rungs: list[dict[str, Any]] = []
        for event in events:
            match event.type:
                case "stream.hidden" | "stream.shown":
                    _set_hidden(connection, event)
                case _ if event.actor is not Actor.SYSTEM:
                    continue
                case "grade.milestone":
                    rungs.append(_rung(event.payload))
                case "grade.summary" | "grade.broken":
                    grades.append(_grade(event))
                case "grader.registered":
                    _insert_new(connection, tables.graders, [_grader(event)])
                case "grader.activated":
                    _activate(connection, event.payload["name"], event.payload["version"])
        _insert_new(connection, tables.rungs, rungs)
        _insert_new(connection, tables.grades, grades)


def _rung(payload: Mapping[str, Any]) -> dict[str, Any]:
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
    graders = tables.graders
    connection.execute(update(graders).where(graders.c.name == name).values(active=graders.c.version == version))


def _set_hidden(connection: Connection, event: Event) -> None:
    hidden = tables.hidden_streams
    connection.execute(delete(hidden).where(hidden.c.stream == event.stream))
    if event.type == EV_HIDDEN:
        _insert_new(connection, hidden, [{"stream": event.stream, "reason": event.payload["reason"]}])


def _insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert what is not there yet: the first of an identity stands."""
    if not rows:
        return
    make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    connection.execute(make(table).on_conflict_do_nothing(), rows)
