"""The tables of the log and the guards that forbid changing what is recorded.

Tables are made by the migrations alone; what stands here is what they have to come to (`alembic check` compares it).
Alembic does not see triggers, so their text is here, and a test compares it with the database's own.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import UUID

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)

Whole: Final = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit integer; on SQLite INTEGER, so that a primary key is the rowid itself."""
Name: Final = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that is compared and ordered by its bytes on both databases."""
Id: Final = LargeBinary().with_variant(UUID(as_uuid=True), "postgresql")

log = Table(
    "log",
    metadata,
    Column("name", Text, primary_key=True),
    Column("spec", Text, nullable=False),
    Column("created_at", Whole, nullable=False),
    sqlite_strict=True,
)

streams = Table(
    "streams",
    metadata,
    Column("stream_id", Whole, primary_key=True, autoincrement=False),
    Column("name", Name, nullable=False, unique=True),
    sqlite_strict=True,
)

events = Table(
    "events",
    metadata,
    Column("position", Whole, primary_key=True, autoincrement=False),
    Column("stream_id", Whole, ForeignKey("streams.stream_id"), nullable=False),
    Column("seq", Whole, nullable=False),
    Column("id", Id, nullable=False),
    Column("type", Name, nullable=False),
    Column("schema_version", Whole, nullable=False),
    Column("actor", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("time", Whole, nullable=False),
    Column("recorded_at", Whole, nullable=False),
    Column("correlation_id", Text, nullable=False),
    Column("causation_id", Id),
    Column("trace_id", Text, nullable=False),
    Column("span_id", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("payload_digest", LargeBinary, nullable=False),
    Column("metadata_digest", LargeBinary),
    Column("salt", LargeBinary),
    Column("payload", Text),
    Column("metadata", Text),
    Column("leaf", LargeBinary, nullable=False),
    UniqueConstraint("stream_id", "seq"),
    UniqueConstraint("stream_id", "id"),
    Index(None, "type", "position"),
    sqlite_strict=True,
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("stream_id", Whole, ForeignKey("streams.stream_id"), primary_key=True, autoincrement=False),
    Column("fold", Name, primary_key=True),
    Column("version", Whole, primary_key=True, autoincrement=False),
    Column("seq", Whole, primary_key=True, autoincrement=False),
    Column("state", LargeBinary, nullable=False),
    sqlite_strict=True,
)

followers = Table(
    "followers",
    metadata,
    Column("name", Name, primary_key=True),
    Column("version", Whole, nullable=False),
    Column("position", Whole, nullable=False),
    Column("leaf", LargeBinary, nullable=False),
    sqlite_strict=True,
)

parked = Table(
    "parked",
    metadata,
    Column("follower", Name, primary_key=True),
    Column("stream", Name, primary_key=True),
    Column("seq", Whole, nullable=False),
    Column("position", Whole, nullable=False),
    Column("type", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("parked_at", Whole, nullable=False),
    sqlite_strict=True,
)
"""Streams a follower has put aside, from the event on that it could not take."""

EVENT_COLUMNS: Final = (
    "e.position, s.name, e.seq, {id}, e.type, e.schema_version, e.actor, e.principal, e.time, e.recorded_at, "
    "e.correlation_id, {causation_id}, e.trace_id, e.span_id, e.origin, e.payload_digest, e.metadata_digest, e.salt, "
    "e.payload, e.metadata, e.leaf"
)
"""The select list of an EventRow, from `events e` joined with `streams s`; the ids as each driver gives 16 bytes."""

INSERT_EVENT: Final = (
    f"INSERT INTO events ({', '.join(events.columns.keys())}) VALUES ({', '.join('?' * len(events.columns))})"
)

_ERASABLE: Final = ("payload", "metadata", "salt")


def _sqlite_refusal(table: str, action: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{action.lower()} BEFORE {action} ON {table} BEGIN "
        f"SELECT RAISE(ABORT, '{table}: the log is append-only'); END"
    )


def _sqlite_events_update() -> str:
    # Every column is compared: an UPDATE OF list would let `SET rowid` through.
    kept = " OR ".join(f"NEW.{c.name} IS NOT OLD.{c.name}" for c in events.columns if c.name not in _ERASABLE)
    whole = " OR ".join(f"NEW.{name} IS NOT NULL" for name in _ERASABLE)
    return (
        f"CREATE TRIGGER events_only_erasure BEFORE UPDATE ON events WHEN {kept} OR {whole} BEGIN "
        "SELECT RAISE(ABORT, 'events: only payload, metadata and salt may be erased, together'); END"
    )


SQLITE_GUARDS: Final[dict[str, str]] = {
    "events_no_delete": _sqlite_refusal("events", "DELETE"),
    "events_only_erasure": _sqlite_events_update(),
    # Without this, INSERT OR REPLACE rewrites a row past the DELETE trigger.
    "events_only_next": (
        "CREATE TRIGGER events_only_next BEFORE INSERT ON events WHEN "
        "NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM events) "
        "OR EXISTS (SELECT 1 FROM events WHERE stream_id = NEW.stream_id AND seq = NEW.seq) "
        "OR EXISTS (SELECT 1 FROM events WHERE stream_id = NEW.stream_id AND id = NEW.id) BEGIN "
        "SELECT RAISE(ABORT, 'events: only a new id and seq at the next position may be inserted'); END"
    ),
    "streams_no_delete": _sqlite_refusal("streams", "DELETE"),
    "streams_no_update": _sqlite_refusal("streams", "UPDATE"),
    "streams_only_new": (
        "CREATE TRIGGER streams_only_new BEFORE INSERT ON streams WHEN "
        "EXISTS (SELECT 1 FROM streams WHERE stream_id = NEW.stream_id OR name = NEW.name) BEGIN "
        "SELECT RAISE(ABORT, 'streams: it exists already'); END"
    ),
    "log_no_delete": _sqlite_refusal("log", "DELETE"),
    "log_no_update": _sqlite_refusal("log", "UPDATE"),
    "log_only_one": (
        "CREATE TRIGGER log_only_one BEFORE INSERT ON log WHEN EXISTS (SELECT 1 FROM log) BEGIN "
        "SELECT RAISE(ABORT, 'log: a database holds one log'); END"
    ),
}
"""Trigger name → its statement, as it stands in sqlite_master."""

POSTGRES_FUNCTIONS: Final[dict[str, str]] = {
    "gradespine_refuse": """\
