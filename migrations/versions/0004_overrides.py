"""The projector: what people said of grades."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

whole = sa.BigInteger().with_variant(sa.Integer, "sqlite")
name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "overrides",
        sa.Column("position", whole, nullable=False, autoincrement=False),
        sa.Column("stream", name, nullable=False),
        sa.Column("seq", whole, nullable=False),
        sa.Column("recorded_at", whole, nullable=False),
        sa.Column("grade_id", sa.Text, nullable=False),
        sa.Column("index", whole),
        sa.Column("milestone", sa.Text),
        sa.Column("passed", sa.Boolean),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("pass_at", sa.Float(53)),
        sa.PrimaryKeyConstraint("position", name="pk_overrides"),
    )
    op.create_index("ix_overrides_stream", "overrides", ["stream"])
