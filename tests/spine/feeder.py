"""Following a log in a process of its own."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.process import BaseProcess

from sqlalchemy import Connection, Table, insert, select, update

from spine import SqlLog, feed, open_log
from spine.briefs import Brief
from tests.spine.tally import Tally, marks


class Signed(Tally):
    """A tally that notes by whom each event was applied."""

    def apply(self, connection: Connection, tables: Mapping[str, Table], events: Sequence[Brief]) -> None:
        super().apply(connection, tables, events)
        table = tables["marks"]
        of_these = table.c.position.in_([event.position for event in events])
        connection.execute(update(table).where(of_these).values(note=str(os.getpid())))


class Choosy(Tally):
    """A tally that cannot take the events at some positions."""

    def __init__(self, *poison: int, version: int = 1) -> None:
        super().__init__(version)
        self.poison = poison

    def apply(self, connection: Connection, tables: Mapping[str, Table], events: Sequence[Brief]) -> None:
        super().apply(connection, tables, events)
        for event in events:
            if event.position in self.poison:
                raise ValueError(f"this one never: {event.position}")


class Noting:
    """A follower without tables of its own."""

    name = "noting"
    types = ("finding.reported",)
    tables: Sequence[Table] = ()
    version = 1

    def apply(self, connection: Connection, tables: Mapping[str, Table], events: Sequence[Brief]) -> None:
        assert tables == {}
        rows = [{"position": event.position, "stream": event.stream} for event in events]
        connection.execute(insert(marks), rows)


def follow(url: str) -> None:
    with open_log(url) as log:
        feed.follow(log, Signed(), threading.Event())


def start(url: str) -> BaseProcess:
    """A process that follows until it is killed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.spine.feeder"])
    process = context.Process(target=follow, args=(url,), daemon=True)
    process.start()
    return process


def leader(log: SqlLog) -> int | None:
    """The process that applied the last event."""
    with log.database.read_transaction() as connection:
        note = connection.scalar(select(marks.c.note).order_by(marks.c.position.desc()).limit(1))
    return None if note is None else int(note)


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.005)
