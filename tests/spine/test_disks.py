"""Disks that are full, failing, read-only or not there any more: a clear error, nothing acknowledged lost, and
appending goes on when the cause is gone."""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from spine import Log, LogUnavailable, SqlLog, open_log
from spine.backup import back_up
from spine.checkup import State, check_up
from spine.database import open_database
from spine.sqlite import SqliteDatabase
from tests.postgres import fresh_database
from tests.spine.builders import fill, found
from tests.spine.processes import ROOT
from tests.spine.verification import findings_in
from tests.spine.worker import numbered

GRADESPINE = Path(sys.executable).with_name("gradespine")


@contextlib.contextmanager
def disk(place: Path, size: str = "2m") -> Iterator[Path]:
    """A small disk of our own at a place."""
    place.mkdir(exist_ok=True)
    mounted = mount("-t", "tmpfs", "-o", f"size={size},mode=777", "tmpfs", place)
    if mounted:
        pytest.skip(f"no disk of our own: {mounted}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def mount(*words: object) -> str:
    """Mount; returns why it was not possible."""
    program = shutil.which("mount")
    if program is None:
        return "there is no mount"
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


def fill_disk(place: Path, left: int = 0) -> Path:
    """Use up the disk but for so many bytes; returns the file to remove."""
    ballast = place / "ballast"
    status = os.statvfs(place)
    with ballast.open("wb") as file:
        file.write(bytes(max(status.f_bavail * status.f_frsize - left, 0)))
    return ballast


def command(*words: object, code: int) -> str:
    """The one line that `gradespine` says, ending with this code."""
    done = subprocess.run([GRADESPINE, *map(str, words)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    first, *rest = done.stderr.splitlines()
    assert first.startswith("gradespine: ")
    assert all(line.startswith("  ") for line in rest)
    return first


def assert_exact(log: Log, acknowledged: int, attempted: int) -> None:
    """What was acknowledged is there once and in order; what was attempted after it can be repeated as it was."""
    batch = [numbered(number) for number in range(attempted)]
    stored = [event.id for event in log.read("run/a")]
    assert stored[:acknowledged] == [event.id for event in batch[:acknowledged]]
    assert set(stored[acknowledged:]) <= {event.id for event in batch[acknowledged:]}
    for event in batch:
        assert log.append("run/a", [event]).new is (event.id not in stored)
    assert sorted(event.id for event in log.read("run/a")) == [event.id for event in batch]
    assert findings_in(log) == []


def test_a_full_disk_when_a_log_is_made(tmp_path: Path) -> None:
    with disk(tmp_path / "disk") as place:
        url = f"sqlite:///{place / 'log.db'}"
        ballast = fill_disk(place, left=30_000)

        with pytest.raises(LogUnavailable, match=r"log\.db.*full.*free some space"):
            open_log(url)

        ballast.unlink()
        with open_log(url) as log:
            fill(log, "run/a", 1)
            assert findings_in(log) == []


def test_a_full_disk_refuses_every_way_of_writing_and_still_reads(tmp_path: Path) -> None:
    from tests.spine.test_faults import asked

    with disk(tmp_path / "disk") as place, open_log(f"sqlite:///{place / 'log.db'}") as log:
        log.append("run/a", [found(text="x" * 200_000)])
        ballast = fill_disk(place)
        with pytest.raises(LogUnavailable, match="nothing was written: free some space"):
            log.append("run/b", [found(text="x" * 400_000)])

        for name, ask in asked(log).items():
            with contextlib.suppress(LogUnavailable):
                ask()
            assert log.position() >= 1, name
        assert findings_in(log) == []

        ballast.unlink()
        before = log.position()
        assert log.append("run/b", [found(text="x" * 400_000)]).first_position == before + 1
        assert findings_in(log) == []


def test_the_commands_of_a_full_disk_say_it_in_a_line(tmp_path: Path) -> None:
    with disk(tmp_path / "disk") as place:
        path = place / "log.db"
        open_log(f"sqlite:///{path}").close()
        ballast = fill_disk(place, left=20_000)

        said = command("--database", f"sqlite:///{path}", "grader", "add", "example:safe-change", code=3)

        assert "full" in said
        assert "free some space" in said
        told = {finding.check: finding.verdict for finding in check_up(open_database(f"sqlite:///{path}"))}
        assert told["free space"].state is State.FAILED
        ballast.unlink()
        words = ["--database", f"sqlite:///{path}", "grader", "add", "example:safe-change"]
        assert subprocess.run([GRADESPINE, *words], capture_output=True, cwd=ROOT, check=False).returncode == 0


def test_a_backup_to_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    with open_log(f"sqlite:///{tmp_path / 'log.db'}") as log:
        log.append("run/a", [found(text="x" * 3_000_000)])
        assert isinstance(log.database, SqliteDatabase)
        with disk(tmp_path / "disk") as place:
            with pytest.raises(LogUnavailable, match="full"):
                back_up(log.database, place / "copy.db")

            assert list(place.iterdir()) == []
        assert log.append("run/a", [found()]).new


@pytest.mark.parametrize("size", [200_000, 300_000])
def test_a_limit_on_the_size_of_files_loses_nothing(tmp_path: Path, size: int) -> None:
    """A quota shows itself in the same way: as a write that fails for another cause than a full disk."""
    url = f"sqlite:///{tmp_path / 'log.db'}"
    open_log(url).close()

    said = worker("append_up_to_a_size", url, size)

    *acknowledged, refused, repeated = [line.split()[1] for line in said]
    assert set(acknowledged) == {"new"}
    assert refused in ("LogUnavailable", "AppendOutcomeUnknown")
    assert repeated == "new"
    with open_log(url) as log:
        assert_exact(log, len(acknowledged) + 1, len(acknowledged) + 1)


def test_a_file_system_that_may_only_be_read(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "8m") as place:
        path = place / "log.db"
        url = f"sqlite:///{path}"
        with open_log(url) as log:
            fill(log, "run/a", 2)
        assert mount("-o", "remount,ro", place) == ""

        with pytest.raises(LogUnavailable, match=r"log\.db.*read-?only"), open_log(url) as log:
            fill(log, "run/a", 1)
        assert "read-only" in command("--database", url, "grader", "add", "example:safe-change", code=3)
        told = {finding.check: finding.verdict for finding in check_up(open_database(url))}
        assert told["writable"].state is State.FAILED
        assert told["positions"].found.startswith("2 events")

        assert mount("-o", "remount,rw", place) == ""
        with open_log(url) as log:
            assert log.append("run/a", [found()]).first_seq == 3


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everyone reaches and may write to."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Permissions count: root is somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_lock_file_that_may_not_be_opened(open_folder: Path) -> None:
    path = open_folder / "log.db"
    with unprivileged():
        with open_log(f"sqlite:///{path}") as before:
            fill(before, "run/a", 1)
        log = open_log(f"sqlite:///{path}")
        lock = path.with_name("log.db-lock")
        lock.chmod(0)
        try:
            with pytest.raises(LogUnavailable, match=r"log\.db-lock: Permission denied; writers queue"):
                log.append("run/a", [found()])
            assert log.position() == 1
        finally:
            lock.chmod(0o644)

        assert log.append("run/a", [found()]).first_seq == 2
        log.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqlLog]:
    """A log of two events, open."""
    with open_log(f"sqlite:///{path}") as log:
        fill(log, "run/a", 2)
        yield log


def test_a_file_that_is_moved_away_under_a_log_is_not_written_to(path: Path, log: SqlLog) -> None:
    """What SQLite goes on acknowledging then would be in no file that anyone finds."""
    path.rename(path.with_name("moved.db"))

    for _ in range(2):
        with pytest.raises(LogUnavailable, match=r"log\.db: the file was deleted.*put it back, or open the log again"):
            log.append("run/a", [found()])
        with pytest.raises(LogUnavailable):
            log.position()
    with pytest.raises(LogUnavailable), log.database.write_transaction():
        pass
    assert not path.exists()

    path.with_name("moved.db").rename(path)
    assert log.append("run/a", [found()]).first_seq == 3
    assert findings_in(log) == []


def test_a_file_that_is_replaced_under_a_log_is_not_written_to(path: Path, log: SqlLog) -> None:
    assert isinstance(log.database, SqliteDatabase)
    back_up(log.database, path.with_name("copy.db"))
    log.append("run/a", [found()])

    path.with_name("copy.db").rename(path)

    with pytest.raises(LogUnavailable, match="was replaced"):
        log.append("run/a", [found()])
    log.close()
    for beside in ("-wal", "-shm"):
        path.with_name(f"log.db{beside}").unlink(missing_ok=True)
    with open_log(f"sqlite:///{path}") as again:
        assert again.append("run/a", [found()]).first_seq == 3
        assert findings_in(again) == []


def test_a_folder_that_is_deleted_under_a_log(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with open_log(f"sqlite:///{folder / 'log.db'}") as log:
        fill(log, "run/a", 1)
        shutil.rmtree(folder)

        with pytest.raises(LogUnavailable):
            log.append("run/a", [found()])
        with pytest.raises(LogUnavailable):
            log.position()
    assert not folder.exists()


def test_a_write_ahead_log_that_is_deleted_under_a_log_is_saved_to_the_file(path: Path, log: SqlLog) -> None:
    path.with_name("log.db-wal").unlink()

    with pytest.raises(LogUnavailable, match=r"log\.db-wal: .* was deleted .* has been saved .* repeat it"):
        log.append("run/a", [found()])

    assert log.append("run/a", [found()]).first_seq == 3
    with open_log(f"sqlite:///{path}") as other:
        assert other.position() == 3
        assert findings_in(other) == []


def test_a_write_ahead_log_that_is_deleted_while_somebody_reads_is_saved_when_they_have_read(
    path: Path, log: SqlLog
) -> None:
    with open_log(f"sqlite:///{path}") as reader:
        with reader.database.read_transaction() as connection:
            connection.exec_driver_sql("SELECT count(*) FROM events").fetchall()
            fill(log, "run/b", 3)
            path.with_name("log.db-wal").unlink()
            for _ in range(2):
                with pytest.raises(LogUnavailable, match="close the log in every program"):
                    log.append("run/a", [found()])

        with pytest.raises(LogUnavailable, match="has been saved"):
            log.append("run/a", [found()])
        assert log.append("run/a", [found()]).first_position == 6

        with contextlib.suppress(LogUnavailable):  # it may still have the old one open, once
            reader.position()
        assert reader.append("run/a", [found()]).first_position == 7
        assert findings_in(reader) == findings_in(log) == []


def test_a_deleted_write_ahead_log_is_saved_also_after_others_have_begun_to_read(path: Path, log: SqlLog) -> None:
    """Whoever opens the file now makes a new one, empty, and finds the old one's index."""
    path.with_name("log.db-wal").unlink()
    with contextlib.suppress(LogUnavailable), open_log(f"sqlite:///{path}") as newcomer:
        newcomer.position()

    with pytest.raises(LogUnavailable, match="has been saved"):
        log.append("run/a", [found()])

    assert log.append("run/a", [found()]).first_seq == 3
    assert findings_in(log) == []


def test_a_deleted_write_ahead_log_is_saved_when_the_log_is_closed(path: Path, log: SqlLog) -> None:
    with open_log(f"sqlite:///{path}") as other:
        other.position()
        path.with_name("log.db-wal").unlink()

        log.close()

    with open_log(f"sqlite:///{path}") as again:
        assert again.append("run/a", [found()]).first_seq == 3
        assert findings_in(again) == []


def test_a_projection_does_not_write_past_a_deleted_write_ahead_log(path: Path, log: SqlLog) -> None:
    path.with_name("log.db-wal").unlink()

    with pytest.raises(LogUnavailable, match="has been saved"), log.database.write_transaction():
        pass

    with log.database.write_transaction() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM events").scalar() == 2


def test_what_was_acknowledged_outlives_a_kill_after_the_write_ahead_log_was_deleted(path: Path) -> None:
    open_log(f"sqlite:///{path}").close()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.spine.disk_worker", "append_after_a_word", f"sqlite:///{path}", "5"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def appended() -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        return process.stdout.readline().split()[1]

    assert process.stdout.readline() == "ready\n"
    assert [appended(), appended()] == ["new", "new"]
    path.with_name("log.db-wal").unlink()
    assert [appended(), appended()] == ["LogUnavailable", "new"]
    process.kill()
    process.communicate()

    with open_log(f"sqlite:///{path}") as log:
        assert [event.id for event in log.read("run/a")] == [numbered(number).id for number in (0, 1, 3)]
        assert findings_in(log) == []


FAILING_FSYNC = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(void) {
    char path[4096];
    const char *folder = getenv("FAILING_FSYNC");
    if (folder == NULL) return 0;
    snprintf(path, sizeof path, "%s/once", folder);
    if (unlink(path) == 0) return 1;
    snprintf(path, sizeof path, "%s/always", folder);
    return access(path, F_OK) == 0;
}

int fsync(int file) {
    if (fails()) { errno = EIO; return -1; }
    return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    if (fails()) { errno = EIO; return -1; }
    return syscall(SYS_fdatasync, file);
}
"""


@pytest.fixture(scope="module")
def failing_fsync(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of processes whose fsync fails when a file `once` or `always` stands in FAILING_FSYNC."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no cc, or not Linux: no fsync can be made to fail")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(FAILING_FSYNC)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c"], check=True)
    (folder / "switch").mkdir()
    return os.environ | {"LD_PRELOAD": str(folder / "shim.so"), "FAILING_FSYNC": str(folder / "switch")}


@pytest.fixture
def switch(failing_fsync: dict[str, str]) -> Iterator[Path]:
    """The folder in which `once` and `always` are put."""
    folder = Path(failing_fsync["FAILING_FSYNC"])
    yield folder
    for file in folder.iterdir():
        file.unlink()


def worker(*words: object, environment: dict[str, str] | None = None) -> list[str]:
    """The lines that a job of disk_worker prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.spine.disk_worker", *map(str, words)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("failing", [0, 4])
def test_an_fsync_that_fails_once_is_an_unknown_outcome_and_the_repeat_is_exact(
    path: Path, failing_fsync: dict[str, str], switch: Path, failing: int
) -> None:
    open_log(f"sqlite:///{path}").close()

    said = worker("append_as_the_disk_fails", f"sqlite:///{path}", switch, failing, "once", environment=failing_fsync)

    before = [f"{number} new" for number in range(failing)]
    after = [f"{number} new" for number in range(failing, 10)]
    assert said == [*before, f"{failing} AppendOutcomeUnknown", *after]
    with open_log(f"sqlite:///{path}") as log:
        assert len(list(log.read("run/a"))) == 10
        assert_exact(log, 10, 10)


def test_a_disk_that_fails_for_good_acknowledges_nothing_and_loses_nothing(
    path: Path, failing_fsync: dict[str, str], switch: Path
) -> None:
    open_log(f"sqlite:///{path}").close()

    said = worker("append_as_the_disk_fails", f"sqlite:///{path}", switch, 4, "always", environment=failing_fsync)

    assert said[:4] == [f"{number} new" for number in range(4)]
    assert {line.split()[1] for line in said[4:]} <= {"AppendOutcomeUnknown", "LogUnavailable"}
    with open_log(f"sqlite:///{path}") as log:
        assert_exact(log, 4, 10)


def test_a_command_on_a_disk_that_fails_says_it_in_a_line(
    path: Path, failing_fsync: dict[str, str], switch: Path
) -> None:
    open_log(f"sqlite:///{path}").close()
    (switch / "always").touch()

    done = subprocess.run(
        [GRADESPINE, "--database", f"sqlite:///{path}", "grader", "add", "example:safe-change"],
        env=failing_fsync,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"gradespine: {path}: disk I/O error (SQLITE_IOERR_FSYNC)")
    assert "repeat" in done.stderr


def test_a_backup_whose_fsync_fails_is_no_backup(path: Path, log: SqlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    assert isinstance(log.database, SqliteDatabase)

    with pytest.raises(LogUnavailable, match="cannot be written: Input/output error"):
        back_up(log.database, path.with_name("copy.db"))

    assert list(path.parent.glob("*copy*")) == []


def test_a_full_disk_of_a_server_is_told_and_loses_nothing(
    postgres_server: str, postgres_template: str, open_folder: Path
) -> None:
    with disk(open_folder / "disk", "24m") as place, psycopg.connect(postgres_server, autocommit=True) as admin:
        with contextlib.suppress(KeyError):
            os.chown(place, pwd.getpwnam("nobody").pw_uid, -1)
        try:
            admin.execute(f"CREATE TABLESPACE small LOCATION '{place}'".encode())
        except psycopg.Error as problem:
            pytest.skip(f"the server cannot use a disk of ours: {problem}")
        try:
            with fresh_database(postgres_server, template=postgres_template) as url:
                name = url.rpartition("/")[2]
                admin.execute(f"ALTER DATABASE {name} SET TABLESPACE small".encode())
                assert_full_and_free_again(url, place)
        finally:
            admin.execute(b"DROP TABLESPACE small")


def assert_full_and_free_again(url: str, place: Path) -> None:
    with open_log(url) as log:
        fill(log, "run/a", 2)
        ballast = fill_disk(place, left=200_000)
        acknowledged = 2
        with pytest.raises(LogUnavailable, match=r"No space left.*free space on the server"):  # noqa: PT012
            for _ in range(200):
                log.append("run/a", [found(text=os.urandom(20_000).hex())])
                acknowledged += 1
        assert log.position() == acknowledged

        ballast.unlink()
        assert log.append("run/a", [found(text=os.urandom(20_000).hex())]).first_seq == acknowledged + 1
        assert findings_in(log) == []
