"""Pruning: the newest snapshot of each stream and fold stays, and states are the same as before."""

from itertools import product

import pytest

from spine import Event, Snapshot, SqlLog, pruning, replay
from spine.pruning import prune_snapshots
from tests.spine.builders import fill


class Summing:
    """The sum of `n`."""

    name = "summing"
    version = 1
    types = None

    def initial(self) -> int:
        return 0

    def reduce(self, state: int, event: Event) -> int:
        number: int = event.payload["n"]
        return state + number

    def encode(self, state: int) -> bytes:
        return str(state).encode()

    def decode(self, kept: bytes) -> int:
        return int(kept)


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "_STREAMS", 2)


def test_the_newest_of_each_stream_and_fold_stays(sql_log: SqlLog) -> None:
    streams, folds = [f"run/{number}" for number in range(5)], ["sum", "max"]
    for stream in streams:
        fill(sql_log, stream, 4)
    for stream, fold, version, seq in product(streams, folds, (1, 2), (1, 3)):
        sql_log.save_snapshot(Snapshot(stream, seq, fold, version, b"s"))
    sql_log.save_snapshot(Snapshot("run/0", 4, "sum", 1, b"old, and further"))

    assert prune_snapshots(sql_log) == 5 * 2 * 3 + 1

    for stream, fold in product(streams, folds):
        assert sql_log.latest_snapshot(stream, fold, 2) == Snapshot(stream, 3, fold, 2, b"s")
        assert sql_log.latest_snapshot(stream, fold, 2, until=2) is None
        assert sql_log.latest_snapshot(stream, fold, 1) is None
    assert prune_snapshots(sql_log) == 0


def test_a_log_without_snapshots(sql_log: SqlLog) -> None:
    assert prune_snapshots(sql_log) == 0


def test_states_are_the_same_as_before(sql_log: SqlLog) -> None:
    for _ in range(5):
        fill(sql_log, "run/a", 4)
        replay(sql_log, "run/a", Summing(), snapshot_every=1)
    before = replay(sql_log, "run/a", Summing())
    earlier = replay(sql_log, "run/a", Summing(), until=9)
    assert (before.resumed_from, earlier.resumed_from) == (20, 8)

    assert prune_snapshots(sql_log) == 4

    assert replay(sql_log, "run/a", Summing()) == before
    now = replay(sql_log, "run/a", Summing(), until=9)
    assert (now.state, now.resumed_from) == (earlier.state, 0)
