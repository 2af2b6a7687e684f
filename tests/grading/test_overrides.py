"""Overrides: what people say of grades stands beside them, and does not pass over to newer ones."""

import importlib
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.errors import NotFound
from grading.evidence import MapEvidence, StreamEvidence
from grading.gradebook import Gradebook
from grading.graders import Grader, GraderRef
from grading.grades import record
from grading.ladders import Ladder, Milestone, Mode
from grading.overrides import MAX_REASON, Opinion
from grading.reckoning import reckoned
from grading.rows import GradeRow, OverrideRow, RungRow
from spine import Actor, InvalidInput, MemoryLog, NewEvent, SqlLog, WriterNotAllowed
from tests.grading.builders import answered, said, says

RUN = "run/a"


def exploit(version: str = "1", flag: str = "x", **more: Any) -> Grader:
    """Found something (weight 1), and the flag (weight 3)."""
    return Grader.from_document(
        {
            "gradespine": 1,
            "ladder": "exploit",
            "version": version,
            "mode": "independent",
            "milestones": [
                {"name": "found", "check": {"event": {"type": "finding.reported"}}},
                {"name": "flag", "weight": 3, "check": {"answer": {"key": "flag", "eq": flag}}},
            ],
            **more,
        }
    )


@pytest.fixture
def book(sql_log: SqlLog) -> Gradebook:
    """One run that has found something and given flag y, graded by exploit@1, which wants x."""
    sql_log.append(RUN, [said("finding.reported", where="login"), answered("flag", "y")])
    book = Gradebook(sql_log)
    book.add_grader(exploit())
    book.grade(GraderRef("exploit"), everything=True)
    return book


def opinion(passed: bool | None = True, milestone: str | None = "flag", **more: Any) -> Opinion:
    return Opinion(passed, **{"by": "ada", "reason": "seq 2 is the flag", "milestone": milestone, **more})


def shown(book: Gradebook, **chosen: Any) -> GradeRow:
    [row] = book.grades(stream=RUN, **chosen)
    return row


def outcome(row: GradeRow) -> tuple[bool, float] | None:
    return None if row.overridden is None else (row.overridden.passed, row.overridden.score)


def standing(rows: tuple[OverrideRow, ...]) -> list[tuple[str | None, bool | None, str]]:
    return [(one.milestone, one.passed, one.by) for one in rows]


def test_an_override_stands_beside_the_grade_that_is_never_touched(book: Gradebook) -> None:
    before = shown(book)

    done = book.override(RUN, opinion())

    row = shown(book)
    assert done.new
    assert done.after == row
    assert replace(row, overrides=(), overridden=None) == before
    assert (row.passed, row.score, outcome(row)) == (False, 0.25, (True, 1.0))
    assert standing(row.overrides) == [("flag", True, "ada")]
    [event] = book.events(RUN, types=["grade.overridden"])
    assert (event.actor, event.principal) == (Actor.HUMAN, "ada")
    assert event.payload == {
        "grade_id": row.grade_id,
        "grader": exploit().identity.to_json(),
        "milestone": "flag",
        "index": 1,
        "passed": True,
        "by": "ada",
        "reason": "seq 2 is the flag",
        "pass_at": 0,
    }


def test_the_same_said_twice_is_written_once(book: Gradebook) -> None:
    assert book.override(RUN, opinion()).new
    position = book.log.position()

    assert not book.override(RUN, opinion()).new
    assert book.log.position() == position


def test_the_last_word_counts_and_can_be_taken_back_and_said_again(book: Gradebook) -> None:
    for passed, by in ((True, "ada"), (False, "bob"), (None, "ada"), (True, "ada"), (None, "bob"), (None, "bob")):
        book.override(RUN, opinion(passed, by=by))
        row = shown(book)
        assert standing(row.overrides) == ([] if passed is None else [("flag", passed, by)])
        assert (row.overridden is None) == (passed is None)

    assert len(list(book.events(RUN, types=["grade.overridden"]))) == 5


def test_rung_and_verdict_are_overridden_each_on_its_own(book: Gradebook) -> None:
    book.override(RUN, opinion())
    book.override(RUN, opinion(False, None))

    assert outcome(shown(book)) == (False, 1.0)
    book.override(RUN, opinion(None, None))
    assert outcome(shown(book)) == (True, 1.0)


