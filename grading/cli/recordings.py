"""`gradespine import`, `streams` and `show`: what is on the log."""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from grading.cli.failures import FINDING
from grading.cli.session import session

_LISTED: Final = 20  # of what is no recording, on a terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grading.cli.output import Output
    from grading.gradebook import Gradebook
    from grading.intake import ImportReport
    from grading.intake_files import Skipped
    from grading.twins import Twin
    from spine import Event


def import_(
    context: typer.Context,
    # What cannot be read is refused by name, like any other bad file, and the rest is imported: it is not checked here.
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", readable=False, help="Files, and folders with all that is in them."),
    ],
    format: Annotated[
        str | None, typer.Option(metavar="F", help="Read named files as this format, whatever they look like.")
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Names the source where a format names no run (all but Inspect)."),
    ] = None,
    reference: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Gold answers of InterCode, such as ic_ctf.json; may be repeated."),
    ] = None,
) -> None:
    """Put recorded runs onto the log.

    Runs of τ-bench, Inspect, InterCode and FireAct. Content decides what a file is, never its name. A run is appended
    whole or not at all. Importing it again adds nothing, a run that grew gets its new events, and one that differs from
    what is recorded is refused. What is bad in a file is refused by name and the rest is imported: then the exit code
    is 1.

    Inspect logs name their runs. τ-bench, InterCode and FireAct results do not: there the same run means the same
    bytes, or the same --prefix. A results file that still grows therefore needs --prefix NAME from its first import on;
    without it every state of the file is another source, and its runs are there twice.

    InterCode keeps its gold answers in a file of their own: --reference FILE. A run whose dataset or question is not
    the reference's goes without. Import the file again with the right one, and its runs get it.

    \b
    Examples:
      gradespine import logs/2026-03-02_ctf.eval
      gradespine import results.json --prefix nightly-41
      gradespine import results/ctf/ --reference data/ctf/ic_ctf.json
    """
    from grading.cli.output import Output

    out = Output()
    with session(context).gradebook(create=True) as gradebook, out.status("importing") as told:
        report = gradebook.import_paths(
            paths,
            format=format,
            prefix=prefix,
            references=reference or (),
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
        none = True
        while page := list(islice(found, 1000)):  # columns fit a page; memory does not grow with the stream
            none = False
            if json:
                for event in page:
                    out.json_line(_whole(event))
            else:
                render.events(out, page)
        if none:
            _tell_nothing(out, gradebook, stream, type or [])


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
    _tell_unrecognised(out, report.unrecognised)
    if bare := sum(file.adapted["without_reference"] for file in report.files):
        out.remark(
            f"{plural(bare, 'run')} of InterCode read without a gold answer, which some ladders need: import again with"
            " --reference FILE, the dataset they were made from"
        )
    if report.twin is not None:
        _tell_twin(out, report.twin)
    events = plural(report.new_events, "new event")
    out.line(
        f"{plural(report.runs, 'run')}, {report.new_runs:,} of them new; {events}; {len(report.refused):,} refused"
    )
    if report.new_runs:
        out.hint("next: `gradespine grader add example:NAME`, `gradespine grade NAME --all`")


def _tell_unrecognised(out: "Output", found: "Sequence[Skipped]") -> None:
    from grading.cli.text import plural

    if not found:
        return
    out.remark(f"not recordings: {plural(len(found), 'path')}")
    few = found[:_LISTED] if out.terminal else found
    for skipped in few:
        out.remark(f"  {skipped.path}: {skipped.reason}", style="dim")
    if len(few) < len(found):
        out.remark(f"  … and {len(found) - len(few):,} more", style="dim")


def _tell_nothing(out: "Output", gradebook: "Gradebook", stream: str, types: list[str]) -> None:
    """Why nothing is shown of a stream that has events."""
    from grading.cli.text import plural
    from grading.suggestions import did_you_mean

    there: Counter[str] = Counter(event.type for event in gradebook.events(stream))
    missing = [type for type in types if type not in there]
    if missing and len(missing) == len(types):
        near = did_you_mean(missing[0], there)
        out.remark(
            f"{stream} has no event of type {' or '.join(missing)}{near or '; it has ' + ', '.join(sorted(there))}"
        )
    else:
        out.remark(f"nothing is selected: {stream} has {plural(there.total(), 'event')}, seq 1 to {there.total()}")


def _tell_twin(out: "Output", twin: "Twin") -> None:
    out.remark(
        f"{twin.path} began {twin.stream}, though {twin.known} is recorded too: a τ-bench file is known by its bytes,"
        " or by --prefix. If these are the same runs, import the file with one --prefix NAME every time, and hide what"
        f' is there twice: `gradespine hide --prefix {twin.prefix} --reason "imported again"`'
    )


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
