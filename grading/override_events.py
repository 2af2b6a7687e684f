"""`grade.overridden`: how the service writes it, and which of those on the log are believed."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from pydantic import ValidationError
from sqlalchemy import Connection, Table, select

from grading.ladders import GraderIdentity
from spine import Actor, Log, NewEvent
from spine.briefs import Brief
from spine.events import Json
from spine.identity import derived_id
from spine.payloads import GradeOverridden

EV_OVERRIDDEN: Final = "grade.overridden"

Row: TypeAlias = tuple[Any, ...]

Known: TypeAlias = Mapping[tuple[str, int | None], int]
"""The seq of what was last said of a rung, by the id of its grade and its index (None for its verdict)."""


def overriding(
    stream: str,
    *,
    grade_id: str,
    grader: GraderIdentity | None,
    rung: tuple[int, str] | None,
    passed: bool | None,
    by: str,
    reason: str,
    pass_at: float | None,
    after: int,
) -> NewEvent:
    """The event that says what a person makes of a rung (its index and name) of a grade, or of its verdict.

    `after` is the seq of what was last said of the same rung of the same grade, 0 for nothing: the same said twice at
    once is one event, and the same said again later is another.
    """
    index, milestone = rung or (None, None)
    payload: dict[str, Json] = {
        "grade_id": grade_id,
        "grader": None if grader is None else grader.to_json(),
        "index": index,
        "milestone": milestone,
        "passed": passed,
        "by": by,
        "reason": reason,
        "pass_at": pass_at,
    }
    id = derived_id({"after": after, "overridden": payload, "stream": stream})
    return NewEvent(EV_OVERRIDDEN, payload, actor=Actor.HUMAN, principal=by, id=id)


def said_on(log: Log, stream: str) -> Known:
    """What was last said of every rung of every grade of a stream."""
    said = log.read(stream, types=[EV_OVERRIDDEN])
    return {(event.payload["grade_id"], event.payload.get("index")): event.seq for event in said}


def believed(log: Log, connection: Connection, tables: Mapping[str, Table], event: Brief) -> Row | None:
    """The row of an override, if a person said it in their own name of a grade that stood on the stream, and named a
    rung that it has. None if not."""
    if event.actor != Actor.HUMAN.value:
        return None
    try:
        said = GradeOverridden.model_validate_json(event.text or "")
    except ValidationError:
        return None
    if not _is_of_a_grade(connection, tables, event, said) or not _is_signed(log, event, said.by):
        return None
    return (
        event.position,
        event.stream,
        event.seq,
        event.recorded_at,
        said.grade_id,
        said.index,
        said.milestone,
        said.passed,
        said.by,
        said.reason,
        None if said.pass_at is None else float(said.pass_at),
    )


def _is_of_a_grade(connection: Connection, tables: Mapping[str, Table], event: Brief, said: GradeOverridden) -> bool:
    grades, rungs = tables["grades"], tables["rungs"]
    whose = select(grades.c.grader, grades.c.version, grades.c.definition, grades.c.semantics).where(
        grades.c.grade_id == said.grade_id,
        grades.c.stream == event.stream,
        grades.c.status == "graded",
        grades.c.position < event.position,
    )
    grader = connection.execute(whose).first()
    named = said.grader and (said.grader.name, said.grader.version, said.grader.definition, said.grader.semantics)
    if grader is None or tuple(grader) != (named or (None, None, None, None)):
        return False
    if said.milestone is None:
        return True
    rung = select(rungs.c.name).where(rungs.c.grade_id == said.grade_id, rungs.c.index == said.index)
    return connection.scalar(rung) == said.milestone.replace("\0", "\ufffd")  # as the table has it


def _is_signed(log: Log, event: Brief, by: str) -> bool:
    whole = next(log.read(event.stream, after=event.seq - 1, until=event.seq), None)
    return whole is not None and whole.principal == by
