"""`gradespine grade`, `regrade`, `rebuild`, `grades` and `explain`: from runs to verdicts, and why."""

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from grading.cli.failures import FINDING, NOT_CHECKED, Usage
from grading.cli.session import session

if TYPE_CHECKING:
    from grading.cli.output import Output
    from grading.gradebook import Gradebook
    from grading.graders import GraderRef
    from grading.regrade import RegradeReport
    from grading.rows import GradeRow

_SHOWN_MOVES: Final = 20

Name = Annotated[str, typer.Argument(metavar="NAME", help="A grader, or one of its versions: NAME@V.")]
Prefix = Annotated[str | None, typer.Option(metavar="P", help="The runs whose names begin so.")]
All = Annotated[bool, typer.Option("--all", help="Every run under run/ that is not hidden.")]
ByGrader = Annotated[str | None, typer.Option(metavar="NAME[@V]", help="Only what this grader says.")]


def grade(
    context: typer.Context,
    name: Name,
    streams: Annotated[list[str] | None, typer.Argument(metavar="STREAM", help="Runs, by name.")] = None,
    prefix: Prefix = None,
    all: All = False,
) -> None:
    """Grade runs, and record the grades on them.

    Without @V, by the active version. What this grader has graded on the evidence there is now, it does not grade
    again. Exit code: 0 all passed, 1 some failed, 3 some could not be graded.

    \b
    Examples:
      gradespine grade taubench-airline --all
      gradespine grade safe-change run/demo/code-dates/2
      gradespine grade safe-change@2 --prefix run/demo/code-
    """
    from grading.cli import render
    from grading.cli.output import Output

    _require_one(context, {"STREAM…": bool(streams), "--prefix P": prefix is not None, "--all": all})
    out = Output()
    with session(context).gradebook() as gradebook, out.progress("grading") as progress:
        report = gradebook.grade(_ref(name), streams=streams or (), prefix=prefix, everything=all, progress=progress)
        hidden = {} if prefix is None else gradebook.hidden(prefix)
    out.line(render.report_line(report), hanging=2)
    render.hidden(out, hidden, prefix or "")
    render.broken(out, report)
    if report.broken or report.failed:
        out.hint("why: `gradespine explain STREAM`; all: `gradespine grades`")
        raise typer.Exit(NOT_CHECKED if report.broken else FINDING)


def regrade(
    context: typer.Context,
    name: Name,
    prefix: Prefix = None,
    all: All = False,
    plan: Annotated[bool, typer.Option("--plan", help="Say what it would do; write nothing.")] = False,
    no_activate: Annotated[bool, typer.Option("--no-activate", help="Leave the board as it is.")] = False,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it stays on the log.")] = None,
) -> None:
    """Grade recorded runs with a newer version; show what moved.

    Without @V, with the version registered last. No grade is overwritten: old and new ones stand in `grades
    --history`. When every run that the active version has graded has a grade by the new one, the board changes to it,
    at once and whole. Exit code: 0, also when runs failed; 3 when some could not be graded.

    A version that was not qualified (`grader qualify`) is said to be so. With GRADESPINE_REQUIRE_QUALIFIED=1 it is
    refused: exit code 2.

    \b
    Examples:
      gradespine regrade safe-change@2 --all --plan
      gradespine regrade safe-change@2 --all
    """
    from grading.cli.output import Output
    from grading.cli.qualification import warn
    from grading.graders import GraderRef

    _require_one(context, {"--prefix P": prefix is not None, "--all": all})
    out = Output()
    with session(context).gradebook() as gradebook:
        if plan:
            warn(out, gradebook, _tell_plan(out, gradebook, name, prefix))
            return
        with out.progress("re-grading") as progress:
            report = gradebook.regrade(
                _ref(name), prefix=prefix, activate=not no_activate, reason=reason, progress=progress
            )
        _tell_regrade(out, gradebook, report)
        warn(out, gradebook, GraderRef(report.graded.grader.name, report.graded.grader.version))
    if report.graded.broken:
        raise typer.Exit(NOT_CHECKED)


def rebuild(context: typer.Context) -> None:
    """Make the tables of grades anew from the log.

    They are derived from it: nothing is lost, the old ones serve until
    the new ones are whole, and recording goes on meanwhile. Interrupted,
    it goes on from there the next time."""
    from grading.cli.output import Output

    out = Output()
    with session(context).gradebook() as gradebook, out.progress("rebuilding") as progress:
        position = gradebook.rebuild(progress=progress)
    out.line(f"rebuilt from {position:,} events")


