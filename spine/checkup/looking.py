"""Going through the checks of a database. What a check cannot look at becomes a finding too: no error is raised."""

from collections.abc import Callable, Iterator
from typing import Final

from spine import revisions
from spine.checkup import file, server
from spine.checkup.findings import Check, Checks, Cursor, Finding, State, Verdict, failed, ok, unchecked
from spine.database import Database
from spine.errors import LogCorrupt, LogUnavailable
from spine.sqlite import SqliteDatabase

_RESTORE: Final = "stop writing, keep the damaged log, and restore the last backup in another place"


def check_up(database: Database, *, full: bool = False) -> Iterator[Finding]:
    """Look at everything, one check after the other. `full` also reads every page and every stream, which takes as long
    as reading the whole database."""
    checks = file.checks(database, full) if isinstance(database, SqliteDatabase) else server.checks(full)
    reached = _finding(database, "reached", checks.reached)
    yield reached
    for name, look in checks.of_place:
        yield _finding_of_place(name, look)
    if reached.verdict.state in (State.UNCHECKED, State.FAILED):
        return
    revision = _finding(database, "revision", _at_head(checks))
    yield revision
    for name, check in checks.of_database:
        yield _finding(database, name, check)
    if revision.verdict.state is State.OK:
        for name, check in checks.of_log:
            yield _finding(database, name, check)


def _at_head(checks: Checks) -> Callable[[Cursor], Verdict]:
    def check(cursor: Cursor) -> Verdict:
        found = checks.revisions(cursor)
        if found == [revisions.HEAD]:
            return ok(revisions.HEAD)
        said = f"{' and '.join(found) or 'none'}; this program needs {revisions.HEAD}"
        if any(revision > revisions.HEAD for revision in found):
            return failed(said, "a newer gradespine has been here: upgrade this one")
        return failed(said, "`gradespine db upgrade` brings it there")

    return check


def _finding(database: Database, name: str, check: Check) -> Finding:
    try:
        # A statement each is no change on Postgres; a SQLite file would be made or migrated by being opened.
        with database.look() if isinstance(database, SqliteDatabase) else database.read() as cursor:
            return Finding(name, check(cursor))
    except LogCorrupt as error:
        return Finding(name, failed(_line(error), _RESTORE))
    except LogUnavailable as error:
        return Finding(name, unchecked(_line(error)))


def _finding_of_place(name: str, look: Callable[[], Verdict]) -> Finding:
    try:
        return Finding(name, look())
    except OSError as error:
        return Finding(name, unchecked(str(error)))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
