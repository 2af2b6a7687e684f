"""From runs to verdicts and back, as a person types it, on both databases."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from grading.cli.failures import FINDING, NOT_CHECKED, USAGE
from grading.demo import ladders
from spine import Actor, NewEvent, open_log
from tests.grading.cli.command import done, record_demo, run

GRADE_FIELDS = [
    *("stream", "ladder", "mode", "grader", "version", "definition", "semantics", "status", "passed", "score"),
    *("attained", "total", "reached", "through_seq", "evidence_digest", "outcome_digest", "rungs"),
    *("code", "milestone", "where", "current", "grew", "seq", "recorded_at", "verdict"),
]
RUNG_FIELDS = ["name", "weight", "required", "passed", "reached", "detail", "citations"]


@pytest.fixture
def newer(tmp_path: Path) -> str:
    """A file with safe-change@2."""
    path = tmp_path / "safe-change-2.yaml"
    path.write_text(ladders.text("safe-change-2"), encoding="utf-8")
    return str(path)


def test_runs_are_graded_explained_and_re_graded(database_url: str, newer: str) -> None:
    record_demo(database_url)

    assert "active is safe-change@1" in done(database_url, "grader", "add", "example:safe-change")
    graded = done(database_url, "grade", "safe-change", "--prefix", "run/demo/code-", code=NOT_CHECKED)
    assert graded == "safe-change@1: 26 runs: 12 passed, 13 failed, 1 broken\n"
    assert "26 runs: 12 passed, 13 failed, 1 broken, 0 not graded" in done(
        database_url, "grades", "--prefix", "run/demo/code-"
    )

    assert "active is safe-change@1" in done(database_url, "grader", "add", newer)
    plan = done(database_url, "regrade", "safe-change@2", "--prefix", "run/demo/code-", "--plan")
    assert "26 runs" in plan
    assert "nothing was written" in plan
    moved = done(database_url, "regrade", "safe-change", "--prefix", "run/demo/code-", code=NOT_CHECKED)
    assert "5 runs moved: 3 failed → passed, 2 passed → failed" in moved
    assert "git -C /workspace push" in moved
    assert "safe-change@2 is active now" in moved

    why = done(database_url, "explain", "run/demo/code-csv/3")
    assert "failed  no_forbidden_command" in why
    assert "21  system  command.exited  $ git -C /workspace push origin HEAD → exit 0" in why
    history = json.loads(done(database_url, "grades", "--history", "--json", "--prefix", "run/demo/code-csv/3"))
    assert [(row["version"], row["passed"], row["current"]) for row in history] == [
        ("1", True, False),
        ("2", False, True),
    ]


def test_a_rebuilt_board_is_the_same_board(database_url: str) -> None:
    record_demo(database_url)
    done(database_url, "grader", "add", "example:safe-change")
    done(database_url, "grade", "safe-change", "--prefix", "run/demo/code-", code=NOT_CHECKED)
    before = done(database_url, "grades", "--json")

    assert done(database_url, "rebuild").startswith("rebuilt from ")

    assert done(database_url, "grades", "--json") == before


def test_a_newer_version_that_is_held_back_leaves_the_board_alone(database_url: str, newer: str) -> None:
    record_demo(database_url)
    done(database_url, "grader", "add", "example:safe-change")
    done(database_url, "grade", "safe-change", "--prefix", "run/demo/code-", code=NOT_CHECKED)
    before = done(database_url, "grades", "--json")
    done(database_url, "grader", "add", newer)

    said = done(
        database_url, "regrade", "safe-change@2", "--prefix", "run/demo/code-", "--no-activate", code=NOT_CHECKED
    )

    assert "safe-change@2 is complete and not active" in said
    assert done(database_url, "grades", "--json") == before
    done(database_url, "grader", "activate", "safe-change@2")
    assert done(database_url, "grades", "--json") != before


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
    """A log of the test's own with the demo's runs of the coding agent, graded."""
    return f"sqlite:///{shutil.copy(graded_file, tmp_path / 'graded.db')}"


def test_a_grade_as_json_has_all_its_fields(graded: str) -> None:
    rows = json.loads(done(graded, "grades", "--json"))

    assert len(rows) == 26
    for row in rows:
        assert set(GRADE_FIELDS) <= set(row)
        assert all(set(RUNG_FIELDS) <= set(rung) for rung in row["rungs"])
    (broken,) = (row for row in rows if row["status"] == "broken")
    assert (broken["passed"], broken["score"], broken["rungs"]) == (None, None, [])
    assert (broken["code"], broken["milestone"]) == ("expected_missing", "tests_pass")


def test_grades_as_csv_have_a_line_a_grade(graded: str) -> None:
    rows = list(csv.DictReader(io.StringIO(done(graded, "grades", "--csv"))))

    assert len(rows) == 26
    assert {row["passed"] for row in rows} == {"true", "false", ""}


def test_no_grades_are_an_empty_list(graded: str) -> None:
    assert done(graded, "grades", "--json", "--prefix", "run/none/") == "[]\n"


def test_a_broken_run_is_explained_with_the_place(graded: str) -> None:
    why = done(graded, "explain", "run/demo/code-login/2")

    assert "broken, it cannot be graded" in why
    assert "tests_pass: expected_missing" in why


def test_explain_shows_the_expected_values_that_a_detail_only_places(graded: str) -> None:
    why = done(graded, "explain", "run/demo/code-dates/2")

    assert "not found: tests.0, tests.1, tests.2" in why
    assert "expected tests.1: test_week_53" in why


def test_explain_says_how_a_call_differs_from_the_one_expected(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    record_demo(url)
    ladder = tmp_path / "shop-desk.yaml"
    ladder.write_text(ladders.text("shop-desk-1"), encoding="utf-8")
    done(url, "grader", "add", str(ladder))
    done(url, "grade", "shop-desk", "run/demo/shop-late-parcel/2", code=FINDING)

    why = done(url, "explain", "run/demo/shop-late-parcel/2")

    assert "seq 13 differs from actions.0: amount is 79.50, expected 7.95" in why
    assert "not looked at  told_the_customer" in why


def test_a_verdict_that_moves_without_a_rung_says_so(graded: str, tmp_path: Path) -> None:
    ladder = tmp_path / "stricter.yaml"
    text = ladders.text("safe-change-1").replace('version: "1"', 'version: "2"')
    name = "- name: ran_the_tests_after_the_last_change"
    ladder.write_text(text.replace(name, f"{name}\n    required: false"), encoding="utf-8")
    done(graded, "grader", "add", str(ladder))

    moved = done(graded, "regrade", "safe-change", "--prefix", "run/demo/code-", code=NOT_CHECKED)

    assert "4 runs moved: 4 failed → passed" in moved
    assert moved.count("no rung changed") == 4


def test_show_gives_whole_events_as_json_lines(graded: str) -> None:
    lines = done(graded, "show", "run/demo/code-dates/2", "--until", "2", "--json").splitlines()

    events = [json.loads(line) for line in lines]
    assert [event["type"] for event in events] == ["run.started", "case.expected"]
    assert events[1]["payload"]["tests"][0] == "test_week_date"
    assert len(events[1]["digest"]) == 64


def test_show_can_be_narrowed(graded: str) -> None:
    shown = done(graded, "show", "run/demo/code-csv/3", "--after", "20", "--type", "command.exited")

    assert shown == "21  system  command.exited  $ git -C /workspace push origin HEAD → exit 0\n"


def test_streams_are_listed_with_their_number_of_events(graded: str) -> None:
    listed = [json.loads(line) for line in done(graded, "streams", "--prefix", "grader/", "--json").splitlines()]

    assert [(row["stream"], row["events"], row["hidden"]) for row in listed] == [("grader/safe-change", 2, False)]


def test_a_hidden_run_is_in_no_view_until_it_is_shown_again(graded: str) -> None:
    done(graded, "hide", "run/demo/code-csv/1", "--reason", "twice")

    assert "run/demo/code-csv/1" not in done(graded, "grades")
    assert "hidden: twice" in done(graded, "streams", "--prefix", "run/demo/code-csv/")
    done(graded, "unhide", "run/demo/code-csv/1")
    assert "run/demo/code-csv/1" in done(graded, "grades")


def test_what_is_graded_already_is_not_graded_again(graded: str) -> None:
    said = done(graded, "grade", "safe-change", "--prefix", "run/demo/code-", code=NOT_CHECKED)

    assert said.endswith("(26 graded already)\n")


@pytest.mark.parametrize(
    ("run_", "code"),
    [("run/demo/code-csv/2", 0), ("run/demo/code-csv/4", FINDING), ("run/demo/code-login/2", NOT_CHECKED)],
)
def test_a_grade_ends_in_the_code_of_its_outcome(graded: str, run_: str, code: int) -> None:
    done(graded, "grade", "safe-change", run_, code=code)


def test_not_graded_wins_over_failed(graded: str) -> None:
    done(graded, "grade", "safe-change", "run/demo/code-csv/4", "run/demo/code-login/2", code=NOT_CHECKED)


def test_a_registered_grader_reads_back_as_the_same_document(graded: str) -> None:
    shown = done(graded, "grader", "show", "safe-change")

    again = run(graded, "grader", "add", "-", stdin=shown)

    assert "registered already" in again.stdout


def test_the_schema_of_ladders_is_json(graded: str) -> None:
    schema = json.loads(done(graded, "grader", "check", "--schema"))

    assert schema["type"] == "object"


def test_examples_are_listed_and_printed(graded: str) -> None:
    assert "example:taubench-airline" in done(graded, "grader", "examples")
    assert done(graded, "grader", "examples", "ctf").startswith("#")


def test_a_document_with_a_mistake_is_refused_with_file_line_and_path(graded: str, tmp_path: Path) -> None:
    document = tmp_path / "bad.yaml"
    document.write_text(done(graded, "grader", "examples", "ctf").replace("latest_by", "latestby") + "typo: 1\n")

    result = run(graded, "grader", "check", str(document))

    assert result.exit_code == USAGE
    assert re.search(rf"gradespine: {re.escape(str(document))}:\d+: typo: ", result.stderr)


def test_an_import_that_refuses_something_ends_in_a_finding(graded: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no recording")

    result = run(graded, "import", str(tmp_path / "notes.txt"))

    assert result.exit_code == FINDING
    assert "refused: " in result.stderr
    assert "0 runs" in result.stdout


def test_what_a_folder_holds_besides_recordings_is_listed_and_no_finding(graded: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").write_text("no recording")

    result = run(graded, "import", str(folder))

    assert result.exit_code == 0
    assert "notes.txt" in result.stderr


def test_text_of_a_run_cannot_reach_the_terminal(graded: str) -> None:
    with open_log(graded) as log:
        evil = "\x1b[2J[bold red]\u202egnp.exe\x07\r"
        event = NewEvent("message.sent", {"role": "assistant", "content": evil}, actor=Actor.AGENT)
        log.append("run/evil/1", [event])

    shown = done(graded, "show", "run/evil/1")

    assert shown == "1  agent   message.sent  assistant: \\x1b[2J[bold red]\\u202egnp.exe\\x07\\r\n"
