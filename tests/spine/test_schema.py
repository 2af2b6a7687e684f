"""The tables are what the metadata says, and no statement goes round their guards (FORMATS §2)."""

import itertools
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from grading import tables
from spine import Actor, NewEvent, SqlLog, open_log, revisions, schema
from tests.postgres import fresh_database
from tests.spine.builders import fill, found
from tests.spine.verification import findings_in

ERASABLE: Final = ["payload", "metadata", "salt"]
KEPT: Final = [column.name for column in schema.events.columns if column.name not in ERASABLE]


def test_the_migrations_make_the_tables_of_the_metadata(sql_log: SqlLog) -> None:
    with sql_log.database.read_transaction() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})

        drift = compare_metadata(context, cast(Any, [schema.metadata, tables.metadata]))

    assert drift == []


def test_the_head_is_the_newest_migration_and_every_one_only_goes_forward() -> None:
    scripts = ScriptDirectory(str(revisions.scripts()))

    assert scripts.get_heads() == [revisions.HEAD]
    for script in scripts.walk_revisions():
        assert re.fullmatch(r"\d{4}", script.revision)
        assert not hasattr(script.module, "downgrade")


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_triggers_of_a_file_are_those_of_the_schema(tmp_path: Path) -> None:
    with open_log(f"sqlite:///{tmp_path / 'log.db'}"):
        connection = sqlite3.connect(tmp_path / "log.db")
        found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
        connection.close()

    assert found == schema.SQLITE_GUARDS


def test_the_triggers_of_a_server_are_those_of_the_schema(migrated_postgres_url: str) -> None:
    with psycopg.connect(migrated_postgres_url) as connection:
        triggers = connection.execute(
            "SELECT tgname, tgrelid::regclass::text, pg_get_triggerdef(oid), tgenabled FROM pg_trigger "
            "WHERE NOT tgisinternal"
        ).fetchall()
        functions: dict[str, str] = dict(
            connection.execute(
                "SELECT proname::text, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
            ).fetchall()
        )

    assert {name: (table, plain(definition)) for name, table, definition, _ in triggers} == {
        name: (table, plain(statement)) for name, (table, statement) in schema.POSTGRES_TRIGGERS.items()
    }
    assert {enabled for _, _, _, enabled in triggers} == {"A"}
    assert functions == {
        name: text.split("$$")[1] for name, text in (schema.POSTGRES_FUNCTIONS | schema.POSTGRES_APPEND).items()
    }


def plain(statement: str) -> str:
    return squeezed(statement.replace("public.", ""))


def with_events(log: SqlLog) -> SqlLog:
    """Two streams of events with metadata and a causation, so that no column is empty."""
    first = found()
    for stream in ("run/a", "run/b"):
        events = [
            NewEvent("finding.reported", {"n": n}, actor=Actor.SYSTEM, metadata={"m": n}, causation_id=first.id)
            for n in range(2)
        ]
        log.append(stream, events)
    return log


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLog]:
    """A log on each database in turn, for whatever is refused: the same for all tests."""
    if request.param == "sqlite":
        with open_log(f"sqlite:///{tmp_path_factory.mktemp('guards') / 'log.db'}") as log:
            yield with_events(log)
    else:
        server, template = (request.getfixturevalue(name) for name in ("postgres_server", "postgres_template"))
        with fresh_database(server, template=template) as url, open_log(url) as log:
            yield with_events(log)


@pytest.fixture
def cursor(guarded: SqlLog) -> Iterator[Any]:
    with foreign(guarded) as cursor:
        yield cursor


@contextmanager
def foreign(log: SqlLog) -> Iterator[Any]:
    """Another program at the same database."""
    if log.database.engine.dialect.name == "sqlite":
        connection: Any = sqlite3.connect(log.database.label, isolation_level=None)
    else:
        url = log.database.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
        connection = psycopg.connect(url, autocommit=True)
    try:
        yield connection.cursor()
    finally:
        connection.close()


def refused(cursor: Any, statement: str) -> None:
    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.RestrictViolation)) as problem:
        cursor.execute(statement)
    assert re.search(r"append-only|may be erased|may be inserted|exists already|holds one log", str(problem.value))


def everything(cursor: Any) -> list[Any]:
    rows = []
    for table, key in (("log", "name"), ("streams", "stream_id"), ("events", "position")):
        cursor.execute(f"SELECT * FROM {table} ORDER BY {key}")
        rows.append(cursor.fetchall())
    return rows


COLUMNS: Final = [column.name for column in schema.events.columns if column.name != "position"]


def row(position: str, **other: str) -> str:
    """A copy of the last event, at another position and with some columns otherwise."""
    columns = ", ".join(other.get(name, name) for name in COLUMNS)
    return f"INTO events (position, {', '.join(COLUMNS)}) SELECT {position}, {columns} FROM events WHERE position = 4"


