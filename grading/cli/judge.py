"""`gradespine judge`: rules asked of a text, without a log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from grading.cli.failures import FINDING, NOT_CHECKED, Usage

if TYPE_CHECKING:
    from grading.rules import Result

_STDIN: Final = "-"


class NotJudged(Usage):
    """Nothing was judged: exit code 3."""

    exit_code = NOT_CHECKED


def judge(
    context: typer.Context,
    checks: Annotated[str, typer.Argument(metavar="CHECKS.json", help="The rules, as one JSON array.")],
    output: Annotated[
        str, typer.Argument(metavar="OUTPUT", show_default=False, help="The text: a file; - or nothing is stdin.")
    ] = _STDIN,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON: hard, soft, why, passed.")] = False,
) -> None:
    """Ask rules of a text: every rule, with a reason for each.

    CHECKS.json holds [{"op": …, "arg": …}]. hard is 1 when every rule passes, soft is the share that does. A rule that
    is malformed, or whose op is unknown, has failed. The same rules stand in a ladder under `judge`.

    \b
    Ops, each with an arg that is text:
      section_present  a heading (a line that begins with #) has it, in any case
      regex            RE2, matches anywhere
      contains         has it; tool_called is the same: a mention, no call
      max_chars        is no longer than this many code points; min_chars
      equals, starts_with
      json_valid       is JSON; without an arg
      json_schema      is JSON that fits; the arg is the schema itself
      not_…            the opposite, of all but max_chars and min_chars

    \b
    Exit codes:
      0    every rule passes
      1    judged, and not every rule passes
      2    usage
      3    could not judge: no checks, no JSON, a file that cannot be read, or
           more to look through than the budget allows

    \b
    Examples:
      echo '[{"op": "contains", "arg": "done"}]' > checks.json
      gradespine judge checks.json answer.md
      my-agent | gradespine judge checks.json --json
    """
    from grading.budget import BUDGET
    from grading.cli.output import Output
    from grading.rules import InvalidChecks, read_rules, score
    from grading.rules.checks_file import MAX_FILE
    from grading.rules.quoting import decoded

    if checks == _STDIN and output == _STDIN:
        raise Usage("only one of CHECKS.json and OUTPUT can come from stdin", context)
    try:
        rules = read_rules(_read(checks, context, MAX_FILE), "stdin" if checks == _STDIN else checks)
    except InvalidChecks as error:
        raise NotJudged(str(error), context) from None
    text = _read(output, context, BUDGET.bytes)
    if len(text) > BUDGET.bytes:
        raise NotJudged(f"a text of more than {BUDGET.bytes // 1024**2} MiB", context)
    result = score(decoded(text), rules)
    if as_json:
        Output().json_line({"hard": result.hard, "soft": result.soft, "why": result.why, "passed": result.passed})
    else:
        _print(result)
    if result.hard < 1:
        raise typer.Exit(FINDING)


def _print(result: "Result") -> None:
    from grading.cli.output import Output

    out = Output()
    out.line(f"hard: {result.hard:.0f}  soft: {result.soft:.2f}")
    for why in result.why:
        out.line(why, indent=2, prefix="- ")


def _read(path: str, context: typer.Context, limit: int) -> bytes:
    """What is in the file, and no more than a byte over the limit of it: it may have no end."""
    try:
        if path == _STDIN:
            return typer.get_binary_stream("stdin").read(limit + 1)
        with Path(path).open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise NotJudged(f"{path} cannot be read: {error.strerror}", context) from None
    except ValueError:  # a NUL in it
        raise NotJudged(f"{path!r} is no name of a file", context) from None
