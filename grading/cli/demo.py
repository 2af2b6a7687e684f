"""`gradespine demo`: recorded runs, graded, explained and re-graded before one's eyes."""

import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from rich.text import Text

    from grading.cli.output import Output
    from grading.gradebook import Gradebook
    from grading.rows import GradeRow

_CLAIMED: Final = "run/demo/code-dates/2"


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", readable=False, help="Keep the log here, and not in a temporary folder."),
    ] = None,
) -> None:
    """Show the whole of it on fifty recorded runs of two agents.

    Records, grades, explains and re-grades them. Nothing is needed but this program. The log is kept, and the last
    lines say what to try on it.
    """
    from grading import bootstrap
    from grading.cli.output import Output
    from grading.settings import Settings

    folder = _folder(keep)
    url = f"sqlite:///{folder / 'demo.db'}"
    out = Output()
    with bootstrap.gradebook(Settings(database_url=url), create=True) as gradebook:
        _record(out, gradebook)
        _grade(out, gradebook)
        _explain(out, gradebook)
        _regrade(out, gradebook, folder)
    _next(out, folder, url)


def _folder(keep: Path | None) -> Path:
    from grading.errors import NotFound

    if keep is None:
        return Path(mkdtemp(prefix="gradespine-demo-"))
    if os.path.lexists(keep / "demo.db"):
        raise NotFound(f"{keep / 'demo.db'} is there already: name another folder, or remove it")
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotFound(f"{keep} cannot be made: {error.strerror}") from None
    return keep.resolve()


def _record(out: "Output", gradebook: "Gradebook") -> None:
    from grading.demo.recordings import record

    _heading(out, "1. Recorded runs go onto the log")
    with out.progress("recording") as progress:
        events = record(gradebook.log, progress)
    out.line(f"{events:,} events: 26 runs of a coding agent, 24 of a shop's service agent.", indent=2)


def _grade(out: "Output", gradebook: "Gradebook") -> None:
    from grading.cli import render
    from grading.demo.ladders import text
    from grading.demo.recordings import CODING, SHOP
    from grading.graders import Grader
    from grading.spec import read_ladder

    _heading(out, "2. A ladder for each agent grades them")
    for name, prefix in (("safe-change-1", CODING), ("shop-desk-1", SHOP)):
        grader = Grader.from_document(read_ladder(text(name), name).document)
        gradebook.add_grader(grader)
        with out.progress("grading") as progress:
            report = gradebook.grade(grader.ref, prefix=prefix, progress=progress)
        out.line(render.report_line(report), indent=2, hanging=2, style="bold")
        _board(out, gradebook.grades(grader=grader.ref))
        out.line()
    out.line("Three outcomes, never two: what is broken could not be graded, and is", indent=2)
    out.line("never a zero. The means are of what could be.", indent=2)


def _explain(out: "Output", gradebook: "Gradebook") -> None:
    from grading.cli import render
    from grading.cli.output import styled

    _heading(out, f"3. Why: explain {_CLAIMED}")
    out.line("In this run the agent said:", indent=2)
    said = [event for event in gradebook.events(_CLAIMED, types=["message.sent"]) if event.actor == "agent"]
    render.events(out, said[-1:], indent=4)
    out.line("The runtime recorded no test at all, and a claim is no evidence:", indent=2)
    out.line()
    out.line(styled(_CLAIMED, "bold"))
    for why in gradebook.explain(_CLAIMED):
        render.explanation(out, why, gradebook)


def _regrade(out: "Output", gradebook: "Gradebook", folder: Path) -> None:
    from grading.cli import render
    from grading.demo.ladders import NEWER, reasons, text
    from grading.demo.recordings import CODING
    from grading.graders import Grader
    from grading.spec import read_ladder

    for name in NEWER:
        (folder / f"{name}.yaml").write_text(text(name), encoding="utf-8")
    _heading(out, "4. A better version re-grades every run")
    out.line("safe-change@1 was wrong twice, so version 2 says:", indent=2)
    for reason in reasons(NEWER[0]):
        out.line(reason, indent=4, prefix="- ")
    grader = Grader.from_document(read_ladder(text(NEWER[0]), NEWER[0]).document)
    gradebook.add_grader(grader)
    with out.progress("re-grading") as progress:
        report = gradebook.regrade(grader.ref, prefix=CODING, progress=progress)
    out.line()
    out.line(render.report_line(report.graded), indent=2, hanging=2)
    out.line(f"from {grader.name}@{report.before}: {render.moved_counts(report.moved)}", indent=2, hanging=2)
    out.line()
    render.moves(out, report.moved, gradebook)
    out.line()
    out.line("The board shows version 2 now; the grades by version 1 stand in the history.", indent=2)


def _next(out: "Output", folder: Path, url: str) -> None:
    me = _me()
    _heading(out, "5. What to type next")
    out.line(f"export GRADESPINE_DATABASE_URL={url}", indent=2)
    for what, command in (
        ("the board, run by run", "grades"),
        ("a push that version 1 did not see", "explain run/demo/code-csv/3"),
        ("every grade that this run ever got", "grades --history --prefix run/demo/code-csv/3"),
        ("a run that could not be graded", "explain run/demo/shop-cancel/3"),
        ("your turn: re-grade the other agent", f"grader add {folder / 'shop-desk-2.yaml'}"),
        ("", "regrade shop-desk@2 --prefix run/demo/shop-"),
        ("your own runs", "import --help"),
    ):
        if what:
            out.line(f"# {what}", indent=2, style="dim")
        out.line(f"{me} {command}", indent=2, hanging=4)


def _board(out: "Output", rows: Iterable["GradeRow"]) -> None:
    """A line for every case: the outcomes counted, the mean of the scores there are, and every trial."""
    from grading.cli.output import Column

    cases: defaultdict[str, list[GradeRow]] = defaultdict(list)
    for row in rows:
        cases[row.stream.split("/")[2]].append(row)
    columns = [Column("case"), Column("passed", right=True), Column("failed", right=True),
               Column("broken", right=True), Column("mean", right=True), Column("score of each trial")]  # fmt: skip
    out.table(columns, [_case(case, graded) for case, graded in cases.items()], indent=2)


def _case(case: str, rows: list["GradeRow"]) -> list["str | Text"]:
    from grading.cli.render import score

    counts = [str([row.passed for row in rows].count(outcome)) for outcome in (True, False, None)]
    scores = [row.score for row in rows if row.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    return [case, *counts, score(mean), _trials(rows)]


def _trials(rows: list["GradeRow"]) -> "Text":
    from rich.text import Text

    from grading.cli.render import score, shown

    marks = []
    for row in rows:
        mark = shown(row.verdict)
        mark.plain = score(row.score) if row.status == "graded" else "broken"
        marks.append(mark)
    return Text(" ").join(marks)


def _heading(out: "Output", text: str) -> None:
    out.line()
    out.line(text, style="bold")
    out.line()


def _me() -> str:
    """The word that starts this program from where the person is."""
    found = shutil.which("gradespine")
    mine = os.path.abspath(sys.argv[0])
    if Path(mine).name != "gradespine" or (found and os.path.samefile(found, mine)):
        return "gradespine"
    near = os.path.relpath(mine)
    return mine if near.startswith("..") else near