ON_BOTH: Final = {
    **{f"update {name}": f"UPDATE events SET {name} = (SELECT {name} FROM events WHERE position = 4)" for name in KEPT},
    "update all kept": "UPDATE events SET type = 'x', payload = NULL, metadata = NULL, salt = NULL",
    "update by join": "UPDATE events SET type = s.name FROM streams s WHERE s.stream_id = events.stream_id",
    "delete": "DELETE FROM events",
    "delete one": "DELETE FROM events WHERE position = 4",
    "delete from a subquery": "DELETE FROM events WHERE position IN (SELECT max(position) FROM events)",
    "position": "UPDATE events SET position = position + 100",
    "upsert": f"INSERT {row('position')} ON CONFLICT (position) DO UPDATE SET type = 'x'",
    "upsert by id": f"INSERT {row('5', seq='3')} ON CONFLICT (stream_id, id) DO UPDATE SET type = 'x'",
    "upsert by seq": f"INSERT {row('5', id='causation_id')} ON CONFLICT (stream_id, seq) DO UPDATE SET type = 'x'",
    "stream name": "UPDATE streams SET name = 'run/z' WHERE name = 'run/a'",
    "stream number": "UPDATE streams SET stream_id = 9 WHERE name = 'run/a'",
    "stream delete": "DELETE FROM streams WHERE name = 'run/a'",
    "stream upsert": "INSERT INTO streams VALUES (1, 'run/z') ON CONFLICT (stream_id) DO UPDATE SET name = 'run/z'",
    "log name": "UPDATE log SET name = 'gradespine/x'",
    "log spec": "UPDATE log SET spec = 'x'",
    "log delete": "DELETE FROM log",
    "second log": "INSERT INTO log (name, spec, created_at) VALUES ('gradespine/x', 'x', 1)",
    "log upsert": (
        "INSERT INTO log SELECT name, 'x', 1 FROM log WHERE true ON CONFLICT (name) DO UPDATE SET spec = 'x'"
    ),
}


@pytest.mark.parametrize("way", ON_BOTH)
def test_nothing_recorded_is_changed_on_either_database(cursor: Any, way: str) -> None:
    before = everything(cursor)

    refused(cursor, ON_BOTH[way])

    assert everything(cursor) == before


def empty(columns: tuple[str, ...]) -> str:
    return ", ".join(f"{name} = NULL" for name in columns)


HALVES: Final = [some for count in (1, 2) for some in itertools.combinations(ERASABLE, count)]


@pytest.mark.parametrize("columns", HALVES, ids="+".join)
def test_half_an_erasure_is_refused(cursor: Any, columns: tuple[str, ...]) -> None:
    before = everything(cursor)

    refused(cursor, f"UPDATE events SET {empty(columns)} WHERE position = 1")

    assert everything(cursor) == before


def test_half_an_erasure_of_an_event_without_metadata_is_refused(sql_log: SqlLog) -> None:
    sql_log.append("run/a", [found()])

    with foreign(sql_log) as cursor:
        refused(cursor, f"UPDATE events SET {empty(('payload',))}")
        refused(cursor, f"UPDATE events SET {empty(('salt',))}")


def test_what_was_erased_is_not_put_back(sql_log: SqlLog) -> None:
    with foreign(with_events(sql_log)) as cursor:
        cursor.execute(f"UPDATE events SET {empty(tuple(ERASABLE))} WHERE position = 1")
        before = everything(cursor)

        for change in ("payload = '{}'", "metadata = '{}'", "salt = leaf", "payload = '{}', salt = leaf"):
            refused(cursor, f"UPDATE events SET {change} WHERE position = 1")

        assert everything(cursor) == before


@pytest.mark.parametrize("name", KEPT)
def test_nothing_else_is_changed_along_with_an_erasure(cursor: Any, name: str) -> None:
    other = f"(SELECT o.{name} FROM events o WHERE o.position = 4)"
    if name in ("stream_id", "schema_version", "time", "recorded_at", "seq"):
        other = f"{name} + 100"
    if name in ("type", "actor", "principal", "correlation_id", "trace_id", "span_id", "origin"):
        other = f"{name} || 'x'"
    if name in ("causation_id", "metadata_digest"):
        other = "NULL"

    refused(cursor, f"UPDATE events SET {empty(tuple(ERASABLE))}, {name} = {other} WHERE position = 1")


def test_a_whole_erasure_is_allowed_and_nothing_else_moves(sql_log: SqlLog) -> None:
    before = list(with_events(sql_log).read_all())

    with foreign(sql_log) as cursor:
        cursor.execute(f"UPDATE events SET {empty(tuple(ERASABLE))} WHERE position = 2")

    after = list(sql_log.read_all())
    assert after[1].row == before[1].row._replace(payload=None, metadata=None, salt=None)
    assert [after[0], *after[2:]] == [before[0], *before[2:]]
    assert findings_in(sql_log) == []


