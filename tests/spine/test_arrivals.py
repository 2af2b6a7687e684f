"""Wake-ups and leads, alone: what rings, who hears it, and what is heard again after a lost connection."""

import threading
import time
from typing import LiteralString

import psycopg
import pytest

from spine import Actor, LogUnavailable, NewEvent, SqlLog, open_log
from spine.sqlite import SqliteDatabase
from tests.spine.feeder import wait_until


def append(log: SqlLog) -> None:
    log.append("run/a", [NewEvent("finding.reported", {}, actor=Actor.SYSTEM)])


LISTENER = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
LEADER = (
    "SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
    " WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()"
)


def terminate(url: str, sessions: LiteralString) -> None:
    """End the one session that a statement finds."""
    with psycopg.connect(url, autocommit=True) as admin:
        ended = admin.execute(f"SELECT pg_terminate_backend(pid) FROM ({sessions}) AS s").fetchall()
    assert ended == [(True,)]


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_an_append_wakes_whoever_waits(sql_log: SqlLog, database_url: str, where: str) -> None:
    with open_log(database_url) as other, sql_log.database.watch() as watch:
        while watch.wait(0.1):
            pass
        appender = sql_log if where == "here" else other
        timer = threading.Timer(0.05, append, [appender])
        began = time.monotonic()
        timer.start()

        assert watch.wait(20)

        timer.join()
        assert time.monotonic() - began < 10


def test_what_came_between_two_waits_is_not_lost(sql_log: SqlLog) -> None:
    with sql_log.database.watch() as watch:
        while watch.wait(0.1):
            pass
        append(sql_log)
        append(sql_log)

        assert watch.wait(5)


def test_a_wait_for_nothing_ends_in_time(sql_log: SqlLog) -> None:
    with sql_log.database.watch() as watch:
        watch.wait(0)
        began = time.monotonic()

        assert not watch.wait(0.05)

        assert 0.05 <= time.monotonic() - began < 5


def test_no_thread_runs_before_somebody_appends(sql_log: SqlLog) -> None:
    before = set(threading.enumerate())
    with sql_log.database.watch() as watch, sql_log.database.lead("tally") as lead:
        watch.wait(0)
        lead.take()

        assert set(threading.enumerate()) == before


def test_closing_sends_what_is_owed_and_ends_the_thread(migrated_postgres_url: str) -> None:
    with open_log(migrated_postgres_url) as watched, watched.database.watch() as watch:
        while watch.wait(0.1):
            pass
        with open_log(migrated_postgres_url) as log:
            append(log)
            append(log)

        assert watch.wait(0.5)
        assert [thread for thread in threading.enumerate() if thread.name == "gradespine-announcer"] == []


def test_a_log_that_was_closed_announces_again(migrated_postgres_url: str) -> None:
    with (
        open_log(migrated_postgres_url) as watched,
        watched.database.watch() as watch,
        open_log(migrated_postgres_url) as log,
    ):
        append(log)
        log.close()
        while watch.wait(0.1):
            pass
        append(log)

        assert watch.wait(5)


def test_appends_are_announced_apart(migrated_postgres_url: str) -> None:
    with open_log(migrated_postgres_url) as log:
        append(log)
        with psycopg.connect(migrated_postgres_url, autocommit=True) as listener:
            [(table,)] = listener.execute("SELECT to_regclass('events')::oid").fetchall()
            listener.execute(f"LISTEN gradespine_{table}")
            began = time.monotonic()
            for _ in range(200):
                log.database.announce()
                time.sleep(0.0002)
            took = time.monotonic() - began
            heard = len(list(listener.notifies(timeout=0.2)))

    assert 2 <= heard <= took / 0.005 + 3


def test_a_listener_that_was_cut_off_listens_again(migrated_postgres_url: str) -> None:
    with open_log(migrated_postgres_url) as log, log.database.watch() as watch:
        assert watch.wait(0), "it has begun to listen: what came before has to be read"
        assert not watch.wait(0.05)
        with open_log(migrated_postgres_url) as other:
            terminate(migrated_postgres_url, LISTENER)
            assert watch.wait(5), "what was said meanwhile has to be read"
            while watch.wait(0.1):
                pass

            append(other)

            assert watch.wait(5)


def test_without_a_server_a_watch_waits(migrated_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object, **_options: object) -> None:
        raise psycopg.OperationalError("connection refused")

    with open_log(migrated_postgres_url) as log, log.database.watch() as watch:
        monkeypatch.setattr(psycopg, "connect", refuse)
        began = time.monotonic()
        assert not watch.wait(0.05)
        assert time.monotonic() - began >= 0.05


def test_one_has_the_lead_and_gives_it_up(sql_log: SqlLog, database_url: str) -> None:
    with open_log(database_url) as other, other.database.lead("tally") as second:
        with sql_log.database.lead("tally") as first:
            assert first.take()
            assert first.take()
            assert not second.take()
            with other.database.lead("another/name") as elsewhere:
                assert elsewhere.take()

        wait_until(second.take)


def test_a_lead_whose_session_was_ended_is_lost(migrated_postgres_url: str) -> None:
    with (
        open_log(migrated_postgres_url) as log,
        log.database.lead("tally") as first,
        log.database.lead("tally") as second,
    ):
        assert first.take()
        assert not second.take()
        terminate(migrated_postgres_url, LEADER)

        wait_until(second.take)

        assert not first.take()


def test_a_lead_whose_file_is_gone_is_lost(sql_log: SqlLog) -> None:
    database = sql_log.database
    if not isinstance(database, SqliteDatabase):
        return
    with database.lead("tally") as first, database.lead("tally") as second:
        assert first.take()
        database.path.with_name(f"{database.path.name}-tally-leader").unlink()

        assert second.take()
        assert not first.take()


def test_a_folder_that_may_not_be_written_to_is_told(sql_log: SqlLog) -> None:
    database = sql_log.database
    if not isinstance(database, SqliteDatabase):
        return
    database.path.with_name(f"{database.path.name}-tally-leader").mkdir()
    with database.lead("tally") as lead, pytest.raises(LogUnavailable, match="tally-leader"):
        lead.take()
