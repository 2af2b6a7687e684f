"""The log: streams, events, and what is derived from them; guards that forbid changing what is recorded."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from spine.schema import guards

revision = "0001"
down_revision = None

whole = sa.BigInteger().with_variant(sa.Integer, "sqlite")
name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
id_ = sa.LargeBinary().with_variant(postgresql.UUID(as_uuid=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "log",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("created_at", whole, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_log"),
        sqlite_strict=True,
    )
    op.create_table(
        "streams",
        sa.Column("stream_id", whole, nullable=False, autoincrement=False),
        sa.Column("name", name, nullable=False),
        sa.PrimaryKeyConstraint("stream_id", name="pk_streams"),
        sa.UniqueConstraint("name", name="uq_streams_name"),
        sqlite_strict=True,
    )
    op.create_table(
        "events",
        sa.Column("position", whole, nullable=False, autoincrement=False),
        sa.Column("stream_id", whole, nullable=False),
        sa.Column("seq", whole, nullable=False),
        sa.Column("id", id_, nullable=False),
        sa.Column("type", name, nullable=False),
        sa.Column("schema_version", whole, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("time", whole, nullable=False),
        sa.Column("recorded_at", whole, nullable=False),
        sa.Column("correlation_id", sa.Text, nullable=False),
        sa.Column("causation_id", id_),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("span_id", sa.Text, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("payload_digest", sa.LargeBinary, nullable=False),
        sa.Column("metadata_digest", sa.LargeBinary),
        sa.Column("salt", sa.LargeBinary),
        sa.Column("payload", sa.Text),
        sa.Column("metadata", sa.Text),
        sa.Column("leaf", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("position", name="pk_events"),
        sa.ForeignKeyConstraint(["stream_id"], ["streams.stream_id"], name="fk_events_stream_id"),
        sa.UniqueConstraint("stream_id", "seq", name="uq_events_stream_id_seq"),
        sa.UniqueConstraint("stream_id", "id", name="uq_events_stream_id_id"),
        sqlite_strict=True,
    )
    op.create_index("ix_events_type_position", "events", ["type", "position"])
    op.create_table(
        "snapshots",
        sa.Column("stream_id", whole, nullable=False, autoincrement=False),
        sa.Column("fold", name, nullable=False),
        sa.Column("version", whole, nullable=False, autoincrement=False),
        sa.Column("seq", whole, nullable=False, autoincrement=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("stream_id", "fold", "version", "seq", name="pk_snapshots"),
        sa.ForeignKeyConstraint(["stream_id"], ["streams.stream_id"], name="fk_snapshots_stream_id"),
        sqlite_strict=True,
    )
    op.create_table(
        "followers",
        sa.Column("name", name, nullable=False),
        sa.Column("version", whole, nullable=False),
        sa.Column("position", whole, nullable=False),
        sa.Column("leaf", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_followers"),
        sqlite_strict=True,
    )
    for statement in guards(op.get_bind().dialect.name):
        op.execute(statement)
