"""`gradespine import`, `streams`, `show`, `hide` and `unhide`: what is on the log."""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from grading.cli.failures import FINDING
from grading.cli.session import session

_LISTED: Final = 20  # of what is no recording, on a terminal

if TYPE_CHECKING:
    from grading.cli.output import Output
    from grading.intake import ImportReport
    from spine import Event


def import_(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files, and folders with all that is in them.")],
    format: Annotated[
        str | None, typer.Option(metavar="F", help="Read named files as this format, whatever they look like.")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option(metavar="P", help="Names the source where a format (tau-bench) names no run.")
    ] = None,
) -> None:
    """Put recorded runs onto the log: τ-bench results and Inspect logs.

    Content decides what a file is, never its name. A run is appended whole or not at all. Importing it again adds
    nothing, a run that grew gets its new events, and one that differs from what is recorded is refused. What is bad in
    a file is refused by name and the rest is imported: then the exit code is 1.

    \b
    Examples:
      gradespine import logs/2026-03-02_ctf.eval
      gradespine import results/ --prefix nightly-41
    """
    from grading.cli.output import Output

    out = Output()
    with session(context).gradebook(create=True) as gradebook, out.status("importing") as told:
        report = gradebook.import_paths(
            paths,
            format=format,
            prefix=prefix,
            report=lambda file: told(f"{file.name}: {file.runs:,} runs, {file.events:,} events"),
        )
    _tell_import(out, report)
    if report.refused:
        raise typer.Exit(FINDING)


def streams(
    context: typer.Context,
    prefix: Annotated[str, typer.Option(metavar="P", help="Only streams whose names begin so.")] = "",
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List the streams of the log, with the number of events.

    By name. Runs stand under run/, graders under grader/, imports under import/, re-grades under regrade/.

    \b
    Examples:
      gradespine streams --prefix run/tau-bench/
      gradespine streams --json | wc -l
    """
    from grading.cli.output import Column, Output

    out = Output()
    with session(context).gradebook() as gradebook:
        hidden = gradebook.hidden()
        heads = gradebook.streams(prefix, limit=limit)
        if json:
            for head in heads:
                out.json_line({"stream": head.stream, "events": head.seq, "position": head.position,
                               "digest": head.digest, "hidden": head.stream in hidden})  # fmt: skip
            return
        columns = [Column("stream", wide=True), Column("events", right=True), Column("note", wide=True, optional=True)]
        notes = {name: f"hidden: {reason}" for name, reason in hidden.items()}
        rows = [[head.stream, f"{head.seq:,}", notes.get(head.stream, "")] for head in heads]
    if rows:
        out.table(columns, rows)
    else:
        out.remark(f"no streams under {prefix}" if prefix else "the log is empty: `gradespine import PATH`")


def show(
    context: typer.Context,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="Its name, as `streams` has it.")],
    after: Annotated[int, typer.Option(metavar="SEQ", min=0, help="Only events behind this one.")] = 0,
    until: Annotated[int | None, typer.Option(metavar="SEQ", min=0, help="Only events up to this one.")] = None,
    type: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="Only events of this type; may be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Whole events, one JSON object a line.")] = False,
) -> None:
    """Show the events of a stream, in order.

    A line an event: seq, who wrote it, its type, and what it says. Payloads are shortened for reading; --json has all
    of them, with ids, times and digests.

    \b
    Examples:
      gradespine show run/demo/code-dates/2
      gradespine show run/demo/code-dates/2 --type test.reported
      gradespine show run/demo/code-dates/2 --after 10 --until 12 --json
    """
    from grading.cli import render
    from grading.cli.output import Output

    out = Output()
    with session(context).gradebook() as gradebook:
        found = gradebook.events(stream, after=after, until=until, types=type or None)
        if json:
            for event in found:
                out.json_line(_whole(event))
            return
        while page := list(islice(found, 1000)):  # columns fit a page; memory does not grow with the stream
            render.events(out, page)


def hide(
    context: typer.Context,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="Its name, as `streams` has it.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it stays on the log.")],
) -> None:
    """Take a mistaken run out of every view and re-grade.

    It stays on the log, and `unhide` brings it back.

    \b
    Example:
      gradespine hide run/tau-bench/0c1f5a27d8e3/12/0 --reason "imported twice"
    """
    from grading.cli.output import Output

    with session(context).gradebook() as gradebook:
        new = gradebook.hide(stream, reason=reason)
    Output().line(f"{stream} is hidden {'now' if new else 'already'}")


def unhide(
    context: typer.Context,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="Its name, as `streams` has it.")],
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it stays on the log.")] = None,
) -> None:
    """Let a hidden run appear again."""
    from grading.cli.output import Output

    with session(context).gradebook() as gradebook:
        new = gradebook.show(stream, reason=reason)
    Output().line(f"{stream} is shown again" if new else f"{stream} is not hidden")


def _tell_import(out: "Output", report: "ImportReport") -> None:
    from grading.cli.output import Column
    from grading.cli.text import plural

    if report.files:
        columns = [Column("file", wide=True), Column("format"), Column("runs", right=True), Column("new", right=True),
                   Column("new events", right=True), Column("refused", right=True)]  # fmt: skip
        numbers = ("runs", "new_runs", "new_events")
        out.table(
            columns,
            [
                [file.path, file.format, *(f"{getattr(file, name):,}" for name in numbers), f"{len(file.refused):,}"]
                for file in report.files
            ],
        )
    for skipped in report.refused:
        out.remark(f"refused: {skipped.path}: {skipped.reason}", style="red")
    if report.unrecognised:
        out.remark(f"not recordings: {plural(len(report.unrecognised), 'file')}")
        few = report.unrecognised[:_LISTED] if out.terminal else report.unrecognised
        for skipped in few:
            out.remark(f"  {skipped.path}: {skipped.reason}", style="dim")
        if len(few) < len(report.unrecognised):
            out.remark(f"  … and {len(report.unrecognised) - len(few):,} more", style="dim")
    events = plural(report.new_events, "new event")
    out.line(
        f"{plural(report.runs, 'run')}, {report.new_runs:,} of them new; {events}; {len(report.refused):,} refused"
    )
    if report.new_runs:
        out.hint("next: `gradespine grader add example:NAME`, `gradespine grade NAME --all`")


def _whole(event: "Event") -> dict[str, Any]:
    """An event as `show --json` prints it; of an erased one, payload and metadata are null."""
    row = event.row
    gone = event.erased
    return {
        "position": row.position,
        "stream": row.stream,
        "seq": row.seq,
        "id": str(event.id),
        "type": row.type,
        "schema_version": row.schema_version,
        "actor": row.actor,
        "principal": row.principal,
        "time": event.time.isoformat(),
        "recorded_at": event.recorded_at.isoformat(),
        "payload": None if gone else event.payload,
        "metadata": None if gone else event.metadata,
        "erased": gone,
        "correlation_id": row.correlation_id,
        "causation_id": None if event.causation_id is None else str(event.causation_id),
        "trace_id": row.trace_id,
        "span_id": row.span_id,
        "origin": row.origin,
        "digest": event.digest,
    }
