"""The checks of a Postgres database."""

from typing import Final

from spine.checkup import contents
from spine.checkup.findings import Checks, Cursor, Verdict, failed, ok, rows, size, warning
from spine.schema import POSTGRES_APPEND, POSTGRES_FUNCTIONS, POSTGRES_TRIGGERS

_OLDEST: Final = 140000
_GUARDED: Final = "to_regclass('events'), to_regclass('streams'), to_regclass('log')"
_ON: Final = ("fsync", "full_page_writes")
_OFF: Final = ("zero_damaged_pages", "ignore_checksum_failure")


def checks(full: bool) -> Checks:
    """The checks of the database that the cursor is connected to."""
    of_log = [("indexes", indexes), ("guards", guards), ("positions", contents.positions)]
    of_log += [("sequences", contents.sequences), ("pages", pages)] if full else []
    return Checks(
        reached=reached,
        revisions=revisions_of,
        of_database=[
            ("durability", durability),
            ("checksums", checksums),
            ("encoding", encoding),
            ("writable", writable),
            ("replication", replication),
        ],
        of_log=[*of_log, ("followers", contents.followers), ("parked", contents.parked)],
    )


def reached(cursor: Cursor) -> Verdict:
    [(name, version, number, bytes_)] = rows(
        cursor,
        "SELECT current_database(), current_setting('server_version'), current_setting('server_version_num')::int,"
        " pg_database_size(current_database())",
    )
    said = f"{name}, {size(bytes_)}, Postgres {version}"
    if number < _OLDEST:
        return warning(said, "gradespine is tried with Postgres 14 and newer")
    return ok(said)


def revisions_of(cursor: Cursor) -> list[str]:
    if rows(cursor, "SELECT to_regclass('alembic_version')::text") == [(None,)]:
        return []
    return [str(revision) for (revision,) in rows(cursor, "SELECT version_num FROM alembic_version")]


def durability(cursor: Cursor) -> Verdict:
    """Whether an acknowledged append outlives a crash of the server."""
    names = (*_ON, "synchronous_commit", *_OFF)
    [values] = rows(cursor, "SELECT " + ", ".join(f"current_setting('{name}')" for name in names))
    found = dict(zip(names, values, strict=True))
    wrong = [f"{name} is off" for name in (*_ON, "synchronous_commit") if found[name] == "off"]
    wrong += [f"{name} is on" for name in _OFF if found[name] == "on"]
    if wrong:
        return failed(
            "; ".join(wrong),
            "a crash of the server can lose what was acknowledged: set it otherwise in postgresql.conf",
        )
    return ok(f"fsync and full_page_writes on, synchronous_commit {found['synchronous_commit']}")


def checksums(cursor: Cursor) -> Verdict:
    [(state,)] = rows(cursor, "SELECT current_setting('data_checksums')")
    if state == "on":
        return ok("on")
    return warning(state, "a disk that garbles a page goes unnoticed: `pg_checksums --enable` while the server is down")


def encoding(cursor: Cursor) -> Verdict:
    [(found,)] = rows(cursor, "SELECT current_setting('server_encoding')")
    if found == "UTF8":
        return ok(found)
    return failed(found, "not every event can be stored: dump the log, and restore it into a database of encoding UTF8")


def writable(cursor: Cursor) -> Verdict:
    """Whether this role may append here."""
    [(standby, read_only)] = rows(
        cursor, "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'"
    )
    if standby:
        return failed("a standby takes no writes", "write to the primary")
    if read_only:
        return failed("default_transaction_read_only is on", "set it off for this role and this database")
    refused = rows(
        cursor,
        "SELECT t.name FROM unnest(ARRAY['events', 'streams', 'log', 'followers']) AS t (name) "
        "WHERE to_regclass(t.name) IS NOT NULL AND NOT (has_table_privilege(to_regclass(t.name), 'SELECT') "
        "AND has_table_privilege(to_regclass(t.name), 'INSERT'))",
    )
    if refused:
        return failed(
            f"this role may not insert into {', '.join(name for (name,) in refused)}", "grant it SELECT and INSERT"
        )
    return ok("this role may append")


