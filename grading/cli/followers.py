"""`gradespine followers`: who follows the log, how far they have come, and setting them right."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from grading.cli.failures import FINDING
from grading.cli.session import session
from grading.cli.text import plural

if TYPE_CHECKING:
    from grading.cli.output import Cell, Output
    from spine import SqlLog
    from spine.followers import Follower

Name = Annotated[str, typer.Argument(metavar="NAME", help="The follower, such as grades.")]


def list_(
    context: typer.Context,
    json: Annotated[
        bool, typer.Option("--json", help="A JSON list: name, version, position, lag, parked, rebuild.")
    ] = False,
) -> None:
    """Show who follows the log: version, position, how many positions are left, and streams put aside.

    A stream is put aside when one of its events cannot be taken: from that event on nothing of it is, while all other
    streams go on.

    \b
    Example:
      gradespine followers list --json | jq '.[] | select(.parked != [])'
    """
    from grading import bootstrap
    from grading.cli.output import Output
    from spine.followers import list_followers

    with bootstrap.log(session(context).settings()) as log:
        found = list_followers(log)
    out = Output()
    if json:
        out.json_list(asdict(follower) for follower in found)
    elif found:
        _show(out, found)
    else:
        out.remark("nobody follows this log yet")


def reset(context: typer.Context, name: Name) -> None:
    """Let a follower begin anew at its next catch-up. What it has made serves until that is done.

    \b
    Example:
      gradespine followers reset grades
    """
    from grading import bootstrap
    from grading.cli.output import Output
    from spine import followers

    with bootstrap.log(session(context).settings()) as log:
        _require(log, name)
        followers.reset(log, name)
    Output().line(f"{name} begins anew at its next catch-up")


def unpark(
    context: typer.Context,
    name: Name,
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The stream that was put aside.")],
) -> None:
    """Let a follower take a stream again that it has put aside, when the cause is gone.

    Exit code 1 when it still cannot take one of the events: the stream stays put aside from there on. A follower that
    belongs to another program is asked to: it takes the stream at its next catch-up, within a second where it runs.

    \b
    Example:
      gradespine followers unpark grades run/a
    """
    from grading import bootstrap
    from grading.cli.output import Output
    from grading.projector import Grades
    from spine import followers

    out = Output()
    with bootstrap.log(session(context).settings()) as log:
        _require(log, name)
        projection = Grades(log)
        if name != projection.name:
            followers.ask(log, name, stream)
            out.line(f"{name} is asked to take {stream} again: the program that runs it does so at its next catch-up")
            return
        still = followers.unpark(log, projection, stream)
    if still is None:
        out.line(f"{name} follows {stream} again")
        return
    out.line(f"{name} still cannot take {stream} at seq {still.seq}: {still.error}")
    raise typer.Exit(FINDING)


def _require(log: "SqlLog", name: str) -> None:
    from grading.errors import NotFound
    from grading.suggestions import closest
    from spine.followers import list_followers

    names = [follower.name for follower in list_followers(log)]
    if name in names:
        return
    near = closest(name, names)
    hint = f"did you mean {near}?" if near else "`gradespine followers list` shows those there are"
    raise NotFound(f"there is no follower {name}", hint)


def _show(out: "Output", found: "list[Follower]") -> None:
    from grading.cli.output import Column

    titles = [Column("follower"), Column("version", right=True), Column("position", right=True)]
    columns = [
        *titles,
        Column("lag", right=True),
        Column("parked", right=True),
        Column("remark", wide=True, optional=True),
    ]
    out.table(columns, [_row(follower) for follower in found])
    for follower in found:
        for held in follower.parked:
            out.line()
            asked = " (it is asked to take it again)" if held.again else ""
            out.line(
                f"{held.stream} at seq {held.seq} ({held.type}): {held.error}{asked}",
                prefix=f"{follower.name} put aside ",
            )
    if any(not held.again for follower in found for held in follower.parked):
        out.hint("when the cause is gone: `gradespine followers unpark NAME STREAM`")


def _row(follower: "Follower") -> "list[Cell]":
    under_way = "" if follower.rebuild is None else f"being rebuilt, at {plural(follower.rebuild, 'position')}"
    version = "" if follower.version is None else str(follower.version)
    position = "" if follower.position is None else f"{follower.position:,}"
    return [follower.name, version, position, f"{follower.lag:,}", f"{len(follower.parked):,}", under_way]
