"""What the board says: grades, current and past, and how much of it is graded. Read from the projector's tables."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, text

from grading.graders import GraderRef
from grading.ladders import GraderIdentity
from grading.override_rows import any_said, counted_too, with_overrides
from grading.rows import Coverage, GradeRow, RungRow, Said
from spine.database import Database
from spine.reading import after_prefix, check_name
from spine.vocabulary import SERVICE_NAMESPACES

RUNS: Final = "run/"
"""The prefix of the streams that are graded."""

_PAGE: Final = 500


def grades(
    database: Database,
    *,
    grader: GraderRef | None = None,
    prefix: str = "",
    stream: str | None = None,
    history: bool = False,
    overridden: bool = False,
) -> Iterator[GradeRow]:
    """The current grades of streams that are not hidden, by stream and grader; with `history` every grade there is, by
    stream in the order of recording; with `overridden` only those of runs of whose grades people have said anything.

    Current is what the active version of a grader said last, or the version that `grader` names; an unregistered
    ladder's grade counts where no registered grader of that name has one. Equal evidence: graded beats broken.
    """
    check_name(prefix, "prefix")
    where = _Filter(grader, prefix, stream, overridden)
    with database.read_transaction() as connection:
        nothing = overridden and not any_said(connection)
        ids = [] if nothing else _ids(connection, where, history)
    for start in range(0, len(ids), _PAGE):
        page = ids[start : start + _PAGE]
        with database.read_transaction() as connection:
            yield from _rows(connection, page)


def said(database: Database, identity: GraderIdentity) -> dict[tuple[str, str], Said]:
    """What a grader has said, by stream and evidence digest. Equal evidence: graded beats broken."""
    with database.read_transaction() as connection:
        rows = connection.execute(
            text(
                "SELECT stream, evidence_digest, status, passed, code FROM grades WHERE grader = :name"
                " AND version = :version AND definition = :definition AND semantics = :semantics"
                " AND through_seq IS NOT NULL ORDER BY CASE WHEN status = 'graded' THEN 1 ELSE 0 END"
            ),
            identity.to_json(),
        )
        return {(row[0], row[1]): Said(row[2], None if row[3] is None else bool(row[3]), row[4]) for row in rows}


def coverage(database: Database, *, prefix: str = RUNS) -> list[Coverage]:
    """How the visible runs of a prefix stand under the active version of every grader, by name."""
    with database.read_transaction() as connection:
        runs = _count_runs(connection, prefix)
        counted = connection.execute(
            text(
                "SELECT r.name, r.version,"
                " coalesce(sum(CASE WHEN c.status = 'graded' AND c.passed THEN 1 ELSE 0 END), 0),"
                " coalesce(sum(CASE WHEN c.status = 'graded' AND NOT c.passed THEN 1 ELSE 0 END), 0),"
                " coalesce(sum(CASE WHEN c.status = 'broken' THEN 1 ELSE 0 END), 0)"
                f" FROM graders r LEFT JOIN ({_RANKED}) c ON c.grader = r.name AND c.rank = 1 AND c.registered"
                " AND c.stream >= :runs AND c.stream < :past"
                " WHERE r.active GROUP BY r.name, r.version ORDER BY r.name"
            ),
            {"name": None, "version": None, "runs": prefix, "past": after_prefix(prefix)},
        ).all()
    covered = [
        Coverage(name, version, passed, failed, broken, runs - passed - failed - broken)
        for name, version, passed, failed, broken in counted
    ]
    said = list(grades(database, prefix=prefix, overridden=True))
    return [counted_too(one, [row for row in said if row.registered and row.grader == one.grader]) for one in covered]


def hidden(database: Database) -> dict[str, str]:
    """The hidden streams, with the reason for each."""
    with database.read_transaction() as connection:
        return {row[0]: row[1] for row in connection.execute(text("SELECT stream, reason FROM hidden_streams"))}


def names(database: Database) -> set[str]:
    """The names that grades go by: of graders, and of ladders that are registered nowhere."""
    with database.read_transaction() as connection:
        return {row[0] for row in connection.execute(text("SELECT DISTINCT coalesce(grader, ladder) FROM grades"))}


def graded(database: Database, identity: GraderIdentity) -> set[str]:
    """The visible runs that a grader has graded on their own evidence, or found broken."""
    with database.read_transaction() as connection:
        rows = connection.execute(
            text(
                "SELECT DISTINCT stream FROM grades WHERE grader = :name AND version = :version"
                " AND definition = :definition AND semantics = :semantics AND through_seq IS NOT NULL"
                " AND stream NOT IN (SELECT stream FROM hidden_streams)"
            ),
            identity.to_json(),
        )
        return {row[0] for row in rows}


@dataclass(frozen=True, slots=True)
class _Filter:
    grader: GraderRef | None
    prefix: str
    stream: str | None
    overridden: bool

    def sql(self) -> str:
        clauses = ["1 = 1"]
        if self.grader is not None:
            clauses.append("coalesce(c.grader, c.ladder) = :name")
            if self.grader.version is not None:
                clauses.append("c.version = :version")
        if self.stream is not None:
            clauses.append("c.stream = :stream")
        if self.overridden:
            clauses.append("c.stream IN (SELECT stream FROM overrides)")
        if self.prefix:
            clauses.append("c.stream >= :prefix")
            if after_prefix(self.prefix) is not None:
                clauses.append("c.stream < :past")
        return " AND ".join(clauses)

    def parameters(self) -> dict[str, Any]:
        return {
            "name": None if self.grader is None else self.grader.name,
            "version": None if self.grader is None else self.grader.version,
            "stream": self.stream,
            "prefix": self.prefix,
            "past": after_prefix(self.prefix),
        }


# Every grade that could be current, ranked within its stream and grader. A version that is named counts as the active
# one; a grade whose grader is not registered with this definition ranks below those whose is.
_RANKED: Final = """
SELECT g.*, r.name IS NOT NULL AS registered, row_number() OVER (
  PARTITION BY g.stream, coalesce(g.grader, g.ladder)
  ORDER BY CASE WHEN r.name IS NULL THEN 1 ELSE 0 END, CASE WHEN g.through_seq IS NULL THEN 1 ELSE 0 END,
    g.through_seq DESC, CASE WHEN g.status = 'graded' THEN 0 ELSE 1 END, g.position DESC) AS rank
