"""What callers see when locks are held, connections break, disks fill and tables are gone."""

import contextlib
import dataclasses
import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, get_args
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import event

from spine import (
    Actor,
    Append,
    AppendOutcomeUnknown,
    InvalidInput,
    Log,
    LogBusy,
    LogUnavailable,
    Snapshot,
    SpineError,
    SqlLog,
    StreamConflict,
    open_log,
)
from tests.spine.builders import fill, found
from tests.spine.processes import ROOT, start
from tests.spine.proxy import Moment, proxied
from tests.spine.verification import findings_in
from tests.spine.worker import numbered


@pytest.fixture
def impatient(database_url: str) -> Iterator[SqlLog]:
    """A log that waits for others for a fifth of a second."""
    with open_log(database_url, busy_seconds=0.2) as log:
        fill(log, "run/a", 1)
        yield log


def test_a_lock_held_by_another_process_is_busy_and_then_free(impatient: SqlLog, database_url: str) -> None:
    holder = start("hold", database_url, 60)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        for _ in range(2):
            with pytest.raises(LogBusy, match="retry"):
                impatient.append("run/a", [found()])
        assert len(list(impatient.read("run/a"))) == 1
    finally:
        holder.kill()
        holder.communicate()

    with open_log(database_url, busy_seconds=5) as patient:
        assert patient.append("run/a", [found()]).first_seq == 2
    assert findings_in(impatient) == []


