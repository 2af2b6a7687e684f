"""Overrides: what a person makes of a grade, said on the log beside it. The grade itself is never touched."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from grading.errors import GradingError, NotFound
from grading.graders import GraderRef, find, load
from grading.ladders import GraderIdentity
from grading.override_events import Known, overriding, said_on
from grading.rows import GradeRow, OverrideRow
from grading.suggestions import did_you_mean
from spine import InvalidInput, Log, LogBusy, NewEvent
from spine.identifiers import MAX_IDENTIFIER, check_identifier

MAX_REASON: Final = 4000
"""In characters."""

_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a person says of a rung of a grade (by its name and, where several have it, its index) or, without
    `milestone`, of its verdict: that it `passed` or not. None takes back what was said of it before."""

    passed: bool | None
    by: str
    reason: str
    milestone: str | None = None
    index: int | None = None

    def __post_init__(self) -> None:
        """Raises InvalidInput."""
        check_identifier(self.by, "by", MAX_IDENTIFIER)
        if not self.by.strip():
            raise InvalidInput("by", "is empty: say who sees it so, it stays on the log")
        if not self.reason.strip():
            raise InvalidInput("reason", "is empty: say why, it stays on the log")
        if any("\ud800" <= character <= "\udfff" for character in self.reason[:MAX_REASON]):
            raise InvalidInput("reason", "holds half a character: it is not Unicode text")
        if len(self.reason) > MAX_REASON:
            raise InvalidInput(
                "reason",
                f"{len(self.reason):,} characters, more than {MAX_REASON:,}: say the rest elsewhere, and where",
            )
        if self.milestone is None and self.index is not None:
            raise InvalidInput("index", "a verdict has none: name a milestone too")


@dataclass(frozen=True, slots=True)
class Overridden:
    """A person's opinion stands on the log. `new` is False when that was so before, or nothing stood to take back.

    `before` is the grade as it was; `after` as it is, which is another grade where the run was graded again meanwhile,
    and None where it was hidden meanwhile.
    """

    before: GradeRow
    after: GradeRow | None
    new: bool


def override(
    log: Log,
    stream: str,
    opinion: Opinion,
    *,
    current: Callable[[], Sequence[GradeRow]],
    grader: GraderRef | None = None,
    grade_id: str | None = None,
) -> Overridden:
    """Append the opinion to the stream of the grade, once, in the person's name.

    `current` gives the grades of the run that the board shows: one of them is meant, that by `grader` where several
    graded it, and no other than `grade_id` where that is given. Raises NotFound when there is none such, when it is
    broken, or has no such milestone.
    """
    known = said_on(log, stream)
    before = _one(stream, current(), grader)
    if grade_id is not None and before.grade_id != grade_id:
        raise NotFound(
            f"{grade_id} is not the grade of {stream} by {before.named}: that is {before.grade_id}",
            f"look at it again: `gradespine explain {stream}`",
        )
    for _ in range(_ATTEMPTS):
        events = _events(log, before, opinion, known)
        if not events:
            return Overridden(before, before, new=False)
        # One by one: another writer may have taken back some of them just now.
        new = sum(log.append(stream, [event]).new for event in events) > 0
        known = said_on(log, stream)  # before the board: what it does not show yet must not count as known
        after = next((row for row in current() if _same_grader(row, before)), None)
        if new or after is None or after.grade_id != before.grade_id:
            return Overridden(before, after, new)
        before = after  # somebody else wrote the same just now, and perhaps more since
    raise LogBusy(f"{stream}: others go on saying something of the same rung: look at it again, and repeat")


def _one(stream: str, rows: Sequence[GradeRow], grader: GraderRef | None) -> GradeRow:
    if not rows:
        raise NotFound(f"{stream} has no grade to override", f"`gradespine grade NAME {stream}` makes one")
    names = sorted(row.grader or row.ladder for row in rows)
    found = [row for row in rows if grader is None or (row.grader or row.ladder) == grader.name]
    if grader is not None and not found:
        near = did_you_mean(grader.name, names)
        raise NotFound(f"{stream} has no grade by {grader.name}{near}", f"it is graded by {', '.join(names)}")
    if len(found) > 1:
        raise NotFound(f"{stream} is graded by {', '.join(names)}", "say which is meant: --grader NAME")
    [row] = found
    if grader is not None and grader.version not in (None, row.version):
        raise NotFound(f"the grade of {stream} that the board shows is by {row.named}, not by {grader}")
    return row


