"""What a command says beside its answer: remarks for a person, on stderr, also where nothing is a terminal."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from grading.cli import render
from grading.cli.failures import FINDING, NOT_CHECKED
from grading.demo import ladders
from spine import Actor, NewEvent
from tests.grading.builders import recorded
from tests.grading.cli.command import done, record_demo, run
from tests.spine.importers.builders import tau_file, tau_run

CODE = "run/demo/code-"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'log.db'}"


@pytest.fixture
def mixed(url: str, tmp_path: Path) -> str:
    """Runs of two kinds, of which one kind is graded; and a newer version for it."""
    record_demo(url)
    done(url, "grader", "add", "example:safe-change")
    done(url, "grade", "safe-change", "--prefix", CODE, code=NOT_CHECKED)
    (tmp_path / "newer.yaml").write_text(ladders.text("safe-change-2"), encoding="utf-8")
    done(url, "grader", "add", str(tmp_path / "newer.yaml"))
    return url


def test_a_regrade_of_a_mixed_log_says_how_many_runs_were_never_graded(mixed: str) -> None:
    plan = run(mixed, "regrade", "safe-change", "--all", "--plan")
    regrade = run(mixed, "regrade", "safe-change", "--all")

    for result in (plan, regrade):
        assert "24 of the 50 runs had no grade by safe-change@1\n" in result.stdout
        assert "--prefix P" in result.stderr
    assert "5 runs moved" in regrade.stdout


def test_a_regrade_of_runs_that_were_graded_says_nothing_of_it(mixed: str) -> None:
    plan = run(mixed, "regrade", "safe-change", "--prefix", CODE, "--plan")

    assert "had no grade" not in plan.stdout
    assert plan.stderr.startswith("safe-change@2 is unqualified: ")
    assert plan.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["grade", "safe-change@1"], ["regrade", "safe-change@2"]])
def test_broken_runs_are_counted_by_code_with_a_next_step(mixed: str, command: list[str]) -> None:
    result = run(mixed, *command, "--prefix", CODE)

    assert result.exit_code == NOT_CHECKED
    said = "broken: 1 expected_missing; where: `gradespine explain run/demo/code-login/2`"
    assert said in result.stderr.splitlines()


def test_history_says_when_each_grade_was_recorded(mixed: str) -> None:
    done(mixed, "regrade", "safe-change", "--prefix", CODE, code=NOT_CHECKED)

    rows = json.loads(done(mixed, "grades", "--history", "--json", "--prefix", f"{CODE}csv/3"))
    head, first, *_ = done(mixed, "grades", "--history", "--prefix", f"{CODE}csv/3").splitlines()

    assert [row["verdict"] for row in rows] == ["passed", "failed"]
    assert rows[0]["seq"] < rows[1]["seq"]
    moment = datetime.fromisoformat(rows[0]["recorded_at"])
    assert moment.utcoffset() == timedelta(0)
    assert "recorded" in head
    assert f"{moment:%Y-%m-%d %H:%M:%SZ}" in first
    assert "recorded_at" in done(mixed, "grades", "--csv").splitlines()[0].split(",")


def test_a_tau_bench_file_that_grew_is_told_of_prefixes(url: str, tmp_path: Path) -> None:
    file = tau_file(tmp_path / "results.json", tau_run(0))
    assert run(url, "import", str(file)).stderr == ""
    (known,) = (json.loads(line)["stream"] for line in done(url, "streams", "--prefix", "run/", "--json").splitlines())

    said = run(url, "import", str(tau_file(file, tau_run(0), tau_run(1)))).stderr

    source = known.removesuffix("0/0")
    assert len(said.splitlines()) == 1
    assert f"though {known} is recorded too" in said
    assert "--prefix NAME" in said
    assert f"`gradespine hide --prefix {source} --reason" in said
    done(url, "hide", "--prefix", source, "--reason", "imported again")
    assert run(url, "import", str(file)).stderr == ""


def test_a_tau_bench_file_with_one_prefix_is_told_nothing(url: str, tmp_path: Path) -> None:
    for count in (1, 2):
        file = tau_file(tmp_path / "results.json", *map(tau_run, range(count)))
        assert run(url, "import", str(file), "--prefix", "mine").stderr == ""
    other = tau_file(tmp_path / "other.json", tau_run(7))
    assert run(url, "import", str(other)).stderr == ""


def test_import_help_says_when_a_prefix_is_needed(url: str) -> None:
    said = " ".join(done(url, "import", "--help").split())

    assert "A results file that still grows therefore needs --prefix NAME from its first import on" in said


def test_an_empty_folder_is_remarked(url: str, tmp_path: Path) -> None:
    (tmp_path / "empty" / "deeper").mkdir(parents=True)

    result = run(url, "import", str(tmp_path / "empty"))

    assert result.exit_code == 0
    assert "empty: a folder without any file" in result.stderr


def test_named_paths_that_are_no_files_are_refused_and_the_others_imported(url: str, tmp_path: Path) -> None:
    file = tau_file(tmp_path / "results.json", tau_run(0))

    result = run(url, "import", str(tmp_path / "missing"), "/dev/null", str(file))

    assert result.exit_code == FINDING
    assert "missing: cannot be read: No such file or directory" in result.stderr
    assert "/dev/null: not a regular file" in result.stderr
    assert "1 run, 1 of them new" in result.stdout


def test_showing_nothing_says_why(mixed: str) -> None:
    stream = f"{CODE}dates/2"
    typed = run(mixed, "show", stream, "--type", "tool.caled")
    bounded = run(mixed, "show", stream, "--after", "1000", "--json")

    assert (typed.stdout, bounded.stdout) == ("", "")
    assert f"{stream} has no event of type tool.caled" in typed.stderr
    assert "did you mean tool.called?" in typed.stderr
    assert f"nothing is selected: {stream} has" in bounded.stderr


def test_a_document_with_slips_is_right_and_they_are_noted(url: str, tmp_path: Path) -> None:
    document = tmp_path / "slips.yaml"
    text = ladders.text("safe-change-1").replace("type: file.changed, pick: last", "type: fil.changed, pick: last")
    document.write_text(text, encoding="utf-8")

    for command in ("check", "add"):
        result = run(url, "grader", command, str(document))
        assert result.exit_code == 0
        assert result.stderr.startswith(f"note: {document}:")
        assert "fil.changed is not a known type; did you mean file.changed?" in result.stderr


@pytest.mark.parametrize(
    ("agent", "model", "said"),
    [
        ("smith", "gpt-9", "smith (gpt-9) on 7 of airline"),
        ("smith", "", "smith on 7 of airline"),
        ("", "gpt-9", "gpt-9 on 7 of airline"),
        ("", "", "case 7 of airline"),
    ],
)
def test_the_start_of_a_run_reads_well_whoever_is_named(agent: str, model: str, said: str) -> None:
    payload = {"agent": agent, "model": model, "task": "airline", "case": "7"}
    (event,) = recorded(NewEvent("run.started", payload, actor=Actor.SYSTEM))

    assert render.telling(event) == said
