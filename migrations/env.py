"""Alembic's entry: runs the migrations on the connection it is handed, or on GRADESPINE_DATABASE_URL from its own
command line."""

import os

from alembic import context
from sqlalchemy import Connection

from grading import tables
from spine import schema
from spine.database import open_database

TARGETS = [schema.metadata, tables.metadata]


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """What a rebuild is filling is no part of the schema."""
    return not (kind == "table" and name is not None and name.endswith("__shadow"))


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=TARGETS, include_name=_is_ours)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    database = open_database(os.environ["GRADESPINE_DATABASE_URL"])
    with database.write_transaction() as own:
        run(own)
