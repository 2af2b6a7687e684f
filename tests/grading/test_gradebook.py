"""The use cases, on both databases."""

import copy
from typing import Any

import pytest

from grading.errors import GraderConflict, NotFound
from grading.evidence import MapEvidence, StreamEvidence
from grading.gradebook import Gradebook
from grading.graders import Grader, GraderRef
from grading.grades import record
from grading.ladders import Ladder, Milestone, Mode
from grading.projector import Grades
from spine import Actor, InvalidInput, NewEvent, SqlLog, projection

LADDER: dict[str, Any] = {
    "gradespine": 1,
    "ladder": "exploit",
    "version": "1",
    "mode": "independent",
    "milestones": [
        {"name": "found", "required": False, "check": {"event": {"type": "finding.reported"}}},
        {"name": "flag", "weight": 3, "check": {"answer": {"key": "flag", "eq": "FLAG{x}"}}},
    ],
}
EXPLOIT = GraderRef("exploit")


def version(number: str, flag: str = "FLAG{x}") -> Grader:
    document = copy.deepcopy(LADDER)
    document["version"] = number
    document["milestones"][1]["check"]["answer"]["eq"] = flag
    return Grader.from_document(document)


def finding() -> NewEvent:
    return NewEvent("finding.reported", {"where": "login"}, actor=Actor.SYSTEM)


def answer(text: str) -> NewEvent:
    return NewEvent("answer.given", {"key": "flag", "answer": text}, actor=Actor.AGENT)


@pytest.fixture
def book(sql_log: SqlLog) -> Gradebook:
    """Three runs: one that passes, one that gets a quarter, one that gets nothing."""
    sql_log.append("run/full", [finding(), answer("flag{X} ")])
    sql_log.append("run/part", [finding(), answer("FLAG{y}")])
    sql_log.append("run/none", [NewEvent("run.finished", {"status": "failed"}, actor=Actor.SYSTEM)])
    return Gradebook(sql_log)


def board(book: Gradebook, **chosen: Any) -> list[tuple[str, str | None, bool | None, float | None]]:
    return [(row.stream, row.version, row.passed, row.score) for row in book.grades(**chosen)]


def test_grading_everything(book: Gradebook) -> None:
    book.add_grader(version("1"))

    report = book.grade(EXPLOIT, everything=True)

    assert (report.passed, report.failed, report.broken, report.new) == (1, 2, 0, 3)
    assert board(book) == [("run/full", "1", True, 1.0), ("run/none", "1", False, 0.0), ("run/part", "1", False, 0.25)]
    [coverage] = book.coverage()
    assert (coverage.passed, coverage.failed, coverage.broken, coverage.not_graded) == (1, 2, 0, 0)


