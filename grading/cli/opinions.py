"""How overrides look to a person: who said what of a grade, when and why, and what it comes to."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.text import Text

from grading.cli.output import Cell, Output, joined, styled
from grading.cli.text import clipped, plural
from grading.rows import Coverage, GradeRow, Outcome, OverrideRow

_STYLES: Final = {True: "green", False: "red"}
_REASON: Final = 400  # so many characters of a reason are shown
_UNSURE: Final = "as graded: which score the ladder asks for is not known; --verdict says it"


def said(passed: bool | None) -> Text:
    """`passed`, `failed` or `withdrawn`, in its colour."""
    if passed is None:
        return styled("withdrawn", "dim")
    return styled("passed" if passed else "failed", _STYLES[passed])


def overridden_cell(grade: GradeRow) -> Cell:
    """What the grade comes to with its overrides, for the board; empty where it has none."""
    outcome = grade.overridden
    return "" if outcome is None else joined(said(outcome.passed), f" {outcome.score:.2f}")


def pending_note(grade: GradeRow) -> list[str]:
    """`2 overrides pending review`, where there are any."""
    return [f"{plural(len(grade.pending), 'override')} pending review"] if grade.pending else []


def coverage_line(covered: Coverage) -> str | None:
    """`with 2 overridden: 14 passed, 11 failed, 1 broken, 0 not graded; 1 pending review`; None without any."""
    if not covered.overridden:
        return f"0 overridden, {covered.pending:,} pending review" if covered.pending else None
    then = f"{covered.passed_then:,} passed, {covered.failed_then:,} failed"
    rest = f"{covered.broken:,} broken, {covered.not_graded:,} not graded"
    return f"with {covered.overridden:,} overridden: {then}, {rest}; {covered.pending:,} pending review"


def counted(grades: Sequence[GradeRow]) -> str:
    """`; 2 overridden, 1 pending review`; nothing where nobody said anything."""
    overridden = sum(grade.overridden is not None for grade in grades)
    pending = sum(bool(grade.pending) for grade in grades)
    return f"; {overridden:,} overridden, {pending:,} pending review" if overridden or pending else ""


def outcome_line(grade: GradeRow) -> list[Cell]:
    """`failed, score 0.67; overridden: passed, score 1.00`."""
    graded: list[Cell] = [said(grade.passed), f", score {grade.score:.2f}"] if grade.score is not None else ["broken"]
    return graded if grade.overridden is None else [*graded, "; ", *_outcome(grade.overridden)]


def about_grade(out: Output, grade: GradeRow) -> None:
    """Under the head of a grade: what it comes to with its overrides, who overrode the verdict, and what is pending."""
    if grade.overridden is not None:
        out.line(joined(*_outcome(grade.overridden)), indent=2, hanging=2)
        if not grade.overridden.certain:
            out.line(f"({_UNSURE})", indent=4, style="dim")
    _lines(out, (one for one in grade.overrides if one.milestone is None), indent=4)
    _elsewhere(out, grade)


def about_rung(out: Output, grade: GradeRow, index: int) -> None:
    """Under a rung: who sees it otherwise, when and why."""
    _lines(out, (one for one in grade.overrides if one.index == index), indent=10)


def _elsewhere(out: Output, grade: GradeRow) -> None:
    """What was said of other grades of the run."""
    for title, found in (("pending review", grade.pending), ("no review needed, graded so by now", grade.agreed)):
        for one in found:
            what = "the verdict" if one.milestone is None else one.milestone
            of = f" of the grade by {one.named} at seq {one.grade_seq}"
            out.line(
                joined(f"{title}: {what} ", said(one.passed), f"{_who(one)}{of}: {_why(one)}"), indent=2, hanging=2
            )
    if grade.pending:
        out.hint(
            "`gradespine override` says it again of this grade (--passed, --failed), or takes it back (--withdraw)"
        )


def _lines(out: Output, found: Iterable[OverrideRow], indent: int) -> None:
    for one in found:
        out.line(joined("overridden: ", said(one.passed), f"{_who(one)}: {_why(one)}"), indent=indent, hanging=2)


def _outcome(outcome: Outcome) -> list[Cell]:
    points = f", score {outcome.score:.2f} ({outcome.attained:g} of {outcome.total:g})"
    return ["overridden: ", said(outcome.passed), points]


def _who(one: OverrideRow) -> str:
    return f", says {one.by}, {one.recorded:%Y-%m-%d %H:%M:%SZ}, seq {one.seq}"


def _why(one: OverrideRow) -> str:
    return clipped(one.reason, _REASON)
