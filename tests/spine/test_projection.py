"""Projections: rebuilt beside the live tables, swapped whole, gone on with after a kill; nothing applied twice."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

import pytest
from sqlalchemy import Connection, Table, delete, insert, inspect, select, text, update

from spine import (
    Actor,
    LogBusy,
    LogCorrupt,
    LogUnavailable,
    NewEvent,
    RestoreDetected,
    SchemaOutdated,
    SqlLog,
    briefs,
    open_log,
    projection,
)
from spine.briefs import Brief
from spine.parking import Parked
from spine.schema import followers, parked
from tests.spine import tally
from tests.spine.processes import FORKS, KILLS
from tests.spine.tally import Tally, make_tables, rows


@pytest.fixture
def followed(sql_log: SqlLog, monkeypatch: pytest.MonkeyPatch) -> SqlLog:
    """A log of 60 events, 40 of them of interest, and small batches."""
    monkeypatch.setattr(briefs, "_FIRST_PAGE", 7)
    monkeypatch.setattr(briefs, "_LARGEST_PAGE", 7)
    make_tables(sql_log)
    fill(sql_log, 20)
    return sql_log


def fill(log: SqlLog, appends: int) -> None:
    for number in range(appends):
        types = ("finding.reported", "a.thing", "finding.closed")
        log.append(f"run/{number % 3}", [NewEvent(type, {}, actor=Actor.SYSTEM) for type in types])


def expected(log: SqlLog, version: int = 1) -> dict[str, list[tuple[Any, ...]]]:
    events = list(log.read_all(types=Tally.types))
    streams = sorted({event.stream for event in events})
    return {
        "tallies": [(stream, sum(event.stream == stream for event in events)) for stream in streams],
        "marks": [(event.position, event.stream, f"version {version}") for event in events],
    }


class Stopped(Exception):
    pass


def stop_after(batches: int, then: Callable[[], object] | None = None) -> projection.Progress:
    """Progress that does something after this many batches: by default it stops the rebuild there."""
    left = batches

    def progress(_at: int, _of: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            if then is None:
                raise Stopped
            then()

    return progress


def stopped_rebuild(log: SqlLog, version: int = 1, batches: int = 3) -> None:
    with pytest.raises(Stopped):
        projection.rebuild(log, Tally(version), progress=stop_after(batches))


def shadow_position(log: SqlLog) -> int | None:
    with log.database.read_transaction() as connection:
        found = select(followers.c.position).where(followers.c.name == "tally/rebuild")
        position: int | None = connection.scalar(found)
        return position


def table_names(log: SqlLog) -> set[str]:
    return {name for name in inspect(log.database.engine).get_table_names() if name.startswith(("tallies", "marks"))}


def test_a_rebuild_goes_on_where_it_was_stopped(followed: SqlLog) -> None:
    stopped_rebuild(followed)
    at = shadow_position(followed)
    seen: list[int] = []

    reached = projection.rebuild(followed, Tally(), progress=lambda at, _of: seen.append(at))

    assert at is not None
    assert seen[0] > at > 0
    assert reached == seen[-1] == followed.position()
    assert rows(followed) == expected(followed)
    assert table_names(followed) == {"tallies", "marks"}
    assert shadow_position(followed) is None


def test_the_live_tables_serve_and_follow_while_others_are_filled(followed: SqlLog) -> None:
    projection.catch_up(followed, Tally())

    def meanwhile() -> None:
        fill(followed, 3)
        projection.catch_up(followed, Tally())
        assert rows(followed) == expected(followed)

    projection.rebuild(followed, Tally(), progress=stop_after(2, meanwhile))

    assert rows(followed) == expected(followed)
    assert projection.lag(followed, Tally()) == 0


def test_other_programs_append_while_a_rebuild_goes_on(followed: SqlLog, database_url: str) -> None:
    with open_log(database_url, busy_seconds=0.2) as other:

        def append(at: int, of: int) -> None:
            if at < of:
                fill(other, 1)

        projection.rebuild(followed, Tally(), progress=append)

    projection.catch_up(followed, Tally())
    assert rows(followed) == expected(followed)


def test_a_raised_version_rebuilds_and_readers_never_see_an_empty_table(followed: SqlLog) -> None:
    projection.catch_up(followed, Tally())
    before = rows(followed)
    seen: list[bool] = []

    assert projection.lag(followed, Tally(2)) == followed.position()
    projection.catch_up(followed, Tally(2), progress=lambda at, of: seen.append(rows(followed) == before))

    assert all(seen[:-1])
    assert len(seen) > 3
    assert rows(followed) == expected(followed, version=2)
    assert projection.lag(followed, Tally(2)) == 0


def test_tables_of_a_newer_version_are_left_alone_until_a_rebuild_is_asked_for(followed: SqlLog) -> None:
    projection.catch_up(followed, Tally(2))

    with pytest.raises(SchemaOutdated, match=r"version 2.*knows version 1.*gradespine rebuild"):
        projection.catch_up(followed, Tally(1))
    assert rows(followed) == expected(followed, version=2)

    projection.rebuild(followed, Tally(1))
    assert rows(followed) == expected(followed)


def test_a_forgotten_place_rebuilds(followed: SqlLog) -> None:
    projection.catch_up(followed, Tally())
    with followed.database.write_transaction() as connection:
        connection.execute(delete(followers))

    projection.catch_up(followed, Tally())

    assert rows(followed) == expected(followed)


def test_what_another_version_left_behind_is_thrown_away(followed: SqlLog) -> None:
    stopped_rebuild(followed, version=1)

    projection.rebuild(followed, Tally(2))

    assert rows(followed) == expected(followed, version=2)


def test_what_an_older_schema_left_behind_is_thrown_away(followed: SqlLog) -> None:
    stopped_rebuild(followed)
    with followed.database.write_transaction() as connection:
        connection.execute(text("ALTER TABLE marks__shadow DROP COLUMN note"))

    projection.rebuild(followed, Tally())

    assert rows(followed) == expected(followed)


def test_a_rebuild_gives_way_to_one_of_another_version(followed: SqlLog) -> None:
    def other() -> None:
        stopped_rebuild(followed, version=2)

    with pytest.raises(LogBusy, match="another version"):
        projection.rebuild(followed, Tally(1), progress=stop_after(2, other))

    projection.rebuild(followed, Tally(2))
    assert rows(followed) == expected(followed, version=2)


def test_a_rebuild_whose_work_another_has_finished_is_done(followed: SqlLog) -> None:
    reached = projection.rebuild(
        followed, Tally(), progress=stop_after(2, lambda: projection.rebuild(followed, Tally()))
    )

    assert reached == followed.position()
    assert rows(followed) == expected(followed)
    assert shadow_position(followed) is None


def test_rebuilds_at_once_share_the_work(followed: SqlLog, database_url: str) -> None:
    errors: list[BaseException] = []

    def rebuild() -> None:
        try:
            with open_log(database_url) as log:
                projection.rebuild(log, Tally(2))
                projection.catch_up(log, Tally(2))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=rebuild) for _ in range(4)]
    for thread in threads:
        thread.start()
    fill(followed, 10)
    for thread in threads:
        thread.join()

    assert errors == []
    projection.catch_up(followed, Tally(2))
    assert rows(followed) == expected(followed, version=2)
    assert table_names(followed) == {"tallies", "marks"}


def test_readers_see_all_or_nothing_of_a_swap(followed: SqlLog, database_url: str) -> None:
    projection.catch_up(followed, Tally())
    wanted = len(rows(followed)["marks"])
    counts: set[tuple[int, int]] = set()
    done = threading.Event()

    def read() -> None:
        with open_log(database_url) as log:
            while not done.is_set():
                with log.database.read_transaction() as connection:
                    marks = connection.execute(text("SELECT count(*) FROM marks")).scalar_one()
                    events = connection.execute(text("SELECT sum(events) FROM tallies")).scalar_one()
                counts.add((marks, int(events)))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(5):
        projection.rebuild(followed, Tally())
    done.set()
    reader.join()

    assert counts == {(wanted, wanted)}


def test_a_rebuild_is_killed_at_any_batch_and_gone_on_with(followed: SqlLog, database_url: str) -> None:
    projection.catch_up(followed, Tally())
    FORKS.set_forkserver_preload(["tests.spine.tally"])
    places: list[int] = []
    for batches in islice(cycle((1, 2, 1, 3, 1)), KILLS // 4):
        process = FORKS.Process(target=tally.rebuild_until_killed, args=(database_url, 2, batches, 7))
        process.start()
        process.join(30)
        assert process.exitcode == -9
        places.append(shadow_position(followed) or 0)
        assert {note for _, _, note in rows(followed)["marks"]} == {"version 1"}
        fill(followed, 25)  # more than a batch or three: it is never done

    projection.catch_up(followed, Tally(2))

    assert places == sorted(set(places))
    assert rows(followed) == expected(followed, version=2)


def test_rebuilds_are_killed_at_any_moment_beside_one_that_follows(followed: SqlLog, database_url: str) -> None:
    FORKS.set_forkserver_preload(["tests.spine.tally"])
    for kill in range(KILLS):
        begun = FORKS.Event()
        process = FORKS.Process(target=tally.rebuild_for_ever, args=(database_url, 7, begun), daemon=True)
        process.start()
        assert begun.wait(30)
        fill(followed, 2)
        projection.catch_up(followed, Tally())
        time.sleep(0.004 * (kill % 10))
        assert process.is_alive()
        process.kill()
        process.join()

        projection.catch_up(followed, Tally())
        assert rows(followed) == expected(followed)

    projection.rebuild(followed, Tally())
    assert rows(followed) == expected(followed)
    assert table_names(followed) == {"tallies", "marks"}


def test_another_history_is_noticed_and_a_rebuild_helps(followed: SqlLog) -> None:
    projection.catch_up(followed, Tally())
    with followed.database.write_transaction() as connection:
        connection.execute(update(followers).values(leaf=b"\1" * 32))

    for ask in (projection.catch_up, projection.lag):
        with pytest.raises(RestoreDetected, match="gradespine rebuild"):
            ask(followed, Tally())

    projection.rebuild(followed, Tally())
    assert projection.lag(followed, Tally()) == 0
    assert rows(followed) == expected(followed)


def test_the_streams_put_aside_are_those_of_the_new_tables(followed: SqlLog) -> None:
    projection.catch_up(followed, Tally())
    stopped_rebuild(followed)
    row = {"seq": 1, "position": 1, "type": "finding.reported", "error": "x", "parked_at": 1}
    with followed.database.write_transaction() as connection:
        connection.execute(insert(parked).values(follower="tally", stream="run/old", **row))
        connection.execute(insert(parked).values(follower="tally/rebuild", stream="run/new", **row))

    projection.rebuild(followed, Tally())

    with followed.database.read_transaction() as connection:
        assert connection.execute(select(parked.c.follower, parked.c.stream)).all() == [("tally", "run/new")]


def test_owner_and_privileges_stay(migrated_postgres_url: str) -> None:
    with open_log(migrated_postgres_url) as log:
        make_tables(log)
        with log.database.write_transaction() as connection:
            connection.execute(text("DROP ROLE IF EXISTS tally_reader"))
            connection.execute(text("CREATE ROLE tally_reader"))
            connection.execute(text("GRANT SELECT ON marks TO tally_reader WITH GRANT OPTION"))
            connection.execute(text("ALTER TABLE tallies OWNER TO tally_reader"))
        before = privileges(log)

        projection.rebuild(log, Tally())

        assert privileges(log) == before
        with log.database.write_transaction() as connection:
            connection.execute(text("DROP OWNED BY tally_reader"))
            connection.execute(text("DROP ROLE tally_reader"))


def privileges(log: SqlLog) -> Any:
    query = "SELECT relname, relowner, relacl::text FROM pg_class WHERE relname IN ('marks', 'tallies') ORDER BY 1"
    with log.database.read_transaction() as connection:
        return connection.execute(text(query)).all()


class Choosy(Tally):
    """Cannot take one event: that at a certain position."""

    def __init__(self, version: int = 1, *, poison: int = 0) -> None:
        super().__init__(version)
        self.poison = poison

    def apply(self, connection: Connection, tables: Mapping[str, Table], events: Sequence[Brief]) -> None:
        super().apply(connection, tables, events)
        for event in events:
            if event.position == self.poison:
                raise ValueError("this one never\0")


def without(log: SqlLog, stream: str, first: int, version: int = 1) -> dict[str, list[tuple[Any, ...]]]:
    """What is expected when a stream is held back from a position on."""
    marks = [row for row in expected(log, version)["marks"] if row[1] != stream or row[0] < first]
    streams = sorted({row[1] for row in marks})
    return {"tallies": [(s, sum(row[1] == s for row in marks)) for s in streams], "marks": marks}


@pytest.mark.parametrize("move", [projection.catch_up, projection.rebuild])
def test_a_stream_with_an_event_that_cannot_be_taken_is_parked_and_others_flow(
    followed: SqlLog, move: Callable[..., int]
) -> None:
    told: list[Parked] = []

    move(followed, Choosy(poison=31), on_parked=told.append)

    stream = next(followed.read_all(after=30)).stream
    assert rows(followed) == without(followed, stream, 31)
    assert [(one.stream, one.seq) for one in told] == [(stream, next(followed.read_all(after=30)).seq)]
    assert "ValueError: this one never" in told[0].error
    fill(followed, 6)
    projection.catch_up(followed, Choosy(), on_parked=told.append)
    assert rows(followed) == without(followed, stream, 31)
    assert len(told) == 1


def test_a_rebuild_begins_with_no_stream_parked(followed: SqlLog) -> None:
    projection.catch_up(followed, Choosy(poison=31))

    projection.rebuild(followed, Choosy())

    assert rows(followed) == expected(followed)
    with followed.database.read_transaction() as connection:
        assert connection.execute(select(parked)).all() == []


def test_no_stream_is_parked_because_the_database_fails(followed: SqlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Tally()

    def fail(*_given: object) -> None:
        raise LogUnavailable("the disk is full")

    monkeypatch.setattr(failing, "apply", fail)

    with pytest.raises(LogUnavailable):
        projection.catch_up(followed, failing)

    projection.catch_up(followed, Tally())
    assert rows(followed) == expected(followed)


def test_a_projection_of_all_types_is_given_every_event(followed: SqlLog) -> None:
    class Everything(Tally):
        types = None  # type: ignore[assignment]

    for _ in range(2):
        projection.catch_up(followed, Everything())
        fill(followed, 3)
    projection.catch_up(followed, Everything())

    assert [position for position, *_ in rows(followed)["marks"]] == list(range(1, followed.position() + 1))
    projection.rebuild(followed, Everything())
    assert sum(count for _, count in rows(followed)["tallies"]) == followed.position()


def test_a_projection_of_no_types_is_given_nothing_and_keeps_up(followed: SqlLog) -> None:
    class Nothing(Tally):
        types = ()  # type: ignore[assignment]

    assert projection.catch_up(followed, Nothing()) == followed.position()
    assert rows(followed) == {"tallies": [], "marks": []}
    assert projection.lag(followed, Nothing()) == 0


def test_a_gap_in_the_log_is_damage_and_is_never_skipped(followed: SqlLog) -> None:
    class Everything(Tally):
        types = None  # type: ignore[assignment]

    drop = "DROP TRIGGER events_no_delete" + ("" if followed.database.engine.dialect.name == "sqlite" else " ON events")
    with followed.database.write_transaction() as connection:
        connection.execute(text(drop))
        connection.execute(text("DELETE FROM events WHERE position = 10"))

    with pytest.raises(LogCorrupt, match="of the positions 8 to 14 some are missing"):
        projection.catch_up(followed, Everything())
    assert [position for position, *_ in rows(followed)["marks"]] == list(range(1, 8))
