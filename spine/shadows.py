"""Shadow tables: copies of a projection's tables that are filled beside them and then take their place."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Index, MetaData, Table, text
from sqlalchemy.schema import CreateIndex, CreateTable, DropTable
from sqlalchemy.sql import quoted_name

_SUFFIX: Final = "__shadow"
_LOCK_MILLISECONDS: Final = 200


def shadows_of(tables: Sequence[Table]) -> Mapping[str, Table]:
    """The shadow of each table, by the name of the table itself."""
    return {table.name: _shadow(table) for table in tables}


def make(connection: Connection, tables: Sequence[Table]) -> None:
    """Make the shadow tables, empty; those there are go. Their indexes come when they are full."""
    discard(connection, tables)
    for table in tables:
        connection.execute(CreateTable(_shadow(table, connection.dialect.name)))


def discard(connection: Connection, tables: Sequence[Table]) -> None:
    """Drop the shadow tables, if there are any."""
    with _quick_drop(connection):
        for table in tables:
            connection.execute(DropTable(_shadow(table), if_exists=True))


def fit(connection: Connection, tables: Sequence[Table]) -> bool:
    """Whether the shadow tables are there, and have the columns that the tables have now."""
    return all(_shape(connection, _shadow(table).name) == _shape(connection, table.name) for table in tables)


def prepare(connection: Connection, tables: Sequence[Table]) -> None:
    """Give full shadow tables whatever takes long and can be had before they are swapped. Safe to repeat."""
    if connection.dialect.name == "sqlite":
        return  # the name of an index is taken while the table has it
    # Without statistics the first readers would get plans for empty tables; the server refines them in its time.
    connection.exec_driver_sql("SET LOCAL default_statistics_target = 10")
    for table in tables:
        shadow = _shadow(table)
        for index in _by_name(shadow):
            connection.execute(CreateIndex(index, if_not_exists=True))
        connection.exec_driver_sql(f"ANALYZE {shadow.name}")


def swap(connection: Connection, tables: Sequence[Table]) -> None:
    """Put the shadow tables in the place of the tables, which go; indexes and constraints keep their names.

    On Postgres readers are let through first: LogBusy comes after a fifth of a second, and nothing was done.
    """
    if connection.dialect.name == "sqlite":
        _swap_on_sqlite(connection, tables)
    else:
        _swap_on_postgres(connection, tables)


def _swap_on_sqlite(connection: Connection, tables: Sequence[Table]) -> None:
    with _quick_drop(connection):
        for table in tables:
            connection.execute(DropTable(table))
            connection.exec_driver_sql(f"ALTER TABLE {_shadow(table).name} RENAME TO {table.name}")
            for index in _by_name(table):
                connection.execute(CreateIndex(index))


@contextmanager
def _quick_drop(connection: Connection) -> Iterator[None]:
    """What these tables hold stands in the log all the same: writing zeros over it would only hold up the writers."""
    if connection.dialect.name != "sqlite":
        yield
        return
    connection.exec_driver_sql("PRAGMA secure_delete = FAST")
    try:
        yield
    finally:
        connection.exec_driver_sql("PRAGMA secure_delete = ON")


def _swap_on_postgres(connection: Connection, tables: Sequence[Table]) -> None:
    if not tables:
        return
    # Behind a lock that waits, new readers wait too, and one that reads several tables may wait for us in a circle.
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_LOCK_MILLISECONDS}")
    connection.exec_driver_sql(f"LOCK TABLE {', '.join(table.name for table in tables)} IN ACCESS EXCLUSIVE MODE")
    for table in tables:
        shadow = _shadow(table).name
        _hand_over(connection, table.name, shadow)
        connection.execute(DropTable(table))
        connection.exec_driver_sql(f"ALTER TABLE {shadow} RENAME TO {table.name}")
        for index in _indexes(connection, table.name):
            connection.exec_driver_sql(f"ALTER INDEX {index} RENAME TO {index.replace(_SUFFIX, '')}")


def _hand_over(connection: Connection, table: str, shadow: str) -> None:
    """Give the shadow the owner and the privileges of the table."""
    owner = connection.exec_driver_sql(
        "SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = %s::regclass"
        " AND relowner <> (SELECT relowner FROM pg_class WHERE oid = %s::regclass)",
        (table, shadow),
    ).scalar()
    granted = connection.exec_driver_sql(
        "SELECT a.privilege_type,"
        " CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, a.is_grantable"
        " FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = %s::regclass AND a.grantee <> c.relowner",
        (table,),
    ).all()
    for privilege, grantee, grantable in granted:
        option = " WITH GRANT OPTION" if grantable else ""
        connection.exec_driver_sql(f"GRANT {privilege} ON {shadow} TO {grantee}{option}")
    if owner is not None:
        connection.exec_driver_sql(f"ALTER TABLE {shadow} OWNER TO {owner}")


def _indexes(connection: Connection, table: str) -> Sequence[str]:
    return connection.scalars(
        text("SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = CAST(:table AS regclass)"),
        {"table": table},
    ).all()


def _by_name(table: Table) -> Sequence[Index]:
    return sorted(table.indexes, key=lambda index: index.columns.keys())


def _shape(connection: Connection, table: str) -> Sequence[Any]:
    """The columns of a table; none where there is no table."""
    if connection.dialect.name == "sqlite":
        found = connection.exec_driver_sql('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (table,))
    else:
        found = connection.exec_driver_sql(
            "SELECT attname, format_type(atttypid, atttypmod), attnotnull, attcollation FROM pg_attribute"
            " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
            (table,),
        )
    return sorted(map(tuple, found))


@cache
def _shadow(table: Table, dialect: str = "") -> Table:
    copy = table.to_metadata(MetaData(), name=table.name + _SUFFIX)
    for index in copy.indexes:
        index.name = quoted_name(f"{index.name}{_SUFFIX}", None)
    # On SQLite a constraint cannot be renamed, and its name may stand in two tables; on Postgres it is the other way.
    for constraint in copy.constraints if dialect != "sqlite" else ():
        if constraint.name is not None:
            constraint.name = quoted_name(f"{constraint.name}{_SUFFIX}", None)
    return copy
