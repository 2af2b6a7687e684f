"""Hidden runs: how they go, how each command speaks of them, and how they come back."""

from pathlib import Path

import pytest

from grading.cli.failures import NOT_CHECKED, USAGE
from tests.grading.cli.command import done, record_demo, run

CSV = "run/demo/code-csv/"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A log with the demo's runs, of which one is hidden."""
    url = f"sqlite:///{tmp_path / 'log.db'}"
    record_demo(url)
    done(url, "grader", "add", "example:safe-change")
    done(url, "grade", "safe-change", "--prefix", "run/demo/code-", code=NOT_CHECKED)
    done(url, "hide", f"{CSV}1", "--reason", "twice")
    return url


def test_several_runs_are_hidden_in_one_call(url: str) -> None:
    assert done(url, "hide", f"{CSV}2", "--reason", "x") == f"{CSV}2 is hidden now\n"
    assert done(url, "hide", f"{CSV}2", "--reason", "x") == f"{CSV}2 is hidden already\n"
    assert done(url, "hide", "--prefix", CSV, "--reason", "x") == "2 runs are hidden now, 2 are hidden already\n"
    assert done(url, "unhide", f"{CSV}1", f"{CSV}2") == "2 runs are shown again\n"
    assert done(url, "unhide", f"{CSV}1", "--prefix", CSV) == "2 runs are shown again, 1 is not hidden\n"


@pytest.mark.parametrize("command", [["explain", f"{CSV}1"], ["grade", "safe-change", f"{CSV}1"]])
def test_a_hidden_run_that_is_named_is_refused_with_the_reason_and_the_way_back(url: str, command: list[str]) -> None:
    result = run(url, *command)

    assert result.exit_code == USAGE
    assert result.stderr.splitlines() == [
        f"gradespine: {CSV}1 is hidden (twice)",
        f"  `gradespine unhide {CSV}1` lets it appear again",
    ]


@pytest.mark.parametrize("more", [[], ["--json"], ["--history"]])
def test_a_board_of_a_prefix_says_what_is_hidden_there(url: str, more: list[str]) -> None:
    result = run(url, "grades", "--prefix", CSV, *more)

    assert f"{CSV}1 is hidden (twice): `gradespine unhide {CSV}1` lets it appear again" in result.stderr
    assert f"{CSV}1" not in result.stdout


def test_grading_a_prefix_says_what_is_hidden_there(url: str) -> None:
    some = run(url, "grade", "safe-change", "--prefix", CSV)
    none = run(url, "grade", "safe-change", "--prefix", f"{CSV}1")

    assert f"{CSV}1 is hidden (twice)" in some.stderr
    assert none.exit_code == USAGE
    assert f"gradespine: {CSV}1 is hidden (twice)" in none.stderr
    assert f"`gradespine unhide {CSV}1`" in none.stderr


def test_where_all_is_hidden_nothing_else_is_suggested(url: str) -> None:
    done(url, "hide", "--prefix", CSV, "--reason", "half a run")

    board = run(url, "grades", "--prefix", CSV)
    graded = run(url, "grade", "safe-change", "--prefix", CSV)

    assert board.stdout == ""
    (said,) = board.stderr.splitlines()
    assert f"4 runs under {CSV} are hidden, {CSV}1 (twice) first" in said
    assert f"`gradespine unhide --prefix {CSV}`" in said
    assert graded.exit_code == USAGE
    assert f"all 4 runs under {CSV} are hidden, {CSV}1 (twice) first" in graded.stderr
