"""How a database is read: in pages bounded by bytes, holding nothing between them, never walking or sorting the log."""

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from psycopg import ClientCursor, connect

from spine import Actor, Append, Event, LogUnavailable, NewEvent, SqlLog, open_log, pages
from spine.events import EventRow
from tests.spine.builders import fill, found

LARGE = 300_000


def one_of(size: int) -> NewEvent:
    return NewEvent("a.one", {"text": "x" * size}, actor=Actor.SYSTEM)


@pytest.fixture
def mixed(sql_log: SqlLog) -> SqlLog:
    """300 small events of one stream, and behind them 60 large ones among small ones."""
    fill(sql_log, "run/a", 300, type="a.one")
    for _ in range(3):
        sql_log.append("run/a", [one_of(LARGE if number % 2 else 1) for number in range(40)])
    return sql_log


READS: list[Callable[[SqlLog], Iterator[Event]]] = [
    lambda log: log.read("run/a"),
    lambda log: log.read_all(),
    lambda log: log.read_all(backwards=True),
    lambda log: log.read_all(types=["a.one"]),
    lambda log: log.read("run/a", backwards=True, limit=200),
]


@pytest.mark.parametrize("read", READS)
def test_large_payloads_among_small_ones_are_read_whole_and_in_bounded_memory(
    mixed: SqlLog, read: Callable[[SqlLog], Iterator[Event]]
) -> None:
    seen: list[tuple[int, int]] = []
    tracemalloc.start()
    try:
        seen.extend((event.seq, len(event.row.payload or "")) for event in read(mixed))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    seqs = [seq for seq, _ in seen]
    assert seqs in (list(range(1, 421)), list(range(420, 0, -1)), list(range(420, 220, -1)))
    assert sum(size > LARGE for _, size in seen) == 60
    assert peak < 13_000_000  # all of them are 18 MB


def test_a_large_payload_erased_between_two_pages_is_seen_erased(mixed: SqlLog) -> None:
    fill(mixed, "run/a", 1200)
    mixed.append("run/a", [one_of(LARGE)])
    events = mixed.read("run/a", after=420)
    first = next(events)

    mixed.erase("run/a", [1621], reason="asked for", actor=Actor.HUMAN, principal="ada")
    rest = list(events)

    assert first.seq == 421
    assert [event.seq for event in rest if event.erased] == [1621]


def test_an_event_of_a_page_is_like_any_other(sql_log: SqlLog) -> None:
    fill(sql_log, "run/a", 2)

    ours = list(sql_log.read("run/a"))
    others = [sql_log.find("run/a", event.id) for event in ours]

    assert ours == others == list(sql_log.read_all())
    assert [hash(event) for event in ours] == [hash(event) for event in others]
    assert repr(ours[0]) == repr(others[0])
    assert type(ours[0].row) is EventRow
    assert ours[0].row is ours[0].row


def test_events_have_the_names_of_more_streams_than_are_kept_in_mind(sql_log: SqlLog) -> None:
    names = [f"run/{number}" for number in range(50)]
    for _ in range(2):
        for start in range(0, 50, 10):
            sql_log.append_all([Append(name, [found()]) for name in names[start : start + 10]])

    with (
        patch.object(pages, "_NAMES", 20),
        patch.object(pages, "_FIRST_PAGE", 7),
        patch.object(pages, "_LARGEST_PAGE", 7),
    ):
        events = list(sql_log.read_all())

    assert [event.stream for event in events] == [event.row.stream for event in events] == names * 2


def test_a_reader_whose_connection_is_lost_between_pages_is_told_and_can_go_on(migrated_postgres_url: str) -> None:
    with open_log(migrated_postgres_url) as log:
        fill(log, "run/a", 900)
        events = log.read("run/a")
        read = [next(events).seq]
        with connect(migrated_postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

        with pytest.raises(LogUnavailable):
            read.extend(event.seq for event in events)  # what came before the loss was given out

        assert read == list(range(1, len(read) + 1))
        read.extend(event.seq for event in log.read("run/a", after=read[-1]))
        assert read == list(range(1, 901))


def test_a_reader_whose_file_goes_away_between_pages_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with open_log(f"sqlite:///{path}") as log:
        fill(log, "run/a", 900)
        events = log.read_all()
        next(events)
        path.rename(tmp_path / "elsewhere.db")

        with pytest.raises(LogUnavailable, match=r"log\.db"):
            list(events)


def statements_of(log: SqlLog, ask: Callable[[], object]) -> list[tuple[str, Any]]:
    """Every statement that `ask` runs on the log's own cursors, with its parameters."""
    ran: list[tuple[str, Any]] = []
    read = log.database.read

    class Noting:
        def __init__(self, cursor: Any) -> None:
            self._cursor = cursor

        def execute(self, statement: str, parameters: Any = (), **how: Any) -> Any:
            ran.append((statement, parameters))
            return self._cursor.execute(statement, parameters, **how)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._cursor, name)

    class Reading:
        def __init__(self) -> None:
            self._own = read()

        def __enter__(self) -> Noting:
            return Noting(self._own.__enter__())

        def __exit__(self, *error: Any) -> None:
            self._own.__exit__(*error)

    with patch.object(log.database, "read", Reading):
        ask()
    return ran


def plan(log: SqlLog, statement: str, parameters: Any) -> str:
    with log.database.read() as cursor:
        if log.database.engine.dialect.name == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            return "\n".join(row[3] for row in cursor.fetchall())
        connection: Any = cursor.connection
        with ClientCursor(connection) as client:
            rows = client.execute(f"EXPLAIN {statement}", parameters).fetchall()
        return "\n".join(row[0] for row in rows)


@pytest.fixture
def many(sql_log: SqlLog) -> SqlLog:
    """A log that is too large for walking it to be the cheapest way."""
    for stream in range(60):
        types = ["a.one", "a.one", "a.one", "b.two"]
        sql_log.append(
            f"run/{stream:03}",
            [NewEvent(types[n % 4], {"text": "x" * 400}, actor=Actor.SYSTEM) for n in range(100)],
        )
    with sql_log.database.write_transaction() as connection:
        connection.exec_driver_sql("ANALYZE")
    return sql_log


def test_no_read_walks_the_log_or_sorts_it(many: SqlLog) -> None:
    asked: dict[str, Callable[[], object]] = {
        "read": lambda: list(many.read("run/007")),
        "read backwards": lambda: next(many.read("run/007", backwards=True)),
        "read from": lambda: list(many.read("run/007", after=90)),
        "read by type": lambda: list(many.read("run/007", types=["b.two"])),
        "read_all": lambda: next(many.read_all(after=3000)),
        "read_all backwards": lambda: next(many.read_all(backwards=True)),
        "streams": lambda: list(many.streams("run/", limit=10)),
        "head": lambda: many.head("run/007"),
        "find": lambda: many.find("run/007", found().id),
        "position": many.position,
    }
    for name, ask in asked.items():
        for statement, parameters in statements_of(many, ask):
            said = plan(many, statement, parameters)
            for costly in ("SCAN e", "SCAN events", "TEMP B-TREE", "Seq Scan on events", "Sort"):
                assert costly not in said, (name, statement, said)
