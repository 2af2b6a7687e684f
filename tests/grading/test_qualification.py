"""Qualifying a grader: on runs that have to pass, runs that must not, planted cheats, mishaps and labels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grading import examples
from grading.cheats import CHEATS
from grading.checks import Check, Verdict, event_recorded
from grading.errors import InvalidLabels, NotFound, UnqualifiedGrader
from grading.evidence import Evidence
from grading.gradebook import Gradebook
from grading.graders import Grader, GraderRef
from grading.intake import import_paths
from grading.labels import Agreement, Label, Outcome, read_labels
from grading.ladders import Ladder, Milestone, Mode
from grading.planting import Draft, PlantedEvidence, Run
from grading.qualification import EV_QUALIFIED, Qualification, Standing, qualify
from grading.spec import read_ladder
from spine import Actor, InvalidInput, MemoryLog, NewEvent, SqlLog
from tests.grading.builders import fixed_log, recorded, said
from tests.recordings import TAU_BENCH, needs_recordings

SOLVED, IDLE = "run/solved", "run/idle"
TESTS = ["tests/test_a.py::test_one", "test_two"]
PASSED = {"path": "status", "eq": "passed"}

EVERY_TEST: dict[str, Any] = {
    "compare": {
        "want": {"expected": "tests"},
        "got": {"type": "test.reported", "latest_by": "name", "where": PASSED, "take": "name"},
        "as": "every",
    }
}
TESTS_UNTOUCHED: dict[str, Any] = {
    "absent": {"type": "file.changed", "where": {"path": "path", "matches": r"(^|/)tests/"}}
}


def document(*checks: dict[str, Any], version: str = "1") -> Grader:
    milestones = [{"name": f"m{index}", "check": check} for index, check in enumerate(checks)]
    head = {"gradespine": 1, "ladder": "tested", "version": version, "mode": "independent"}
    return Grader.from_document({**head, "milestones": milestones})


SOUND = document(EVERY_TEST, TESTS_UNTOUCHED)


def python(check: Check) -> Grader:
    ladder = Ladder("python", Mode.INDEPENDENT, [Milestone("m", check)], version="1")
    return Grader("python", "1", "0" * 64, 1, "python", ladder)


def call(id: str, command: str) -> list[NewEvent]:
    return [
        said("tool.called", Actor.AGENT, call_id=id, tool="shell", arguments={"command": command}),
        said("tool.returned", call_id=id, tool="shell", result="done", error=None),
    ]


def beginning(case: str = "c") -> list[NewEvent]:
    return [
        said("run.started", agent="a", model="m", task="t", case=case),
        said("case.expected", tests=TESTS),
        said("message.sent", Actor.HUMAN, role="user", content="fix it"),
    ]


def solved() -> list[NewEvent]:
    return [
        *beginning(),
        *call("1", "edit"),
        said("file.changed", path="/repo/src/a.py"),
        said("command.exited", command="pytest", exit_code=0, output="2 passed"),
        *(said("test.reported", name=name, status="passed") for name in TESTS),
        said("answer.given", Actor.AGENT, key="summary", answer="fixed"),
        said("run.finished", status="completed"),
        said("score.imported", scorer="s", value=1),
    ]


def idle() -> list[NewEvent]:
    sent = said("message.sent", Actor.AGENT, role="assistant", content="hello")
    return [*beginning(), sent, *call("1", "ls"), said("run.finished", status="failed")]


def fill(log: Any) -> None:
    log.append(SOLVED, solved())
    log.append(IDLE, idle())


@pytest.fixture
def memory() -> MemoryLog:
    log = fixed_log()
    fill(log)
    return log


@pytest.fixture
def book(sql_log: SqlLog) -> Gradebook:
    fill(sql_log)
    return Gradebook(sql_log)


def tried(log: MemoryLog, grader: Grader, **more: Any) -> Qualification:
    return qualify(log, grader, oracle=[SOLVED], null=[IDLE], **more)


def falls(done: Qualification) -> set[str]:
    return {fall.cheat.name for fall in done.falls}


def parts(done: Qualification) -> list[tuple[str, str]]:
    return [(finding.part, finding.stream) for finding in done.findings()]


def test_a_sound_grader_is_qualified(memory: MemoryLog) -> None:
    done = tried(memory, SOUND)

    assert done.qualified
    assert {trials.cheat.name for trials in done.cheats if trials.outcomes["failed"]} == {
        *(cheat.name for cheat in CHEATS),
        "nothing_done",
    }


def test_an_oracle_run_that_fails_and_a_null_run_that_passes_are_findings(memory: MemoryLog) -> None:
    done = qualify(memory, SOUND, oracle=[IDLE], null=[SOLVED])

    assert parts(done) == [("oracle", IDLE), ("null", SOLVED)]
    assert next(done.findings()).milestones == ("m0",)
    assert not done.qualified


def test_a_broken_run_is_neither_passed_nor_failed(memory: MemoryLog) -> None:
    memory.append("run/odd", [said("run.finished", status="failed")])

    done = qualify(memory, SOUND, oracle=[SOLVED], null=["run/odd"])

    assert (done.null[0].outcome, done.broken, done.qualified) == ("broken", 1, False)
    assert "expected_missing" in next(done.findings()).what


def loose(check: Callable[[Evidence], bool]) -> Grader:
    return python(lambda evidence: Verdict(check(evidence), ""))


def printed(evidence: Evidence) -> bool:
    return any("passed" in str(event.payload).lower() for event in evidence.events() if event.type != "test.reported")


def any_report(evidence: Evidence) -> bool:
    names = {event.payload["name"] for event in evidence.events() if event.type == "test.reported"}
    return names >= set(TESTS)


def any_score(evidence: Evidence) -> bool:
    return any(
        event.payload["value"] == 1 for event in evidence.events(also=["score.imported"]) if "value" in event.payload
    )


def acted(evidence: Evidence) -> bool:
    return sum(event.type == "tool.called" for event in evidence.events()) >= 2


def finished(evidence: Evidence) -> bool:
    return any(event.type == "run.finished" for event in evidence.events())


@pytest.mark.parametrize(
    ("grader", "cheats"),
    [
        (loose(printed), {"spoofed_lines"}),
        (loose(any_report), {"claimed_results", "edited_tests", "replayed_effects", "replayed_run"}),
        (loose(any_score), {"own_score", "replayed_effects", "replayed_run"}),
        (loose(acted), {"repeated_events"}),
        (document(EVERY_TEST), {"edited_tests"}),
        (
            document(
                {
                    "event": {
                        "type": "command.exited",
                        "trust": ["agent", "system"],
                        "where": {"path": "exit_code", "eq": 0},
                    }
                }
            ),
            {"spoofed_lines", "claimed_results", "edited_tests", "replayed_effects", "replayed_run"},
        ),
    ],
    ids=["words", "reports", "scores", "counts", "tests", "trust"],
)
def test_a_guilty_grader_falls_for_its_cheats(memory: MemoryLog, grader: Grader, cheats: set[str]) -> None:
    done = tried(memory, grader)

    assert falls(done) >= cheats
    assert not done.qualified


def test_only_the_cheats_that_it_falls_for_are_found(memory: MemoryLog) -> None:
    assert falls(tried(memory, document(EVERY_TEST))) == {"edited_tests"}
    assert {fall.milestones for fall in tried(memory, document(EVERY_TEST)).falls} == {("m0",)}


def test_a_grader_that_passes_whoever_does_nothing_is_found_out(memory: MemoryLog) -> None:
    done = tried(memory, document({"absent": {"type": "command.exited", "where": {"path": "command", "eq": "ls"}}}))

    assert ("null", IDLE) in parts(done)
    assert falls(done) == {"nothing_done"}


def test_a_cheat_that_does_not_apply_counts_for_nothing() -> None:
    log = fixed_log()
    log.append(SOLVED, [said("x.done"), *call("1", "a")])
    log.append(IDLE, [said("run.finished", status="failed")])

    done = tried(log, document({"event": {"type": "x.done"}}, {"event": {"call": "shell"}}))

    told = {trials.cheat.name: (trials.outcomes.total(), trials.reason) for trials in done.cheats}
    assert told["edited_tests"] == (0, "the reference names no tests")
    assert told["repeated_events"] == (0, "no events of the agent are in it")
    assert done.qualified


def test_effects_are_not_given_to_whoever_does_nothing() -> None:
    """Also where the runtime records effects only, and no act of the agent."""
    effects = [
        said("command.exited", command="make", exit_code=0),
        said("message.sent", Actor.HUMAN, role="user", content="ok"),
    ]
    run = Run(
        SOLVED, tuple(event.row for event in recorded(*beginning(), *effects, said("run.finished", status="completed")))
    )

    assert [row.type for row in run.idle().rows] == ["run.started", "case.expected", "message.sent", "run.finished"]


def test_tests_that_the_oracle_run_writes_too_may_be_edited(memory: MemoryLog) -> None:
    memory.append("run/writes", [*solved()[:-2], said("file.changed", path="/repo/tests/test_a.py")])

    done = qualify(memory, document(EVERY_TEST), oracle=["run/writes"], null=[IDLE])

    assert done.qualified
    edited = next(trials for trials in done.cheats if trials.cheat.name == "edited_tests")
    assert (edited.not_applicable, edited.reason) == (2, "the oracle run changes its tests too")


def test_a_right_answer_that_is_given_is_no_cheat(memory: MemoryLog) -> None:
    """The agent may write it: whoever gives the right answer passes, wherever it is from."""
    done = tried(memory, document({"answer": {"key": "summary", "eq": "fixed"}}))

    assert done.qualified
    replayed = next(trials for trials in done.cheats if trials.cheat.name == "replayed_run")
    assert replayed.not_applicable == 2


def test_planted_answers_count_as_answers() -> None:
    run = Run(IDLE, tuple(event.row for event in recorded(*idle())))

    planted = run.with_planted([Draft("answer.given", {"key": "k", "answer": "mine"})])
    by_system = run.with_planted([Draft("answer.given", {"key": "k", "answer": "not"}, Actor.SYSTEM)])

    evidence = PlantedEvidence(planted)
    assert evidence.answer("k") == "mine"
    assert evidence.answered_at("k") == len(planted) - 1
    assert PlantedEvidence(by_system).answer("k") is None
    assert [row.seq for row in planted] == list(range(1, len(planted) + 1))
    assert len({row.leaf for row in planted}) == len(planted)
    assert planted[-1].type == "run.finished"


def test_a_reference_that_the_agent_writes_is_none() -> None:
    run = Run(IDLE, tuple(event.row for event in recorded(*idle())))

    planted = run.with_planted([Draft("case.expected", {"tests": []})])

    assert PlantedEvidence(planted).expected() == {"tests": TESTS}


def less_is_more(evidence: Evidence) -> Verdict:
    return Verdict(0 < len(evidence.events()) < 6, "")


def test_a_milestone_that_claims_too_much_is_raised_by_a_mishap(memory: MemoryLog) -> None:
    less_is_more.polarity = "presence"  # type: ignore[attr-defined]

    done = tried(memory, python(less_is_more))

    raised = [finding for finding in done.findings() if finding.part == "mishap"]
    assert {(finding.stream, finding.milestones) for finding in raised} == {(SOLVED, ("m",)), (IDLE, ("m",))}
    assert "dropped" in raised[0].what


def test_a_milestone_that_claims_nothing_is_not_tried(memory: MemoryLog) -> None:
    done = tried(memory, python(lambda evidence: less_is_more(evidence)))

    assert (done.claiming, done.mishaps, done.raises) == (0, 0, ())


def test_an_honest_claim_withstands(memory: MemoryLog) -> None:
    done = tried(memory, python(event_recorded("command.exited", trust=["system"])))

    assert done.claiming == 1
    assert 0 < done.mishaps <= 200
    assert done.raises == ()


def test_trying_is_pure(memory: MemoryLog) -> None:
    assert tried(memory, SOUND).to_payload() == tried(memory, SOUND).to_payload()
    assert memory.head(IDLE) is not None
    assert [event.type for event in memory.read(IDLE)] == [event.type for event in idle()]


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"oracle": [], "null": [IDLE]}, "oracle: at least one run"),
        ({"oracle": [SOLVED], "null": []}, "null: at least one run"),
        ({"oracle": [SOLVED], "null": [IDLE, SOLVED]}, "an oracle run and a null run"),
        ({"oracle": [SOLVED], "null": [IDLE], "kappa": 0.5}, "there are none"),
        ({"oracle": [SOLVED], "null": [IDLE], "kappa": 2}, "not between"),
    ],
)
def test_what_nothing_could_come_of_is_refused(memory: MemoryLog, chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        qualify(memory, SOUND, **chosen)


def agreement(pp: int, pf: int, fp: int, ff: int, broken: int = 0) -> Agreement:
    table: list[tuple[bool, Outcome]] = []
    for count, label, outcome in (
        (pp, True, "passed"),
        (pf, True, "failed"),
        (fp, False, "passed"),
        (ff, False, "failed"),
    ):
        table += [(label, outcome)] * count  # type: ignore[list-item]
    return Agreement.of([*table, *([(True, "broken")] * broken)])  # type: ignore[list-item]


def test_kappa_is_that_of_the_textbook() -> None:
    """Source: the example of two readers of 50 grant proposals in Wikipedia's article on Cohen's kappa: 0.4."""
    found = agreement(20, 5, 10, 15)

    assert found.accuracy == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    assert agreement(3, 0, 0, 2).kappa == 1
    assert agreement(0, 2, 2, 0).kappa == -1


def test_kappa_is_undefined_where_one_side_says_the_same_of_all() -> None:
    for found, why in (
        (agreement(3, 1, 0, 0), "the labels say the same"),
        (agreement(2, 0, 2, 0), "the grader says the same"),
        (agreement(0, 0, 0, 0, broken=2), "no labelled run could be graded"),
    ):
        assert found.kappa is None
        assert found.undefined.startswith(why)


def test_broken_runs_have_a_column_of_their_own() -> None:
    found = agreement(2, 0, 0, 1, broken=1)

    assert (found.labelled, found.graded, found.accuracy) == (4, 3, 1.0)
    assert found.to_json()["confusion"]["true"] == {"passed": 2, "failed": 0, "broken": 1}


@pytest.mark.parametrize(
    "text",
    [
        '{"stream": "run/a", "passed": true}\n\n{"stream": "run/b", "passed": false, "by": "ada"}\n',
        "stream,by,passed\nrun/a,ada,true\nrun/b,ada,FALSE\n",
        '\ufeffstream,passed\r\n"run/a",true\r\nrun/b,false\r\n',
    ],
)
def test_labels_are_json_lines_or_csv(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels").write_text(text, encoding="utf-8", newline="")

    assert [(label.stream, label.passed) for label in read_labels(str(tmp_path / "labels"))] == [
        ("run/a", True),
        ("run/b", False),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"stream": "run/a", "passed": true}\n{"stream": "run/b"}\n', ":2: `passed` is neither"),
        (b'{"stream": "run/a", "passed": 1}\n', ":1: `passed` is neither"),
        (b'{"stream": 3, "passed": true}\n', ":1: `stream` is not"),
        (b'{"stream": "run/a", "passed": true}\nnonsense\n', ":2: is no JSON"),
        (b'{"stream": "run/a", "passed": true}\n[]\n', ":2: is no JSON object"),
        (b"stream,passed\nrun/a,true\nrun/b,maybe\n", ":3: `passed` is neither"),
        (b"stream,passed\nrun/a,true\nrun/a,false\n", ":3: run/a was labelled before, at .*:2"),
        (b"stream,passed\nrun/a\n", ":2: `passed` is neither"),
        (b"run/a,true\n", ":1: has no column stream"),
        (b"stream,passed\n", "holds no labels"),
        (b"", "has no column|holds no labels"),
        (b"stream,passed\n\xff,true\n", ":2: is not UTF-8"),
    ],
)
def test_a_bad_line_is_refused_by_file_and_line(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "labels").write_bytes(text)

    with pytest.raises(InvalidLabels, match=f"labels.*{said}"):
        read_labels(str(tmp_path / "labels"))


def test_a_file_of_labels_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidLabels, match=r"nowhere\.csv: cannot be read"):
        read_labels(str(tmp_path / "nowhere.csv"))


def labels(**passed: bool) -> list[Label]:
    return [Label(f"run/{name}", value, f"labels.csv:{line}") for line, (name, value) in enumerate(passed.items(), 2)]


def test_agreement_decides_only_where_it_is_asked_for(memory: MemoryLog) -> None:
    at_odds = labels(solved=False, idle=True)

    assert tried(memory, SOUND, labels=at_odds).qualified
    done = tried(memory, SOUND, labels=at_odds, kappa=0.5)
    assert [finding.what for finding in done.findings()] == ["κ is -1.000; 0.5 was asked for"]
    assert done.labelled is not None
    assert [label.stream for label, _ in done.labelled.disputed] == [SOLVED, IDLE]
    one_class = tried(memory, SOUND, labels=labels(solved=True), kappa=0.5)
    assert "undefined" in next(one_class.findings()).what


TESTED = GraderRef("tested")


def on_log(book: Gradebook) -> list[Any]:
    return [event.payload for event in book.log.read("grader/tested", types=[EV_QUALIFIED])]


def test_what_came_of_it_stands_on_the_log_once(book: Gradebook) -> None:
    book.add_grader(SOUND)
    assert book.standing(TESTED) is Standing.UNQUALIFIED

    for _ in range(2):
        book.qualify(TESTED, oracle=[SOLVED], null=[IDLE])

    [payload] = on_log(book)
    assert payload["qualified"]
    assert payload["grader"] == SOUND.identity.to_json()
    assert [(run["stream"], run["role"], run["outcome"]) for run in payload["runs"]] == [
        (SOLVED, "oracle", "passed"),
        (IDLE, "null", "failed"),
    ]
    assert book.standing(TESTED) is Standing.QUALIFIED
    assert list(book.grades(grader=TESTED)) == []


def test_the_last_word_counts_also_when_it_was_said_before(book: Gradebook) -> None:
    book.add_grader(SOUND)

    for oracle, null in ((SOLVED, IDLE), (IDLE, SOLVED), (SOLVED, IDLE)):
        book.qualify(TESTED, oracle=[oracle], null=[null])

    assert [payload["qualified"] for payload in on_log(book)] == [True, False, True]
    assert book.standing(TESTED) is Standing.QUALIFIED


def test_what_is_said_of_one_version_says_nothing_of_another(book: Gradebook) -> None:
    book.add_grader(document(EVERY_TEST))
    book.add_grader(document(EVERY_TEST, TESTS_UNTOUCHED, version="2"))

    for version in ("1", "2"):
        book.qualify(GraderRef("tested", version), oracle_prefix="run/solv", null_prefix="run/id")

    standings = [book.standing(GraderRef("tested", version)) for version in ("1", "2")]
    assert standings == [Standing.NOT_QUALIFIED, Standing.QUALIFIED]
    assert book.active_version("tested") == "1"


def test_a_label_of_no_run_is_refused_by_its_line(book: Gradebook) -> None:
    book.add_grader(SOUND)

    with pytest.raises(InvalidLabels, match=r"labels\.csv:2: there is no stream run/solvd; did you mean run/solved"):
        book.qualify(TESTED, oracle=[SOLVED], null=[IDLE], labels=labels(solvd=True))
    with pytest.raises(NotFound):
        book.qualify(TESTED, oracle=["grader/tested"], null=[IDLE])
    assert on_log(book) == []


def test_an_unqualified_grader_is_refused_only_where_that_is_asked_for(book: Gradebook) -> None:
    strict = Gradebook(book.log, require_qualified=True)
    book.add_grader(SOUND)
    book.grade(TESTED, everything=True)

    with pytest.raises(UnqualifiedGrader, match="tested@1 is unqualified"):
        strict.regrade(TESTED)
    book.qualify(TESTED, oracle=[IDLE], null=[SOLVED])
    with pytest.raises(UnqualifiedGrader, match="tested@1 is not qualified"):
        strict.regrade(TESTED)
    assert book.regrade(TESTED).graded.runs == 2

    book.qualify(TESTED, oracle=[SOLVED], null=[IDLE])
    assert strict.regrade(TESTED).graded.runs == 2


@needs_recordings
def test_the_airline_ladder_is_qualified_on_recorded_runs() -> None:
    log = MemoryLog()
    import_paths(log, [TAU_BENCH])
    scores = {
        head.stream: next(log.read(head.stream, types=["score.imported"])).payload["value"]
        for head in log.streams("run/")
    }
    good, bad = ([stream for stream, score in scores.items() if score == wanted][:4] for wanted in (1, 0))

    grader = Grader.from_document(read_ladder(examples.text("taubench-airline")).document)

    done = qualify(
        log, grader, oracle=good, null=bad, labels=[Label(stream, score == 1, "") for stream, score in scores.items()]
    )

    assert list(done.findings()) == []
    assert done.labelled is not None
    assert done.labelled.agreement.kappa == 1
