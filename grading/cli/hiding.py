"""`gradespine hide` and `unhide`: mistaken runs, out of view and back."""

from typing import TYPE_CHECKING, Annotated

import typer

from grading.cli.failures import Usage
from grading.cli.session import session

if TYPE_CHECKING:
    from grading.visibility import Changed

Streams = Annotated[list[str] | None, typer.Argument(metavar="STREAM", help="Names, as `streams` has them.")]


def hide(
    context: typer.Context,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it stays on the log.")],
    streams: Streams = None,
    prefix: Annotated[str | None, typer.Option(metavar="P", help="All runs whose names begin so.")] = None,
) -> None:
    """Take mistaken runs out of every view and re-grade.

    All of them or, where one is not there, none. They stay on the log, and `unhide` brings them back.

    \b
    Examples:
      gradespine hide run/demo/code-csv/1 --reason "recorded twice"
      gradespine hide --prefix run/tau-bench/0c1f5a27d8e3/ --reason "half a file"
    """
    from grading.cli.output import Output

    _require_choice(context, streams, prefix)
    with session(context).gradebook() as gradebook:
        done = gradebook.hide(streams or (), prefix=prefix, reason=reason)
    Output().line(_told(done, "hidden now", "hidden already"))


def unhide(
    context: typer.Context,
    streams: Streams = None,
    prefix: Annotated[str | None, typer.Option(metavar="P", help="All hidden runs whose names begin so.")] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it stays on the log.")] = None,
) -> None:
    """Let hidden runs appear again."""
    from grading.cli.output import Output

    _require_choice(context, streams, prefix)
    with session(context).gradebook() as gradebook:
        done = gradebook.show(streams or (), prefix=prefix, reason=reason)
    Output().line(_told(done, "shown again", "not hidden"))


def _require_choice(context: typer.Context, streams: list[str] | None, prefix: str | None) -> None:
    if not streams and prefix is None:
        raise Usage("say which runs: STREAM…, --prefix P, or both", context)


def _told(done: "Changed", changed: str, already: str) -> str:
    """`run/x is hidden now`, `3 runs are hidden now`, `2 runs are hidden now, 1 is hidden already`."""
    parts: list[str] = []
    for found, what in ((done.changed, changed), (done.already, already)):
        if found:
            verb = "is" if len(found) == 1 else "are"
            name = found[0] if len(done.changed + done.already) == 1 else f"{len(found):,}"
            noun = " runs" if len(found) > 1 and not parts else " run" if name == "1" and not parts else ""
            parts.append(f"{name}{noun} {verb} {what}")
    return ", ".join(parts)