def _events(log: Log, grade: GradeRow, opinion: Opinion, known: Known) -> list[NewEvent]:
    """The events that make this opinion the last word; none where it is. `known` is what had been said on the stream
    when the grade was looked at, or before."""
    if opinion.passed is None:
        return [_taking_back(grade, said, opinion, known) for said in _standing(grade, opinion)]
    if grade.status == "broken":
        raise NotFound(
            f"{grade.stream} is broken under {grade.named} ({grade.code}): it has no outcome to override",
            f"`gradespine explain {grade.stream}` says where",
        )
    rung = None if opinion.milestone is None else _rung(grade, opinion.milestone, opinion.index)
    index = None if rung is None else rung[0]
    own = next((one for one in grade.overrides if one.index == index), None)
    if own is not None and _says(own, opinion) and not _is_outdone(own, grade):
        return []
    event = overriding(
        grade.stream,
        grade_id=grade.grade_id,
        grader=_identity(grade),
        rung=rung,
        passed=opinion.passed,
        by=opinion.by,
        reason=opinion.reason,
        pass_at=None if rung is None else _pass_at(log, grade),
        after=known.get((grade.grade_id, index), 0),
    )
    return [event]


def _taking_back(grade: GradeRow, said: OverrideRow, opinion: Opinion, known: Known) -> NewEvent:
    return overriding(
        grade.stream,
        grade_id=said.grade_id,
        grader=said.grader,
        rung=None if said.index is None or said.milestone is None else (said.index, said.milestone),
        passed=None,
        by=opinion.by,
        reason=opinion.reason,
        pass_at=None,
        after=known.get((said.grade_id, said.index), 0),
    )


def _standing(grade: GradeRow, opinion: Opinion) -> list[OverrideRow]:
    """What was said of this rung, in this grade and in those it came after. Raises NotFound for an unknown one."""
    found = [
        one
        for one in (*grade.overrides, *grade.pending, *grade.agreed)
        if one.milestone == opinion.milestone and opinion.index in (None, one.index)
    ]
    if not found and opinion.milestone is not None and grade.status == "graded":
        _rung(grade, opinion.milestone, opinion.index)
    return found


def _is_outdone(own: OverrideRow, grade: GradeRow) -> bool:
    """Whether something was said since of the same milestone in another grade of the run."""
    others = (*grade.pending, *grade.agreed)
    return any(one.milestone == own.milestone and one.seq > own.seq for one in others)


def _says(own: OverrideRow, opinion: Opinion) -> bool:
    return (own.passed, own.by, own.reason) == (opinion.passed, opinion.by, opinion.reason.replace("\0", "\ufffd"))


def _rung(grade: GradeRow, name: str, index: int | None) -> tuple[int, str]:
    """The index and name of the rung that is meant. Raises NotFound when it is not one."""
    found = [at for at, rung in enumerate(grade.rungs) if rung.name == name]
    if index in found:
        return index, name
    if len(found) == 1 and index is None:
        return found[0], name
    if found:
        listed = ", ".join(map(str, found))
        raise NotFound(f"{grade.named} has the milestone {name} at index {listed}", "say which is meant: --index N")
    names = list(dict.fromkeys(rung.name for rung in grade.rungs))
    near = did_you_mean(name, names)
    raise NotFound(f"{grade.named} has no milestone {name}{near}", "" if near else f"it has: {', '.join(names)}")


def _pass_at(log: Log, grade: GradeRow) -> float | None:
    """The score that the grade's ladder asks for, 0 for none; None where that is not known here."""
    if not grade.registered or grade.grader is None:
        return None
    ref = GraderRef(grade.grader, grade.version)
    registration = find(log, ref)
    if registration.document is not None:
        return float(registration.document.get("pass_at") or 0)
    try:
        return float(load(log, ref).ladder.pass_at or 0)
    except GradingError:  # its module is not installed here, or is another by now
        return None


def _identity(grade: GradeRow) -> GraderIdentity | None:
    if grade.grader is None or grade.version is None or grade.definition is None or grade.semantics is None:
        return None
    return GraderIdentity(grade.grader, grade.version, grade.definition, grade.semantics)


def _same_grader(one: GradeRow, other: GradeRow) -> bool:
    return (one.grader or one.ladder) == (other.grader or other.ladder)
