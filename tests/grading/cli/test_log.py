"""`gradespine log`: export, import, prune."""

from pathlib import Path

import pytest

from spine import Actor, NewEvent, Snapshot, open_log
from tests.grading.cli.command import done, run
from tests.spine.builders import fill


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """A log of five events as a file, and nothing beside it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with open_log(f"sqlite:///{folder / 'log.db'}") as log:
        fill(log, "run/a", 5)
    path = tmp_path / "new" / "log.jsonl"
    path.parent.mkdir()
    done(f"sqlite:///{folder / 'log.db'}", "log", "export", "-o", str(path))
    return path


def beside(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def test_an_import_makes_the_file_it_fills(exported: Path) -> None:
    url = f"sqlite:///{exported.parent / 'new.db'}"

    assert done(url, "log", "import", str(exported)).startswith("imported 5 events of ")

    assert beside(exported) == ["log.jsonl", "new.db"]
    done(url, "log", "export", "-o", str(exported.parent / "again.jsonl"))
    assert (exported.parent / "again.jsonl").read_bytes() == exported.read_bytes()


@pytest.mark.parametrize("fault", ["empty", "cut", "changed", "not there"])
def test_an_import_that_is_refused_leaves_nothing_behind(exported: Path, fault: str) -> None:
    lines = exported.read_text().splitlines(keepends=True)
    faulty = {"empty": [], "cut": lines[:-1], "changed": [line.replace('n\\":3', 'n\\":4') for line in lines]}
    if fault == "not there":
        exported = exported.with_name("none.jsonl")
    else:
        exported.write_text("".join(faulty[fault]))
    before = beside(exported)

    result = run(f"sqlite:///{exported.parent / 'new.db'}", "log", "import", str(exported))

    assert result.exit_code == (3 if fault == "not there" else 2)
    assert fault == "not there" or "line" in result.stderr
    assert beside(exported) == before


@pytest.mark.parametrize("there", ["empty file", "empty log", "full log"])
def test_a_file_that_was_there_stays_when_an_import_is_refused(exported: Path, there: str) -> None:
    path = exported.parent / "log.db"
    path.touch()
    if there != "empty file":
        open_log(f"sqlite:///{path}").close()
    if there == "full log":
        with open_log(f"sqlite:///{path}") as log:
            fill(log, "run/b", 1)
    exported.write_text("".join(exported.read_text().splitlines(keepends=True)[:-1]))

    assert run(f"sqlite:///{path}", "log", "import", str(exported)).exit_code == 2

    with open_log(f"sqlite:///{path}") as log:
        assert log.position() == (1 if there == "full log" else 0)


def test_old_snapshots_are_dropped(database_url: str) -> None:
    with open_log(database_url) as log:
        log.append("run/a", [NewEvent("a.thing", {}, actor=Actor.SYSTEM) for _ in range(2)])
        for seq in (1, 2):
            log.save_snapshot(Snapshot("run/a", seq, "sum", 1, b"s"))

    assert done(database_url, "log", "prune") == "dropped 1 snapshot\n"
    assert done(database_url, "log", "prune") == "dropped 0 snapshots\n"
