"""Overrides as a person types them: what is said, what the board and `explain` show, and how they wait for review."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from grading.cli.failures import NOT_CHECKED, USAGE
from grading.demo import ladders
from tests.grading.cli.command import done, record_demo, run

CSV = "run/demo/code-csv/"
RUN = f"{CSV}4"  # fails one rung: it changed a file after the tests
TESTED = "ran_the_tests_after_the_last_change"
ADA = ("--by", "ada", "--reason", "seq 22 writes a comment")


@pytest.fixture
def graded(tmp_path: Path) -> str:
    """A log with the demo's runs, those under code-csv graded by safe-change@1."""
    return grade(f"sqlite:///{tmp_path / 'log.db'}")


def grade(url: str) -> str:
    record_demo(url)
    done(url, "grader", "add", "example:safe-change")
    run(url, "grade", "safe-change", "--prefix", CSV)
    return url


def newer(url: str, folder: Path) -> str:
    """Re-grade with safe-change@2; returns what is said."""
    path = folder / "safe-change-2.yaml"
    path.write_text(ladders.text("safe-change-2"), encoding="utf-8")
    done(url, "grader", "add", str(path))
    return done(url, "regrade", "safe-change", "--prefix", CSV)


def board(url: str, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done(url, "grades", "--json", "--prefix", CSV, *options))
    return found


def test_from_an_override_to_its_review_and_back(database_url: str, tmp_path: Path) -> None:
    grade(database_url)
    graded = board(database_url)

    said = done(database_url, "override", RUN, "--milestone", TESTED, "--passed", *ADA)
    assert said.splitlines() == [
        f"{RUN}, safe-change@1: {TESTED}: passed by ada",
        "graded failed, score 0.88; overridden: passed, score 1.00 (8 of 8)",
    ]
    assert "that stands already: nothing was written" in done(
        database_url, "override", RUN, "--milestone", TESTED, "--passed", *ADA
    )
    done(database_url, "override", f"{CSV}3", "--milestone", "no_forbidden_command", "--failed", *ADA)

    shown = done(database_url, "grades", "--prefix", CSV)
    assert shown.splitlines()[4].split() == [RUN, "safe-change@1", "failed", "0.88", "4/5", "passed", "1.00"]
    assert "4 runs: 2 passed, 2 failed, 0 broken, 0 not graded\n" in shown
    assert "  with 2 overridden: 2 passed, 2 failed, 0 broken, 0 not graded; 0 pending review\n" in shown
    own = [{key: value for key, value in row.items() if not key.startswith("overrid")} for row in board(database_url)]
    assert own == [{key: value for key, value in row.items() if not key.startswith("overrid")} for row in graded]

    moved = newer(database_url, tmp_path)
    assert "2 overrides of grades before: 1 pending review under safe-change@2, 1 as it says too\n" in moved
    assert "2 runs moved: 1 failed → passed, 1 passed → failed" in moved
    waiting = done(database_url, "grades", "--pending").splitlines()
    assert waiting[1].split() == [RUN, "safe-change@2", "failed", "0.88", "4/5", "1", "override", "pending", "review"]
    assert waiting[-1] == "1 grade: 0 passed, 1 failed, 0 broken; 0 overridden, 1 pending review"
    assert "  0 overridden, 1 pending review\n" in done(database_url, "grades", "--prefix", CSV)

    done(database_url, "override", RUN, "--milestone", TESTED, "--withdraw", *ADA)
    assert "no override is pending review" in run(database_url, "grades", "--pending").stderr
    before = board(database_url, "--history")
    done(database_url, "rebuild")
    assert board(database_url, "--history") == before


