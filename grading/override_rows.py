"""Overrides on the board: which stand on the grade that they name, and which wait for somebody to look again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from sqlalchemy import Connection, RowMapping, and_, func, select

from grading import tables
from grading.ladders import GraderIdentity
from grading.reckoning import reckoned
from grading.rows import Coverage, GradeRow, OverrideRow, RungRow

_Rung: TypeAlias = tuple[str | None, int]
"""A rung of whatever grade: its name, and how many before it have the same. A verdict has no name."""


@dataclass(frozen=True, slots=True)
class _Said:
    rung: _Rung
    row: OverrideRow


def with_overrides(connection: Connection, grades: Sequence[GradeRow]) -> list[GradeRow]:
    """The grades with what people said of them.

    Of each rung of a grade, what was said last stands, unless it was taken back. On a current grade, what was said last
    of a rung in another grade of the same run by the same grader is pending review; where the grade says the same by
    itself there is nothing to review, and it is agreed.
    """
    said = _said(connection, {grade.stream for grade in grades})
    if not said:
        return list(grades)
    return [_with(grade, said.get((grade.stream, grade.grader or grade.ladder), ())) for grade in grades]


def any_said(connection: Connection) -> bool:
    """Whether anybody has said anything of any grade."""
    return connection.execute(select(tables.overrides.c.position).limit(1)).first() is not None


@dataclass(frozen=True, slots=True)
class Left:
    """What becomes of overrides under newer grades: so many are pending review, so many are what these say by
    themselves."""

    pending: int = 0
    agreed: int = 0


def left_of(before: Iterable[GradeRow], after: Iterable[GradeRow]) -> Left:
    """What becomes, under the grades `after`, of the overrides that stand on the grades `before`."""
    stood = {(grade.stream, one.seq) for grade in before for one in grade.overrides}
    pending = agreed = 0
    for grade in after:
        pending += sum((grade.stream, one.seq) in stood for one in grade.pending)
        agreed += sum((grade.stream, one.seq) in stood for one in grade.agreed)
    return Left(pending, agreed)


def counted_too(covered: Coverage, grades: Sequence[GradeRow]) -> Coverage:
    """The counts of a grader together with those of what people said; `grades` are its current ones of the runs of
    which they said anything."""
    outcomes = [(grade.passed, grade.overridden.passed) for grade in grades if grade.overridden is not None]
    more = sum(then for _, then in outcomes) - sum(bool(graded) for graded, _ in outcomes)
    return replace(
        covered,
        overridden=len(outcomes),
        pending=sum(bool(grade.pending) for grade in grades),
        passed_then=covered.passed + more,
        failed_then=covered.failed - more,
    )


def _with(grade: GradeRow, said: Sequence[_Said]) -> GradeRow:
    own = {one.rung: one.row for one in said if one.row.grade_id == grade.grade_id}
    standing = tuple(row for row in own.values() if row.passed is not None)
    last = {one.rung: one.row for one in said}.items() if grade.current else ()
    elsewhere = [(rung, row) for rung, row in last if row.grade_id != grade.grade_id and row.passed is not None]
    agreed = tuple(row for rung, row in elsewhere if _says(grade, rung) == row.passed)
    return replace(
        grade,
        overrides=standing,
        pending=tuple(row for _, row in elsewhere if row not in agreed),
        agreed=agreed,
        overridden=reckoned(grade, standing) if standing else None,
    )


def _says(grade: GradeRow, rung: _Rung) -> bool | None:
    """What the grade itself says of the rung; None where it has none, or is broken."""
    name, nth = rung
    if name is None:
        return grade.passed
    found: list[RungRow] = [one for one in grade.rungs if one.name == name]
    return found[nth].passed if nth < len(found) else None


def _said(connection: Connection, streams: Iterable[str]) -> dict[tuple[str, str], list[_Said]]:
    """What was said of the grades of these runs, by run and grader, in the order it was said."""
    said, grade, rung = tables.overrides, tables.grades, tables.rungs
    alike = and_(rung.c.grade_id == said.c.grade_id, rung.c.name == said.c.milestone, rung.c.index < said.c.index)
    nth = select(func.count()).select_from(rung).where(alike).scalar_subquery()
    by = func.coalesce(grade.c.grader, grade.c.ladder)
    graded = (grade.c.grader, grade.c.version, grade.c.definition, grade.c.semantics, grade.c.ladder)
    rows = connection.execute(
        select(said, *graded, grade.c.seq.label("grade_seq"), by.label("by"), nth.label("nth"))
        .join(grade, grade.c.grade_id == said.c.grade_id)
        .where(said.c.stream.in_(sorted(streams)))
        .order_by(said.c.stream, by, said.c.position)
    )
    by_grader = groupby(rows.mappings(), key=lambda row: (row["stream"], row["by"]))
    return {key: list(map(_of, found)) for key, found in by_grader}


def _of(row: RowMapping) -> _Said:
    grader = None
    if row["grader"] is not None:
        grader = GraderIdentity(row["grader"], row["version"], row["definition"], row["semantics"])
    override = OverrideRow(
        grade_id=row["grade_id"],
        grade_seq=row["grade_seq"],
        ladder=row["ladder"],
        grader=grader,
        milestone=row["milestone"],
        index=row["index"],
        passed=None if row["passed"] is None else bool(row["passed"]),
        by=row["principal"],
        reason=row["reason"],
        pass_at=row["pass_at"],
        seq=row["seq"],
        recorded_at=row["recorded_at"],
    )
    return _Said((row["milestone"], row["nth"]), override)
