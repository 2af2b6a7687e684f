"""Followers: the streams they have put aside. Postgres: appending in one call."""

import sqlalchemy as sa
from alembic import op

from spine.schema import POSTGRES_APPEND

revision = "0003"
down_revision = "0002"

whole = sa.BigInteger().with_variant(sa.Integer, "sqlite")
name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "parked",
        sa.Column("follower", name, nullable=False),
        sa.Column("stream", name, nullable=False),
        sa.Column("seq", whole, nullable=False),
        sa.Column("position", whole, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("parked_at", whole, nullable=False),
        sa.PrimaryKeyConstraint("follower", "stream", name="pk_parked"),
        sqlite_strict=True,
    )
    if op.get_bind().dialect.name == "postgresql":
        for statement in POSTGRES_APPEND.values():
            op.execute(statement)
