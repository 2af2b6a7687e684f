"""A SQLite log that comes to be whole or not at all."""

from pathlib import Path

import pytest

from spine import LogUnavailable, open_log
from spine.founding import founded
from tests.spine.builders import fill


def test_a_log_stands_in_its_place_when_it_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "a ?%41 log.db"

    with founded(path) as log:
        fill(log, "run/a", 3)
        assert not path.exists()

    assert list(tmp_path.iterdir()) == [path]
    moved = path.rename(tmp_path / "log.db")
    with open_log(f"sqlite:///{moved}") as log:
        assert [event.payload["n"] for event in log.read("run/a")] == [1, 2, 3]


def test_nothing_is_left_of_what_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), founded(tmp_path / "log.db") as log:  # noqa: PT012
        fill(log, "run/a", 3)
        raise KeyboardInterrupt

    assert list(tmp_path.iterdir()) == []


def test_what_has_come_to_be_there_meanwhile_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    with pytest.raises(LogUnavailable, match="made this file meanwhile"), founded(path) as log:  # noqa: PT012
        fill(log, "run/a", 3)
        path.write_bytes(b"theirs")

    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"theirs"


def test_a_folder_that_takes_no_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "none" / "log.db"

    with pytest.raises(LogUnavailable, match=r"log\.db: No such file"), founded(path):
        pytest.fail("there is no log")
