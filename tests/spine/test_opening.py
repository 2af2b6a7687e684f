"""Opening a log: by many at once, half made, too old, too new, and what is no log at all."""

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import pytest

from spine import (
    InvalidInput,
    LogCorrupt,
    LogUnavailable,
    SchemaOutdated,
    SpineError,
    open_log,
    revisions,
)
from spine.database import open_database
from spine.sqlite import SqliteDatabase
from tests.spine.builders import fill, found
from tests.spine.processes import finish, start
from tests.spine.verification import findings_in


def versions(path: Path) -> list[tuple[str]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT version_num FROM alembic_version").fetchall()
    finally:
        connection.close()


def test_six_processes_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    for process in [start("open_once", f"sqlite:///{path}") for _ in range(6)]:
        finish(process)

    assert versions(path) == [(revisions.HEAD,)]
    with open_log(f"sqlite:///{path}") as log:
        assert log.position() == 6
        assert findings_in(log) == []


def test_a_file_whose_making_was_killed_opens(tmp_path: Path) -> None:
    for number in range(8):
        path = tmp_path / f"{number}.db"
        process = start("open_once", f"sqlite:///{path}")
        while not path.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(number * 0.03)
        process.kill()
        process.communicate()

        with open_log(f"sqlite:///{path}") as log:
            fill(log, "run/a", 1)
            assert findings_in(log) == []
        assert versions(path) == [(revisions.HEAD,)]


def test_a_file_of_an_older_revision_is_brought_up_to_date(tmp_path: Path) -> None:
    from alembic import command
    from alembic.config import Config

    path = tmp_path / "log.db"
    database = open_database(f"sqlite:///{path}")
    config = Config()
    config.set_main_option("script_location", str(revisions.scripts()))
    with database.write_transaction() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    database.close()

    with open_log(f"sqlite:///{path}") as log:
        fill(log, "run/a", 1)

    assert versions(path) == [(revisions.HEAD,)]


def test_an_opened_log_keeps_its_name_and_goes_on(database_url: str) -> None:
    with open_log(database_url) as log:
        fill(log, "run/a", 3)
        name = log.name

    with open_log(database_url) as again:
        assert again.name == name
        assert again.append("run/a", [found()]).first_seq == 4


def test_a_server_without_tables_is_told_what_to_run(postgres_url: str) -> None:
    with pytest.raises(SchemaOutdated, match="gradespine db upgrade"):
        open_log(postgres_url)


def test_a_server_of_an_older_revision_is_told_what_to_run(migrated_postgres_url: str) -> None:
    with psycopg.connect(migrated_postgres_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")

    with pytest.raises(SchemaOutdated, match=r"revision 0001.*gradespine db upgrade"):
        open_log(migrated_postgres_url)


def execute(url: str, *statements: str) -> None:
    database = open_database(url)
    with database.write_transaction() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    database.close()


def test_a_newer_revision_is_refused(database_url: str) -> None:
    open_log(database_url).close()
    execute(database_url, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(SchemaOutdated, match="9999, newer than"):
        open_log(database_url)
    database = open_database(database_url)
    with pytest.raises(SchemaOutdated, match="9999, newer than"):
        revisions.upgrade(database)
    database.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE alembic_version SET version_num = '0001x'",
        "INSERT INTO alembic_version (version_num) VALUES ('ae1027a6acf')",
    ],
)
def test_the_revisions_of_something_else_are_refused(database_url: str, change: str) -> None:
    open_log(database_url).close()
    execute(database_url, change)

    with pytest.raises(SchemaOutdated):
        open_log(database_url)
    database = open_database(database_url)
    with pytest.raises(SchemaOutdated):
        revisions.upgrade(database)
    database.close()


def test_the_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "places.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE places (name)")
    connection.close()

    with pytest.raises(LogUnavailable, match="something else"):
        open_log(f"sqlite:///{path}")

    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("places",)]
    connection.close()


