"""`gradespine override`: what a person makes of a grade."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from grading.cli.failures import Usage
from grading.cli.session import session

if TYPE_CHECKING:
    from grading.cli.output import Output
    from grading.overrides import Opinion, Overridden


def override(
    context: typer.Context,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The run, by name.")],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who sees it so; it stays on the log.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it stays on the log, and cannot be erased.")],
    milestone: Annotated[str | None, typer.Option(metavar="M", help="The milestone that is meant.")] = None,
    index: Annotated[int | None, typer.Option(metavar="N", help="Which, from 0, where two have that name.")] = None,
    verdict: Annotated[bool, typer.Option("--verdict", help="The verdict on the whole run.")] = False,
    passed: Annotated[bool, typer.Option("--passed", help="It has passed.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It has failed.")] = False,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take back what was said of it.")] = False,
    grader: Annotated[str | None, typer.Option(metavar="NAME", help="Whose grade, where several graded it.")] = None,
    grade: Annotated[str | None, typer.Option(metavar="ID", help="Only if this is the grade still: grade_id.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The grade afterwards, as `grades --json` has it.")] = False,
) -> None:
    """See a grade otherwise, in your name.

    The grade itself is never touched: the board shows both outcomes. A milestone that is overridden changes score and
    verdict by the ladder's own arithmetic; --verdict changes the verdict alone. The last word counts. When the run is
    graded again, or by a newer version, and the new grade says otherwise, the override is pending review: say it again,
    or --withdraw it.

    \b
    Examples:
      gradespine override run/demo/code-csv/4 --passed \\
        --milestone ran_the_tests_after_the_last_change \\
        --by ada --reason "seq 22 writes a comment"
      gradespine override run/demo/code-csv/4 --verdict --failed \\
        --by ada --reason "it edited the tests"
      gradespine override run/demo/code-csv/4 --verdict --withdraw \\
        --by ada --reason "my mistake"
    """
    from grading.cli.output import Output
    from grading.graders import GraderRef
    from grading.overrides import Opinion

    _require_one(context, {"--milestone M": milestone is not None, "--verdict": verdict})
    _require_one(context, {"--passed": passed, "--failed": failed, "--withdraw": withdraw})
    opinion = Opinion(None if withdraw else passed, by, reason, milestone, index)
    with session(context).gradebook() as gradebook:
        ref = None if grader is None else GraderRef.parse(grader)
        done = gradebook.override(stream, opinion, grader=ref, grade_id=grade)
    out = Output()
    if json:
        out.json_line(None if done.after is None else done.after.to_json())
    else:
        _tell(out, done, opinion)


def _tell(out: "Output", done: "Overridden", opinion: "Opinion") -> None:
    from grading.cli.opinions import outcome_line, said
    from grading.cli.output import joined

    grade = done.before
    what = "the verdict" if opinion.milestone is None else opinion.milestone
    out.line(joined(f"{grade.stream}, {grade.named}: {what}: ", said(opinion.passed), f" by {opinion.by}"))
    if not done.new:
        again = "there was no override of it" if opinion.passed is None else "that stands already"
        out.line(f"{again}: nothing was written")
    if done.after is None:
        out.remark(f"{grade.stream} was hidden meanwhile")
    elif done.after.grade_id != grade.grade_id:
        out.remark("it was graded again meanwhile: what you said is about the grade before, and pending review")
    else:
        out.line(joined("graded ", *outcome_line(done.after)), hanging=2)


def _require_one(context: typer.Context, given: dict[str, Any]) -> None:
    """Raises Usage unless exactly one of these was given."""
    taken = [way for way, used in given.items() if used]
    if len(taken) != 1:
        *some, last = given
        more = f", not {' and '.join(taken)}" if taken else ""
        raise Usage(f"say one of {', '.join(some)} or {last}{more}", context)
