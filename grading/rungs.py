"""Rungs between the log and the table of rungs: they are copied inside the database, which spares most of a rebuild."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy import Connection, Table

from grading.grades import EV_MILESTONE
from spine import Actor


class Block(NamedTuple):
    """The rungs right before the summary at a position: how many, and their payloads joined by commas."""

    position: int
    rungs: int
    payloads: str = ""


_COLUMNS: Final = (
    "grade_id", "index", "name", "weight", "required", "passed", "reached", "detail", "citations", "cited",
)  # fmt: skip
_INTO: Final = ", ".join(f'"{name}"' for name in _COLUMNS)

# The events of a grade were appended in one piece: they stand side by side in the whole log.
_OF_BLOCK: Final = (
    "m.position >= {first} AND m.position < s.position AND m.stream_id = s.stream_id"
    " AND m.seq = s.seq - s.position + m.position"
    f" AND m.type = '{EV_MILESTONE}' AND m.actor = '{Actor.SYSTEM.value}'"
)
_READ_ON_SQLITE: Final = (
    "SELECT s.position, (SELECT group_concat(payload, ',') FROM (SELECT m.payload FROM events m WHERE "
    f"{_OF_BLOCK.format(first='s.position - (b.value ->> 1)')} ORDER BY m.position))"
    " FROM json_each(?) b CROSS JOIN events s ON s.position = b.value ->> 0"
)
_READ_ON_POSTGRES: Final = (
    "SELECT s.position, (SELECT string_agg(m.payload, ',' ORDER BY m.position) FROM events m WHERE "
    f"{_OF_BLOCK.format(first='s.position - b.rungs')})"
    " FROM unnest(%s::bigint[], %s::bigint[]) AS b(position, rungs) JOIN events s ON s.position = b.position"
)
_COPY_ON_SQLITE: Final = (
    f"INSERT INTO {{table}} ({_INTO}) SELECT "
    + ", ".join(f"json_extract(m.payload, '$.{name}')" for name in _COLUMNS)
    + " FROM json_each(?) b CROSS JOIN events m ON m.position >= (b.value ->> 0) - (b.value ->> 1)"
    " AND m.position < b.value ->> 0"
)
_COPY_ON_POSTGRES: Final = (
    f"INSERT INTO {{table}} ({_INTO}) SELECT r.*"
    " FROM unnest(%s::bigint[], %s::bigint[]) AS b(position, rungs)"
    " JOIN events m ON m.position >= b.position - b.rungs AND m.position < b.position,"
    " json_to_record(m.payload::json) AS r(grade_id text, index bigint, name text, weight float8, required bool,"
    " passed bool, reached bool, detail text, citations text, cited bigint)"
)


# Payloads that are known to be those of rungs, RFC 8785, name by name.
_FIELDS: Final = re.compile(
    r'\{"citations":(\[[0-9,]*\]),"cited":([0-9]+),"detail":"([^"\\]*(?:\\.[^"\\]*)*)","grade_id":"([^"]*)","index":([0-9]+),'
    r'"ladder":"[^"\\]*(?:\\.[^"\\]*)*","name":"([^"\\]*(?:\\.[^"\\]*)*)","passed":([a-z]+),"reached":([a-z]+),'
    r'"required":([a-z]+),"weight":([^}]+)\}'
)
_COPY: Final = (
    "COPY {table} (citations, cited, detail, grade_id, index, name, passed, reached, required, weight) FROM STDIN"
)


def read_blocks(connection: Connection, blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks with the payloads of their rungs, in order. What stands there and is no rung by the system on the
    summary's stream is left out, and so is a block without any."""
    if not blocks:
        return
    rungs = {block.position: block.rungs for block in blocks}
    statement = _READ_ON_SQLITE if connection.dialect.name == "sqlite" else _READ_ON_POSTGRES
    for position, payloads in connection.exec_driver_sql(statement, _given(connection, blocks)):
        if payloads is not None:
            yield Block(position, rungs[position], payloads)


def copy_blocks(connection: Connection, table: Table, blocks: Sequence[Block]) -> None:
    """Insert the rungs of these blocks, which are known to hold nothing else, in plain shape and no NUL in their
    text."""
    if connection.dialect.name == "sqlite":
        _copy_inside(connection, table, blocks, _COPY_ON_SQLITE)
        return
    # COPY reads the escapes of JSON as JSON does, all but \\u.
    _copy_text(connection, table, [block.payloads for block in blocks if "\\u" not in block.payloads])
    _copy_inside(connection, table, [block for block in blocks if "\\u" in block.payloads], _COPY_ON_POSTGRES)


def reads_alike(connection: Connection, numbers: Sequence[float]) -> bool:
    """Whether the database reads these numbers in JSON as Python does: SQLite rounds some otherwise."""
    if connection.dialect.name != "sqlite" or not numbers:
        return True
    read = connection.exec_driver_sql("SELECT value FROM json_each(?)", (_json(numbers),)).scalars()
    return list(read) == list(numbers)


def _copy_inside(connection: Connection, table: Table, blocks: Sequence[Block], statement: str) -> None:
    if blocks:
        connection.exec_driver_sql(statement.format(table=table.name), _given(connection, blocks))


def _copy_text(connection: Connection, table: Table, payloads: Sequence[str]) -> None:
    if not payloads:
        return
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(_COPY.format(table=table.name)) as copy:
        for text in payloads:
            copy.write("".join(["\t".join(fields) + "\n" for fields in _FIELDS.findall(text)]))


def _given(connection: Connection, blocks: Sequence[Block]) -> tuple[Any, ...]:
    if connection.dialect.name == "sqlite":
        return (_json([block[:2] for block in blocks]),)
    return [block.position for block in blocks], [block.rungs for block in blocks]


def _json(value: Sequence[Any]) -> str:
    return orjson.dumps(value).decode()
