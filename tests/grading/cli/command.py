"""Calling the command in this process."""

from typing import TYPE_CHECKING

from typer.testing import CliRunner

from grading.cli.main import app
from grading.demo.recordings import record
from spine import open_log

if TYPE_CHECKING:
    from typer.testing import Result


def run(database_url: str, *arguments: str, stdin: str | None = None) -> "Result":
    """What `gradespine --database URL …` does, where nothing is a terminal."""
    return CliRunner().invoke(app, ["--database", database_url, *arguments], input=stdin)


def done(database_url: str, *arguments: str, code: int = 0) -> str:
    """What it prints on stdout, when it ends as it has to."""
    result = run(database_url, *arguments)
    assert result.exit_code == code, result.output
    return result.stdout


def record_demo(database_url: str) -> None:
    """Put the demo's runs onto a log."""
    with open_log(database_url) as log:
        record(log, lambda done, total: None)