NEW: Final = {"id": "randomblob(16)", "seq": "3"}
ON_SQLITE: Final = {
    "insert or replace": f"INSERT OR REPLACE {row('position', type=repr('x'))}",
    "replace": f"REPLACE {row('1')}",
    "replace at the next position by its id": f"REPLACE {row('5', seq='3')}",
    "replace at the next position by its seq": f"REPLACE {row('5', id='randomblob(16)')}",
    "insert with a gap": f"INSERT {row('6', **NEW)}",
    "insert or ignore with a gap": f"INSERT OR IGNORE {row('6', **NEW)}",
    "insert at zero": f"INSERT {row('0', **NEW)}",
    "insert before the first": f"INSERT {row('-1', **NEW)}",
    "insert at no position": f"INSERT {row('NULL', **NEW)}",
    "update or replace": "UPDATE OR REPLACE events SET position = 1 WHERE position = 4",
    "update or replace by id": "UPDATE OR REPLACE events SET id = (SELECT id FROM events WHERE position = 1)",
    "update or ignore": "UPDATE OR IGNORE events SET type = 'x'",
    "rowid": "UPDATE events SET rowid = rowid + 100",
    "_rowid_": "UPDATE events SET _rowid_ = _rowid_ + 100",
    "oid": "UPDATE events SET oid = oid + 100",
    "streams replace": "REPLACE INTO streams (stream_id, name) VALUES (1, 'run/z')",
    "streams replace by name": "REPLACE INTO streams (stream_id, name) VALUES (9, 'run/a')",
    "streams rowid": "UPDATE streams SET rowid = 9 WHERE rowid = 1",
    "streams update or replace": "UPDATE OR REPLACE streams SET name = 'run/b' WHERE name = 'run/a'",
    "log replace": "REPLACE INTO log SELECT name, 'x', 1 FROM log",
    "log rowid": "UPDATE log SET rowid = 9",
    "log update or replace": "UPDATE OR REPLACE log SET spec = 'x'",
}


@pytest.mark.parametrize("guarded", ["sqlite"], indirect=True)
@pytest.mark.parametrize("recursive", ["ON", "OFF"])
@pytest.mark.parametrize("way", ON_SQLITE)
def test_nothing_recorded_is_changed_by_what_only_sqlite_has(cursor: Any, way: str, recursive: str) -> None:
    cursor.execute(f"PRAGMA recursive_triggers = {recursive}")
    cursor.execute("PRAGMA foreign_keys = OFF")
    before = everything(cursor)

    refused(cursor, ON_SQLITE[way])

    assert everything(cursor) == before


@pytest.mark.parametrize("guarded", ["sqlite"], indirect=True)
@pytest.mark.parametrize("way", ON_BOTH)
def test_the_guards_of_a_file_need_no_pragma(cursor: Any, way: str) -> None:
    for pragma in ("recursive_triggers = OFF", "foreign_keys = OFF", "ignore_check_constraints = ON"):
        cursor.execute(f"PRAGMA {pragma}")

    refused(cursor, ON_BOTH[way])


ON_POSTGRES: Final = {
    "truncate": "TRUNCATE events",
    "truncate cascade": "TRUNCATE streams CASCADE",
    "truncate of all": "TRUNCATE log, events, streams, snapshots RESTART IDENTITY CASCADE",
    "truncate of the log": "TRUNCATE log",
    "merge": "MERGE INTO events USING log ON true WHEN MATCHED THEN UPDATE SET type = 'x'",
    "merge to delete": "MERGE INTO events USING log ON true WHEN MATCHED THEN DELETE",
    "in a with": "WITH gone AS (DELETE FROM events RETURNING *) SELECT count(*) FROM gone",
    "update only": "UPDATE ONLY events SET type = 'x'",
    "in a block": "DO $$ BEGIN DELETE FROM events; END $$",
    "cursor": "DO $$ DECLARE c CURSOR FOR SELECT * FROM events FOR UPDATE; r record; BEGIN OPEN c; FETCH c INTO r; "
    "DELETE FROM events WHERE CURRENT OF c; END $$",
}


@pytest.mark.parametrize("guarded", ["postgres"], indirect=True)
@pytest.mark.parametrize("role", ["origin", "replica", "local"])
@pytest.mark.parametrize("way", [*ON_POSTGRES, *ON_BOTH])
def test_nothing_recorded_is_changed_in_any_role_of_postgres(guarded: SqlLog, cursor: Any, way: str, role: str) -> None:
    cursor.execute(f"SET session_replication_role = {role}")
    before = everything(cursor)

    refused(cursor, (ON_POSTGRES | ON_BOTH)[way])

    assert everything(cursor) == before


@pytest.mark.parametrize("guarded", ["postgres"], indirect=True)
@pytest.mark.parametrize("role", ["origin", "replica"])
@pytest.mark.parametrize("columns", HALVES, ids="+".join)
def test_half_an_erasure_is_refused_in_any_role_of_postgres(cursor: Any, columns: tuple[str, ...], role: str) -> None:
    cursor.execute(f"SET session_replication_role = {role}")

    refused(cursor, f"UPDATE events SET {empty(columns)} WHERE position = 1")


def test_the_guards_let_the_log_itself_go_on(sql_log: SqlLog) -> None:
    with_events(sql_log)

    sql_log.erase("run/a", [1], reason="asked for", actor=Actor.HUMAN, principal="ada")
    fill(sql_log, "run/c", 2)

    assert sql_log.position() == 7
    assert findings_in(sql_log) == []
