"""A backend that Postgres ends in the midst of a step of an append: what was acknowledged stands once, what is unknown
is said to be, and a repeat is exact."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
import pytest

from spine import Appended, AppendOutcomeUnknown, GroupCommit, LogUnavailable, NewEvent, SqlLog, open_log
from spine.schema import POSTGRES_LOCK
from tests.spine.builders import found
from tests.spine.verification import findings_in

Admin: TypeAlias = "psycopg.Connection[Any]"
Step: TypeAlias = Callable[[Admin], AbstractContextManager[None]]

_GATE: Final = 4711
_WAIT: Final = f"""
CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_advisory_xact_lock_shared({_GATE}); RETURN NULL; END $$;
SELECT pg_advisory_lock({_GATE});
CREATE """
_END_WHO_WAITS: Final = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND (wait_event_type = 'Lock' OR wait_event = 'SyncRep')
"""


@contextmanager
def at_the_lock(admin: Admin) -> Iterator[None]:
    """Whoever appends waits for the log's lock."""
    with admin.transaction():
        admin.execute(f"SELECT {POSTGRES_LOCK}".encode())
        yield


@contextmanager
def behind_the_lock(admin: Admin) -> Iterator[None]:
    """… has the lock, knows the ends, and waits with its first insert."""
    with admin.transaction():
        admin.execute("LOCK TABLE events IN SHARE MODE")
        yield


@contextmanager
def _gated(admin: Admin, trigger: str) -> Iterator[None]:
    admin.execute(f"{_WAIT} {trigger} EXECUTE FUNCTION wait_at_gate()".encode())
    yield
    admin.execute(f"SELECT pg_advisory_unlock({_GATE})".encode())


def behind_the_insert(admin: Admin) -> AbstractContextManager[None]:
    """… has inserted everything, and not begun to commit."""
    return _gated(admin, "TRIGGER gate AFTER INSERT ON events FOR EACH STATEMENT")


def in_the_commit(admin: Admin) -> AbstractContextManager[None]:
    """… is committing, and has not written that it did."""
    return _gated(admin, "CONSTRAINT TRIGGER gate AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW")


@contextmanager
def behind_the_commit(admin: Admin) -> Iterator[None]:
    """… has committed, and waits for a standby that does not exist before it says so."""
    try:
        admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    except psycopg.errors.InsufficientPrivilege:
        pytest.skip("the settings of this server are not ours to change")
    try:
        admin.execute("SELECT pg_reload_conf()")
        yield
    finally:
        admin.execute("ALTER SYSTEM RESET synchronous_standby_names")
        admin.execute("SELECT pg_reload_conf()")


STEPS: Final[list[Step]] = [at_the_lock, behind_the_lock, behind_the_insert, in_the_commit, behind_the_commit]
PATHS: Final = {"one event": [1], "a batch": [3], "a group": [1, 2, 1]}
"""The ways to append: how many events each of the appends has that are under way at once."""


class Said(NamedTuple):
    """An append and its answer."""

    stream: str
    events: list[NewEvent]
    answer: "Future[Appended]"


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("path", PATHS)
def test_a_backend_that_is_ended_at_a_step_of_an_append(
    migrated_postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
    step: Step,
) -> None:
    with ExitStack() as stack:
        direct = stack.enter_context(open_log(migrated_postgres_url))
        direct.append("run/0", [found()])
        behind = stack.enter_context(open_log(migrated_postgres_url))
        monkeypatch.setattr(behind.database, "announce", lambda: None)  # a notice may wait for a lock too
        log = stack.enter_context(GroupCommit(behind)) if path == "a group" else behind
        admin, ender = (stack.enter_context(psycopg.connect(migrated_postgres_url, autocommit=True)) for _ in range(2))
        admin.execute("SET synchronous_commit = off")
        threads = stack.enter_context(ThreadPoolExecutor())
        said: list[Said] = []
        with step(admin):
            while not ended(ender, said):  # it may take the server a moment to heed a setting
                for number, size in enumerate(PATHS[path]):
                    events = [found(n=n) for n in range(size)]
                    answer = threads.submit(log.append, f"run/{number}", events)
                    said.append(Said(f"run/{number}", events, answer))

        for one in said:
            check(direct, log, one, path, step)
        assert direct.position() == 1 + sum(len(one.events) for one in said)
        assert findings_in(direct) == []
    assert caplog.records == []  # the errors said it all


def ended(ender: Admin, said: list[Said]) -> int:
    """End the backend of whoever has to wait until all are answered; returns how many there were."""
    number = 0
    while not all(one.answer.done() for one in said):
        number += len(ender.execute(_END_WHO_WAITS).fetchall())
        time.sleep(0.002)
    return number


def check(direct: SqlLog, log: SqlLog | GroupCommit, said: Said, path: str, step: Step) -> None:
    """The answer holds, and a repeat stands where the append stands, or is the append."""
    error = said.answer.exception()
    stored = [direct.find(said.stream, event.id) is not None for event in said.events]
    assert stored == [error is None or step is behind_the_commit] * len(said.events)
    if error is not None:
        # A single event is one call: nobody but the server knows how far it came.
        is_unknown = path == "one event" or step in (in_the_commit, behind_the_commit)
        assert type(error) is (AppendOutcomeUnknown if is_unknown else LogUnavailable)

    again = log.append(said.stream, said.events)

    assert again.new is not stored[0]
    there = direct.read(said.stream, after=again.first_seq - 1, until=again.last_seq)
    assert [event.id for event in there] == [event.id for event in said.events]