def test_an_override_is_no_evidence(book: Gradebook) -> None:
    book.override(RUN, opinion())
    position = book.log.position()

    assert book.grade(GraderRef("exploit"), everything=True).new == 0
    assert not shown(book).grew
    assert book.log.position() == position


@pytest.mark.parametrize(("flag", "left"), [("z", (1, 0)), ("y", (0, 1))])
def test_a_newer_version_leaves_it_pending_review_unless_it_says_the_same(
    book: Gradebook, flag: str, left: tuple[int, int]
) -> None:
    book.override(RUN, opinion())
    book.add_grader(exploit("2", flag))
    assert book.plan_regrade(GraderRef("exploit")).overrides == 1

    report = book.regrade(GraderRef("exploit"))

    row = shown(book)
    assert (report.left.pending, report.left.agreed) == left
    assert (len(row.pending), len(row.agreed)) == left
    assert (row.version, row.overrides, row.overridden) == ("2", (), None)
    assert [move.after.passed for move in report.moved] == ([] if flag == "z" else [True])
    old, _ = book.grades(stream=RUN, history=True)
    assert standing(old.overrides) == [("flag", True, "ada")]
    assert outcome(old) == (True, 1.0)


def test_a_board_that_has_not_moved_keeps_its_overrides(book: Gradebook) -> None:
    book.override(RUN, opinion())
    book.add_grader(exploit("2", "z"))

    report = book.regrade(GraderRef("exploit"), activate=False)

    assert report.left.pending == 1
    assert standing(shown(book).overrides) == [("flag", True, "ada")]
    assert standing(shown(book, grader=GraderRef("exploit", "2")).pending) == [("flag", True, "ada")]
    book.activate(GraderRef("exploit", "2"))
    assert standing(shown(book).pending) == [("flag", True, "ada")]
    book.activate(GraderRef("exploit", "1"))
    assert standing(shown(book).overrides) == [("flag", True, "ada")]


def test_a_run_that_grew_and_is_graded_again_leaves_it_pending_review(book: Gradebook) -> None:
    book.override(RUN, opinion())
    book.override(RUN, opinion(True, None))
    book.log.append(RUN, [said("finding.reported", where="door")])
    assert outcome(shown(book)) == (True, 1.0)

    report = book.regrade(GraderRef("exploit"))

    assert report.left.pending == 2
    assert standing(shown(book).pending) == [("flag", True, "ada"), (None, True, "ada")]


@pytest.mark.parametrize("passed", [True, False, None])
def test_what_is_pending_is_settled_by_saying_anything_of_it(book: Gradebook, passed: bool | None) -> None:
    book.override(RUN, opinion())
    book.add_grader(exploit("2", "z"))
    book.regrade(GraderRef("exploit"))

    assert book.override(RUN, opinion(passed, by="bob")).new

    row = shown(book)
    assert row.pending == ()
    assert standing(row.overrides) == ([] if passed is None else [("flag", passed, "bob")])


def test_what_is_pending_of_a_milestone_that_is_gone_can_be_taken_back(book: Gradebook) -> None:
    book.override(RUN, opinion())
    gone = dict(exploit("2").document or {})
    book.add_grader(Grader.from_document(gone | {"milestones": gone["milestones"][:1]}))
    book.regrade(GraderRef("exploit"))
    assert standing(shown(book).pending) == [("flag", True, "ada")]

    with pytest.raises(NotFound, match="exploit@2 has no milestone flag"):
        book.override(RUN, opinion(False))
    assert book.override(RUN, opinion(None)).new

    assert shown(book).pending == ()


def test_a_broken_grade_has_nothing_to_override_but_what_is_pending(book: Gradebook) -> None:
    book.override(RUN, opinion())
    expected = {"compare": {"want": {"expected": "tests"}, "got": {"type": "a.b", "take": "x"}, "as": "every"}}
    broken = dict(exploit("2").document or {}) | {"milestones": [{"name": "tests", "check": expected}]}
    book.add_grader(Grader.from_document(broken))
    book.regrade(GraderRef("exploit"))

    for milestone in ("tests", "flag", None):
        with pytest.raises(NotFound, match=r"broken under exploit@2 \(expected_missing\): it has no outcome"):
            book.override(RUN, opinion(True, milestone))

    assert standing(shown(book).pending) == [("flag", True, "ada")]
    assert not book.override(RUN, opinion(None, "other")).new
    assert book.override(RUN, opinion(None)).new
    assert shown(book).pending == ()


