"""A disk under Postgres that fails to make a commit durable. The server stops at once and recovers; whoever waited is
told that it is unknown, and a repeat is exact."""

import dataclasses
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

import pytest

from spine import AppendOutcomeUnknown, GroupCommit, LogUnavailable, NewEvent, SqlLog, open_log, revisions
from spine.database import open_database
from tests.postgres import PostgresUnavailable, throwaway_postgres
from tests.spine.builders import fill, found
from tests.spine.verification import findings_in

PATHS: Final = {"one event": [1], "a batch": [3], "a group": [1, 2, 1]}
"""The ways to append: how many events each of the appends has that are under way at once."""


@pytest.fixture(scope="module")
def durable_server() -> Iterator[str]:
    """A migrated database on a server of its own, which may fall over and which waits for its disk."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not on PATH: no disk fails")
    if "GRADESPINE_TEST_POSTGRES_URL" in os.environ:
        pytest.skip("the server is not ours to bring down")
    try:
        with throwaway_postgres(durable=True) as url:
            database = open_database(url)
            revisions.upgrade(database)
            database.close()
            yield url
    except PostgresUnavailable as problem:
        if os.environ.get("CI"):
            pytest.fail(str(problem), pytrace=False)
        pytest.skip(str(problem))


@contextmanager
def failing_fsync(log: SqlLog) -> Iterator[None]:
    """From now on, no fsync succeeds of the server's process behind the only connection of the pool."""
    with log.database.read() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [(pid,)] = cursor.fetchall()
    words = ["-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO", "-o", "/dev/null"]
    with subprocess.Popen(["strace", *words, "-p", str(pid)], stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        said = strace.stderr.readline()
        if "attached" not in said:
            pytest.skip(f"strace may not be used here: {said.strip()}")
        try:
            yield
        finally:
            strace.terminate()


def wait_until_recovered(log: SqlLog) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            log.position()
            return
        except LogUnavailable:
            assert time.monotonic() < until
            time.sleep(0.02)


@pytest.mark.parametrize("path", PATHS)
def test_a_commit_that_the_disk_fails_is_unknown_and_a_repeat_is_exact(durable_server: str, path: str) -> None:
    appends = {f"{path}/{number}": [found(n=n) for n in range(size)] for number, size in enumerate(PATHS[path])}

    with open_log(durable_server) as behind:
        fill(behind, "run/a", 2)
        before = behind.position()
        log = GroupCommit(behind) if path == "a group" else behind
        with failing_fsync(behind), ThreadPoolExecutor() as threads:
            answers = [threads.submit(log.append, stream, events) for stream, events in appends.items()]
            errors = [answer.exception() for answer in answers]
        wait_until_recovered(behind)

        kinds = {type(error) for error in errors}
        assert AppendOutcomeUnknown in kinds
        assert kinds <= {AppendOutcomeUnknown, LogUnavailable}  # those of a later group may find the server down
        assert [event.payload for event in behind.read("run/a")][-2:] == [{"n": 1}, {"n": 2}]
        assert_repeated_exactly(log, appends)
        assert behind.position() == before + sum(PATHS[path])
        assert findings_in(behind) == []
        log.close()


def assert_repeated_exactly(log: SqlLog | GroupCommit, appends: dict[str, list[NewEvent]]) -> None:
    for stream, events in appends.items():
        answer = log.append(stream, events)
        assert (answer.first_seq, answer.last_seq) == (1, len(events))
        assert [event.id for event in log.read(stream)] == [event.id for event in events]
        assert log.append(stream, events) == dataclasses.replace(answer, new=False)
