"""The demo: the same runs and the same outcomes everywhere, and a newer version that is worth a look."""

import re
from collections import Counter
from pathlib import Path

import pytest

from grading.demo import ladders
from grading.demo.recordings import CODING, SHOP, record, recordings
from grading.gradebook import Gradebook
from grading.graders import Grader, GraderRef
from grading.spec import read_ladder
from spine import SqlLog, open_log
from tests.grading.cli.command import done


def quiet(done: int, total: int) -> None:
    """Progress that nobody looks at."""


def grader(name: str) -> Grader:
    return Grader.from_document(read_ladder(ladders.text(name), name).document)


def graded(log: SqlLog) -> Gradebook:
    record(log, quiet)
    gradebook = Gradebook(log)
    for name, prefix in (("safe-change-1", CODING), ("shop-desk-1", SHOP)):
        gradebook.add_grader(grader(name))
        gradebook.grade(grader(name).ref, prefix=prefix)
    return gradebook


def outcomes(gradebook: Gradebook) -> dict[str, str | None]:
    return {row.stream: row.outcome_digest or row.code for row in gradebook.grades()}


def test_the_runs_are_the_same_every_time() -> None:
    first, second = recordings(), recordings()

    assert [run.stream for run in first] == [run.stream for run in second]
    assert [run.events for run in first] == [run.events for run in second]
    assert len({run.stream for run in first}) == 50
    assert 1000 <= sum(len(run.events) for run in first) <= 1200


def test_recording_them_twice_adds_nothing(tmp_path: Path) -> None:
    with open_log(f"sqlite:///{tmp_path / 'a.db'}") as log:
        record(log, quiet)
        before = log.position()

        record(log, quiet)

        assert log.position() == before


def test_both_databases_give_the_same_outcomes(tmp_path: Path, migrated_postgres_url: str) -> None:
    with open_log(f"sqlite:///{tmp_path / 'a.db'}") as here, open_log(migrated_postgres_url) as there:
        assert outcomes(graded(here)) == outcomes(graded(there))


def test_there_is_every_outcome_and_partial_credit(tmp_path: Path) -> None:
    with open_log(f"sqlite:///{tmp_path / 'a.db'}") as log:
        rows = list(graded(log).grades())

    assert Counter((row.grader, row.passed) for row in rows) == {
        ("safe-change", True): 12,
        ("safe-change", False): 13,
        ("safe-change", None): 1,
        ("shop-desk", True): 14,
        ("shop-desk", False): 9,
        ("shop-desk", None): 1,
    }
    assert any(row.score is not None and 0 < row.score < 1 for row in rows)


@pytest.mark.parametrize(
    ("newer", "prefix", "better", "worse"), [("safe-change-2", CODING, 3, 2), ("shop-desk-2", SHOP, 3, 3)]
)
def test_a_better_version_moves_runs_both_ways(
    tmp_path: Path, newer: str, prefix: str, better: int, worse: int
) -> None:
    with open_log(f"sqlite:///{tmp_path / 'a.db'}") as log:
        gradebook = graded(log)
        gradebook.add_grader(grader(newer))

        report = gradebook.regrade(grader(newer).ref, prefix=prefix)

        assert report.activated
        assert Counter(move.after.passed for move in report.moved) == {True: better, False: worse}
        assert all(move.flips for move in report.moved)
        assert gradebook.active_version(grader(newer).name) == "2"


def test_a_claim_is_no_evidence(tmp_path: Path) -> None:
    with open_log(f"sqlite:///{tmp_path / 'a.db'}") as log:
        (why,) = graded(log).explain("run/demo/code-dates/2", grader=GraderRef("safe-change"))

    assert {rung.rung.name for rung in why.rungs if not rung.rung.passed} == {
        "ran_the_tests_after_the_last_change",
        "tests_pass",
    }


def test_the_command_tells_the_story_and_keeps_the_log(tmp_path: Path) -> None:
    folder = tmp_path / "demo"

    told = done("sqlite:///unused.db", "demo", "--keep", str(folder))

    assert "safe-change@1: 26 runs: 12 passed, 13 failed, 1 broken" in told
    assert "5 runs moved: 3 failed → passed, 2 passed → failed" in told
    assert max(len(line) for line in told.splitlines() if str(tmp_path) not in line) <= 140
    url = re.findall(r"GRADESPINE_DATABASE_URL=(\S+)", told)[0]
    typed = re.findall(r"^  gradespine (.+)$", told, re.MULTILINE)
    assert len(typed) >= 6
    for command in typed:
        assert done(url, *command.split(), code=3 if command.startswith("regrade") else 0)


def test_the_command_tells_the_same_story_twice(tmp_path: Path) -> None:
    first, second = (done("sqlite:///unused.db", "demo", "--keep", str(tmp_path / name)) for name in ("a", "b"))

    assert first.replace(str(tmp_path / "a"), "") == second.replace(str(tmp_path / "b"), "")


def test_it_does_not_tell_its_story_into_a_log_that_is_there(tmp_path: Path) -> None:
    done("sqlite:///unused.db", "demo", "--keep", str(tmp_path))

    done("sqlite:///unused.db", "demo", "--keep", str(tmp_path), code=2)
