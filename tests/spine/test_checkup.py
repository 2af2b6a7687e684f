"""A look at a database finds what is wrong with it, says what to do, and changes nothing."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from spine import open_log, revisions
from spine.checkup import State, Verdict, check_up, file, library, worst
from spine.checkup.findings import Finding
from spine.database import open_database
from spine.sqlite import SqliteDatabase
from tests.postgres import PostgresUnavailable, fresh_database, throwaway_postgres
from tests.spine.builders import fill


def verdicts(url: str, *, full: bool = False) -> dict[str, Verdict]:
    database = open_database(url)
    try:
        return {finding.check: finding.verdict for finding in check_up(database, full=full)}
    finally:
        database.close()


def wrong(url: str, *, full: bool = False) -> dict[str, Verdict]:
    """What is worse than a warning, but for the settings of the tests' careless server."""
    found = verdicts(url, full=full)
    if url.startswith("postgres"):
        del found["durability"]
    return {name: verdict for name, verdict in found.items() if verdict.state not in (State.OK, State.WARNING)}


def change(url: str, *statements: str) -> None:
    """What another program does to the database."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()
        return
    with psycopg.connect(url, autocommit=True) as server:
        for statement in statements:
            server.execute(statement.encode())


@pytest.fixture
def url(database_url: str) -> str:
    """A log of two streams, closed."""
    with open_log(database_url) as log:
        fill(log, "run/a", 5)
        fill(log, "run/b", 2)
    return database_url


@pytest.fixture(scope="module")
def durable_server() -> Iterator[str]:
    if os.environ.get("GRADESPINE_TEST_POSTGRES_URL"):
        pytest.skip("the server is somebody else's: its settings are not ours")
    try:
        with throwaway_postgres(durable=True) as server:
            yield server
    except PostgresUnavailable as problem:
        pytest.skip(str(problem))


def test_a_sound_log_has_nothing_wrong(url: str) -> None:
    found = verdicts(url, full=True)

    assert wrong(url, full=True) == {}
    assert found["positions"].found.startswith("7 events, without a gap, of gradespine/")
    assert found["sequences"].found == "2 streams, each without a gap"
    assert found["revision"].found == revisions.HEAD


def test_an_empty_log_has_nothing_wrong(database_url: str) -> None:
    open_log(database_url).close()

    assert wrong(database_url, full=True) == {}


def test_a_server_that_keeps_what_it_acknowledges_passes_whole(durable_server: str) -> None:
    with fresh_database(durable_server) as url:
        database = open_database(url)
        revisions.upgrade(database)

        findings = list(check_up(database, full=True))

        database.close()
    assert worst(findings) is State.WARNING  # no checksums, no amcheck


def test_a_server_that_does_not_sync_fails(migrated_postgres_url: str, durable_server: str) -> None:
    found = verdicts(migrated_postgres_url)["durability"]

    assert found.state is State.FAILED
    assert "fsync is off" in found.found


class Damage(NamedTuple):
    check: str
    said: str
    sqlite: tuple[str, ...]
    postgres: tuple[str, ...]


NO_DELETE = {"sqlite": "DROP TRIGGER events_no_delete", "postgres": "DROP TRIGGER events_no_delete ON events"}
HARMLESS = "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$"
STRAYED = "INSERT INTO followers (name, version, position, leaf) VALUES ('grades', 1, 3, {})"
PARKED = "INSERT INTO parked (follower, stream, seq, position, type, error, parked_at) VALUES {}"

DAMAGES = [
    Damage("guards", "events_no_delete: not there", (NO_DELETE["sqlite"],), (NO_DELETE["postgres"],)),
    Damage(
        "guards",
        "not as it was made",
        (
            NO_DELETE["sqlite"],
            "CREATE TRIGGER events_no_delete BEFORE DELETE ON events WHEN false BEGIN SELECT 1; END",
        ),
        (f"CREATE OR REPLACE FUNCTION gradespine_refuse() {HARMLESS}",),
    ),
    Damage(
        "positions",
        "6 events stand at positions 1 to 7",
        (NO_DELETE["sqlite"], "DELETE FROM events WHERE position = 3"),
        (NO_DELETE["postgres"], "DELETE FROM events WHERE position = 3"),
    ),
    Damage(
        "positions",
        "6 events stand at positions 2 to 7",
        (NO_DELETE["sqlite"], "DELETE FROM events WHERE position = 1"),
        (NO_DELETE["postgres"], "DELETE FROM events WHERE position = 1"),
    ),
    Damage(
        "positions",
        "0 names of the log",
        ("DROP TRIGGER log_no_delete", "DELETE FROM log"),
        ("DROP TRIGGER log_no_change ON log", "DELETE FROM log"),
    ),
    Damage(
        "sequences",
        "run/b: 2 events stand at seq 1 to 9",
        ("DROP TRIGGER events_only_erasure", "UPDATE events SET seq = 9 WHERE position = 7"),
        ("DROP TRIGGER events_only_erasure ON events", "UPDATE events SET seq = 9 WHERE position = 7"),
    ),
    Damage("followers", "grades: has seen", (STRAYED.format("x'00'"),), (STRAYED.format("'x'"),)),
    Damage(
        "followers",
        "grades: has seen",
        (STRAYED.replace(" 3,", " 99,").format("x'00'"),),
        (STRAYED.replace(" 3,", " 99,").format("'x'"),),
    ),
    Damage("parked", "grades: 1, first run/a", *[(PARKED.format("('grades', 'run/a', 1, 1, 't', 'x', 1)"),)] * 2),
    Damage("revision", "0001; this program needs", *[("UPDATE alembic_version SET version_num = '0001'",)] * 2),
    Damage("revision", "9999; this program needs", *[("UPDATE alembic_version SET version_num = '9999'",)] * 2),
    Damage("revision", "none; this program needs", *[("DROP TABLE alembic_version",)] * 2),
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: f"{damage.check}: {damage.said}")
def test_what_is_wrong_is_found(url: str, damage: Damage) -> None:
    change(url, *(damage.sqlite if url.startswith("sqlite") else damage.postgres))

    found = wrong(url, full=True)[damage.check]

    assert found.state is State.FAILED
    assert damage.said in found.found
    assert found.advice


def test_a_follower_that_is_behind_is_told(url: str) -> None:
    with open_log(url) as log:
        third = list(log.read_all())[2]
    leaf = f"x'{third.digest}'" if url.startswith("sqlite") else f"'\\x{third.digest}'"
    change(url, STRAYED.format(leaf))

    assert verdicts(url)["followers"].found == "grades 4 behind"


def test_a_trigger_of_somebody_else_is_told(url: str) -> None:
    if url.startswith("sqlite"):
        change(url, "CREATE TRIGGER theirs BEFORE INSERT ON events BEGIN SELECT 1; END")
    else:
        change(
            url,
            f"CREATE FUNCTION theirs() {HARMLESS}",
            "CREATE TRIGGER theirs BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION theirs()",
        )

    found = verdicts(url)["guards"]

    assert (found.state, found.found) == (State.WARNING, "theirs: not a guard of ours")


def test_a_database_that_is_no_log_is_not_looked_into(postgres_url: str) -> None:
    found = wrong(postgres_url)

    assert list(found) == ["revision"]
    assert found["revision"].advice == "`gradespine db upgrade` brings it there"


@pytest.mark.parametrize(
    ("damage", "check", "said"),
    [
        ("ALTER TABLE events ENABLE TRIGGER events_no_delete", "guards", "events_no_delete: not ENABLE ALWAYS"),
        ("ALTER TABLE events DISABLE TRIGGER events_no_delete", "guards", "events_no_delete: not ENABLE ALWAYS"),
        (
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'pk_events'::regclass",
            "indexes",
            "pk_events: not valid",
        ),
    ],
)
def test_what_only_a_server_can_have_is_found(migrated_postgres_url: str, damage: str, check: str, said: str) -> None:
    change(migrated_postgres_url, damage)

    assert said in wrong(migrated_postgres_url)[check].found


def test_a_server_that_takes_no_writes_is_told(migrated_postgres_url: str) -> None:
    url = f"{migrated_postgres_url}?options=-cdefault_transaction_read_only%3Don"

    assert wrong(url)["writable"].found == "default_transaction_read_only is on"


def test_a_server_that_is_not_there_was_not_checked() -> None:
    findings = list(check_up(open_database("postgresql://ada:s3cret@127.0.0.1:1/runs")))

    assert [finding.check for finding in findings] == ["reached"]
    assert worst(findings) is State.UNCHECKED
    assert "s3cret" not in findings[0].verdict.found


def test_with_amcheck_the_pages_are_looked_into(migrated_postgres_url: str) -> None:
    try:
        change(migrated_postgres_url, "CREATE EXTENSION amcheck")
    except psycopg.errors.FeatureNotSupported as missing:
        pytest.skip(str(missing))

    assert verdicts(migrated_postgres_url, full=True)["pages"].found == "7 indexes agree with their tables"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a log of some pages, closed."""
    path = tmp_path / "log.db"
    with open_log(f"sqlite:///{path}") as log:
        for number in range(20):
            fill(log, f"run/{number}", 20)
    return path


