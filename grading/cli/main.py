"""`gradespine`: the commands put together, and the options that stand before them."""

import io
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer
from typer.core import TyperGroup

from grading.cli import (
    database,
    demo,
    followers,
    graders,
    grades,
    hiding,
    judge,
    log,
    overrides,
    qualification,
    recordings,
)
from grading.cli.failures import Commands
from grading.cli.session import Session


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"gradespine {version('gradespine')}")
        raise typer.Exit


def start(
    context: typer.Context,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The log: sqlite:///FILE or postgresql://HOST/NAME. Also GRADESPINE_DATABASE_URL; by default"
            " sqlite:///gradespine.db in the working folder.",
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """An append-only log of what agents did, and grades on it that anyone can reproduce.

    Recorded runs go onto the log. A grader (a ladder of milestones under a name and a version) reads a run and records
    a grade on it, with the events that decided each rung. A newer version re-grades every run and shows what moved; no
    grade is ever overwritten.

    \b
    First steps:
      gradespine demo            see it work on recorded runs
      gradespine import logs/    put your own onto a log
      gradespine grader add example:inspect-match
      gradespine grade inspect-match --all
      gradespine grades
      gradespine explain STREAM

    \b
    Exit codes:
      0    good
      1    a finding: a run failed, a recording was refused
      2    usage: an unknown grader or stream, a wrong document or option
      3    could not be graded or checked: a broken run, a log that cannot be
           reached; 3 wins over 1
      70   a fault of this program
      130  interrupted

    Data goes to stdout, progress and remarks to stderr. Tables are plain text where stdout is not a terminal; NO_COLOR
    is respected. GRADESPINE_LOG_LEVEL (debug, info, warning, error) sets how much is logged.
    """
    context.obj = Session(database)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _app() -> typer.Typer:
    made = _plain(Commands)
    made.callback(invoke_without_command=True)(start)
    made.command("demo")(demo.demo)
    made.command("import")(recordings.import_)
    made.command("streams")(recordings.streams)
    made.command("show")(recordings.show)
    made.command("hide")(hiding.hide)
    made.command("unhide")(hiding.unhide)
    made.add_typer(_graders(), name="grader", help="Ladders, each under a name and a version.")
    made.command("grade")(grades.grade)
    made.command("grades")(grades.grades)
    made.command("explain")(grades.explain)
    made.command("override")(overrides.override)
    made.command("regrade")(grades.regrade)
    made.command("rebuild")(grades.rebuild)
    made.command("judge")(judge.judge)
    made.add_typer(_log(), name="log", help="The whole log as a file, and back: export, import; prune.")
    made.add_typer(_database(), name="db", help="The database of the log: upgrade, current, check, backup.")
    made.add_typer(_followers(), name="followers", help="Who follows the log: list, reset, unpark.")
    return made


def _plain(cls: type[TyperGroup] | None = None) -> typer.Typer:
    """Help is laid out by hand: the same on a terminal, in a pipe and in a manual."""
    names = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(cls=cls, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=names)


def _graders() -> typer.Typer:
    group = _plain()
    group.command("add")(graders.add)
    group.command("list")(graders.list_)
    group.command("show")(graders.show)
    group.command("check")(graders.check)
    group.command("qualify")(qualification.qualify)
    group.command("activate")(graders.activate)
    group.command("examples")(graders.examples)
    return group


def _log() -> typer.Typer:
    group = _plain()
    group.command("export")(log.export)
    group.command("import")(log.import_)
    group.command("prune")(log.prune)
    return group


def _database() -> typer.Typer:
    group = _plain()
    group.command("upgrade")(database.upgrade)
    group.command("current")(database.current)
    group.command("check")(database.check)
    group.command("backup")(database.backup)
    return group


def _followers() -> typer.Typer:
    group = _plain()
    group.command("list")(followers.list_)
    group.command("reset")(followers.reset)
    group.command("unpark")(followers.unpark)
    return group


app = _app()


def main() -> None:
    """The console script. Ladders written in Python are found in the working folder too, behind what is installed."""
    with suppress(OSError):  # the working folder may be gone
        sys.path.append(os.getcwd())
    # Closed by whoever started this: what would be said there is for nobody.
    sys.stdout = sys.stdout or io.TextIOWrapper(io.FileIO(os.devnull, "w"))
    sys.stderr = sys.stderr or io.TextIOWrapper(io.FileIO(os.devnull, "w"))
    app(prog_name="gradespine")