def test_the_board_counts_both_outcomes(book: Gradebook) -> None:
    for name in ("b", "c", "d"):
        book.log.append(f"run/{name}", [said("finding.reported", where=name), answered("flag", "x")])
    book.grade(GraderRef("exploit"), everything=True)
    book.override(RUN, opinion())
    book.override("run/b", opinion(False, "found"))
    book.override("run/c", opinion(False))
    book.log.append("run/c", [said("finding.reported", where="e")])
    book.grade(GraderRef("exploit"), everything=True)
    book.override("run/d", opinion(False))
    book.hide("run/d", reason="twice")

    [one] = book.coverage()

    assert (one.passed, one.failed, one.broken, one.not_graded) == (2, 1, 0, 0)
    assert (one.overridden, one.passed_then, one.failed_then, one.pending) == (2, 2, 1, 1)
    assert [row.stream for row in book.grades(overridden=True)] == [RUN, "run/b", "run/c"]


def test_the_score_a_document_asks_for_decides_the_verdict(book: Gradebook) -> None:
    found, flag = (exploit().document or {})["milestones"]
    book.add_grader(exploit("2", pass_at=0.5, milestones=[found, flag | {"required": False}]))
    book.regrade(GraderRef("exploit"))
    assert (shown(book).passed, shown(book).score) == (False, 0.25)

    book.override(RUN, opinion())
    assert outcome(shown(book)) == (True, 1.0)
    book.override(RUN, opinion(False))
    assert outcome(shown(book)) == (False, 0.25)
    book.override(RUN, opinion())
    book.override(RUN, opinion(False, "found"))
    assert outcome(shown(book)) == (False, 0.75)


def unregistered(book: Gradebook, *, pass_at: float | None = None) -> GradeRow:
    """The grade of a ladder that is registered nowhere: 1 of 2 rungs of the same name."""
    milestones = [Milestone("m", says(True)), Milestone("m", says(False), required=False)]
    ladder = Ladder("loose", Mode.INDEPENDENT, milestones, pass_at=pass_at)
    record(book.log, RUN, ladder.grade(MapEvidence([])))
    [row] = [row for row in book.grades(stream=RUN) if row.ladder == "loose"]
    return row


@pytest.mark.parametrize(
    ("pass_at", "index", "passed", "certain"),
    [(None, 1, True, True), (0.5, 1, True, True), (0.9, 1, False, False), (None, 0, False, True)],
)
def test_where_no_log_says_which_score_is_asked_for_an_unsure_verdict_stays_as_graded(
    book: Gradebook, pass_at: float | None, index: int, passed: bool, certain: bool
) -> None:
    unregistered(book, pass_at=pass_at)

    done = book.override(RUN, opinion(index == 1, "m", index=index), grader=GraderRef("loose"))

    assert done.after is not None
    assert done.after.overridden is not None
    assert (done.after.overridden.passed, done.after.overridden.certain) == (passed, certain)
    assert done.after.overrides[0].pass_at is None


def test_which_grade_is_meant_has_to_be_clear(book: Gradebook) -> None:
    row = unregistered(book)
    loose = GraderRef("loose")

    with pytest.raises(NotFound, match="graded by exploit, loose") as unclear:
        book.override(RUN, opinion())
    assert "--grader" in unclear.value.next
    with pytest.raises(NotFound, match="did you mean exploit"):
        book.override(RUN, opinion(), grader=GraderRef("exploid"))
    with pytest.raises(NotFound, match="by exploit@1, not by exploit@2"):
        book.override(RUN, opinion(), grader=GraderRef("exploit", "2"))
    with pytest.raises(NotFound, match="milestone m at index 0, 1"):
        book.override(RUN, opinion(True, "m"), grader=loose)
    with pytest.raises(NotFound, match=f"that is {row.grade_id}"):
        book.override(RUN, opinion(True, "m", index=1), grader=loose, grade_id="another")
    assert book.override(RUN, opinion(True, "m", index=1), grader=loose, grade_id=row.grade_id).new
    assert book.override(RUN, opinion(), grader=GraderRef("exploit")).new