def test_looking_neither_makes_nor_migrates_a_file(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE places (name)")
    connection.close()
    content = path.read_bytes()

    found = verdicts(f"sqlite:///{path}")
    missing = verdicts(f"sqlite:///{tmp_path / 'none.db'}")

    assert found["revision"].state is State.FAILED
    assert found["durability"].found == "journal_mode is delete"
    assert path.read_bytes() == content
    assert missing["reached"].state is State.UNCHECKED
    assert [entry.name for entry in tmp_path.iterdir()] == ["log.db"]


def stamp(file: Path | str) -> tuple[int, int]:
    status = os.stat(file)
    return status.st_size, status.st_mtime_ns


def test_looking_goes_on_beside_a_writer_and_changes_nothing(path: Path) -> None:
    with open_log(f"sqlite:///{path}") as log:
        fill(log, "run/a", 3)
        with log.database.write():
            # Told by their status: to open and close them here would drop the writer's locks.
            before = [stamp(path), stamp(f"{path}-wal")]

            assert wrong(f"sqlite:///{path}", full=True) == {}

            after = [stamp(path), stamp(f"{path}-wal")]
    assert after == before


def test_garbled_pages_are_found(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for page in range(8, len(content) // 4096, 3):
        content[page * 4096 : page * 4096 + 200] = os.urandom(200)
    path.write_bytes(content)

    found = wrong(f"sqlite:///{path}")

    assert found["integrity"].state is State.FAILED
    assert "backup" in found["integrity"].advice


def test_what_is_no_database_is_found(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to look like one" * 100)

    found = verdicts(f"sqlite:///{path}")

    assert "revision" not in found
    assert found["reached"].state is State.FAILED
    assert "file is not a database" in found["reached"].found


def test_a_large_write_ahead_log_is_told(path: Path) -> None:
    Path(f"{path}-wal").touch()
    os.truncate(f"{path}-wal", 65 * 1024**2)

    assert file.wal_size(path).state is State.WARNING


@pytest.mark.parametrize(
    ("free", "state"), [(63 * 1024**2, State.FAILED), (1000 * 1024**2, State.WARNING), (2 * 1024**3, State.OK)]
)
def test_little_free_space_is_told(path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: State) -> None:
    whole = os.statvfs(path)
    told = os.statvfs_result((4096, 4096, whole.f_blocks, free // 4096, free // 4096, *whole[5:]))
    monkeypatch.setattr(os, "statvfs", lambda _: told)

    assert file.free_space(path).state is state


MOUNTS = r"""/dev/vda / ext4 rw 0 0
server:/a /srv nfs4 rw 0 0
/dev/vdb /srv/disk xfs rw 0 0
none /srv/disk/gone tmpfs rw 0 0
me@there: /srv/over\040there fuse.sshfs rw 0 0
/dev/vdc /twice ext4 rw 0 0
server:/b /twice nfs rw 0 0
"""


@pytest.mark.parametrize(
    ("place", "state"),
    [
        ("/runs/log.db", State.OK),
        ("/srv/log.db", State.FAILED),
        ("/srvlog.db", State.OK),
        ("/srv/disk/log.db", State.OK),
        ("/srv/disk/gone/log.db", State.WARNING),
        ("/srv/over there/log.db", State.FAILED),
        ("/twice/log.db", State.FAILED),
    ],
)
def test_a_file_system_without_reliable_locks_is_told(tmp_path: Path, place: str, state: State) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)

    assert file.file_system(Path(place), tmp_path / "mounts").state is state


@pytest.mark.parametrize(
    ("version", "has_it"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 3), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 0), False),
    ],
)
def test_the_libraries_with_the_wal_reset_bug_are_known(version: tuple[int, ...], has_it: bool) -> None:
    assert library.has_wal_reset_bug(version) is has_it


def test_a_second_library_in_the_process_is_found(tmp_path: Path) -> None:
    [ours] = library.libraries()
    theirs = tmp_path / "other library.so"
    theirs.write_bytes(Path(ours).read_bytes())
    (tmp_path / "maps").write_text(
        f"7f0000000000-7f0000001000 r-xp 00000000 fe:00 1    {ours}\n"
        f"7f0000002000-7f0000003000 r-xp 00000000 fe:00 2    {theirs}\n"
        "7f0000004000-7f0000005000 r-xp 00000000 fe:00 3    /no/such/file\n"
        "7f0000006000-7f0000007000 rw-p 00000000 00:00 0 \n"
    )

    assert library.libraries(tmp_path / "maps") == sorted([ours, str(theirs)])


def test_what_was_not_checked_weighs_more_than_what_failed() -> None:
    def finding(state: State) -> Finding:
        return Finding("x", Verdict(state, ""))

    assert worst([]) is State.OK
    assert worst([finding(State.FAILED), finding(State.WARNING)]) is State.FAILED
    assert worst([finding(State.UNCHECKED), finding(State.FAILED)]) is State.UNCHECKED


def test_settings_that_do_not_take_are_found(path: Path) -> None:
    database = SqliteDatabase(open_database(f"sqlite:///{path}").engine.url, 1.0)
    with database.look() as cursor:
        cursor.execute("PRAGMA synchronous = NORMAL")

        assert file.durability(cursor).found == "synchronous is 1, not 2"