FROM grades g
LEFT JOIN graders r ON r.name = g.grader AND r.version = g.version AND r.definition = g.definition
  AND r.semantics = g.semantics
WHERE (r.name IS NULL OR (CAST(:version AS TEXT) IS NULL AND r.active)
    OR (r.name = CAST(:name AS TEXT) AND r.version = CAST(:version AS TEXT)))
  AND g.stream NOT IN (SELECT stream FROM hidden_streams)
"""

_EVERYTHING: Final = """
SELECT g.*, 0 AS rank FROM grades g WHERE g.stream NOT IN (SELECT stream FROM hidden_streams)
"""

_NOT_EVIDENCE: Final = " OR ".join(f"e.type LIKE '{namespace}%'" for namespace in SERVICE_NAMESPACES)


def _ids(connection: Connection, where: _Filter, history: bool) -> list[tuple[str, bool]]:
    """The ids of the chosen grades in the order of the answer, each with whether it is current."""
    parameters = where.parameters()
    current = [
        row[0]
        for row in connection.execute(
            text(
                f"SELECT c.grade_id FROM ({_RANKED}) c WHERE c.rank = 1 AND {where.sql()} "
                "ORDER BY c.stream, coalesce(c.grader, c.ladder)"
            ),
            parameters,
        )
    ]
    if not history:
        return [(id, True) for id in current]
    everything = connection.execute(
        text(f"SELECT c.grade_id FROM ({_EVERYTHING}) c WHERE {where.sql()} ORDER BY c.stream, c.position"),
        parameters,
    )
    shown = set(current)
    return [(row[0], row[0] in shown) for row in everything]


def _rows(connection: Connection, ids: Sequence[tuple[str, bool]]) -> Iterator[GradeRow]:
    """The grades of these ids, in their order."""
    if not ids:
        return
    marks = ", ".join(f":id{number}" for number in range(len(ids)))
    parameters = {f"id{number}": id for number, (id, _) in enumerate(ids)}
    rungs = {
        id: tuple(_rung(row) for row in group)
        for id, group in groupby(
            connection.execute(
                text(f'SELECT * FROM rungs WHERE grade_id IN ({marks}) ORDER BY grade_id, "index"'), parameters
            ).mappings(),
            key=lambda row: row["grade_id"],
        )
    }
    found = {
        row["grade_id"]: row
        for row in connection.execute(
            text(
                "SELECT g.*, EXISTS (SELECT 1 FROM graders r WHERE r.name = g.grader AND r.version = g.version"
                " AND r.definition = g.definition AND r.semantics = g.semantics) AS registered,"
                " g.through_seq IS NOT NULL AND EXISTS (SELECT 1 FROM events e"
                " WHERE e.stream_id = (SELECT stream_id FROM streams WHERE name = g.stream)"
                f" AND e.seq > g.through_seq AND NOT ({_NOT_EVIDENCE})) AS grew"
                f" FROM grades g WHERE g.grade_id IN ({marks})"
            ),
            parameters,
        ).mappings()
    }
    # The board may have been rebuilt since the ids were read.
    grades = [_grade(found[id], rungs.get(id, ()), current) for id, current in ids if id in found]
    yield from with_overrides(connection, grades)


def _rung(row: RowMapping) -> RungRow:
    return RungRow(
        row["name"],
        row["weight"],
        bool(row["required"]),
        bool(row["passed"]),
        bool(row["reached"]),
        row["detail"],
        tuple(json.loads(row["citations"])),
        row["cited"],
    )


_SAID: Final = {"overrides", "pending", "agreed", "overridden"}
_OTHERWISE: Final = {"passed", "where", "registered", "current", "grew", "rungs"} | _SAID
_SAME: Final = tuple(name for name in GradeRow.__slots__ if name not in _OTHERWISE)


def _grade(row: RowMapping, rungs: tuple[RungRow, ...], current: bool) -> GradeRow:
    return GradeRow(
        **{name: row[name] for name in _SAME},
        passed=None if row["passed"] is None else bool(row["passed"]),
        where=row["place"],
        registered=bool(row["registered"]),
        current=current,
        grew=bool(row["grew"]),
        rungs=rungs,
    )


def _count_runs(connection: Connection, prefix: str) -> int:
    return int(
        connection.execute(
            text(
                "SELECT count(*) FROM streams WHERE name >= :runs AND name < :past"
                " AND name NOT IN (SELECT stream FROM hidden_streams)"
            ),
            {"runs": prefix, "past": after_prefix(prefix)},
        ).scalar_one()
    )
