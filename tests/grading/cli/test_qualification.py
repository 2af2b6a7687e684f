"""`gradespine grader qualify`: what it says, how it ends, and what the other commands say of it."""

import json
from pathlib import Path

import pytest

from grading.cli.failures import FINDING, NOT_CHECKED, USAGE
from tests.grading.cli.command import done, record_demo, run

GOOD, BAD, BROKEN = "run/demo/code-dates/4", "run/demo/code-dates/2", "run/demo/code-login/2"
CHOSEN = ["--oracle", GOOD, "--null", BAD]
GULLIBLE = """
gradespine: 1
ladder: gullible
version: "1"
mode: independent
milestones:
  - name: says_so
    check:
      event: {type: message.sent, where: {path: content, contains: passed}}
"""


@pytest.fixture
def url(database_url: str) -> str:
    record_demo(database_url)
    done(database_url, "grader", "add", "example:safe-change")
    return database_url


def standing(url: str, ref: str) -> str:
    return done(url, "grader", "show", ref).splitlines()[2]


def test_a_sound_grader_is_qualified_and_shown_so(url: str) -> None:
    assert standing(url, "safe-change") == "# unqualified"

    said = done(url, "grader", "qualify", "safe-change", *CHOSEN)

    assert said.startswith("safe-change@1 is qualified\n")
    assert "what speaks against it" not in said
    assert standing(url, "safe-change") == "# qualified"
    assert done(url, "grader", "list").splitlines()[1].endswith("  qualified")
    assert "safe-change@1: qualified" in done(url, "show", "grader/safe-change")


def test_a_gullible_grader_is_told_by_cheat_run_and_milestone(url: str, tmp_path: Path) -> None:
    document = tmp_path / "gullible.yaml"
    document.write_text(GULLIBLE, encoding="utf-8")
    done(url, "grader", "add", str(document))

    said = done(url, "grader", "qualify", "gullible", *CHOSEN, code=FINDING)

    assert said.startswith("gullible@1 is not qualified\n")
    assert "cheat spoofed_lines: passes when the agent prints that all tests passed" in said
    assert f"{BAD}: says_so" in said
    assert standing(url, "gullible") == "# not qualified"


def test_labels_are_held_against_the_grader(url: str, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(f"stream,passed\n{GOOD},true\n{BAD},false\nrun/demo/code-cache/1,false\n", encoding="utf-8")
    asked = ["grader", "qualify", "safe-change", *CHOSEN, "--labelled", str(labels)]

    said = done(url, *asked)
    assert "accuracy 0.667 (2 of 3), Cohen's κ 0.400" in said
    assert "run/demo/code-cache/1: labelled failed, passed" in said

    strict = done(url, *asked, "--kappa", "0.8", code=FINDING)
    assert "agreement: κ is 0.400; 0.8 was asked for" in strict


def test_as_json_it_is_what_is_recorded_with_the_findings(url: str) -> None:
    said = json.loads(done(url, "grader", "qualify", "safe-change", "--oracle", BAD, "--null", GOOD, "--json", code=1))
    event = json.loads(done(url, "show", "grader/safe-change", "--type", "grader.qualified", "--json"))

    findings = said.pop("findings")
    assert said.pop("disputed") == []
    assert event["payload"] == said
    assert {(one["part"], one["stream"]) for one in findings} >= {("oracle", BAD), ("null", GOOD)}


def test_a_run_that_cannot_be_graded_leaves_it_open(url: str) -> None:
    said = done(url, "grader", "qualify", "safe-change", "--oracle", BROKEN, "--null", BAD, code=NOT_CHECKED)

    assert f"{BROKEN}: tests_pass" in said
    assert "could not be graded: expected_missing" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--oracle", GOOD], "name runs that have to pass (--oracle) and runs that must not (--null)"),
        (["--oracle", GOOD, "--null", GOOD], "is said to be an oracle run and a null run"),
        (["--oracle", GOOD, "--null", "run/none"], "run/none"),
        ([*CHOSEN, "--kappa", "0.5"], "--labelled"),
        ([*CHOSEN, "--labelled", "none.csv"], "none.csv"),
    ],
)
def test_what_nothing_can_come_of_is_usage(url: str, arguments: list[str], said: str) -> None:
    refused = run(url, "grader", "qualify", "safe-change", *arguments)

    assert refused.exit_code == USAGE
    assert said in refused.stderr
    assert standing(url, "safe-change") == "# unqualified"


def test_a_regrade_by_an_unqualified_grader_is_refused_where_that_is_configured(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["regrade", "safe-change", "--prefix", "run/demo/code-dates/"]
    assert run(url, *asked).stderr.splitlines()[-1].startswith("safe-change@1 is unqualified: ")

    monkeypatch.setenv("GRADESPINE_REQUIRE_QUALIFIED", "1")
    refused = run(url, *asked)
    assert refused.exit_code == USAGE
    assert "only qualified graders may re-grade here" in refused.stderr

    done(url, "grader", "qualify", "safe-change", *CHOSEN)
    assert run(url, *asked).stderr == ""
