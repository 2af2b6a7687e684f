"""Graders in Python at the command line: tried before they are registered."""

from pathlib import Path

import pytest

from grading.cli.failures import NOT_CHECKED, USAGE
from grading.errors import UntriedGrader
from grading.purity import Finding, Proof, Sample, Subject
from tests.grading.cli.command import done, record_demo, run

FOUND = "tests.grading.python_graders:found"
GUILTY = "tests.grading.purity_graders.while_loaded:ladder"
DEMO = ["run/demo/code-cache/1", "run/demo/code-login/2"]
NOTE = Finding("uses hash()", "find", "m", 3, refused=False)
CLOCK = Finding("reads the clock (time.time)", "find", "m", 7)


def test_a_guilty_grader_is_refused_and_nothing_is_registered(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"

    refused = run(url, "grader", "add", GUILTY)

    assert refused.exit_code == USAGE
    # Where its file lies, it may find out.
    what = "reads the clock while it is loaded (time.time) at tests.grading.purity_graders.while_loaded:9"
    assert refused.stderr == f"gradespine: while_loaded@1 is not pure: {what}\n"
    assert done(url, "grader", "list") == ""


def test_a_pure_grader_is_said_to_be_pure_without_a_log(tmp_path: Path) -> None:
    said = done(f"sqlite:///{tmp_path / 'none.db'}", "grader", "check", FOUND)

    assert "tried on 4 samples: a run without events, a run of the grader" in said
    assert "pure, as far as these samples go" in said
    assert not (tmp_path / "none.db").exists()


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[Sample]:
    """The samples that a grader is tried on; it is found to be pure, with a note."""
    samples: list[Sample] = []

    def prove(subject: Subject, recorded: list[Sample]) -> Proof:
        samples.extend(recorded)
        return Proof(subject, (NOTE,), tuple(sample.name for sample in recorded), ("pkg.other",))

    monkeypatch.setattr("grading.gradebook.prove", prove)
    return samples


def test_a_grader_is_tried_on_runs_of_the_log_or_on_those_named(database_url: str, tried: list[Sample]) -> None:
    record_demo(database_url)

    done(database_url, "grader", "check", FOUND, "--sample", DEMO[0], "--sample", DEMO[1])
    assert [sample.name for sample in tried] == DEMO
    tried.clear()

    added = run(database_url, "grader", "add", FOUND)
    assert added.exit_code == 0
    assert added.stderr == "note: milestone find uses hash() at m:3\n"
    assert len(tried) == 3
    assert all(sample.name.startswith("run/demo/") for sample in tried)

    done(database_url, "grader", "add", FOUND)
    assert len(tried) == 3
    assert run(database_url, "grader", "check", FOUND, "--sample", "run/none").exit_code == USAGE


def test_what_its_definition_does_not_cover_is_told(tmp_path: Path, tried: list[Sample]) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    record_demo(url)

    assert "it also runs pkg.other, which its definition does not cover" in done(url, "grader", "check", FOUND)


def test_every_finding_is_listed_by_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = Proof(Subject("found@1"), (CLOCK, NOTE), ())
    monkeypatch.setattr("grading.purity.proof.prove", lambda subject: proof)
    monkeypatch.setattr("grading.purity.prove", lambda subject: proof)

    checked = run(f"sqlite:///{tmp_path / 'none.db'}", "grader", "check", FOUND)

    assert checked.exit_code == USAGE
    assert "not pure: milestone find reads the clock (time.time) at m:7\n" in checked.stdout
    assert "note: milestone find uses hash() at m:3" in checked.stderr
    assert "found@1 is not pure: 1 finding; `grader add` refuses it" in checked.stderr


def test_a_grader_that_could_not_be_tried_ends_in_exit_code_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def prove(subject: Subject, recorded: list[Sample]) -> Proof:
        raise UntriedGrader(subject.name, "milestone find had no verdict after 20 s")

    monkeypatch.setattr("grading.gradebook.prove", prove)
    url = f"sqlite:///{tmp_path / 'log.db'}"

    added = run(url, "grader", "add", FOUND)

    assert added.exit_code == NOT_CHECKED
    assert added.stderr == "gradespine: found@1 could not be tried: milestone find had no verdict after 20 s\n"
    assert done(url, "grader", "list") == ""


def test_a_check_that_never_gives_a_verdict_is_noted_by_milestone(tmp_path: Path) -> None:
    checked = run(
        f"sqlite:///{tmp_path / 'none.db'}", "grader", "check", "tests.grading.purity_graders.no_verdict:ladder"
    )

    assert checked.exit_code == 0
    assert checked.stderr == (
        "note: milestone bare gave no verdict on any sample (check_raised: it returned bool, not a verdict),"
        " so nothing of it was tried\n"
    )


def test_only_a_document_is_explained_and_nothing_is_said_to_be_right(tmp_path: Path) -> None:
    refused = run(
        f"sqlite:///{tmp_path / 'none.db'}",
        "grader",
        "check",
        GUILTY.replace("while_loaded", "no_verdict"),
        "--explain",
    )

    assert refused.exit_code == USAGE
    assert refused.stdout == ""
