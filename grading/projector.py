"""The projector: grade and grader events become rows. The same events give the same rows, in any batches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import orjson
from sqlalchemy import Connection, Table, delete, insert, select, update

from grading import tables
from grading.graders import EV_ACTIVATED, EV_REGISTERED
from grading.grades import EV_BROKEN, EV_SUMMARY
from grading.override_events import EV_OVERRIDDEN, believed
from grading.rungs import Block, copy_blocks, read_blocks, reads_alike
from grading.wholeness import Payload, broken_grade, plain_summary, plain_weights, whole_grade
from spine import Actor, Log
from spine.briefs import Brief
from spine.bulk import insert_rows

EV_HIDDEN: Final = "stream.hidden"
EV_SHOWN: Final = "stream.shown"

Row: TypeAlias = tuple[Any, ...]
Tables: TypeAlias = Mapping[str, Table]

_SYSTEM: Final = Actor.SYSTEM.value


@dataclass(slots=True)
class _Grade:
    """A row of `grades`, and its rungs: those right before its summary, or rows of `rungs`."""

    row: Row
    block: Block | None = None
    rungs: Sequence[Row] = ()


class Grades:
    """Grades, their rungs, what people said of them, the graders with the active version of each, and which streams are
    hidden.

    Believed is what the service itself could have written: whole grades by the system on the stream they are about,
    overrides by people of grades that stood there before, and graders on their own stream. Anything else in the log
    leaves no row. Rungs are looked up from their summary.
    """

    name = "grades"
    version = 3
    types = (EV_SUMMARY, EV_BROKEN, EV_OVERRIDDEN, EV_REGISTERED, EV_ACTIVATED, EV_HIDDEN, EV_SHOWN)
    tables: Sequence[Table] = (tables.grades, tables.rungs, tables.overrides, tables.graders, tables.hidden_streams)

    def __init__(self, log: Log) -> None:
        self._log = log

    def apply(self, connection: Connection, tables: Tables, events: Sequence[Brief]) -> None:
        """Take events in order. The first grade of an identity stands, whole."""
        closing: list[Brief] = []
        overriding: list[Brief] = []
        for event in events:
            if event.schema_version != 1:
                continue
            if event.type in (EV_HIDDEN, EV_SHOWN):
                _set_hidden(connection, tables["hidden_streams"], event)
            elif event.type == EV_OVERRIDDEN:
                overriding.append(event)
            elif event.actor == _SYSTEM:
                if event.type in (EV_SUMMARY, EV_BROKEN):
                    closing.append(event)
                else:
                    _take_grader(connection, tables["graders"], event)
        _insert_grades(connection, tables, self._grades(connection, closing))
        self._insert_overrides(connection, tables, overriding)

    def _grades(self, connection: Connection, closing: Sequence[Brief]) -> dict[str, _Grade]:
        """The grades that these events close, as far as they are believed, by id."""
        plain = _plain_grades(connection, [event for event in closing if event.type == EV_SUMMARY])
        grades: dict[str, _Grade] = {}
        for event in closing:
            grade = plain.get(event.position) or self._grade(event)
            if grade is not None:
                grades.setdefault(grade.row[0], grade)
        return grades

    def _insert_overrides(self, connection: Connection, tables: Tables, events: Sequence[Brief]) -> None:
        """Insert the overrides that are believed; the grades they may name have been."""
        found = (believed(self._log, connection, tables, event) for event in events)
        insert_rows(connection, tables["overrides"], _without_nul(row for row in found if row is not None))

    def _grade(self, event: Brief) -> _Grade | None:
        if event.type == EV_BROKEN:
            broken = broken_grade(self._log, event)
            return None if broken is None else _Grade(_broken(event, broken))
        whole = whole_grade(self._log, event)
        if whole is None:
            return None
        said, rungs = whole
        return _Grade(_graded(event, said), rungs=list(map(_rung, rungs)))


def _plain_grades(connection: Connection, summaries: Sequence[Brief]) -> dict[int, _Grade]:
    """The grades in plain shape, with their rungs right before their summary, by its position: all but a few."""
    said = {event.position: payload for event in summaries if (payload := plain_summary(event)) is not None}
    blocks: dict[int, Block] = {}
    weights: set[float] = set()
    for block in read_blocks(connection, [Block(position, payload["rungs"]) for position, payload in said.items()]):
        found = plain_weights(said[block.position], block.payloads)
        if found is not None:
            blocks[block.position] = block
            weights |= found
    if not reads_alike(connection, sorted(weights)):
        return {}
    return {
        event.position: _Grade(_graded(event, said[event.position]), blocks[event.position])
        for event in summaries
        if event.position in blocks
    }


def _rung(said: Payload) -> Row:
    return (
        said["grade_id"],
        said["index"],
        said["name"],
        said["weight"],
        said["required"],
        said["passed"],
        said["reached"],
        said["detail"],
        orjson.dumps(said["citations"]).decode(),
        said["cited"],
    )


def _graded(event: Brief, said: Payload) -> Row:
    return (
        *_identity(event, said, "graded"),
        said["mode"],
        said["passed"],
        said["score"],
        said["attained"],
        said["total"],
        said["reached"],
        said["rungs"],
        said["evidence"].get("through_seq"),
        said["evidence"]["digest"],
        said["outcome"],
        *(None, None, None),
        *_place(event),
    )


def _broken(event: Brief, said: Payload) -> Row:
    return (
        *_identity(event, said, "broken"),
        *(None, None, None, None, None, None, None),
        said["evidence"].get("through_seq"),
        said["evidence"]["digest"],
        None,
        said["code"],
        said["milestone"],
        said["where"],
        *_place(event),
    )


def _identity(event: Brief, said: Payload, status: str) -> Row:
    grader = said["grader"] or {}
    return (
        said["grade_id"],
        event.stream,
        said["ladder"],
        grader.get("name"),
        grader.get("version"),
        grader.get("definition"),
        grader.get("semantics"),
        status,
    )


def _place(event: Brief) -> Row:
    return event.seq, event.position, event.recorded_at


def _insert_grades(connection: Connection, tables: Tables, grades: Mapping[str, _Grade]) -> None:
    """Insert the grades that are not there yet, with their rungs."""
    if not grades:
        return
    ids = tables["grades"].c.grade_id
    known = set(connection.scalars(select(ids).where(ids.in_(grades))))
    fresh = [grades[id] for id in sorted(grades.keys() - known)]  # in the order of the index
    insert_rows(connection, tables["grades"], _without_nul(grade.row for grade in fresh))
    insert_rows(connection, tables["rungs"], _without_nul(rung for grade in fresh for rung in grade.rungs))
    copy_blocks(connection, tables["rungs"], [grade.block for grade in fresh if grade.block is not None])


def _take_grader(connection: Connection, graders: Table, event: Brief) -> None:
    said = event.payload()
    name, version = said["name"], said["version"]
    if event.stream != f"grader/{name}":
        return
    this = (graders.c.name == name, graders.c.version == version)
    known = connection.execute(select(graders.c.name).where(*this)).first() is not None
    if event.type == EV_REGISTERED and not known:
        row = {key: said[key] for key in ("name", "version", "definition", "semantics", "kind")}
        place = {"position": event.position, "recorded_at": event.recorded_at}
        connection.execute(insert(graders).values(**row, **place, active=False))
    elif event.type == EV_ACTIVATED and known:
        # One that is not registered changes nothing.
        active = graders.c.version == version
        connection.execute(update(graders).where(graders.c.name == name).values(active=active))


def _set_hidden(connection: Connection, hidden: Table, event: Brief) -> None:
    connection.execute(delete(hidden).where(hidden.c.stream == event.stream))
    if event.type == EV_HIDDEN:
        insert_rows(connection, hidden, _without_nul([(event.stream, event.payload()["reason"])]))


def _without_nul(rows: Iterable[Row]) -> list[Row]:
    """Postgres takes no NUL in text, which an event may hold."""
    return [
        tuple(value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in row)
        if "\0" in "".join([value for value in row if type(value) is str])
        else row
        for row in rows
    ]
