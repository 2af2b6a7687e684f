"""Trials: what ends one, what they are made of, and that documents pass them."""

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from grading import examples
from grading.errors import UntriedGrader
from grading.gradebook import Gradebook, subject_of
from grading.graders import Grader
from grading.ladders import Milestone
from grading.purity import Proof, Subject, prove
from grading.purity.asking import Asked
from grading.purity.gate import Gate
from grading.purity.samples import MAX_EVENTS, Sample, of_log, of_streams, of_words, shipped
from grading.purity.trial import Task
from grading.purity.trials import Trials
from grading.spec import ladder_from_document, read_ladder
from spine import Actor, MemoryLog, NewEvent, SqlLog
from spine.payloads import Payload
from spine.vocabulary import KNOWN as KNOWN_TYPES
from tests.grading.language.cases import run
from tests.grading.language.test_properties import CHECKS, KNOWN, SPOOFED

HERE = "tests.grading.purity_graders"


def test_a_check_that_hangs_could_not_be_tried() -> None:
    grader = Grader.from_python(f"{HERE}.unfinished:hanging")

    with pytest.raises(UntriedGrader, match="hangs@1 could not be tried: milestone m had no verdict after 6 s"):
        prove(subject_of(grader), seconds=6)


@pytest.mark.parametrize(
    ("attribute", "why"),
    [
        ("leaving", "milestone m ended the process with exit code 4"),
        ("failing", "milestone m ended the process with exit code 1 (TimeoutError)"),
    ],
)
def test_a_trial_without_an_end_says_which_milestone_it_was_and_no_value(attribute: str, why: str) -> None:
    task = Task(shipped(), f"{HERE}.unfinished:{attribute}")

    assert [outcome.stopped for outcome in Trials(task, worlds=()).everywhere()] == [why]


def test_a_deed_two_modules_away_is_found_and_only_the_milestone_that_comes_to_it_is_accused() -> None:
    proof = prove(subject_of(Grader.from_python(f"{HERE}.far:ladder")))

    assert [str(finding) for finding in proof.refused] == [
        f"milestone late reads the clock (time.time), found in its source at {HERE}.between:7"
    ]
    assert [str(finding) for finding in proof.notes] == [
        f"reads standard input (input), where no check is known to come at {HERE}.between:15"
    ]
    assert proof.modules == (f"{HERE}.between",)


def document(checks: list[str]) -> dict[str, Any]:
    """A ladder of these checks and of every milestone that ships."""
    shipped = [dict(read_ladder(examples.text(name)).document) for name in examples.names()]
    milestones = [
        {**milestone, "name": f"{one['ladder']}-{milestone['name']}"}
        for one in shipped
        for milestone in one["milestones"]
    ]
    text = "\n".join(f"  - {{name: m{at}, check: {{{check}}}}}" for at, check in enumerate(checks))
    head = "gradespine: 1\nladder: many\nversion: '1'\nmode: independent\nmilestones:\n"
    made = dict(read_ladder(f"{head}{text}\n").document)
    define = {name: check for one in shipped for name, check in one.get("define", {}).items()}
    return {**made, "define": define, "milestones": [*made["milestones"], *milestones]}


@settings(max_examples=1, phases=[Phase.generate], deadline=None)
@given(st.lists(CHECKS, min_size=10, max_size=10), st.lists(KNOWN | SPOOFED, max_size=12))
def test_documents_pass_the_trials_that_python_has_to_pass(checks: list[str], events: list[NewEvent]) -> None:
    grader = Grader.from_document(document(checks))
    sample = Sample("run", [event.row for event in run(*events)])

    assert prove(subject_of(grader), [sample]).findings == ()


@given(CHECKS, st.lists(KNOWN | SPOOFED, max_size=10), st.sets(st.integers(1, 10), max_size=2))
def test_a_check_of_a_document_says_the_same_however_it_is_asked(
    text: str, events: list[NewEvent], erase: set[int]
) -> None:
    head = "gradespine: 1\nladder: one\nversion: '1'\nmode: independent\nmilestones:\n"
    found = read_ladder(f"{head}  - {{name: m, check: {{{text}}}}}\n").document
    milestone: Milestone = ladder_from_document(found).milestones[0]
    recorded = run(*events, erase=sorted(seq for seq in erase if seq <= len(events)))
    asked = Asked(milestone, Sample("run", [event.row for event in recorded]), Gate("no", print).watching)

    first = asked.whole()

    assert [first.differs(said) for said in [asked.whole(), *asked.in_steps()]] == [""] * 4
    assert asked.changed == ""


def streams(count: int) -> MemoryLog:
    log = MemoryLog()
    for number in range(count):
        log.append(f"run/{number:03}", [NewEvent("x.y", {"n": number}, actor=Actor.SYSTEM)])
    return log


def test_samples_of_a_log_are_its_first_middle_and_last_run_that_are_not_hidden() -> None:
    log = streams(9)

    assert [sample.name for sample in of_log(log)] == ["run/000", "run/004", "run/008"]
    assert [sample.name for sample in of_log(log, hidden={"run/000"})] == ["run/001", "run/005", "run/008"]
    assert [sample.name for sample in of_log(streams(1))] == ["run/000"]
    assert of_log(streams(0)) == []


def test_a_sample_of_a_long_run_is_its_beginning() -> None:
    log = MemoryLog()
    log.append("run/long", [NewEvent("x.y", actor=Actor.SYSTEM) for _ in range(MAX_EVENTS + 5)])

    assert [len(sample.rows) for sample in of_streams(log, ["run/long"])] == [MAX_EVENTS]


def test_what_ships_are_events_that_a_log_would_take() -> None:
    known = [row for sample in shipped() for row in sample.rows if row.type in KNOWN_TYPES]

    assert len({row.type for row in known}) > 12
    for row in known:
        kind = KNOWN_TYPES[row.type]
        model: type[Payload] | None = kind.model
        assert model is not None
        model.model_validate_json(row.payload or "")
        assert row.actor in kind.writers


def test_a_sample_of_own_words_has_each_type_with_the_words_that_stand_beside_it() -> None:
    (sample,) = of_words([["turbine.stopped", "rpm"], ["not a word", "level"], ["tool.called"]])

    assert {row.type for row in sample.rows} == {"turbine.stopped"}
    assert all('"rpm"' in (row.payload or "") and '"level"' in (row.payload or "") for row in sample.rows)
    assert of_words([["tool.called", "status"]]) == []


def test_a_gradebook_tries_what_it_registers_once(monkeypatch: pytest.MonkeyPatch, sql_log: SqlLog) -> None:
    tried: list[str] = []
    grader = Grader.from_python("tests.grading.python_graders:found")

    def tracing(subject: Subject, samples: list[Sample]) -> Proof:
        tried.append(subject.name)
        return Proof(subject, (), tuple(sample.name for sample in samples))

    monkeypatch.setattr("grading.gradebook.prove", tracing)
    book = Gradebook(sql_log)

    assert book.add_grader(grader)
    assert not book.add_grader(grader)
    assert tried == ["found@1"]
