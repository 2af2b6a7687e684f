"""A connection that is lost at every step of an append: what was acknowledged stands once, and a repeat is exact."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Any, Final, Literal

import psycopg
import pytest

from spine import (
    Appended,
    AppendOutcomeUnknown,
    GroupCommit,
    Log,
    LogUnavailable,
    NewEvent,
    SpineError,
    SqlLog,
    open_log,
)
from tests.spine.builders import fill, found
from tests.spine.proxy import Proxy, Strike, proxied
from tests.spine.verification import findings_in

Way = Literal["asked", "answered"]
How = Literal["cut", "terminated"]

_MOST: Final = 40
"""More messages than any append takes."""

PATHS: Final[dict[str, Callable[[SqlLog, ExitStack], tuple[Log, int]]]] = {
    "one event": lambda log, stack: (log, 1),
    "a batch": lambda log, stack: (log, 3),
    "a group": lambda log, stack: (stack.enter_context(GroupCommit(log)), 2),
}
"""The ways to append, each with how many events it takes."""


def terminate(url: str, pid: int) -> None:
    """End a connection of the server's, and see that it has ended."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def backend(log: SqlLog) -> int:
    """The server's process behind the only connection of the pool."""
    with log.database.read() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchall()[0][0])


def strike(proxy: Proxy, log: SqlLog, url: str, way: Way, at: int, how: How) -> Strike:
    before = partial(terminate, url, backend(log)) if how == "terminated" else None
    proxy.strike = made = Strike(way, at, before)
    return made


def outcome(append: Callable[[], Appended]) -> Appended | type[SpineError]:
    try:
        return append()
    except (LogUnavailable, AppendOutcomeUnknown) as error:
        return type(error)


@pytest.mark.parametrize("how", ["cut", "terminated"])
@pytest.mark.parametrize("way", ["asked", "answered"])
@pytest.mark.parametrize("path", PATHS)
def test_a_connection_lost_at_any_step_of_an_append(
    migrated_postgres_url: str, monkeypatch: pytest.MonkeyPatch, path: str, way: Way, how: How
) -> None:
    outcomes: list[Any] = []
    with ExitStack() as stack:
        direct = stack.enter_context(open_log(migrated_postgres_url))
        proxy, url = stack.enter_context(proxied(migrated_postgres_url))
        behind = stack.enter_context(open_log(url))
        # It would send messages of its own, at moments of its own.
        monkeypatch.setattr(behind.database, "announce", lambda: None)
        log, size = PATHS[path](behind, stack)
        fill(log, "run/a", 1)
        wanted = [event.id for event in direct.read("run/a")]
        for at in count(1):
            assert at < _MOST
            events = [found() for _ in range(size)]
            struck = strike(proxy, behind, migrated_postgres_url, way, at, how)
            said = outcome(partial(log.append, "run/a", events))
            proxy.strike = None
            outcomes.append(said)
            met = struck.has_struck()
            check(direct, log, wanted, events, said)
            wanted += [event.id for event in events]
            if not met:
                break

    assert len(outcomes) > 1
    assert isinstance(outcomes[-1], Appended)
    assert {LogUnavailable, AppendOutcomeUnknown} & set(map(type, outcomes)) == set()
    answered = path == "one event" and (way, how) == ("answered", "terminated")  # all there is to lose was said
    assert any(said is AppendOutcomeUnknown for said in outcomes) is not answered


def check(direct: SqlLog, log: Log, before: list[Any], events: list[NewEvent], said: Any) -> None:
    """What was said of the append holds, and repeating it until it is answered writes it once."""
    stored = [event.id for event in direct.read("run/a")]
    ids = [event.id for event in events]
    written = stored == before + ids
    assert written or stored == before
    if isinstance(said, Appended):
        assert written
        assert said.new
    if said is LogUnavailable:
        assert not written

    again = outcome(partial(log.append, "run/a", events))
    while not isinstance(again, Appended):
        again = outcome(partial(log.append, "run/a", events))

    assert again.first_seq == len(before) + 1
    assert again.new is not written
    assert [event.id for event in direct.read("run/a")] == before + ids
    assert findings_in(direct) == []
