"""The projector's tables: grades, rungs, graders, hidden streams."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

whole = sa.BigInteger().with_variant(sa.Integer, "sqlite")
name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "grades",
        sa.Column("grade_id", sa.Text, nullable=False),
        sa.Column("stream", name, nullable=False),
        sa.Column("ladder", name, nullable=False),
        sa.Column("grader", name),
        sa.Column("version", name),
        sa.Column("definition", sa.Text),
        sa.Column("semantics", whole),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("mode", sa.Text),
        sa.Column("passed", sa.Boolean),
        sa.Column("score", sa.Float(53)),
        sa.Column("attained", sa.Float(53)),
        sa.Column("total", sa.Float(53)),
        sa.Column("reached", whole),
        sa.Column("rungs", whole),
        sa.Column("through_seq", whole),
        sa.Column("evidence_digest", sa.Text, nullable=False),
        sa.Column("outcome_digest", sa.Text),
        sa.Column("code", sa.Text),
        sa.Column("milestone", sa.Text),
        sa.Column("place", sa.Text),
        sa.Column("seq", whole, nullable=False),
        sa.Column("position", whole, nullable=False),
        sa.Column("recorded_at", whole, nullable=False),
        sa.PrimaryKeyConstraint("grade_id", name="pk_grades"),
    )
    op.create_index("ix_grades_stream", "grades", ["stream"])
    op.create_index("ix_grades_grader_version_stream", "grades", ["grader", "version", "stream"])
    op.create_table(
        "rungs",
        sa.Column("grade_id", sa.Text, nullable=False),
        sa.Column("index", whole, nullable=False, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("weight", sa.Float(53), nullable=False),
        sa.Column("required", sa.Boolean, nullable=False),
        sa.Column("passed", sa.Boolean, nullable=False),
        sa.Column("reached", sa.Boolean, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("citations", sa.Text, nullable=False),
        sa.Column("cited", whole, nullable=False),
        sa.PrimaryKeyConstraint("grade_id", "index", name="pk_rungs"),
    )
    op.create_table(
        "graders",
        sa.Column("name", name, nullable=False),
        sa.Column("version", name, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("semantics", whole, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("position", whole, nullable=False),
        sa.Column("recorded_at", whole, nullable=False),
        sa.PrimaryKeyConstraint("name", "version", name="pk_graders"),
    )
    op.create_table(
        "hidden_streams",
        sa.Column("stream", name, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("stream", name="pk_hidden_streams"),
    )