def test_rungs_of_one_name_are_told_apart_in_newer_grades_too(book: Gradebook) -> None:
    def grade(*passed: bool) -> None:
        milestones = [Milestone("new", says(True)), *(Milestone("m", says(one)) for one in passed)]
        record(book.log, RUN, Ladder("loose", Mode.INDEPENDENT, milestones).grade(StreamEvidence(book.log, RUN)))

    unregistered(book)
    book.override(RUN, opinion(True, "m", index=1), grader=GraderRef("loose"))
    book.override(RUN, opinion(False, "m", index=0), grader=GraderRef("loose"))

    grade(True, True)

    [row] = [row for row in book.grades(stream=RUN) if row.ladder == "loose"]
    assert [(one.index, one.passed) for one in row.pending] == [(0, False)]
    assert [(one.index, one.passed) for one in row.agreed] == [(1, True)]


def test_unknown_names_are_refused_with_what_was_probably_meant(book: Gradebook) -> None:
    with pytest.raises(NotFound, match="exploit@1 has no milestone falg; did you mean flag"):
        book.override(RUN, opinion(True, "falg"))
    with pytest.raises(NotFound, match="no milestone zzz") as listed:
        book.override(RUN, opinion(None, "zzz"))
    assert listed.value.next == "it has: found, flag"
    with pytest.raises(NotFound, match="there is no stream run/b"):
        book.override("run/b", opinion())
    with pytest.raises(NotFound, match="stream of the service"):
        book.override("grader/exploit", opinion())
    book.log.append("run/b", [answered("flag", "x")])
    with pytest.raises(NotFound, match="run/b has no grade to override"):
        book.override("run/b", opinion())
    book.hide(RUN, reason="twice")
    with pytest.raises(NotFound, match="hidden"):
        book.override(RUN, opinion())


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("reason", {"reason": "x" * 1024 * 1024}),
        ("reason", {"reason": " \n"}),
        ("reason", {"reason": "a\ud800"}),
        ("by", {"by": ""}),
        ("by", {"by": "  "}),
        ("by", {"by": "a\nb"}),
        ("by", {"by": "\ud800"}),
        ("by", {"by": "é" * 129}),
        ("index", {"milestone": None, "index": 0}),
    ],
)
def test_what_cannot_stand_on_the_log_is_refused_before_anything_is_written(field: str, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        opinion(**more)

    assert refused.value.field == field
    assert len(str(refused.value)) < 300


def test_any_other_text_stands_as_it_was_said(book: Gradebook) -> None:
    for text in ("\u202e\x1b[31m", "'; DROP TABLE overrides; --", "a\0b", "é" * MAX_REASON, "=1+1"):
        by = "".join(character for character in text if character.isprintable())[:100]

        assert book.override(RUN, opinion(reason=text, by=by)).new
        assert not book.override(RUN, opinion(reason=text, by=by)).new

        [said_of_it] = shown(book).overrides
        assert (said_of_it.by, said_of_it.reason) == (by, text.replace("\0", "\ufffd"))


LADDER = """
from grading import Ladder, Milestone, Mode
ladder = Ladder("strict", Mode.INDEPENDENT, [Milestone("m", lambda evidence: (True, "")), Milestone("n")],
                pass_at=0.9, version="1")
"""


def test_the_score_that_a_python_ladder_asks_for_is_asked_of_it_where_it_is_installed(
    book: Gradebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strict_ladder.py").write_text(LADDER)
    monkeypatch.syspath_prepend(tmp_path)
    strict = GraderRef("strict")
    book.add_grader(Grader.from_python("strict_ladder:ladder"))
    book.grade(strict, everything=True)

    installed = book.override(RUN, opinion(True, "n"), grader=strict).after
    (tmp_path / "strict_ladder.py").unlink()
    del sys.modules["strict_ladder"]
    importlib.invalidate_caches()
    elsewhere = book.override(RUN, opinion(False, "m"), grader=strict).after

    assert installed is not None
    assert elsewhere is not None
    assert outcome(installed) == (True, 1.0)
    assert [one.pass_at for one in elsewhere.overrides] == [0.9, None]
    assert outcome(elsewhere) == (False, 0.5)


def payload(book: Gradebook, **more: Any) -> dict[str, Any]:
    said_of_it = {"grade_id": shown(book).grade_id, "grader": exploit().identity.to_json(), "by": "ada"}
    return {**said_of_it, "milestone": "flag", "index": 1, "passed": True, "reason": "x", "pass_at": 0, **more}


def test_an_agent_cannot_write_one(book: Gradebook) -> None:
    position = book.log.position()

    with pytest.raises(WriterNotAllowed):
        book.log.append(RUN, [NewEvent("grade.overridden", payload(book), actor=Actor.AGENT, principal="ada")])

    assert book.log.position() == position


def test_the_log_refuses_what_no_reader_could_rely_on(book: Gradebook) -> None:
    changes: list[dict[str, Any]] = [{"index": None}, {"milestone": None}, {"reason": "x" * 4001}, {"reason": ""}]
    for more in (*changes, {"passed": 1}, {"pass_at": 2}):
        wrong = NewEvent("grade.overridden", payload(book, **more), actor=Actor.HUMAN, principal="ada")

        with pytest.raises(InvalidInput, match=r"grade\.overridden"):
            book.log.append(RUN, [wrong])


OTHER: dict[str, Any] = {"name": "exploit", "version": "2", "definition": "0" * 64, "semantics": 1}


def test_only_what_a_person_says_in_their_name_of_a_grade_of_the_stream_is_believed(book: Gradebook) -> None:
    forged: list[tuple[str, Actor, str, dict[str, Any]]] = [
        (RUN, Actor.SYSTEM, "ada", {}),
        (RUN, Actor.HUMAN, "eve", {}),
        ("run/b", Actor.HUMAN, "ada", {}),
        (RUN, Actor.HUMAN, "ada", {"grade_id": "00000000-0000-8000-8000-000000000000"}),
        (RUN, Actor.HUMAN, "ada", {"milestone": "found"}),
        (RUN, Actor.HUMAN, "ada", {"index": 7}),
        (RUN, Actor.HUMAN, "ada", {"grader": None}),
        (RUN, Actor.HUMAN, "ada", {"grader": OTHER}),
    ]
    for stream, actor, principal, more in forged:
        event = NewEvent("grade.overridden", payload(book, **more), actor=actor, principal=principal)
        book.log.append(stream, [event])

    assert list(book.grades(overridden=True)) == []
    assert shown(book).overridden is None


def test_what_was_said_before_the_grade_stood_there_is_not_believed(book: Gradebook) -> None:
    """However events come in batches: what nobody can have seen is no opinion of it."""
    grade = Ladder("loose", Mode.INDEPENDENT, [Milestone("flag", says(False))]).grade(MapEvidence([]))
    grade_id = str(record(MemoryLog(), RUN, grade).grade_id)
    early = payload(book, grade_id=grade_id, grader=None, index=0)
    book.log.append(RUN, [NewEvent("grade.overridden", early, actor=Actor.HUMAN, principal="ada")])

    assert str(record(book.log, RUN, grade).grade_id) == grade_id

    assert list(book.grades(overridden=True)) == []
    assert book.override(RUN, opinion(), grader=GraderRef("loose")).new


def at_once(*calls: Callable[[], object]) -> list[BaseException]:
    """Run these at the same time; returns what they raised."""
    raised: list[BaseException] = []
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        barrier.wait()
        try:
            call()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_the_same_said_by_many_at_once_is_one_event(book: Gradebook) -> None:
    assert at_once(*[lambda: book.override(RUN, opinion())] * 4) == []

    assert len(list(book.events(RUN, types=["grade.overridden"]))) == 1
    assert outcome(shown(book)) == (True, 1.0)


def test_what_is_said_while_a_regrade_runs_stands_or_is_pending_never_lost_or_carried_over(book: Gradebook) -> None:
    names = [f"run/{number}" for number in range(8)]
    for name in names:
        book.log.append(name, [said("finding.reported", where=name), answered("flag", "y")])
    book.grade(GraderRef("exploit"), everything=True)
    book.add_grader(exploit("2", "z"))
    other = Gradebook(book.log)

    def override_all() -> None:
        for name in names:
            other.override(name, opinion())

    assert at_once(lambda: book.regrade(GraderRef("exploit")), override_all) == []

    rows = [row for row in book.grades() if row.stream in names]
    assert {row.version for row in rows} == {"2"}
    for row in rows:
        [event] = book.events(row.stream, types=["grade.overridden"])
        mine = event.payload["grade_id"] == row.grade_id
        assert (len(row.overrides), len(row.pending)) == ((1, 0) if mine else (0, 1))


def test_a_rebuilt_board_has_the_same_overrides(book: Gradebook) -> None:
    book.override(RUN, opinion())
    book.override(RUN, opinion(False, None, by="bob"))
    book.add_grader(exploit("2", "z"))
    book.regrade(GraderRef("exploit"))
    book.override(RUN, opinion(False, "found"))
    before = list(book.grades(history=True))

    book.rebuild()

    assert list(book.grades(history=True)) == before
    assert [(len(row.overrides), len(row.pending), len(row.agreed)) for row in before] == [(2, 0, 0), (1, 1, 1)]


def graded(mode: Mode, passes: list[bool], weights: list[float], pass_at: float | None) -> Any:
    milestones = [
        Milestone(f"m{at}", says(passed), weight, required=at % 2 == 0)
        for at, (passed, weight) in enumerate(zip(passes, weights, strict=True))
    ]
    return Ladder("l", mode, milestones, pass_at=pass_at).grade(MapEvidence([]))


def row_of(grade: Any) -> GradeRow:
    listed = tuple(
        RungRow(rung.name, rung.weight, rung.required, rung.passed, rung.reached, "", (), 0) for rung in grade.rungs
    )
    own = {name: getattr(grade, name) for name in ("passed", "score", "attained", "total", "reached")}
    blank: dict[str, Any] = dict.fromkeys(GradeRow.__slots__, None)
    none: dict[str, Any] = {"overrides": (), "pending": (), "agreed": ()}
    return GradeRow(**{**blank, **none, **own, "mode": grade.mode.value, "rungs": listed, "status": "graded"})


def opinion_of(index: int, passed: bool, pass_at: float | None) -> OverrideRow:
    return OverrideRow("", 1, "l", None, f"m{index}", index, passed, "ada", "x", pass_at, 2, 0)


@given(
    mode=st.sampled_from(Mode),
    rungs=st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from([1.0, 0.1, 2.5, 1 / 3])), min_size=1),
    pass_at=st.sampled_from([None, 0.0, 0.3, 0.5, 1.0]),
    known=st.booleans(),
)
def test_a_grade_comes_to_what_its_ladder_would_have_said_of_such_rungs(
    mode: Mode, rungs: list[tuple[bool, bool, float]], pass_at: float | None, known: bool
) -> None:
    """Every rung that differs is overridden: the outcome is that of a grade whose checks had said so themselves."""
    weights = [weight for _, _, weight in rungs]
    grade = graded(mode, [was for was, _, _ in rungs], weights, pass_at)
    wanted = graded(mode, [then for _, then, _ in rungs], weights, pass_at)
    overrides = [
        opinion_of(at, then, (pass_at or 0.0) if known else None)
        for at, ((_, then, _), rung) in enumerate(zip(rungs, grade.rungs, strict=True))
        if rung.passed != then
    ]

    found = reckoned(row_of(grade), overrides)

    assert found is not None
    assert (found.score, found.attained, found.total, found.reached) == (
        wanted.score,
        wanted.attained,
        wanted.total,
        wanted.reached,
    )
    if known:
        assert found.certain
    assert found.passed == (wanted.passed if found.certain else grade.passed)


def test_in_a_cumulative_ladder_only_the_rung_that_is_named_changes() -> None:
    grade = row_of(graded(Mode.CUMULATIVE, [True, False, True, True], [1.0] * 4, None))

    up = reckoned(grade, [opinion_of(1, True, 0.0)])
    behind = reckoned(grade, [opinion_of(2, True, 0.0)])
    down = reckoned(grade, [opinion_of(0, False, 0.0)])

    assert up is not None
    assert behind is not None
    assert down is not None
    assert (up.reached, behind.reached, down.reached) == (2, 1, 0)  # what was not looked at has not passed
