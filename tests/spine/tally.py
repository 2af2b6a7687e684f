"""A projection to try: how many events each stream has, and each event once."""

import os
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from multiprocessing.synchronize import Event
from typing import Any, Final

from sqlalchemy import Column, Connection, Index, MetaData, Table, Text, bindparam, insert, select, update

from spine import SqlLog, briefs, open_log, projection
from spine.briefs import Brief
from spine.bulk import insert_rows
from spine.schema import Name, Whole
from spine.schema import metadata as log_metadata

metadata: Final = MetaData(naming_convention=log_metadata.naming_convention)
tallies = Table("tallies", metadata, Column("stream", Name, primary_key=True), Column("events", Whole, nullable=False))
marks = Table(
    "marks",
    metadata,
    Column("position", Whole, primary_key=True, autoincrement=False),
    Column("stream", Name, nullable=False),
    Column("note", Text),
    Index(None, "stream"),
)


class Tally:
    name = "tally"
    types = ("finding.reported", "finding.closed")
    tables: Sequence[Table] = (tallies, marks)

    def __init__(self, version: int = 1) -> None:
        self.version = version

    def apply(self, connection: Connection, tables: Mapping[str, Table], events: Sequence[Brief]) -> None:
        # Applied twice, an event would be counted twice, and its mark refused.
        tally = tables["tallies"]
        for stream, count in Counter(event.stream for event in events).items():
            more = update(tally).where(tally.c.stream == bindparam("of")).values(events=tally.c.events + count)
            if connection.execute(more, {"of": stream}).rowcount == 0:
                connection.execute(insert(tally).values(stream=stream, events=count))
        note = f"version {self.version}"
        insert_rows(connection, tables["marks"], [(event.position, event.stream, note) for event in events])


def make_tables(log: SqlLog) -> None:
    with log.database.write_transaction() as connection:
        metadata.create_all(connection)


def rows(log: SqlLog) -> dict[str, list[tuple[Any, ...]]]:
    with log.database.read_transaction() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key.columns))]
            for table in Tally.tables
        }


def rebuild_until_killed(url: str, version: int, batches: int, size: int) -> None:
    """Rebuild in batches of this size, and be killed after some of them. For a process of its own."""
    briefs._FIRST_PAGE = briefs._LARGEST_PAGE = size  # type: ignore[misc]
    left = batches

    def progress(_at: int, _of: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    with open_log(url) as log:
        projection.rebuild(log, Tally(version), progress=progress)


def rebuild_for_ever(url: str, size: int, begun: Event) -> None:
    """Rebuild again and again in batches of this size, until this process is killed."""
    briefs._FIRST_PAGE = briefs._LARGEST_PAGE = size  # type: ignore[misc]
    with open_log(url) as log:
        begun.set()
        while True:
            projection.rebuild(log, Tally())
