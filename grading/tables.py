"""The tables of the projector: grades, their rungs, what people said of them, the graders, and the streams that are
hidden from views.

All of it is derived from the log and can be rebuilt from it at any time.
"""

from typing import Final

from sqlalchemy import Boolean, Column, Float, Index, MetaData, Table, Text

from spine.schema import Name, Whole
from spine.schema import metadata as log_metadata

metadata: Final = MetaData(naming_convention=log_metadata.naming_convention)

grades = Table(
    "grades",
    metadata,
    Column("grade_id", Text, primary_key=True),
    Column("stream", Name, nullable=False),
    Column("ladder", Name, nullable=False),
    Column("grader", Name),
    Column("version", Name),
    Column("definition", Text),
    Column("semantics", Whole),
    Column("status", Text, nullable=False),
    Column("mode", Text),
    Column("passed", Boolean),
    Column("score", Float(53)),
    Column("attained", Float(53)),
    Column("total", Float(53)),
    Column("reached", Whole),
    Column("rungs", Whole),
    Column("through_seq", Whole),
    Column("evidence_digest", Text, nullable=False),
    Column("outcome_digest", Text),
    Column("code", Text),
    Column("milestone", Text),
    Column("place", Text),
    Column("seq", Whole, nullable=False),
    Column("position", Whole, nullable=False),
    Column("recorded_at", Whole, nullable=False),
    Index(None, "stream"),
    Index(None, "grader", "version", "stream"),
)
"""One row a grade. `through_seq` is NULL for supplied evidence; `seq` and `position` are those of its closing event."""

rungs = Table(
    "rungs",
    metadata,
    Column("grade_id", Text, primary_key=True),
    Column("index", Whole, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("weight", Float(53), nullable=False),
    Column("required", Boolean, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("reached", Boolean, nullable=False),
    Column("detail", Text, nullable=False),
    Column("citations", Text, nullable=False),
    Column("cited", Whole, nullable=False),
)
"""The rungs of graded grades; `citations` is a JSON list of seqs."""

overrides = Table(
    "overrides",
    metadata,
    Column("position", Whole, primary_key=True, autoincrement=False),
    Column("stream", Name, nullable=False),
    Column("seq", Whole, nullable=False),
    Column("recorded_at", Whole, nullable=False),
    Column("grade_id", Text, nullable=False),
    Column("index", Whole),
    Column("milestone", Text),
    Column("passed", Boolean),
    Column("principal", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("pass_at", Float(53)),
    Index(None, "stream"),
)
"""One row an override: what a person said of a rung, or (without index and milestone) of a verdict. `passed` is NULL
where it takes back what was said before."""

graders = Table(
    "graders",
    metadata,
    Column("name", Name, primary_key=True),
    Column("version", Name, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("semantics", Whole, nullable=False),
    Column("kind", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("position", Whole, nullable=False),
    Column("recorded_at", Whole, nullable=False),
)

hidden_streams = Table(
    "hidden_streams",
    metadata,
    Column("stream", Name, primary_key=True),
    Column("reason", Text, nullable=False),
)