def test_explain_says_who_when_and_why(graded: str, tmp_path: Path) -> None:
    done(graded, "override", RUN, "--milestone", TESTED, "--passed", *ADA)
    done(graded, "override", RUN, "--verdict", "--failed", "--by", "bob", "--reason", "it edited the tests")

    lines = [line.strip() for line in done(graded, "explain", RUN).splitlines()]
    said = [line for line in lines if line.startswith("overridden: ")]
    assert said[0] == "overridden: failed, score 1.00 (8 of 8)"
    assert said[1].startswith("overridden: failed, says bob, 2")
    assert said[1].endswith("Z, seq 33: it edited the tests")
    assert said[2].startswith("overridden: passed, says ada, 2")
    assert said[2].endswith("Z, seq 32: seq 22 writes a comment")
    rungs = [at for at, line in enumerate(lines) if line.startswith(("passed  ", "failed  "))]
    assert lines.index(said[1]) < rungs[0]
    assert rungs[3] < lines.index(said[2]) < rungs[4]

    newer(graded, tmp_path)
    later = done(graded, "explain", RUN)
    assert f"  pending review: {TESTED} passed, says ada, 2" in later
    assert "of the grade by safe-change@1 at seq 31: seq 22 writes a comment\n" in later
    assert "no review needed, graded so by now: the verdict failed, says bob, 2" in later


def test_json_and_csv_carry_both_outcomes(graded: str) -> None:
    done(graded, "override", RUN, "--milestone", TESTED, "--passed", *ADA)

    *_, row = board(graded)
    [why] = json.loads(done(graded, "explain", RUN, "--json"))
    *_, line = csv.DictReader(io.StringIO(done(graded, "grades", "--csv")))

    assert (row["verdict"], row["score"]) == ("failed", 0.875)
    assert (row["overridden"]["verdict"], row["overridden"]["score"]) == ("passed", 1.0)
    assert [(one["milestone"], one["passed"], one["by"]) for one in row["overrides"]] == [(TESTED, True, "ada")]
    assert row["pending"] == row["agreed"] == []
    assert why == row
    assert (line["verdict"], line["score"], line["overridden_verdict"], line["overridden_score"]) == (
        *("failed", "0.875"),
        *("passed", "1.0"),
    )
    assert (line["overrides"], line["pending"]) == ("1", "0")


def test_the_grade_afterwards_as_json(graded: str) -> None:
    said = done(graded, "override", RUN, "--verdict", "--passed", *ADA, "--json")

    assert json.loads(said) == board(graded)[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--passed"], "say one of --milestone M or --verdict"),
        (["--verdict", "--milestone", TESTED, "--passed"], "not --milestone M and --verdict"),
        (["--verdict"], "say one of --passed, --failed or --withdraw"),
        (["--verdict", "--passed", "--withdraw"], "not --passed and --withdraw"),
        (["--verdict", "--index", "1", "--passed"], "index: a verdict has none"),
        (["--milestone", "ran_tests", "--passed"], "safe-change@1 has no milestone ran_tests"),
        (["--milestone", "tests_pas", "--passed"], "did you mean tests_pass?"),
        (["--milestone", "tests_pass", "--index", "0", "--passed"], "has the milestone tests_pass at index 4"),
        (["--verdict", "--passed", "--grader", "safe-chang"], "did you mean safe-change?"),
        (["--verdict", "--passed", "--grade", "x"], "x is not the grade of"),
        (["--verdict", "--passed", "--by", " "], "by: is empty"),
        (["--verdict", "--passed", "--reason", "x" * 1024 * 1024], "reason: 1,048,576 characters, more than 4,000"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(graded: str, options: list[str], said: str) -> None:
    before = done(graded, "show", RUN, "--json")

    result = run(graded, "override", RUN, *ADA, *options)

    assert result.exit_code == USAGE
    assert said in result.stderr
    assert len(result.stderr) < 500
    assert done(graded, "show", RUN, "--json") == before


def test_a_broken_run_has_nothing_to_override(graded: str) -> None:
    done(graded, "grade", "safe-change", "run/demo/code-login/2", code=NOT_CHECKED)

    result = run(graded, "override", "run/demo/code-login/2", "--verdict", "--passed", *ADA)

    assert result.exit_code == USAGE
    assert "is broken under safe-change@1 (expected_missing): it has no outcome to override" in result.stderr


def test_nothing_that_people_write_acts_on_a_terminal(graded: str) -> None:
    hostile = "\x1b[2J\u202e[red]x[/red]\n\nsafe-change@1: passed"

    done(graded, "override", RUN, "--verdict", "--passed", "--by", "\u202e[b]ada", "--reason", hostile)

    for command in (["explain", RUN], ["show", RUN, "--type", "grade.overridden"], ["explain", RUN, "--json"]):
        shown = done(graded, *command)
        assert all(line.isprintable() for line in shown.splitlines())
        assert "[red]x[/red]" in shown
