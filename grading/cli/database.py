"""`gradespine db`: the database the log lives in."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from grading.cli.failures import FINDING, NOT_CHECKED, Usage
from grading.cli.session import session
from grading.cli.text import plural

if TYPE_CHECKING:
    from grading.cli.output import Cell, Output
    from spine.checkup import Finding
    from spine.database import Database

_STYLES: Final = {"ok": "green", "warning": "yellow", "failed": "red", "not checked": "red"}


def upgrade(context: typer.Context) -> None:
    """Make the log's tables, or bring them up to date.

    A SQLite file needs none of this: it is brought up to date when it is opened. On Postgres a person decides when.
    Safe to repeat, and to run twice at once.

    \b
    Example:
      gradespine --database postgresql://localhost/runs db upgrade
    """
    from grading import bootstrap
    from grading.cli.output import Output
    from spine import revisions

    database = bootstrap.database(session(context).settings(), create=True)
    try:
        before = revisions.upgrade(database)
    finally:
        database.close()
    at = f"is at revision {revisions.HEAD}"
    came = " already" if before == revisions.HEAD else " now" if before is None else f" now, before at {before}"
    Output().line(f"the database {at}{came}")


def current(context: typer.Context) -> None:
    """Show the revision the database is at, and the one this program needs. Exit code 1 when they differ."""
    from grading import bootstrap
    from grading.cli.output import Output
    from spine import revisions

    database = bootstrap.database(session(context).settings())
    try:
        at = revisions.current(database)
    finally:
        database.close()
    out = Output()
    out.line(f"revision {at or 'none'}; this program needs {revisions.HEAD}")
    if at != revisions.HEAD:
        out.hint("`gradespine db upgrade` brings it there")
        raise typer.Exit(FINDING)


def check(
    context: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Also read every page and every stream: slow.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A JSON list: check, state, found, advice.")] = False,
) -> None:
    """Look at the database: is it whole, guarded and safe to append to? Changes nothing.

    \b
    Each check is ok, a warning, failed or not checked, and says what to do:
      reached, revision, integrity, durability, guards, positions,
      followers, parked; of a SQLite file also its library, file system,
      permissions, write-ahead log and free space; of Postgres also
      checksums, encoding, privileges, replication and indexes

    It does not prove that nothing was changed: it looks at the database, not at the digests of the events.

    \b
    Exit codes: 0 nothing failed, 1 a check failed, 3 one could not be made.

    \b
    Example:
      gradespine db check --json | jq '.[] | select(.state != "ok")'
    """
    from grading.cli.output import Output
    from spine.checkup import State, check_up, worst

    database = _as_it_is(context)
    out = Output()
    try:
        with out.status("looking") as looking:
            findings = []
            for finding in check_up(database, full=full):
                findings.append(finding)
                looking(f"looked at: {finding.check}")
    finally:
        database.close()
    if json:
        out.json_list(finding.to_json() for finding in findings)
    else:
        _show(out, findings)
    codes = {State.FAILED: FINDING, State.UNCHECKED: NOT_CHECKED}
    if (code := codes.get(worst(findings))) is not None:
        raise typer.Exit(code)


def backup(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The file to make.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Copy a SQLite log to a file, while others go on writing to it.

    The copy is one moment of the log, is checked, and is on the disk before it gets its name. What is printed, the
    position and the leaf where it ends, tells later what it holds.

    \b
    To restore: stop every program that uses the log, move away the log and
    its -wal and -shm, and put the copy in its place. Followers outside this
    file that saw more notice, and have to be rebuilt.

    On Postgres: pg_dump, or a base backup with WAL archiving.

    \b
    Example:
      gradespine db backup "/backups/runs-$(date +%F).db"
    """
    from grading import bootstrap
    from grading.cli.output import Output
    from spine.backup import back_up
    from spine.sqlite import SqliteDatabase

    database = bootstrap.database(session(context).settings())
    out = Output()
    try:
        if not isinstance(database, SqliteDatabase):
            raise _on_postgres(context, database, target)
        with out.progress("copying") as progress:
            copied = back_up(database, target, replace=force, progress=progress)
    finally:
        database.close()
    out.line(f"{copied.path}: {copied.size:,} bytes, up to position {copied.position:,}, leaf {copied.leaf}")


def _as_it_is(context: typer.Context) -> "Database":
    """The database, also one that may only be read: that is a finding."""
    from spine import LogUnavailable
    from spine.database import open_database
    from spine.sqlite import SqliteDatabase

    database = open_database(session(context).settings().database_url)
    if isinstance(database, SqliteDatabase) and not database.path.exists():
        database.close()
        raise LogUnavailable(f"there is no log at {database.path}")
    return database


def _show(out: "Output", findings: "list[Finding]") -> None:
    from grading.cli.output import Column, styled

    columns = [Column("check"), Column("state"), Column("found", wide=True)]
    shown: list[list[Cell]] = [
        [finding.check, styled(finding.verdict.state, _STYLES[finding.verdict.state]), finding.verdict.found]
        for finding in findings
    ]
    out.table(columns, shown)
    advised = [finding for finding in findings if finding.verdict.advice]
    if advised:
        out.line()
    for finding in advised:
        out.line(finding.verdict.advice, prefix=f"{finding.check}: ")
    out.line()
    out.line(_summary([str(finding.verdict.state) for finding in findings]))


def _summary(states: "list[str]") -> str:
    counts = {state: states.count(state) for state in _STYLES}
    counted = (
        plural(count, state) if state == "warning" else f"{count} {state}" for state, count in counts.items() if count
    )
    return ", ".join(counted)


def _on_postgres(context: typer.Context, database: "Database", target: Path) -> Usage:
    from shlex import quote

    return Usage(
        "a Postgres log is copied by Postgres: "
        f"pg_dump --format=custom --file={quote(str(target))} {quote(_without_password(database))}"
        " (to restore: createdb, then pg_restore --exit-on-error --single-transaction --dbname=NEW TARGET)"
        "; of a whole server, to any point in time: pg_basebackup with WAL archiving",
        context,
    )


def _without_password(database: "Database") -> str:
    url = database.engine.url.set(drivername="postgresql")
    return url._replace(password=None).render_as_string()