def test_a_lock_held_by_another_thread_is_busy_and_then_free(impatient: SqlLog) -> None:
    with impatient.database.write():
        answers: list[object] = []

        def work() -> None:
            try:
                answers.append(impatient.append("run/a", [found()]))
            except SpineError as error:
                answers.append(type(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert answers == [LogBusy]

    assert impatient.append("run/a", [found()]).first_seq == 2


def test_who_will_not_wait_is_answered_at_once(database_url: str) -> None:
    with open_log(database_url, busy_seconds=0) as hasty, open_log(database_url) as other:
        assert hasty.append("run/a", [found()]).new

        with other.database.write():
            started = time.monotonic()
            with pytest.raises(LogBusy):
                hasty.append("run/a", [found()])
            assert time.monotonic() - started < 5

        assert hasty.append("run/a", [found()]).first_seq == 2


def test_one_lock_whatever_the_search_path(migrated_postgres_url: str) -> None:
    with admin(migrated_postgres_url) as connection:
        connection.execute("CREATE SCHEMA own")
    roundabout = f"{migrated_postgres_url}?options=-csearch_path%3Down,public"
    with open_log(migrated_postgres_url) as log, open_log(roundabout, busy_seconds=0.2) as other:
        fill(log, "run/a", 1)
        assert other.append("run/a", [found()]).first_seq == 2

        with log.database.write(), pytest.raises(LogBusy):
            other.append("run/a", [found()])


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_file_that_a_foreign_program_writes_to_is_busy(impatient: SqlLog) -> None:
    foreign = sqlite3.connect(impatient.database.label, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")

    with pytest.raises(LogBusy):
        impatient.append("run/a", [found()])
    assert impatient.position() == 1

    foreign.execute("ROLLBACK")
    foreign.close()
    assert impatient.append("run/a", [found()]).first_seq == 2


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_ctrl_c_while_queueing_does_not_leave_the_file_locked(database_url: str) -> None:
    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with open_log(database_url) as log, open_log(database_url, busy_seconds=5) as other:
            with log.database.write():
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                with pytest.raises(KeyboardInterrupt):
                    other.append("run/a", [found()])

            assert log.append("run/a", [found()]).first_seq == 1
            assert other.append("run/a", [found()]).first_seq == 2
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # that is the subject
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_child_forked_during_a_write_does_not_keep_the_file_locked(impatient: SqlLog, database_url: str) -> None:
    """A child may not use the parent's log; that it lives must not matter either."""
    with impatient.database.write():
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
    try:
        with open_log(database_url, busy_seconds=0.2) as other:
            assert other.append("run/a", [found()]).first_seq == 2
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@contextlib.contextmanager
def admin(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def terminate_all(url: str) -> int:
    """End every other connection to this database; returns how many there were."""
    with admin(url) as connection:
        return len(
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchall()
        )


def filled_pool(log: SqlLog) -> None:
    """Leave several idle connections in the pool."""
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(log.database.read()).execute("SELECT 1")


def test_an_append_survives_the_loss_of_idle_connections(migrated_postgres_url: str) -> None:
    with open_log(migrated_postgres_url) as log:
        fill(log, "run/a", 1)
        filled_pool(log)
        assert terminate_all(migrated_postgres_url) >= 4

        assert log.append("run/a", [found()]).first_seq == 2
        assert [len(list(log.read("run/a"))) for _ in range(6)] == [2] * 6


def test_a_read_on_lost_connections_fails_once_at_most(migrated_postgres_url: str) -> None:
    with open_log(migrated_postgres_url) as log:
        fill(log, "run/a", 1)
        filled_pool(log)
        terminate_all(migrated_postgres_url)

        with contextlib.suppress(LogUnavailable):
            log.position()

        assert [log.position() for _ in range(6)] == [1] * 6


def test_a_connection_lost_before_the_commit_has_written_nothing(migrated_postgres_url: str) -> None:
    batch = [found(), found()]
    outcome: list[object] = []
    with open_log(migrated_postgres_url) as log:
        fill(log, "run/a", 1)

        def work() -> None:
            try:
                outcome.append(log.append("run/a", batch))
            except SpineError as error:
                outcome.append(type(error))

        with admin(migrated_postgres_url) as other:
            other.execute("BEGIN; LOCK TABLE events IN SHARE MODE")  # the append gets as far as its first insert
            thread = threading.Thread(target=work)
            thread.start()
            deadline = time.monotonic() + 10
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            while other.execute(waiting).fetchall() == [(0,)]:
                assert time.monotonic() < deadline
            other.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE NOT granted")
            thread.join()
            other.execute("ROLLBACK")

        assert outcome == [LogUnavailable]
        assert log.position() == 1
        assert log.append("run/a", batch).new
        assert findings_in(log) == []


@pytest.mark.parametrize("moment", get_args(Moment))
def test_a_connection_lost_while_committing_is_an_unknown_outcome_and_a_repeat_is_exact(
    migrated_postgres_url: str, moment: Moment
) -> None:
    batch = [found(), found()]
    with proxied(migrated_postgres_url) as (proxy, url), open_log(url) as log:
        fill(log, "run/a", 1)
        proxy.cut = moment

        with pytest.raises(AppendOutcomeUnknown, match="same event ids"):
            log.append("run/a", batch, 1)

        proxy.cut = None
        answer = log.append("run/a", batch, 1)
        assert (answer.first_seq, answer.last_seq) == (2, 3)
        assert answer.new is (moment == "before the commit")
        assert not log.append("run/a", batch, 1).new
        assert [event.id for event in log.read("run/a", after=1)] == [event.id for event in batch]
        assert findings_in(log) == []


def test_an_erasure_whose_commit_is_lost_is_said_once(migrated_postgres_url: str) -> None:
    with proxied(migrated_postgres_url) as (proxy, url), open_log(url) as log:
        fill(log, "run/a", 1)
        proxy.cut = "after the commit"
        with pytest.raises(AppendOutcomeUnknown):
            log.erase("run/a", [1], reason="asked for", actor=Actor.HUMAN, principal="ada")
        proxy.cut = None

        again = log.erase("run/a", [1], reason="asked for", actor=Actor.HUMAN, principal="ada")

        assert not again.new
        assert log.position() == 2


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_pool_without_a_free_connection_is_busy(impatient: SqlLog) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(15):
            stack.enter_context(impatient.database.read())

        with pytest.raises(LogBusy):
            impatient.append("run/a", [found()])
        with pytest.raises(LogBusy):
            impatient.position()

    assert impatient.append("run/a", [found()]).first_seq == 2


def test_a_server_without_a_free_connection_is_unavailable(migrated_postgres_url: str) -> None:
    role, split = f"gradespine_{secrets.token_hex(4)}", urlsplit(migrated_postgres_url)
    netloc = f"{role}:{role}@{split.hostname}:{split.port}"
    with admin(migrated_postgres_url) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{role}' CONNECTION LIMIT 1".encode())
        connection.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}".encode())
    try:
        with open_log(urlunsplit(split._replace(netloc=netloc))) as log:
            fill(log, "run/a", 1)
            with log.database.read() as cursor:
                cursor.execute("SELECT 1")
                with pytest.raises(LogUnavailable, match="too many connections"):
                    log.position()

            assert log.position() == 1
    finally:
        with admin(migrated_postgres_url) as connection:
            connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def fill_up(log: Log) -> int:
    """Append until the disk is full; returns how many were acknowledged."""
    before = log.position()
    with pytest.raises(LogUnavailable, match="full"):  # noqa: PT012  which append it is depends on the disk
        for _ in range(1000):
            log.append("run/a", [found(text="x" * 20_000)])
            before += 1
    return before


def test_a_full_database_takes_nothing_more_and_loses_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    open_log(url).close()
    with open_log(url) as log:
        log.database.engine.dispose()
        event.listen(log.database.engine, "connect", lambda raw, _: raw.execute("PRAGMA max_page_count = 120"))

        acknowledged = fill_up(log)

        assert log.position() == acknowledged > 3
        assert findings_in(log) == []
    with open_log(url) as log:
        assert log.append("run/a", [found()]).first_seq == acknowledged + 1


def test_a_full_disk_takes_nothing_more_and_loses_nothing(tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no disk of our own to fill: {mounted.stderr.strip()}")
    try:
        url = f"sqlite:///{tmp_path / 'log.db'}"
        ballast = tmp_path / "ballast"
        ballast.write_bytes(bytes(400_000))
        with open_log(url) as log:
            acknowledged = fill_up(log)
            assert log.position() == acknowledged > 3

            ballast.unlink()
            assert log.append("run/a", [found()]).first_seq == acknowledged + 1
            assert findings_in(log) == []
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def test_a_disk_that_fails_while_committing_leaves_an_unknown_outcome_and_a_repeat_is_exact(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not on PATH: no disk fails")
    url = f"sqlite:///{tmp_path / 'log.db'}"
    open_log(url).close()
    failing = [strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync"]
    failing += ["-e", "inject=fdatasync,fsync:error=EIO:when=15+"]

    done = subprocess.run(
        [*failing, sys.executable, "-m", "tests.spine.worker", "append_until_it_fails", url],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    if not done.stdout.startswith("ready"):
        pytest.skip(f"strace may not be used here: {done.stderr[-200:]}")
    *acknowledged, outcome = done.stdout.split()[1:]
    assert outcome == "AppendOutcomeUnknown"
    assert len(acknowledged) > 3
    with open_log(url) as log:
        batch = [numbered(number) for number in range(len(acknowledged) + 1)]
        stored = list(log.read("run/a"))
        assert [event.id for event in stored] == [event.id for event in batch[: len(stored)]]
        assert len(stored) >= len(acknowledged)
        log.append("run/a", [batch[-1]])
        assert [event.id for event in log.read("run/a")] == [event.id for event in batch]
        assert findings_in(log) == []


def asked(log: Log) -> dict[str, Callable[[], object]]:
    """Every method of a log, once."""
    event = found()
    return {
        "append": lambda: log.append("run/a", [event]),
        "append_all": lambda: log.append_all([Append("run/a", [event])]),
        "read": lambda: list(log.read("run/a")),
        "read backwards": lambda: list(log.read("run/a", types=["x"], backwards=True)),
        "read_all": lambda: list(log.read_all()),
        "read_all by type": lambda: list(log.read_all(types=["x", "y"])),
        "streams": lambda: list(log.streams()),
        "head": lambda: log.head("run/a"),
        "find": lambda: log.find("run/a", event.id),
        "position": log.position,
        "erase": lambda: log.erase("run/a", [1], reason="x", actor=Actor.HUMAN, principal="ada"),
        "save_snapshot": lambda: log.save_snapshot(Snapshot("run/a", 1, "sum", 1, b"")),
        "latest_snapshot": lambda: log.latest_snapshot("run/a", "sum", 1),
    }


def outcome_of(ask: Callable[[], object]) -> type[BaseException] | None:
    try:
        ask()
    except Exception as error:
        return type(error)
    return None


def assert_only_named_errors(log: Log) -> None:
    outcomes = {name: outcome_of(ask) for name, ask in asked(log).items()}
    assert {name: kind for name, kind in outcomes.items() if kind is None or not issubclass(kind, SpineError)} == {}


def test_no_drivers_error_escapes_when_the_tables_are_gone(database_url: str) -> None:
    with open_log(database_url) as log:
        fill(log, "run/a", 1)
        with log.database.write_transaction() as connection:
            for table in ("events", "snapshots", "streams", "log"):
                connection.exec_driver_sql(f"DROP TABLE {table}")

        assert_only_named_errors(log)


def test_no_drivers_error_escapes_when_the_file_is_garbage(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with open_log(f"sqlite:///{path}") as log:
        fill(log, "run/a", 50)
    with open_log(f"sqlite:///{path}") as log:
        path.write_bytes(path.read_bytes()[:100] + secrets.token_bytes(path.stat().st_size - 100))

        assert_only_named_errors(log)


def test_no_drivers_error_escapes_when_the_server_is_gone(migrated_postgres_url: str) -> None:
    with proxied(migrated_postgres_url) as (proxy, url), open_log(url) as log:
        fill(log, "run/a", 1)
        proxy.close()
        terminate_all(migrated_postgres_url)

        assert_only_named_errors(log)


def test_no_drivers_error_escapes_when_the_database_may_only_be_read(migrated_postgres_url: str) -> None:
    with open_log(f"{migrated_postgres_url}?options=-cdefault_transaction_read_only%3Don") as log:
        with pytest.raises(LogUnavailable, match="read-only"):
            log.append("run/a", [found()])

        assert log.position() == 0


ODD: list[Any] = ["\ud800", "a\x00b", "\x1f", "x" * 600, None, b"x", 1.5, [], 2**70, -1, float("nan"), UUID(int=7)]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_whatever_is_asked_the_answer_is_the_same_everywhere_and_no_drivers_error(log: Log, odd: Any) -> None:
    fill(log, "run/a", 1)
    snapshot = Snapshot("run/a", 1, "sum", 1, b"")
    questions: list[Callable[[], object]] = [
        lambda: log.append(odd, [found()]),
        lambda: log.append("run/a", [found()], odd),
        lambda: log.read(odd),
        lambda: log.read("run/a", after=odd),
        lambda: log.read("run/a", types=[odd]),
        lambda: log.read_all(types=[odd]),
        lambda: log.streams(odd),
        lambda: log.streams(after=odd),
        lambda: log.head(odd),
        lambda: log.find(odd, uuid4()),
        lambda: log.erase(odd, [1], reason="x", actor=Actor.HUMAN, principal="a"),
        lambda: log.erase("run/a", [odd], reason="x", actor=Actor.HUMAN, principal="a"),
        lambda: log.erase("run/a", [1], reason="x", actor=Actor.HUMAN, principal=odd),
        lambda: log.save_snapshot(dataclasses.replace(snapshot, stream=odd)),
        lambda: log.save_snapshot(dataclasses.replace(snapshot, seq=odd)),
        lambda: log.save_snapshot(dataclasses.replace(snapshot, fold=odd)),
        lambda: log.save_snapshot(dataclasses.replace(snapshot, version=odd)),
        lambda: log.latest_snapshot(odd, "sum", 1),
        lambda: log.latest_snapshot("run/a", odd, 1),
        lambda: log.latest_snapshot("run/a", "sum", odd),
    ]

    outcomes = dict(enumerate(map(outcome_of, questions)))

    allowed = {InvalidInput, StreamConflict}
    assert {number: kind for number, kind in outcomes.items() if kind not in allowed} == {}
    assert log.position() == 1
