"""Snapshots and folds, on every implementation."""

import pytest

from spine import InvalidInput, Log, Snapshot
from spine.folds import fold
from tests.spine.builders import fill


def kept(seq: int, state: bytes = b"s", *, version: int = 1, fold: str = "sum") -> Snapshot:
    return Snapshot("run/a", seq, fold, version, state)


def test_the_newest_at_or_before_a_seq(log: Log) -> None:
    fill(log, "run/a", 9)
    for seq in (3, 6, 9):
        log.save_snapshot(kept(seq, str(seq).encode()))

    assert log.latest_snapshot("run/a", "sum", 1) == kept(9, b"9")
    assert log.latest_snapshot("run/a", "sum", 1, until=8) == kept(6, b"6")
    assert log.latest_snapshot("run/a", "sum", 1, until=2) is None


def test_saving_again_replaces(log: Log) -> None:
    fill(log, "run/a", 1)
    log.save_snapshot(kept(1, b"one"))
    log.save_snapshot(kept(1, b"\x00two"))

    assert log.latest_snapshot("run/a", "sum", 1) == kept(1, b"\x00two")


def test_another_fold_version_or_stream_is_another_snapshot(log: Log) -> None:
    fill(log, "run/a", 1)
    log.save_snapshot(kept(1))

    assert log.latest_snapshot("run/a", "sum", 2) is None
    assert log.latest_snapshot("run/a", "other", 1) is None
    assert log.latest_snapshot("run/b", "sum", 1) is None


@pytest.mark.parametrize("seq", [0, -1, 3])
def test_a_snapshot_of_a_state_the_stream_never_had_is_refused(log: Log, seq: int) -> None:
    fill(log, "run/a", 2)

    with pytest.raises(InvalidInput, match="seq"):
        log.save_snapshot(kept(seq))


def test_fold_goes_left_to_right(log: Log) -> None:
    fill(log, "run/a", 4)

    assert fold(log.read("run/a"), "", lambda text, event: text + str(event.payload["n"])) == "1234"
    assert fold(log.read("run/none"), "none", lambda text, event: text + "x") == "none"
