"""Files and folders that this user may not read, or not write: never a fault of the program."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from grading.cli.failures import FINDING, NOT_CHECKED, USAGE
from tests.grading.cli.command import done
from tests.spine.importers.builders import tau_file, tau_run

NOBODY = 65534
ROOT = Path(__file__).parents[3]
PROGRAM = """
import contextlib, io, os, sys
root, scratch, nobody, *arguments = sys.argv[1:]
sys.path.insert(0, root)
from grading.cli.main import app

def call(*arguments):
    try:
        app(list(arguments), prog_name="gradespine")
    except SystemExit as end:
        return end.code

if os.geteuid() == 0:  # nothing is locked to root; what another user could not load is loaded before
    for command in (["import", scratch], ["grader", "add", "example:ctf"], ["grade", "ctf", "--all"], ["rebuild"]):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            call("--database", f"sqlite:///{scratch}/scratch.db", *command)
    os.setgroups([])
    os.setresgid(int(nobody), int(nobody), int(nobody))
    os.setresuid(int(nobody), int(nobody), int(nobody))
os.chdir("/")
sys.exit(call(*arguments))
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder that any user can reach."""
    with TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        own = Path(made) / "own"
        own.mkdir()
        own.chmod(0o777)
        yield own
        for folder, _, _ in os.walk(made):
            os.chmod(folder, 0o700)


def call(place: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command, by a user to whom files can be locked."""
    with TemporaryDirectory() as scratch:
        tau_file(Path(scratch) / "scratch.json", tau_run())
        before = [sys.executable, "-c", PROGRAM, str(ROOT), scratch, str(NOBODY)]
        database = ["--database", f"sqlite:///{place}/log.db"]
        return subprocess.run([*before, *database, *arguments], capture_output=True, text=True, check=False)


def make_log(place: Path) -> Path:
    done(f"sqlite:///{place}/log.db", "grader", "add", "example:ctf")
    for path in place.iterdir():
        path.chmod(0o666)
    return place / "log.db"


def lock(path: Path, mode: int = 0o555) -> None:
    """Nobody but root does more there from now on."""
    path.chmod(mode)


def test_a_log_in_a_folder_that_cannot_be_searched_is_not_checked(place: Path) -> None:
    make_log(place)
    lock(place, 0)

    result = call(place, "streams")

    assert result.returncode == NOT_CHECKED, result.stderr
    assert f"{place}/log.db: Permission denied" in result.stderr


@pytest.mark.parametrize("command", ["streams", "grades", "rebuild"])
def test_a_log_in_a_read_only_folder_says_that_it_has_to_write(place: Path, command: str) -> None:
    make_log(place)
    (place / "log.db-lock").unlink(missing_ok=True)
    lock(place)

    result = call(place, command)

    assert result.returncode == NOT_CHECKED, result.stderr
    assert "is read-only here, and gradespine has to write" in result.stderr
    assert "Copy it to a folder of yours" in result.stderr


def test_a_log_that_is_a_read_only_file_says_that_it_has_to_write(place: Path) -> None:
    log = make_log(place)
    lock(log, 0o444)

    result = call(place, "streams")

    assert result.returncode == NOT_CHECKED, result.stderr
    assert "is read-only here" in result.stderr


def test_a_new_log_in_a_read_only_folder_is_not_made(place: Path) -> None:
    lock(place)

    result = call(place, "grader", "add", "example:ctf")

    assert result.returncode == NOT_CHECKED, result.stderr
    assert "is read-only here" in result.stderr


def test_a_ladder_that_cannot_be_read_is_a_wrong_call(place: Path) -> None:
    ladder = place / "x.yaml"
    ladder.write_text("gradespine: 1")
    lock(ladder, 0)
    (place / "deep").mkdir()
    lock(place / "deep", 0)

    for path in (ladder, place / "deep" / "y.yaml"):
        result = call(place, "grader", "check", str(path))
        assert result.returncode == USAGE, result.stderr
        assert f"{path} cannot be read: Permission denied" in result.stderr


def test_recordings_that_cannot_be_read_are_refused_and_the_rest_is_imported(place: Path) -> None:
    tau_file(place / "good.json", tau_run(0))
    bad = tau_file(place / "bad.json", tau_run(1))
    lock(bad, 0)
    (place / "deep").mkdir()
    tau_file(place / "deep" / "c.json", tau_run(2))
    lock(place / "deep", 0o444)  # its names can be read, and nothing else

    for named in ([place], [place / "good.json", bad, place / "deep" / "c.json"]):
        result = call(place, "import", *map(str, named))
        assert result.returncode == FINDING, result.stderr
        assert result.stderr.count("cannot be read: Permission denied") == 2
        assert "1 run," in result.stdout
