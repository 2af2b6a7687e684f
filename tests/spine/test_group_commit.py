"""GroupCommit: shared commits, each with its own answer."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event as Flag

import pytest

from spine import (
    NO_STREAM,
    Actor,
    Append,
    Appended,
    AppendOutcomeUnknown,
    GroupCommit,
    LogUnavailable,
    NewEvent,
    Overloaded,
    Refused,
    SqlLog,
    StreamConflict,
)
from spine.admission import Admitted


def _append(stream: str, *, fresh: bool = False) -> list[Append]:
    event = NewEvent("test.happened", {"n": 1}, actor=Actor.SYSTEM)
    return [Append(stream, [event], NO_STREAM)] if fresh else [Append(stream, [event])]


class _Gate:
    """Holds the first commit until it is opened; after that each commit does what `then` says."""

    def __init__(self, log: SqlLog, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.open = Flag(), Flag()
        self.sizes: list[int] = []
        self.then: Callable[[Sequence[Admitted]], None] = lambda appends: None
        commit = log.commit

        def gated(appends: Sequence[Admitted]) -> list[list[Appended] | Refused]:
            self.sizes.append(len(appends))
            if len(self.sizes) == 1:
                self.entered.set()
                assert self.open.wait(10)
            else:
                self.then(appends)
            return commit(appends)

        monkeypatch.setattr(log, "commit", gated)

    def hold(self, group: GroupCommit) -> Future[list[Appended]]:
        held = group.submit(_append("run/held"))
        assert self.entered.wait(10)
        return held


@pytest.fixture
def gate(sql_log: SqlLog, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Gate]:
    gate = _Gate(sql_log, monkeypatch)
    yield gate
    gate.open.set()


def test_what_queued_is_one_commit_in_order_and_a_refusal_is_its_own(sql_log: SqlLog, gate: _Gate) -> None:
    with GroupCommit(sql_log) as group:
        gate.hold(group)
        futures = [group.submit(_append("run/a", fresh=n == 2)) for n in range(5)]
        gate.open.set()
        answers = [future.exception(10) or future.result()[0].first_position for future in futures]
        assert isinstance(answers.pop(2), StreamConflict)
        assert answers == [2, 3, 4, 5]
        assert gate.sizes == [1, 5]


def test_when_a_commit_raises_only_the_culprit_fails(sql_log: SqlLog, gate: _Gate) -> None:
    def fail(appends: Sequence[Admitted]) -> None:
        if any(append.batches[0].stream == "run/bad" for append in appends):
            raise ValueError("bad")

    gate.then = fail
    with GroupCommit(sql_log) as group:
        gate.hold(group)
        good, bad, last = [group.submit(_append(f"run/{name}")) for name in ("good", "bad", "last")]
        gate.open.set()
        assert [good.result(10)[0].first_position, last.result(10)[0].first_position] == [2, 3]
        assert isinstance(bad.exception(10), ValueError)


def test_an_unknown_outcome_is_everyones(sql_log: SqlLog, gate: _Gate) -> None:
    def lose(appends: Sequence[Admitted]) -> None:
        raise AppendOutcomeUnknown("lost")

    gate.then = lose
    with GroupCommit(sql_log) as group:
        gate.hold(group)
        futures = [group.submit(_append("run/a")) for _ in range(3)]
        gate.open.set()
        assert all(isinstance(future.exception(10), AppendOutcomeUnknown) for future in futures)
    assert gate.sizes == [1, 3]


def test_a_full_queue_refuses_and_a_cancelled_append_writes_nothing(sql_log: SqlLog, gate: _Gate) -> None:
    with GroupCommit(sql_log, queue_appends=1, room_seconds=0.01) as group:
        gate.hold(group)
        waiting = group.submit(_append("run/a"))
        with pytest.raises(Overloaded) as overloaded:
            group.submit(_append("run/b"))
        assert overloaded.value.retry_after > 0
        assert waiting.cancel()
        gate.open.set()
        assert group.append("run/c", _append("run/c")[0].events).first_position == 2
        assert group.head("run/a") is None


def test_closing_answers_everyone_and_refuses_the_next(sql_log: SqlLog, gate: _Gate) -> None:
    group = GroupCommit(sql_log)
    gate.hold(group)
    futures = [group.submit(_append("run/a")) for _ in range(3)]
    gate.open.set()
    group.close()
    assert [future.result(0)[0].first_position for future in futures] == [2, 3, 4]
    with pytest.raises(LogUnavailable, match="closed"):
        group.submit(_append("run/a"))


def test_200_threads_leave_dense_positions(sql_log: SqlLog) -> None:
    with GroupCommit(sql_log) as group, ThreadPoolExecutor(200) as pool:
        streams = [f"run/{n % 7}" for n in range(600)]
        places = list(pool.map(lambda stream: group.append(stream, _append(stream)[0].events).first_position, streams))
        assert sorted(places) == list(range(1, 601))