PASSWORD = "s3cr3t-w0rd"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "runs.db",
        "rubbish",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///runs.db?mode=ro",
        "sqlite:///what?.db",
        "sqlite:///file:runs.db",
        "sqlite:///a\x00b.db",
        "sqlite:///a%00b.db",
        "sqlite:///a\ud800b.db",
        "sqlite+aiosqlite:///runs.db",
        "sqlite+pysqlcipher:///runs.db",
        f"mysql://ada:{PASSWORD}@host/runs",
        f"postgres://ada:{PASSWORD}@host/runs",
        f"postgresql://ada:{PASSWORD}@host:port/runs",
        f"postgresql://ada:{PASSWORD}@[::1/runs",
        f"://ada:{PASSWORD}@host",
    ],
)
def test_what_is_not_the_url_of_a_log_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(InvalidInput) as refused:
        open_log(url)

    assert refused.value.field == "url"
    assert PASSWORD not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "rest",
    [
        "127.0.0.1:1/runs",
        "127.0.0.1:99999/runs",
        "127.0.0.1:1/runs?connect_timeout=soon",
        "127.0.0.1:1/runs?bogus=1",
        "127.0.0.1:1/runs?sslmode=perhaps",
        "/runs?host=/no/such/folder",
        "no-such-host.invalid/runs",
    ],
)
def test_a_server_that_is_not_there_is_named_without_the_password(rest: str) -> None:
    with pytest.raises(LogUnavailable) as problem:
        open_log(f"postgresql://ada:{PASSWORD}@{rest}")

    assert "ada:***@" in str(problem.value)
    assert PASSWORD not in str(problem.value)
    cause: BaseException | None = problem.value
    while cause is not None:
        assert PASSWORD not in str(cause)
        cause = cause.__cause__


@pytest.mark.parametrize("part", ["password", "name"])
def test_a_server_that_does_not_let_in_is_named_without_the_password(postgres_server: str, part: str) -> None:
    split = urlsplit(postgres_server)
    if part == "password":
        where = split._replace(netloc=f"postgres:{PASSWORD}@{split.hostname}:{split.port}")
    else:
        where = split._replace(path="/no_such_database")

    with pytest.raises(LogUnavailable) as problem:
        open_log(urlunsplit(where))

    assert PASSWORD not in str(problem.value)
    assert str(split.password) not in str(problem.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LogUnavailable, match=r"missing/log\.db"):
        open_log(f"sqlite:///{tmp_path / 'missing' / 'log.db'}")


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(LogUnavailable):
        open_log(f"sqlite:///{tmp_path}")


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to look like one" * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_file_that_is_not_a_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)

    with pytest.raises((LogCorrupt, LogUnavailable)):
        open_log(f"sqlite:///{path}")

    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.touch()

    with open_log(f"sqlite:///{path}") as log:
        assert log.position() == 0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others than the user of the tests reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Permissions count: root is somebody else for the test."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_may_not_be_written_to(open_folder: Path, unprivileged: None) -> None:
    if os.geteuid() != 65534:
        open_folder.chmod(0o555)

    with pytest.raises(LogUnavailable, match=r"log\.db"):
        open_log(f"sqlite:///{open_folder / 'log.db'}")


@pytest.mark.parametrize("folder_too", [False, True])
def test_a_file_that_may_not_be_written_to(open_folder: Path, folder_too: bool, request: pytest.FixtureRequest) -> None:
    path = open_folder / "log.db"
    with open_log(f"sqlite:///{path}") as log:
        fill(log, "run/a", 1)
    for file in open_folder.iterdir():
        file.chmod(0o444)
    open_folder.chmod(0o555 if folder_too else 0o777)
    request.getfixturevalue("unprivileged")

    with pytest.raises(LogUnavailable, match=r"log\.db"), open_log(f"sqlite:///{path}") as log:
        fill(log, "run/a", 1)


ODD_NAMES = ["with space.db", "100%.db", "#1.db", "ünï 😀.db", "a&b=c.db", "@:x.db", "log"]


@pytest.mark.parametrize(
    ("written", "name"),
    [*((name, name) for name in ODD_NAMES), *((quote(name), name) for name in [*ODD_NAMES, "a?b=c.db", "%3F.db"])],
)
def test_a_path_may_be_odd_and_escaped(tmp_path: Path, written: str, name: str) -> None:
    folder = tmp_path / "a folder, 50% ü"
    folder.mkdir()

    with open_log(f"sqlite:///{folder}/{written}") as log:
        fill(log, "run/a", 1)

        beside = sorted(path.name for path in folder.iterdir())
    assert beside == sorted([name, f"{name}-lock", f"{name}-shm", f"{name}-wal"])


def test_the_lock_file_stands_beside_the_file_wherever_it_is_opened_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "log.db")
    monkeypatch.chdir(tmp_path)
    with open_log("sqlite:///log.db") as log, open_log("sqlite:///link.db") as linked:
        monkeypatch.chdir(tmp_path / "elsewhere")

        fill(log, "run/a", 1)
        fill(linked, "run/a", 1)

        assert isinstance(log.database, SqliteDatabase)
        assert isinstance(linked.database, SqliteDatabase)
        assert log.database.path == linked.database.path
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert [path.name for path in tmp_path.glob("*-lock")] == ["log.db-lock"]


def test_every_failure_to_open_is_one_kind_of_error() -> None:
    assert issubclass(SchemaOutdated, LogUnavailable)
    assert issubclass(LogUnavailable, SpineError)
