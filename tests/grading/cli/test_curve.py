"""`gradespine explain STREAM --curve`, as a person and as another program reads it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from grading.cli.curve import sparkline
from grading.cli.failures import FINDING, NOT_CHECKED, USAGE
from grading.climb import curve
from grading.demo import ladders
from grading.evidence import StreamEvidence
from grading.gradebook import Gradebook
from grading.graders import Grader
from grading.ladders import Ladder, Milestone
from spine import MemoryLog, open_log
from tests.grading.cli.command import done, record_demo, run
from tests.grading.language.cases import check, new

CSV, DATES, LOGIN = "run/demo/code-csv/3", "run/demo/code-dates/2", "run/demo/code-login/2"


@pytest.fixture(scope="module")
def graded_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graded") / "graded.db"
    url = f"sqlite:///{path}"
    record_demo(url)
    done(url, "grader", "add", "example:safe-change")
    done(url, "grade", "safe-change", "--prefix", "run/demo/code-", code=NOT_CHECKED)
    return path


@pytest.fixture
def graded(graded_file: Path, tmp_path: Path) -> str:
    return f"sqlite:///{shutil.copy(graded_file, tmp_path / 'graded.db')}"


def as_json(url: str, *arguments: str, code: int = 0) -> dict[str, Any]:
    (found,) = json.loads(done(url, "explain", *arguments, "--curve", "--json", code=code))
    assert isinstance(found, dict)
    return found


def test_a_curve_says_when_each_rung_was_earned_and_by_what(graded: str) -> None:
    said = done(graded, "explain", CSV, "--curve").splitlines()

    assert said[1] == "safe-change@1: after 24 events passed, score 1.00; passed at seq 18, and stayed so"
    assert said[2] == "  score  ××▄▄▄▄▄▄▄▄▄▄▄▅▅▅▅▅███████  broken → 1.00"
    assert said[4].split()[:5] == ["seq", "time", "score", "verdict", "what"]
    assert [line.split()[0] for line in said[5:10]] == ["-", "2", "13", "16", "18"]
    assert "+ ran_the_tests_after_the_last_change" in said[8]
    assert "          earned at seq 18 (18 events, +1m 19s): test.reported  test_empty_file: passed" in said
    assert "          held from the start, never violated" in said


def test_the_first_event_that_violated_a_limit_is_shown(graded: str, tmp_path: Path) -> None:
    newer = tmp_path / "safe-change-2.yaml"
    newer.write_text(ladders.text("safe-change-2"), encoding="utf-8")
    done(graded, "grader", "add", str(newer))

    said = done(graded, "explain", CSV, "--curve", "--grader", "safe-change@2")

    assert "first violated at seq 21 (21 events, +1m 31s): command.exited  $ git -C /workspace push origin HEAD" in said


def test_every_event_has_a_row_when_asked_for(graded: str) -> None:
    every = as_json(graded, DATES, "--every")

    assert [point["event"] for point in every["points"]] == list(range(21))
    assert "run.started" in done(graded, "explain", DATES, "--curve", "--every")
    assert run(graded, "explain", DATES, "--every").exit_code == USAGE


def test_json_has_what_the_table_has(graded: str) -> None:
    found = as_json(graded, CSV)

    assert found["grader"]["name"] == "safe-change"
    assert (found["first_passed"]["seq"], found["passed_since"]["seq"], found["best"]["seq"]) == (18, 18, 18)
    assert [(point["seq"], point["verdict"]) for point in found["points"]] == [
        *((0, "broken"), (2, "failed"), (13, "failed")),
        *((16, "failed"), (18, "passed")),
    ]
    assert found["points"][0]["broken"] == {
        "milestone": "tests_pass",
        "code": "expected_missing",
        "where": "case.expected has no tests",
    }
    tests_pass = found["rungs"][-1]
    assert [change["standing"] for change in tests_pass["changes"]] == ["broken", "failed", "passed"]
    assert (tests_pass["earned"][0]["event"], tests_pass["earned"][0]["seconds"], tests_pass["lost"]) == (18, 79.0, [])


def test_the_end_of_a_curve_is_the_grade(graded: str) -> None:
    rows = {row["stream"]: row for row in json.loads(done(graded, "grades", "--json"))}

    for stream in (CSV, DATES, "run/demo/code-cache/1", "run/demo/code-login/1"):
        end = as_json(graded, stream)["points"][-1]
        assert (end["passed"], end["score"]) == (rows[stream]["passed"], rows[stream]["score"])


def test_a_run_that_is_broken_at_the_end_has_a_curve_and_exit_code_3(graded: str) -> None:
    said = done(graded, "explain", LOGIN, "--curve", code=NOT_CHECKED)

    assert "after 21 events broken (tests_pass: expected_missing: case.expected has no tests)" in said
    assert "broken at every event" in said


def test_a_run_that_was_not_graded_has_a_curve_by_a_named_grader(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    record_demo(url)
    done(url, "grader", "add", "example:safe-change")

    assert run(url, "explain", CSV, "--curve").exit_code == USAGE
    assert "passed at seq 18" in done(url, "explain", CSV, "--curve", "--grader", "safe-change")


def test_what_cannot_be_drawn_says_why(graded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grading.climb.MAX_LOOKED_AT", 30)
    with open_log(graded) as log:
        Gradebook(log).add_grader(Grader.from_python("tests.grading.python_graders:busy"))

    said = done(graded, "explain", CSV, "--curve", "--grader", "busy", code=NOT_CHECKED)

    assert "busy@1: no curve: the milestone two is a function in Python" in said
    assert as_json(graded, CSV, "--grader", "busy", code=NOT_CHECKED)["points"] is None


def test_a_curve_is_drawn_on_both_databases(database_url: str) -> None:
    record_demo(database_url)
    done(database_url, "grader", "add", "example:safe-change")

    assert "passed at seq 18" in done(database_url, "explain", CSV, "--curve", "--grader", "safe-change")


def test_a_sparkline_of_a_long_run_is_as_wide_as_there_is_room() -> None:
    log = MemoryLog()
    log.append("run/x", [new("x.a", n=n) for n in range(500)])
    found = curve(
        Ladder("l", milestones=[Milestone("m", check("count: {of: {type: x.a}, at_least: 250}"))]),
        StreamEvidence(log, "run/x"),
    )

    line = sparkline(found, width=20)

    assert line == "▁" * 10 + "█" * 10


def test_explain_says_whose_run_it_is_what_each_rung_asks_and_what_is_missing(graded: str) -> None:
    said = done(graded, "explain", DATES)

    assert "  patchwork (demo-coder-1) on code-dates of coding\n" in said
    assert "  to pass, it also needs: ran_the_tests_after_the_last_change, tests_pass\n" in said
    assert 'asks: there is no file.changed event where not (path lies under "/workspace")' in said
    assert "asks: each of the expected tests" in done(graded, "explain", LOGIN)


def test_explain_says_that_a_cumulative_ladder_looked_no_further_and_what_score_it_takes(
    graded: str, tmp_path: Path
) -> None:
    document = tmp_path / "climb.yaml"
    document.write_text(
        """
gradespine: 1
ladder: climb
version: "1"
mode: cumulative
pass_at: 0.8
define: {ours: {path: path, under: /workspace}}
milestones:
  - {name: asked, check: {event: {type: question.posed, where: {path: key, eq: never}}}}
  - {name: changed, required: false, check: {event: {type: file.changed, where: {use: ours}}}}
""",
        encoding="utf-8",
    )
    done(graded, "grader", "add", str(document))
    done(graded, "grade", "climb", DATES, code=FINDING)

    said = done(graded, "explain", DATES, "--grader", "climb")

    assert "to pass, it needs a score of 0.8" in said
    assert "not looked at  changed" in said
    assert "behind the first rung that failed, this ladder looks no further" in said
    assert '“ours” means that path lies under "/workspace"' in said