CREATE FUNCTION gradespine_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%: the log is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$""",
    # Whole rows are compared after nulling the three columns, so that a column added later is covered.
    "gradespine_only_erasure": """\
CREATE FUNCTION gradespine_only_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.payload IS NULL AND NEW.metadata IS NULL AND NEW.salt IS NULL THEN
    OLD.payload := NULL; OLD.metadata := NULL; OLD.salt := NULL;
    IF NEW IS NOT DISTINCT FROM OLD THEN RETURN NEW; END IF;
  END IF;
  RAISE EXCEPTION '%: only payload, metadata and salt may be erased, together', TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END $$""",
    "gradespine_only_one": """\
CREATE FUNCTION gradespine_only_one() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE taken boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %I.%I)', TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO taken;
  IF taken THEN
    RAISE EXCEPTION '%: a database holds one log', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$""",
}

_POSTGRES_TRIGGERS: Final = (
    ("events", "events_only_erasure", "BEFORE UPDATE", "ROW", "gradespine_only_erasure"),
    ("events", "events_no_delete", "BEFORE DELETE", "ROW", "gradespine_refuse"),
    ("events", "events_no_truncate", "BEFORE TRUNCATE", "STATEMENT", "gradespine_refuse"),
    ("streams", "streams_no_change", "BEFORE DELETE OR UPDATE", "ROW", "gradespine_refuse"),
    ("streams", "streams_no_truncate", "BEFORE TRUNCATE", "STATEMENT", "gradespine_refuse"),
    ("log", "log_no_change", "BEFORE DELETE OR UPDATE", "ROW", "gradespine_refuse"),
    ("log", "log_no_truncate", "BEFORE TRUNCATE", "STATEMENT", "gradespine_refuse"),
    ("log", "log_only_one", "BEFORE INSERT", "ROW", "gradespine_only_one"),
)

POSTGRES_TRIGGERS: Final[dict[str, tuple[str, str]]] = {
    name: (table, f"CREATE TRIGGER {name} {event} ON {table} FOR EACH {level} EXECUTE FUNCTION {function}()")
    for table, name, event, level, function in _POSTGRES_TRIGGERS
}
"""Trigger name → its table and statement. Each is ENABLE ALWAYS: a replica's role does not go round it."""


def postgres_key(name: str) -> str:
    """The key of an advisory lock of this log, under a name (an SQL text). For the table, not for the search path: two
    roles may reach one log by different ways."""
    return f"hashtextextended({name} || coalesce(to_regclass('events')::oid::text, current_schema()), 0)"


_KEY: Final = postgres_key("'gradespine/log/'")
POSTGRES_LOCK: Final = f"pg_advisory_xact_lock({_KEY})"