def grades(
    context: typer.Context,
    grader: ByGrader = None,
    prefix: Annotated[str, typer.Option(metavar="P", help="Only runs whose names begin so.")] = "",
    history: Annotated[bool, typer.Option("--history", help="Every grade ever given, in the order given.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A JSON list, one object a grade, with its rungs.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated, a line a grade, without rungs.")] = False,
    pending: Annotated[bool, typer.Option("--pending", help="Only where an override is pending review.")] = False,
) -> None:
    """Show the board: the current grade of every run.

    And how many passed, failed, are broken (could not be graded) or not graded. Current is what the active version of a
    grader says; --grader NAME@V asks another version. A run that got more evidence since is marked. What people said of
    grades (`gradespine override`) stands beside them.

    \b
    Examples:
      gradespine grades --grader taubench-airline
      gradespine grades --prefix run/demo/ --history
      gradespine grades --json | jq '.[] | select(.passed == false) | .stream'
    """
    from grading.cli import render
    from grading.cli.output import Output

    if json and as_csv:
        raise Usage("either --json or --csv", context)
    out = Output()
    with session(context).gradebook() as gradebook:
        ref = None if grader is None else _ref(grader)
        rows = gradebook.grades(grader=ref, prefix=prefix, history=history, overridden=pending)
        rows = (row for row in rows if row.pending) if pending else rows
        if json:
            out.json_list(row.to_json() for row in rows)
        elif as_csv:
            _csv(out, rows)
        else:
            _board_table(out, gradebook, list(rows), grader, prefix, history, pending)
        if prefix:
            render.hidden(out, gradebook.hidden(prefix), prefix)


def explain(
    context: typer.Context,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="Its name, as `streams` has it.")],
    grader: ByGrader = None,
    curve: Annotated[bool, typer.Option("--curve", help="The score after each event, what earned each rung.")] = False,
    every: Annotated[bool, typer.Option("--every", help="With --curve: also events that changed nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A JSON list of grades with their rungs and citations.")] = False,
) -> None:
    """Show why a run has the grade it has.

    Each rung, passed or not, with the events that decided it. With --curve, how it came about: the grade after each
    event, the event that earned each rung or lost it again, and the first that violated each limit; by the active
    version of each grader that graded the run, or by --grader, on the evidence there is now.

    \b
    Examples:
      gradespine explain run/demo/code-dates/2
      gradespine explain run/demo/code-dates/2 --grader safe-change@1
      gradespine explain run/demo/code-dates/2 --curve
    """
    from grading.cli import render
    from grading.cli.output import Output, styled

    if every and not curve:
        raise Usage("--every goes with --curve", context)
    out = Output()
    with session(context).gradebook() as gradebook:
        if curve:
            _tell_curves(out, gradebook, stream, grader, every, json)
            return
        found = gradebook.explain(stream, grader=None if grader is None else _ref(grader))
        if json:
            out.json_list(why.grade.to_json() for why in found)
            return
        out.line(styled(stream, "bold"))
        render.started(out, found)
        for why in found:
            render.explanation(out, why, gradebook)
        out.hint(f"the whole run: `gradespine show {stream}`")


def _tell_curves(
    out: "Output", gradebook: "Gradebook", stream: str, grader: str | None, every: bool, json: bool
) -> None:
    from grading.cli import curve, curve_json
    from grading.cli.output import styled

    found = gradebook.curves(stream, grader=None if grader is None else _ref(grader))
    if json:
        out.json_list(curve_json.to_json(stream, drawn, every=every) for drawn in found)
    else:
        out.line(styled(stream, "bold"))
        for drawn in found:
            curve.curve(out, drawn, every=every)
        out.hint(f"the events that decided each rung: `gradespine explain {stream}`")
    if any(drawn.curve is None or drawn.curve.points[-1].cause is not None for drawn in found):
        raise typer.Exit(NOT_CHECKED)


def _tell_regrade(out: "Output", gradebook: "Gradebook", report: "RegradeReport") -> None:
    from grading.cli import render

    out.line(render.report_line(report.graded), hanging=2)
    grader = report.graded.grader
    if report.before != grader.version:
        out.line(f"from {grader.name}@{report.before}: {render.moved_counts(report.moved)}", hanging=2)
        render.moves(out, report.moved, gradebook, limit=_SHOWN_MOVES)
    _tell_ungraded(out, report.ungraded, report.graded.runs, f"{grader.name}@{report.before}")
    _tell_overrides(out, report)
    out.line(_standing(report))
    render.broken(out, report.graded)