def replication(cursor: Cursor) -> Verdict:
    """Told, not judged, but for a slot that nobody reads: it keeps the write-ahead log until the disk is full."""
    [(level, archiving)] = rows(cursor, "SELECT current_setting('wal_level'), current_setting('archive_mode')")
    idle = rows(
        cursor,
        "SELECT slot_name, pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()"
        " ELSE pg_current_wal_lsn() END, restart_lsn) FROM pg_replication_slots"
        " WHERE NOT active AND restart_lsn IS NOT NULL ORDER BY 2 DESC NULLS LAST",
    )
    said = f"wal_level {level}, archive_mode {archiving}"
    if idle and (idle[0][1] or 0) > 1024**3:
        name, kept = idle[0]
        return warning(
            f"{said}; slot {name} keeps {size(float(kept))} of write-ahead log, and nobody reads it",
            f"start its reader, or drop it: SELECT pg_drop_replication_slot('{name}')",
        )
    return ok(said)


def indexes(cursor: Cursor) -> Verdict:
    """Whether the indexes are in use: one whose making failed checks nothing."""
    found = rows(
        cursor,
        "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT (indisvalid AND indisready AND indislive) "
        f"AND indrelid IN ({_GUARDED}, to_regclass('followers'), to_regclass('snapshots'), to_regclass('parked')) "
        "ORDER BY 1",
    )
    if found:
        names = ", ".join(name for (name,) in found)
        return failed(f"{names}: not valid", f"REINDEX INDEX {found[0][0]}")
    return ok("valid")


def guards(cursor: Cursor) -> Verdict:
    """Whether the triggers and functions that refuse change, and those that append, are there word for word, and the
    triggers cannot be gone round."""
    found = rows(
        cursor,
        "SELECT tgname::text, pg_get_triggerdef(oid, true), tgenabled::text FROM pg_trigger "
        f"WHERE NOT tgisinternal AND tgrelid IN ({_GUARDED})",
    )
    bodies = rows(
        cursor,
        "SELECT p.proname::text, p.prosrc FROM pg_proc p WHERE p.pronamespace = "
        "(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('events')) AND p.proname LIKE 'gradespine%'",
    )
    functions = {name: text.split("$$")[1] for name, text in (POSTGRES_FUNCTIONS | POSTGRES_APPEND).items()}
    verdict = contents.compared(
        {name: _plain(text) for name, text, _ in found} | dict(bodies),
        {name: _plain(text) for name, (_, text) in POSTGRES_TRIGGERS.items()} | functions,
    )
    lax = sorted(name for name, _, enabled in found if name in POSTGRES_TRIGGERS and enabled != "A")
    if lax:
        return failed(
            f"{', '.join(lax)}: not ENABLE ALWAYS" + ("" if verdict.state == "ok" else f"; {verdict.found}"),
            "ALTER TABLE … ENABLE ALWAYS TRIGGER …, and find out who changed it",
        )
    return verdict


def _plain(statement: str) -> str:
    return " ".join(statement.split())


def pages(cursor: Cursor) -> Verdict:
    """Whether tables and indexes agree, where the server has the amcheck extension to tell."""
    if not rows(cursor, "SELECT 1 FROM pg_extension WHERE extname = 'amcheck'"):
        return warning("not looked into: amcheck is not installed", "CREATE EXTENSION amcheck, then check again")
    [(count,)] = rows(
        cursor,
        "SELECT count(bt_index_check(i.indexrelid::regclass, true)::text) FROM pg_index i JOIN pg_class c "
        "ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam AND a.amname = 'btree' "
        f"WHERE i.indrelid IN ({_GUARDED}) AND i.indisvalid",
    )
    return ok(f"{count} indexes agree with their tables")
