"""The revision a database is at, and bringing it to the one this program needs."""

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from spine.database import Database
from spine.errors import LogUnavailable, SchemaOutdated
from spine.postgres import PostgresDatabase

HEAD: Final = "0004"
"""The newest revision in `migrations/versions` (a test compares): known here so that opening need not load Alembic."""


def current(database: Database) -> str | None:
    """The revision the database is at; None when it has never been migrated."""
    with database.read_transaction() as connection:
        return _current(connection)


def upgrade(database: Database) -> str | None:
    """Bring the database to HEAD, in one transaction under the log's lock; returns the revision it was at.

    Two processes may do it at once: the second finds it done. Raises SchemaOutdated for a database newer than HEAD.
    """
    with database.write_transaction() as connection:
        before = _current(connection)
        if before is not None and before > HEAD:
            raise _newer(before)
        if before != HEAD:
            _migrate(connection)
        return before


def require(database: Database) -> None:
    """Raises SchemaOutdated, saying what to do, unless the database is at HEAD. An embedded file is brought there."""
    at = current(database)
    if at == HEAD:
        return
    if at is not None and at > HEAD:
        raise _newer(at)
    if isinstance(database, PostgresDatabase):
        state = "has no log yet" if at is None else f"is at revision {at}, this program needs {HEAD}"
        raise SchemaOutdated(f"{database.label} {state}: run `gradespine db upgrade`")
    if at is None and _is_of_something_else(database):
        raise LogUnavailable(f"{database.label} is a database of something else, not a log")
    upgrade(database)


def scripts() -> Path:
    """Where the migrations are: inside the installed package, or at the top of a source tree."""
    package = Path(__file__).parent
    installed = package / "_migrations"
    return installed if installed.is_dir() else package.parent / "migrations"


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    if len(found) > 1:
        raise SchemaOutdated(f"the database is at {len(found)} revisions at once: it is not a log")
    return found[0] if found else None


def _is_of_something_else(database: Database) -> bool:
    with database.read_transaction() as connection:
        tables = inspect(connection).get_table_names()
    return bool(tables) and "alembic_version" not in tables


def _migrate(connection: Connection) -> None:
    # Loading Alembic takes longer than opening a log that is up to date.
    from alembic import command
    from alembic.config import Config
    from alembic.util.exc import CommandError

    config = Config()
    config.set_main_option("script_location", str(scripts()).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise SchemaOutdated(f"the database cannot be brought to revision {HEAD}: {error}") from error


def _newer(revision: str) -> SchemaOutdated:
    return SchemaOutdated(
        f"the database is at revision {revision}, newer than this program's {HEAD}: upgrade gradespine"
    )