POSTGRES_APPEND: Final[dict[str, str]] = {
    # In a volatile function each statement sees what is committed when it begins: what is read behind the lock is the
    # end of the log. Locked and read in one statement, the read would use a snapshot from before the wait.
    "gradespine_append": f"""\
CREATE FUNCTION gradespine_append(
  stream_ text, expect_ bigint, now_ bigint, part_ text, end_ text, id_ uuid, type_ text, schema_version_ bigint,
  actor_ text, principal_ text, time_ bigint, correlation_id_ text, causation_id_ uuid, trace_id_ text, span_id_ text,
  origin_ text, payload_digest_ bytea, metadata_digest_ bytea, salt_ bytea, payload_ text, metadata_ text,
  OUT outcome_ text, OUT seq_ bigint, OUT position_ bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  log_ text;
  stream_id_ bigint;
  prev_ bytea := decode(repeat('00', 32), 'hex');
  recorded_at_ bigint;
  leaf_ bytea;
BEGIN
  PERFORM {POSTGRES_LOCK};
  SELECT name INTO log_ FROM log;
  IF log_ IS NULL THEN outcome_ := 'unnamed'; RETURN; END IF;
  SELECT e.position, e.recorded_at INTO position_, recorded_at_ FROM events e ORDER BY e.position DESC LIMIT 1;
  SELECT s.stream_id INTO stream_id_ FROM streams s WHERE s.name = stream_;
  IF stream_id_ IS NULL THEN
    seq_ := 0;
  ELSE
    SELECT e.seq, e.leaf INTO seq_, prev_ FROM events e WHERE e.stream_id = stream_id_ ORDER BY e.seq DESC LIMIT 1;
    IF EXISTS (SELECT FROM events e WHERE e.stream_id = stream_id_ AND e.id = id_) THEN
      outcome_ := 'known'; RETURN;
    END IF;
  END IF;
  IF (expect_ >= 0 AND expect_ <> seq_) OR (expect_ = -2 AND seq_ = 0) THEN outcome_ := 'conflict'; RETURN; END IF;
  IF stream_id_ IS NULL THEN
    INSERT INTO streams (stream_id, name) SELECT coalesce(max(s.stream_id), 0) + 1, stream_ FROM streams s
      RETURNING stream_id INTO stream_id_;
  END IF;
  recorded_at_ := greatest(recorded_at_, now_);
  position_ := position_ + 1;
  seq_ := seq_ + 1;
  leaf_ := sha256('\\x00'::bytea || convert_to('{{"event":' || part_ || ',"log":' || to_json(log_)::text || ',"prev":"'
    || encode(prev_, 'hex') || '","recorded_at":' || recorded_at_ || ',"seq":' || seq_ || end_, 'UTF8'));
  INSERT INTO events VALUES (position_, stream_id_, seq_, id_, type_, schema_version_, actor_, principal_, time_,
    recorded_at_, correlation_id_, causation_id_, trace_id_, span_id_, origin_, payload_digest_, metadata_digest_,
    salt_, payload_, metadata_, leaf_);
  outcome_ := 'appended';
END $$""",
    "gradespine_ends": f"""\
CREATE FUNCTION gradespine_ends(
  appends_ json, OUT number_ bigint, OUT stream_id_ bigint, OUT seq_ bigint, OUT leaf_ bytea, OUT known_ bigint,
  OUT log_ text, OUT position_ bigint, OUT recorded_at_ bigint
) RETURNS SETOF record LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM {POSTGRES_LOCK};
  SELECT name INTO log_ FROM log;
  SELECT e.position, e.recorded_at INTO position_, recorded_at_ FROM events e ORDER BY e.position DESC LIMIT 1;
  -- Each of these is one step down an index; joined, the planner may go through the whole stream for them.
  FOR number_, stream_id_, seq_, leaf_, known_ IN
    SELECT a.ordinality, s.stream_id,
      (SELECT max(e.seq) FROM events e WHERE e.stream_id = s.stream_id),
      (SELECT e.leaf FROM events e WHERE e.stream_id = s.stream_id ORDER BY e.seq DESC LIMIT 1),
      (SELECT count((SELECT e.seq FROM events e WHERE e.stream_id = s.stream_id AND e.id = i.id::uuid))
        FROM string_to_table(a.value ->> 1, ',') AS i (id))
    FROM json_array_elements(appends_) WITH ORDINALITY AS a LEFT JOIN streams s ON s.name = a.value ->> 0
  LOOP
    RETURN NEXT;
  END LOOP;
END $$""",
}
"""Function name → its statement: an append of one event whole, and the lock with the ends that larger ones need."""


def guards(dialect: str) -> list[str]:
    """The statements that put the guards on freshly made tables."""
    if dialect == "sqlite":
        return list(SQLITE_GUARDS.values())
    statements = list(POSTGRES_FUNCTIONS.values())
    for name, (table, statement) in POSTGRES_TRIGGERS.items():
        statements += [statement, f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}"]
    return statements
