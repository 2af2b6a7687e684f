"""`gradespine db`: the database the log lives in."""

import typer

from grading.cli.failures import FINDING
from grading.cli.session import session


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
