"""A backup is one moment of the log, whole and checked, while others write; put in the log's place, the log goes on."""

import os
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, Table

from spine import InvalidInput, LogCorrupt, LogUnavailable, RestoreDetected, SqlLog, open_log, projection
from spine.backup import Copied, back_up
from spine.briefs import Brief
from spine.canonical import ZERO_LEAF
from spine.checkup import State, check_up
from spine.database import open_database
from spine.sqlite import SqliteDatabase
from tests.postgres import fresh_database
from tests.spine.builders import fill, found
from tests.spine.verification import findings_in


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a log of three events, closed."""
    path = tmp_path / "log.db"
    with open_log(f"sqlite:///{path}") as log:
        fill(log, "run/a", 3)
    return path


def copy(path: Path, target: Path, *, replace: bool = False) -> Copied:
    database = open_database(f"sqlite:///{path}")
    assert isinstance(database, SqliteDatabase)
    try:
        return back_up(database, target, replace=replace)
    finally:
        database.close()


def test_a_backup_holds_the_log_and_says_how_far(path: Path, tmp_path: Path) -> None:
    copied = copy(path, tmp_path / "copy.db")

    with open_log(f"sqlite:///{path}") as log, open_log(f"sqlite:///{copied.path}") as other:
        last = list(log.read_all())[-1]
        assert (copied.position, copied.leaf) == (3, last.digest)
        assert copied.size == copied.path.stat().st_size
        assert other.name == log.name
        assert list(other.read_all()) == list(log.read_all())
        assert other.append("run/a", [found()]).first_position == 4
        assert findings_in(other) == []


def test_a_backup_of_an_empty_log_is_an_empty_log(tmp_path: Path) -> None:
    open_log(f"sqlite:///{tmp_path / 'log.db'}").close()

    copied = copy(tmp_path / "log.db", tmp_path / "copy.db")

    assert (copied.position, copied.leaf) == (0, ZERO_LEAF.hex())


def test_nothing_is_left_beside_a_backup(path: Path, tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    path.chmod(0o640)

    copied = copy(path, tmp_path / "copies" / "copy.db")

    assert [file.name for file in copied.path.parent.iterdir()] == ["copy.db"]
    assert copied.path.stat().st_mode & 0o777 == 0o640
    assert not copied.path.is_symlink()
    assert copied.path.stat().st_nlink == 1


def test_writers_go_on_while_a_backup_is_made_and_it_ends(path: Path, tmp_path: Path) -> None:
    """Every commit by others would make SQLite begin the copying anew: under load it would never end."""
    with open_log(f"sqlite:///{path}") as log:
        for _ in range(10):
            log.append("run/large", [found(text="x" * 1_000_000)])
        acknowledged: list[int] = []
        during: list[int] = []

        def between_two_steps(done: int, total: int) -> None:
            event = [found(text="y" * 5000)]
            acknowledged.append(log.append("run/b", event).last_position)
            during.append(done)

        database = open_database(f"sqlite:///{path}")
        assert isinstance(database, SqliteDatabase)
        copied = back_up(database, tmp_path / "copy.db", progress=between_two_steps)
        database.close()

        assert len(during) >= 2
        assert copied.position == acknowledged[0] - 1
        assert findings_in(log) == []
    with open_log(f"sqlite:///{copied.path}") as other:
        assert other.position() == copied.position
        assert findings_in(other) == []


def test_what_was_acknowledged_before_a_backup_is_in_it(path: Path, tmp_path: Path) -> None:
    with open_log(f"sqlite:///{path}") as log:
        stop, written = threading.Event(), threading.Semaphore(0)
        at: list[int] = []

        def write() -> None:
            while not stop.is_set():
                at.append(log.append("run/b", [found()]).last_position)
                written.release()

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for number in range(5):
                for _ in range(20):
                    assert written.acquire(timeout=30)
                before = at[-1]
                assert copy(path, tmp_path / f"{number}.db").position >= before
        finally:
            stop.set()
            thread.join()
    for number in range(5):
        with open_log(f"sqlite:///{tmp_path / f'{number}.db'}") as other:
            assert findings_in(other) == []


def make_target(kind: str, path: Path, folder: Path) -> Path:
    target = folder / "target.db"
    match kind:
        case "there":
            target.write_text("precious")
        case "the log itself":
            return path
        case "the log by a link":
            target.symlink_to(path)
        case "the log by a hard link":
            os.link(path, target)
        case "the log by another way":
            (folder / "way").symlink_to(path.parent)
            return folder / "way" / path.name
        case "a link to nowhere":
            target.symlink_to(folder / "nowhere")
        case "a folder":
            target.mkdir()
        case "in no folder":
            return folder / "none" / "target.db"
        case "a pipe":
            os.mkfifo(target)
        case "beside the log":
            return path.with_name(f"{path.name}-wal")
        case "in use":
            target.with_name("target.db-wal").write_text("frames")
    return target


KINDS = ["the log itself", "the log by a link", "the log by a hard link", "the log by another way", "a link to nowhere"]
KINDS += ["a folder", "in no folder", "a pipe", "beside the log", "in use"]


@pytest.mark.parametrize(("kind", "replace"), [("there", False), *((kind, True) for kind in KINDS)])
def test_a_target_that_is_not_free_is_refused_and_left_as_it_is(
    path: Path, tmp_path: Path, kind: str, replace: bool
) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    target = make_target(kind, path, folder)
    before = sorted(folder.rglob("*")), path.read_bytes()

    with pytest.raises(InvalidInput) as refused:
        copy(path, target, replace=replace)

    assert refused.value.field == "target"
    assert (sorted(folder.rglob("*")), path.read_bytes()) == before
    if kind == "there":
        assert target.read_text() == "precious"


def test_a_target_that_is_there_is_replaced_where_that_is_asked_for(path: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("an older copy")

    copy(path, tmp_path / "copy.db", replace=True)

    with open_log(f"sqlite:///{tmp_path / 'copy.db'}") as other:
        assert other.position() == 3


def test_a_target_that_comes_meanwhile_is_not_replaced(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    database = open_database(f"sqlite:///{path}")
    assert isinstance(database, SqliteDatabase)

    with pytest.raises(InvalidInput, match="there already"):
        back_up(database, target, progress=lambda done, total: target.touch())

    database.close()
    assert target.read_bytes() == b""
    assert [file.name for file in tmp_path.glob(".*")] == []


def test_a_damaged_log_makes_no_backup(path: Path, tmp_path: Path) -> None:
    content = bytearray(path.read_bytes())
    for page in range(4, len(content) // 4096, 2):
        content[page * 4096 : page * 4096 + 200] = os.urandom(200)
    path.write_bytes(content)

    with pytest.raises((LogCorrupt, LogUnavailable)):
        copy(path, tmp_path / "copy.db")

    assert not (tmp_path / "copy.db").exists()


class Follower:
    """A projection without tables: only its place counts."""

    name = "follower"
    version = 1
    types = ("finding.reported",)
    tables: tuple[Table, ...] = ()

    def apply(self, connection: Connection, tables: Mapping[str, Table], events: Sequence[Brief]) -> None:
        pass


def place_of_follower(log: SqlLog) -> tuple[int, bytes]:
    with log.database.read() as cursor:
        cursor.execute("SELECT position, leaf FROM followers WHERE name = 'follower'")
        [(position, leaf)] = cursor.fetchall()
    return position, leaf


@pytest.mark.parametrize("appended_since", [0, 1, 5])
def test_after_a_restore_a_follower_that_saw_more_notices(path: Path, tmp_path: Path, appended_since: int) -> None:
    copied = copy(path, tmp_path / "copy.db")
    with open_log(f"sqlite:///{path}") as log:
        fill(log, "run/b", 2)
        projection.catch_up(log, Follower())
        seen = place_of_follower(log)
    for file in path.parent.glob("log.db*"):
        file.unlink()

    copied.path.rename(path)

    with open_log(f"sqlite:///{path}") as log:
        assert log.position() == 3
        projection.catch_up(log, Follower())  # its place was restored with the log
        for _ in range(appended_since):
            log.append("run/b", [found()])
        with log.database.write() as cursor:  # as a follower that keeps its place elsewhere has it
            cursor.execute("UPDATE followers SET position = ?, leaf = ?", seen)
        with pytest.raises(RestoreDetected, match="follower"):
            projection.catch_up(log, Follower())
        told = {finding.check: finding.verdict for finding in check_up(log.database)}["followers"]
        assert told.state is State.FAILED
        assert findings_in(log) == []


def client_program(name: str, server: str) -> Path:
    """A program of Postgres that is no older than the server."""
    with psycopg.connect(server) as connection:
        needed = connection.info.server_version // 10000
    places = sorted(Path("/").glob(f"usr/lib/postgresql/*/bin/{name}"), reverse=True)
    for place in [shutil.which(name) or name, *map(str, places)]:
        if shutil.which(place) is None:
            continue
        version = subprocess.run([place, "--version"], capture_output=True, text=True, check=False).stdout
        if version.strip() and int(version.split()[2].partition(".")[0]) >= needed:
            return Path(place)
    pytest.skip(f"no {name} of Postgres {needed} or newer")


@pytest.mark.parametrize("form", ["custom", "plain"])
def test_a_dumped_log_goes_on_in_a_fresh_database(
    postgres_server: str, postgres_template: str, tmp_path: Path, form: str
) -> None:
    dump = client_program("pg_dump", postgres_server)
    restore = client_program("pg_restore" if form == "custom" else "psql", postgres_server)
    target = tmp_path / "dump"
    with (
        fresh_database(postgres_server, template=postgres_template) as old,
        fresh_database(postgres_server) as new,
    ):
        with open_log(old) as log:
            first = fill(log, "run/a", 3)
            fill(log, "run/b", 2)
            projection.catch_up(log, Follower())
            name, events = log.name, list(log.read_all())
        subprocess.run([dump, f"--format={form}", f"--file={target}", old], check=True, capture_output=True)

        if form == "custom":
            words = ["--exit-on-error", "--single-transaction", f"--dbname={new}", str(target)]
        else:
            words = ["--set=ON_ERROR_STOP=1", "--no-psqlrc", f"--dbname={new}", f"--file={target}"]
        subprocess.run([restore, *words], check=True, capture_output=True)

        with open_log(new) as log:
            assert (log.name, list(log.read_all())) == (name, events)
            assert projection.lag(log, Follower()) == 0
            assert not log.append("run/a", first).new
            assert log.append("run/a", [found()], 3).first_position == 6
            assert log.append("run/c", [found(), found()]).last_position == 8
            assert findings_in(log) == []
            told = {finding.check: finding.verdict for finding in check_up(log.database, full=True)}
            assert {told[check].state for check in ("guards", "indexes", "positions", "sequences")} == {State.OK}
        with psycopg.connect(new) as connection, pytest.raises(psycopg.errors.RestrictViolation):
            connection.execute("DELETE FROM events")


def test_a_database_of_the_dump_before_is_behind_its_followers(
    postgres_server: str, postgres_template: str, tmp_path: Path
) -> None:
    dump, restore = (client_program(name, postgres_server) for name in ("pg_dump", "pg_restore"))
    with fresh_database(postgres_server, template=postgres_template) as old, fresh_database(postgres_server) as new:
        with open_log(old) as log:
            fill(log, "run/a", 3)
            subprocess.run([dump, "--format=custom", f"--file={tmp_path / 'dump'}", old], check=True)
            fill(log, "run/a", 2)
            projection.catch_up(log, Follower())
            seen = place_of_follower(log)
        subprocess.run([restore, f"--dbname={new}", tmp_path / "dump"], check=True)

        with open_log(new) as log:
            projection.catch_up(log, Follower())
            with log.database.write() as cursor:
                cursor.execute("UPDATE followers SET position = %s, leaf = %s", seen)
            with pytest.raises(RestoreDetected):
                projection.catch_up(log, Follower())