def test_grading_again_writes_nothing(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    before = book.log.position()

    report = book.grade(EXPLOIT, everything=True)

    assert (report.passed, report.failed, report.new) == (1, 2, 0)
    assert book.log.position() == before


def test_a_run_that_grew_is_marked_and_graded_anew(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    book.log.append("run/part", [answer("FLAG{x}")])

    assert [(row.stream, row.grew) for row in book.grades()] == [
        ("run/full", False),
        ("run/none", False),
        ("run/part", True),
    ]

    assert book.grade(EXPLOIT, everything=True).new == 1
    assert board(book, prefix="run/part") == [("run/part", "1", True, 1.0)]
    assert len(list(book.grades(stream="run/part", history=True))) == 2


def test_a_registered_version_never_changes(book: Gradebook) -> None:
    assert book.add_grader(version("1"))
    assert not book.add_grader(version("1"))

    with pytest.raises(GraderConflict, match="raise the version"):
        book.add_grader(version("1", flag="other"))


def test_the_board_moves_when_the_regrade_is_complete(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    book.add_grader(version("2", flag="FLAG{y}"))
    seen: list[list[Any]] = []

    def watch(done: int, total: int) -> None:
        seen.append(board(book))

    report = book.regrade(EXPLOIT, progress=watch)

    assert [{row[1] for row in rows} for rows in seen] == [{"1"}] * 3
    assert (report.complete, report.activated, report.before) == (True, True, "1")
    assert board(book) == [("run/full", "2", False, 0.25), ("run/none", "2", False, 0.0), ("run/part", "2", True, 1.0)]
    assert [(m.stream, m.before.passed, m.after.passed, [f.rung for f in m.flips]) for m in report.moved] == [
        ("run/full", True, False, ["flag"]),
        ("run/part", False, True, ["flag"]),
    ]
    history = [(row.stream, row.version, row.current) for row in book.grades(history=True)]
    assert history == [(run, v, v == "2") for run in ("run/full", "run/none", "run/part") for v in "12"]


def test_a_regrade_adds_service_events_only(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    before = book.log.position()

    book.add_grader(version("2"))
    book.regrade(EXPLOIT)

    added = {event.type for event in book.log.read_all(after=before)}
    assert added == {
        "grader.registered",
        "regrade.started",
        "grade.milestone",
        "grade.summary",
        "regrade.finished",
        "grader.activated",
    }


def test_a_regrade_may_leave_the_board_alone(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    book.add_grader(version("2", flag="FLAG{y}"))

    report = book.regrade(EXPLOIT, activate=False)

    assert (report.complete, report.activated) == (True, False)
    assert {row[1] for row in board(book)} == {"1"}
    assert {row[1] for row in board(book, grader=GraderRef("exploit", "2"))} == {"2"}
    assert book.activate(GraderRef("exploit", "2"))
    assert {row[1] for row in board(book)} == {"2"}


def test_a_plan_says_what_is_done_and_writes_nothing(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, streams=["run/full"])
    before = book.log.position()

    plan = book.plan_regrade(EXPLOIT)

    assert (plan.active, plan.runs, plan.events, plan.done, plan.ungraded) == ("1", 3, 5, 1, 0)
    assert book.log.position() == before


def test_a_regrade_counts_the_runs_that_the_version_before_never_graded(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, streams=["run/full"])
    book.add_grader(version("2", flag="FLAG{y}"))

    plan = book.plan_regrade(EXPLOIT)
    report = book.regrade(EXPLOIT)

    assert (plan.ungraded, report.ungraded) == (2, 2)
    assert [move.stream for move in report.moved] == ["run/full"]


def test_history_is_in_the_order_of_recording_within_a_run(book: Gradebook) -> None:
    other = Grader.from_document({**LADDER, "ladder": "another"})
    book.add_grader(version("1"))
    book.add_grader(other)
    book.grade(EXPLOIT, streams=["run/full"])
    book.grade(other.ref, streams=["run/full"])
    book.add_grader(version("2", flag="no"))
    book.regrade(EXPLOIT, prefix="run/full")

    rows = list(book.grades(history=True, prefix="run/full"))

    assert [(row.grader, row.version) for row in rows] == [("exploit", "1"), ("another", "1"), ("exploit", "2")]
    assert [row.seq for row in rows] == sorted(row.seq for row in rows)
    assert [row.verdict for row in rows] == ["passed", "passed", "failed"]


def test_hiding_is_for_several_runs_at_once_all_or_none(book: Gradebook) -> None:
    with pytest.raises(NotFound, match="there is no stream run/nine"):
        book.hide(["run/full", "run/nine"], reason="x")
    assert book.hidden() == {}

    done = book.hide(["run/full", "run/full"], prefix="run/pa", reason="x")

    assert done.changed == ("run/full", "run/part")
    assert book.hidden() == {"run/full": "x", "run/part": "x"}
    assert book.show([], prefix="run/").changed == ("run/full", "run/part")


@pytest.mark.parametrize("chosen", [{"streams": ["grader/exploit"]}, {"streams": [], "prefix": "grader/ex"}])
def test_a_stream_of_the_service_cannot_be_hidden(book: Gradebook, chosen: dict[str, Any]) -> None:
    book.add_grader(version("1"))

    with pytest.raises(NotFound, match=r"grader/ex.* is a stream of the service"):
        book.hide(**chosen, reason="x")

    assert set(book.hide([], prefix="", reason="all of it").changed) == {"run/full", "run/none", "run/part"}


@pytest.mark.parametrize("reason", ["", " \n"])
def test_hiding_needs_a_reason(book: Gradebook, reason: str) -> None:
    with pytest.raises(InvalidInput, match="reason: is empty"):
        book.hide("run/full", reason=reason)
    with pytest.raises(InvalidInput, match="reason: is empty"):
        book.show("run/full", reason=reason)


def test_a_grader_that_only_unregistered_ladders_have_is_known(book: Gradebook) -> None:
    ladder = Ladder("by-hand", Mode.CUMULATIVE, [Milestone("always", lambda evidence: (True, "yes"))])
    record(book.log, "run/full", ladder.grade(StreamEvidence(book.log, "run/full")))

    assert [row.stream for row in book.grades(grader=GraderRef("by-hand"))] == ["run/full"]
    with pytest.raises(NotFound, match=r"there is no grader by-had; did you mean by-hand\?"):
        book.grades(grader=GraderRef("by-had"))


def test_what_cannot_be_graded_is_broken_and_no_zero(book: Gradebook) -> None:
    document = copy.deepcopy(LADDER)
    document["milestones"][0]["check"] = {
        "compare": {"want": {"expected": "tests"}, "got": {"type": "test.reported", "take": "name"}, "as": "every"}
    }
    book.add_grader(Grader.from_document(document))

    report = book.grade(EXPLOIT, everything=True)

    assert (report.passed, report.failed, report.broken, report.new) == (0, 0, 3, 3)
    row = next(book.grades())
    assert (row.status, row.passed, row.score, row.code, row.milestone) == (
        "broken",
        None,
        None,
        "expected_missing",
        "found",
    )
    assert book.grade(EXPLOIT, everything=True).new == 0


def test_a_hidden_stream_disappears_from_views_and_stays_on_the_log(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)

    assert book.hide("run/none", reason="imported by mistake").changed == ("run/none",)
    assert book.hide("run/none", reason="again").already == ("run/none",)

    assert [row[0] for row in board(book)] == ["run/full", "run/part"]
    assert [row[0] for row in board(book, history=True)] == ["run/full", "run/part"]
    assert book.grade(EXPLOIT, everything=True).runs == 2
    assert book.coverage()[0].runs == 2
    assert book.log.head("run/none") is not None
    with pytest.raises(NotFound, match="hidden"):
        book.grade(EXPLOIT, streams=["run/none"])

    assert book.show("run/none").changed == ("run/none",)
    assert book.show("run/none").already == ("run/none",)
    assert len(board(book)) == 3


def test_an_erased_answer_breaks_a_newer_version_and_keeps_the_grade_of_the_old(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)

    book.log.erase("run/full", [2], reason="asked for", actor=Actor.HUMAN, principal="ada")

    assert book.grade(EXPLOIT, everything=True).new == 0
    assert board(book, prefix="run/full") == [("run/full", "1", True, 1.0)]
    book.add_grader(version("2"))
    book.regrade(EXPLOIT)
    [row] = book.grades(prefix="run/full")
    assert (row.version, row.status, row.code) == ("2", "broken", "evidence_erased")
    assert [(r.version, r.status) for r in book.grades(stream="run/full", history=True)] == [
        ("1", "graded"),
        ("2", "broken"),
    ]


def test_explaining_cites_the_events(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)

    [explained] = book.explain("run/full")

    assert [(r.rung.name, r.rung.passed, [e.type for e in r.events]) for r in explained.rungs] == [
        ("found", True, ["finding.reported"]),
        ("flag", True, ["answer.given"]),
    ]


def test_what_does_not_exist_is_named(book: Gradebook) -> None:
    book.add_grader(version("1"))

    with pytest.raises(NotFound, match=r"there is no stream run/ful; did you mean run/full\?"):
        book.explain("run/ful")
    with pytest.raises(NotFound, match=r"there is no stream other/thing$"):
        book.explain("other/thing")
    with pytest.raises(NotFound, match=r"run/full has no grade$") as raised:
        book.explain("run/full")
    assert raised.value.next == "`gradespine grade NAME run/full` makes one"
    with pytest.raises(NotFound, match="there is no grader nobody"):
        book.grade(GraderRef("nobody"), everything=True)
    with pytest.raises(NotFound, match=r"exploit@9; registered: 1"):
        book.grade(GraderRef("exploit", "9"), everything=True)
    with pytest.raises(NotFound, match="stream of the service"):
        book.grade(EXPLOIT, streams=["grader/exploit"])


def test_an_unregistered_ladder_ranks_below_a_registered_one(book: Gradebook) -> None:
    ladder = Ladder("exploit", Mode.CUMULATIVE, [Milestone("always", lambda evidence: (True, "yes"))])
    record(book.log, "run/full", ladder.grade(StreamEvidence(book.log, "run/full")))
    assert board(book) == [("run/full", None, True, 1.0)]
    record(book.log, "run/full", ladder.grade(MapEvidence([], {"flag": "x"})))
    [row] = book.grades()
    assert row.through_seq == 2

    book.add_grader(version("1", flag="nothing"))
    book.grade(EXPLOIT, streams=["run/full"])

    assert board(book) == [("run/full", "1", False, 0.25)]


def test_rebuilding_gives_the_same_board(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    book.hide("run/none", reason="x")
    book.add_grader(version("2"))
    book.regrade(EXPLOIT)
    before = (list(book.grades(history=True)), book.coverage(), book.hidden())

    reached = book.rebuild()

    assert reached == book.log.position()
    assert (list(book.grades(history=True)), book.coverage(), book.hidden()) == before
    assert projection.lag(book.log, Grades(book.log)) == 0


def test_a_regrade_of_nothing_is_refused_and_activates_nothing(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.add_grader(version("2"))
    before = book.log.position()

    with pytest.raises(NotFound, match=r"there are no runs under run/typo/"):
        book.regrade(EXPLOIT, prefix="run/typo/")

    assert book.log.position() == before
    assert book.active_version("exploit") == "1"


def test_a_part_of_the_runs_is_no_complete_regrade(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    book.add_grader(version("2"))

    report = book.regrade(EXPLOIT, prefix="run/full")

    assert (report.complete, report.activated) == (False, False)
    assert {row[1] for row in board(book)} == {"1"}


def test_grades_by_another_definition_of_the_version_do_not_complete_it(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    book.add_grader(version("2"))
    foreign = version("2", flag="another")
    for run in ("run/none", "run/part"):
        record(book.log, run, foreign.grade(StreamEvidence(book.log, run)))

    report = book.regrade(EXPLOIT, prefix="run/full")

    assert not report.complete
    unregistered = [row for row in book.grades(history=True) if not row.registered]
    assert [(row.stream, row.version) for row in unregistered] == [("run/none", "2"), ("run/part", "2")]


def test_what_the_version_before_grades_meanwhile_is_graded_too(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, streams=["run/full"])
    book.add_grader(version("2"))

    def meanwhile(done: int, total: int) -> None:
        if done == total:
            book.log.append("run/full", [answer("again")])
            book.grade(GraderRef("exploit", "1"), everything=True)

    report = book.regrade(EXPLOIT, progress=meanwhile)

    assert (report.complete, report.activated) == (True, True)
    assert {row[0] for row in board(book)} == {"run/full", "run/none", "run/part"}


def test_a_version_that_somebody_else_activates_meanwhile_stays(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    book.add_grader(version("2"))
    book.add_grader(version("3"))

    def meanwhile(done: int, total: int) -> None:
        if done == total:
            book.regrade(GraderRef("exploit", "3"))

    report = book.regrade(GraderRef("exploit", "2"), progress=meanwhile)

    assert not report.activated
    assert book.active_version("exploit") == "3"


def test_a_version_registered_meanwhile_hinders_nothing(book: Gradebook) -> None:
    book.add_grader(version("1"))
    book.grade(EXPLOIT, everything=True)
    book.add_grader(version("2"))

    def meanwhile(done: int, total: int) -> None:
        book.add_grader(version("3"))

    report = book.regrade(EXPLOIT, progress=meanwhile)

    assert report.activated
    assert book.active_version("exploit") == "2"
