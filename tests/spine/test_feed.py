"""The feed: one leads, another takes over, every event is applied once, and a lost wake-up costs a second at most."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeAlias

import pytest
from sqlalchemy import select, update

from spine import Actor, LogUnavailable, NewEvent, RestoreDetected, SpineError, SqlLog, feed, open_log, projection
from spine.arrivals import Announcer, FileWatch
from spine.projection import Projection
from spine.schema import followers
from tests.spine import feeder
from tests.spine.feeder import Noting, leader, wait_until
from tests.spine.processes import KILLS
from tests.spine.tally import Tally, make_tables, marks, rows

Following: TypeAlias = Callable[..., AbstractContextManager[list[SpineError]]]


def fill(log: SqlLog, appends: int) -> None:
    for number in range(appends):
        types = ("finding.reported", "a.thing", "finding.closed")
        log.append(f"run/{number % 3}", [NewEvent(type, {}, actor=Actor.SYSTEM) for type in types])


def is_whole(log: SqlLog) -> bool:
    """Whether each event of interest was applied, and once."""
    events = list(log.read_all(types=Tally.types))
    found = rows(log)
    streams = [event.stream for event in events]
    assert len(found["marks"]) <= len(events)
    return [row[0] for row in found["marks"]] == [event.position for event in events] and found["tallies"] == [
        (stream, streams.count(stream)) for stream in sorted(set(streams))
    ]


@pytest.fixture
def written(sql_log: SqlLog) -> SqlLog:
    """A log that is written to while others follow it."""
    make_tables(sql_log)
    fill(sql_log, 5)
    return sql_log


@pytest.fixture
def following(database_url: str) -> Following:
    """Follows the log in a thread, with a log of its own; at the end it is stopped."""

    @contextmanager
    def run(projection: Projection, **options: Any) -> Iterator[list[SpineError]]:
        stop, errors = threading.Event(), list[SpineError]()

        def follow() -> None:
            with open_log(database_url) as log:
                try:
                    feed.follow(log, projection, stop, **options)
                except SpineError as error:
                    errors.append(error)

        thread = threading.Thread(target=follow)
        thread.start()
        try:
            yield errors
        finally:
            stop.set()
            thread.join(5)
            assert not thread.is_alive()

    return run


def test_what_is_appended_is_applied_until_the_stop(written: SqlLog, following: Following) -> None:
    with following(Tally()) as errors:
        wait_until(lambda: is_whole(written))
        for _ in range(5):
            fill(written, 2)
            wait_until(lambda: is_whole(written))

    assert errors == []


def test_a_killed_leader_is_followed_by_another_and_every_event_applied_once(
    written: SqlLog, database_url: str
) -> None:
    processes = [feeder.start(database_url) for _ in range(2)]
    led = set()
    try:
        for number in range(KILLS):
            fill(written, 4)
            wait_until(lambda: is_whole(written))
            pid = leader(written)
            assert pid is not None
            led.add(pid)
            [leading] = [process for process in processes if process.pid == pid]
            if number % 2:
                fill(written, 4)  # it is killed in the midst of these
            leading.kill()
            leading.join()
            processes = [process for process in processes if process is not leading] + [feeder.start(database_url)]
        fill(written, 4)
        wait_until(lambda: is_whole(written))
    finally:
        for process in processes:
            process.kill()
            process.join()

    assert len(led) == KILLS
    assert projection.lag(written, Tally()) == 0


def test_of_two_that_follow_one_works(written: SqlLog, following: Following) -> None:
    class Counting(Tally):
        applied = 0

        def apply(self, *given: Any) -> None:
            super().apply(*given)
            self.applied += 1

    first, second = Counting(), Counting()
    with following(first):
        wait_until(lambda: is_whole(written))
        with following(second):
            for _ in range(10):
                fill(written, 1)
                wait_until(lambda: is_whole(written))

    assert second.applied == 0
    assert first.applied >= 11


def test_lost_wake_ups_are_made_up_for_by_polling(
    written: SqlLog, following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Announcer, "announce", lambda self: None)
    monkeypatch.setattr(FileWatch, "_version", lambda self: None)
    with following(Tally()) as errors:
        wait_until(lambda: is_whole(written))
        fill(written, 1)
        wait_until(lambda: is_whole(written), seconds=3)

    assert errors == []


def test_a_follower_needs_no_tables_of_its_own(written: SqlLog, following: Following) -> None:
    def noted() -> list[int]:
        with written.database.read_transaction() as connection:
            return list(connection.scalars(select(marks.c.position).order_by(marks.c.position)))

    with following(Noting()):
        for _ in range(2):
            fill(written, 2)
            wait_until(lambda: noted() == [event.position for event in written.read_all(types=Noting.types)])


def test_another_history_ends_it(written: SqlLog, following: Following) -> None:
    projection.catch_up(written, Tally())
    with written.database.write_transaction() as connection:
        connection.execute(update(followers).values(leaf=bytes(31) + b"x"))

    with following(Tally()) as errors:
        wait_until(lambda: errors != [])

    assert isinstance(errors[0], RestoreDetected)


def test_trouble_is_told_and_outlived(written: SqlLog, following: Following, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "_PAUSES", (0.01, 0.05, 0.1))

    class Troubled(Tally):
        left = 3

        def apply(self, *given: Any) -> None:
            self.left -= 1
            if self.left >= 0:
                raise LogUnavailable("the disk is full")
            super().apply(*given)

    told: list[SpineError] = []
    with following(Troubled(), on_trouble=told.append) as errors:
        wait_until(lambda: is_whole(written))

    assert [str(error) for error in told] == ["the disk is full"] * 3
    assert errors == []


def test_trouble_that_lasts_rises(written: SqlLog, following: Following) -> None:
    class Troubled(Tally):
        def apply(self, *given: Any) -> None:
            raise LogUnavailable("the disk is full")

    with following(Troubled(), patience=0.05) as errors:
        wait_until(lambda: errors != [])

    assert str(errors[0]) == "the disk is full"


def test_a_stop_leaves_a_long_catch_up(written: SqlLog, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spine.briefs._FIRST_PAGE", 1)
    monkeypatch.setattr("spine.briefs._LARGEST_PAGE", 1)
    stop = threading.Event()

    class Stopping(Tally):
        def apply(self, *given: Any) -> None:
            super().apply(*given)
            stop.set()

    feed.follow(written, Stopping(), stop)

    assert len(rows(written)["marks"]) == 1
    projection.catch_up(written, Tally())
    assert is_whole(written)


def test_a_program_that_never_closes_its_log_ends(written: SqlLog, database_url: str) -> None:
    program = (
        "import sys; from spine import Actor, NewEvent, open_log; log = open_log(sys.argv[1]);"
        "watch = log.database.watch(); watch.wait(0);"
        "log.append('run/x', [NewEvent('finding.reported', {}, actor=Actor.SYSTEM)])"
    )

    done = subprocess.run([sys.executable, "-c", program, database_url], capture_output=True, timeout=15, check=False)

    assert done.returncode == 0, done.stderr
    assert written.head("run/x") is not None


def test_the_restart_of_the_server_is_outlived(migrated_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every connection of the follower is ended at once: it goes on."""
    stop = threading.Event()
    with open_log(migrated_postgres_url) as log, open_log(migrated_postgres_url) as followed:
        make_tables(log)
        fill(log, 2)
        thread = threading.Thread(target=feed.follow, args=(followed, Tally(), stop))
        thread.start()
        try:
            wait_until(lambda: is_whole(log))
            with suppress(SpineError), log.database.write_transaction() as connection:
                connection.exec_driver_sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            fill(log, 2)
            wait_until(lambda: is_whole(log))
            assert thread.is_alive()
        finally:
            stop.set()
            thread.join()