def _tell_plan(out: "Output", gradebook: "Gradebook", name: str, prefix: str | None) -> "GraderRef":
    """Say what a re-grade would do; returns which version it is about."""
    from grading.cli.text import plural
    from grading.graders import GraderRef

    plan = gradebook.plan_regrade(_ref(name), prefix=prefix)
    grader = f"{plan.grader.name}@{plan.grader.version}"
    out.line(f"{grader}: {plural(plan.runs, 'run')}, {plural(plan.events, 'event')}; {plan.done:,} runs graded already")
    _tell_ungraded(out, plan.ungraded, plan.runs, f"{plan.grader.name}@{plan.active}")
    if plan.overrides:
        stand = f"{plural(plan.overrides, 'override')} {'stands' if plan.overrides == 1 else 'stand'} on these runs"
        out.line(f"{stand}: pending review where the new grade says otherwise")
    out.line(f"active is {plan.grader.name}@{plan.active}; nothing was written")
    return GraderRef(plan.grader.name, plan.grader.version)


def _tell_ungraded(out: "Output", ungraded: int, runs: int, before: str) -> None:
    """Runs that the version before never graded did not move; often they are of another kind than the ladder is for."""
    if ungraded:
        out.line(f"{ungraded:,} of the {runs:,} runs had no grade by {before}")
        out.remark("if the ladder is not for those, choose the runs with --prefix P")


def _tell_overrides(out: "Output", report: "RegradeReport") -> None:
    """What becomes of what people said of the grades before: it does not pass over to new ones by itself."""
    from grading.cli.text import plural

    left = report.left
    if left.pending or left.agreed:
        stood = plural(left.pending + left.agreed, "override")
        under = f"under {report.graded.grader.name}@{report.graded.grader.version}"
        out.line(f"{stood} of grades before: {left.pending:,} pending review {under}, {left.agreed:,} as it says too")
    if left.pending and report.activated:
        out.hint("which: `gradespine grades --pending`")


def _standing(report: "RegradeReport") -> str:
    grader = f"{report.graded.grader.name}@{report.graded.grader.version}"
    if report.activated:
        return f"{grader} is active now: the board shows it"
    if report.before == report.graded.grader.version:
        return f"{grader} is the active version"
    if report.complete:
        return f"{grader} is complete and not active: `gradespine grader activate {grader}`"
    return f"{grader} is not active: it has not graded every run that the active version has"


def _board_table(
    out: "Output",
    gradebook: "Gradebook",
    rows: list["GradeRow"],
    grader: str | None,
    prefix: str,
    history: bool,
    pending: bool,
) -> None:
    from grading.cli import opinions, render
    from grading.cli.text import plural

    if not rows and prefix and gradebook.hidden(prefix):
        return
    if rows:
        out.table(*render.grade_rows(rows, history=history))
        out.line()
    elif pending:
        out.remark("no override is pending review")
    else:
        out.remark(f"no grades{' under ' if prefix else ''}{prefix}: `gradespine grade NAME --all` makes some")
    if history or pending or (grader is not None and "@" in grader):
        out.line(f"{plural(len(rows), 'grade')}: {render.tally(*_counts(rows))}{opinions.counted(rows)}")
        return
    shown = {row.grader for row in rows}
    covered = gradebook.coverage(prefix=prefix)
    render.coverage(out, [one for one in covered if one.grader in shown or (grader is None and not prefix)])


def _counts(rows: list["GradeRow"]) -> tuple[int, int, int]:
    passed = [row.passed for row in rows]
    return passed.count(True), passed.count(False), passed.count(None)


def _csv(out: "Output", rows: Iterator["GradeRow"]) -> None:
    columns: list[str] | None = None
    for row in rows:
        fields: dict[str, Any] = row.to_line()
        line = io.StringIO()
        writer = csv.writer(line)
        if columns is None:
            columns = list(fields)
            writer.writerow(columns)
        writer.writerow(str(value).lower() if isinstance(value, bool) else value for value in fields.values())
        out.data(line.getvalue())


def _require_one(context: typer.Context, given: dict[str, bool]) -> None:
    """Raises Usage unless exactly one way to name the runs was taken."""
    *some, last = given
    taken = [way for way, used in given.items() if used]
    if not taken:
        raise Usage(f"say which runs: {', '.join(some)} or {last}", context)
    if len(taken) > 1:
        raise Usage(f"only one of {' and '.join(taken)}", context)


def _ref(text: str) -> "GraderRef":
    from grading.graders import GraderRef

    return GraderRef.parse(text)
