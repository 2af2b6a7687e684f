"""`gradespine db check` and `db backup`: what they say, and their exit codes."""

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from grading.cli import database
from grading.cli.failures import Commands
from grading.cli.main import start
from spine import open_log
from tests.spine.builders import fill

if TYPE_CHECKING:
    from typer.testing import Result

ORDER = [
    "reached", "library", "file system", "writable", "write-ahead log", "free space", "revision", "integrity",
    "durability", "guards", "positions", "followers", "parked",
]  # fmt: skip


def run(url: str, *arguments: str) -> "Result":
    app = typer.Typer(cls=Commands)
    app.callback()(start)
    app.command("check")(database.check)
    app.command("backup")(database.backup)
    return CliRunner().invoke(app, ["--database", url, *arguments])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a log of three events, closed."""
    path = tmp_path / "log.db"
    with open_log(f"sqlite:///{path}") as log:
        fill(log, "run/a", 3)
    return path


def test_a_sound_log_is_told_check_by_check(path: Path) -> None:
    result = run(f"sqlite:///{path}", "check")

    assert result.exit_code == 0, result.output
    header, *rows = result.stdout.partition("\n\n")[0].splitlines()
    assert header.split() == ["check", "state", "found"]
    assert [row.split("  ")[0] for row in rows] == ORDER
    assert "failed" not in result.stdout


def test_a_program_reads_a_list(path: Path) -> None:
    found = json.loads(run(f"sqlite:///{path}", "check", "--json", "--full").stdout)

    assert [finding["check"] for finding in found] == [*ORDER[:11], "sequences", *ORDER[11:]]
    assert all(set(finding) == {"check", "state", "found", "advice"} for finding in found)
    assert {finding["state"] for finding in found} <= {"ok", "warning"}


def test_a_finding_ends_in_1_and_says_what_to_do(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER events_no_delete")
    connection.close()

    result = run(f"sqlite:///{path}", "check")

    assert result.exit_code == 1
    assert "events_no_delete: not there" in result.stdout
    assert "\nguards: what is recorded could be changed unnoticed" in result.stdout
    assert result.stdout.splitlines()[-1].endswith("1 failed")


def test_what_cannot_be_reached_ends_in_3() -> None:
    result = run("postgresql://ada:s3cret@127.0.0.1:1/runs", "check")

    assert result.exit_code == 3
    assert "reached  not checked" in result.stdout
    assert "s3cret" not in result.output


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = run(f"sqlite:///{tmp_path / 'log.db'}", "check")

    assert result.exit_code == 3
    assert result.stderr.startswith("gradespine: there is no log at ")
    assert list(tmp_path.iterdir()) == []


def test_a_server_is_checked_too(migrated_postgres_url: str) -> None:
    result = run(migrated_postgres_url, "check", "--json")

    states = {finding["check"]: finding["state"] for finding in json.loads(result.stdout)}
    assert states.pop("durability") == "failed"  # the server of the tests does not sync
    assert result.exit_code == 1
    assert set(states.values()) <= {"ok", "warning"}


def test_a_backup_says_where_the_log_in_it_ends(path: Path, tmp_path: Path) -> None:
    with open_log(f"sqlite:///{path}") as log:
        leaf = list(log.read_all())[-1].digest

    result = run(f"sqlite:///{path}", "backup", str(tmp_path / "copy.db"))

    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{tmp_path / 'copy.db'}: ")
    assert result.stdout.endswith(f" bytes, up to position 3, leaf {leaf}\n")


def test_a_backup_replaces_only_where_it_is_told_to(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.write_text("precious")

    refused = run(f"sqlite:///{path}", "backup", str(target))
    assert refused.exit_code == 2
    assert "--force replaces it" in refused.stderr
    assert target.read_text() == "precious"

    assert run(f"sqlite:///{path}", "backup", "--force", str(target)).exit_code == 0
    assert target.read_bytes().startswith(b"SQLite format 3")


def test_a_server_is_copied_by_its_own_programs(tmp_path: Path) -> None:
    result = run("postgresql+psycopg://ada:s3cret@host/runs", "backup", str(tmp_path / "my dump"))

    assert result.exit_code == 2
    assert f"pg_dump --format=custom --file='{tmp_path}/my dump' postgresql://ada@host/runs" in result.stderr
    assert "pg_restore" in result.stderr
    assert "pg_basebackup" in result.stderr
