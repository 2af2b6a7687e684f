"""How a ladder climbs: modes, weights, what reached and passed mean, and what breaks a grading."""

from typing import Any

import pytest

from grading.checks import Check, answer_equals, event_recorded
from grading.errors import InvalidLadder
from grading.evidence import StreamEvidence
from grading.ladders import Grade, Ladder, Milestone, Mode, Rung
from spine import Actor
from tests.grading.builders import RUN, evidence, ladder, log_of, said, says

YES, NO = says(True), says(False)
CUMULATIVE, INDEPENDENT = Mode.CUMULATIVE, Mode.INDEPENDENT
NOTHING = evidence()


def test_the_example_of_the_issue() -> None:
    found = evidence(said("finding.reported", Actor.AGENT), answers={"flag": "flag{x} "})
    exploit = Ladder(
        "exploit",
        Mode.CUMULATIVE,
        [
            Milestone("find", event_recorded("finding.reported")),
            Milestone("flag", answer_equals("flag", "FLAG{x}"), weight=3),
        ],
    )

    grade = exploit.grade(found)

    assert (grade.ladder, grade.mode, grade.attained, grade.total, grade.score) == ("exploit", CUMULATIVE, 4, 4, 1)
    assert (grade.reached, grade.passed, grade.grader) == (2, True, None)
    assert grade.evidence == found.reference
    assert grade.rungs == (
        Rung("find", 1.0, True, True, "recorded finding.reported", True, (1,), 1),
        Rung("flag", 3.0, True, True, "answer matches"),
    )


def test_cumulative_credits_all_when_all_pass() -> None:
    grade = ladder(YES, YES, YES).grade(NOTHING)

    assert (grade.score, grade.reached) == (1.0, 3)
    assert all(rung.passed and rung.reached for rung in grade.rungs)


def test_cumulative_stops_at_the_first_failure() -> None:
    grade = ladder(YES, says(False, "no luck"), YES).grade(NOTHING)

    assert grade.score == pytest.approx(1 / 3)
    assert (grade.reached, grade.total) == (1, 3)
    assert [(rung.reached, rung.passed) for rung in grade.rungs] == [(True, True), (True, False), (False, False)]
    assert grade.rungs[1].detail == "no luck"
    assert grade.rungs[2] == Rung("m2", 1.0, False, False, "")


def test_independent_credits_rungs_that_are_not_in_a_row() -> None:
    grade = ladder(YES, NO, YES, mode=INDEPENDENT).grade(NOTHING)

    assert grade.score == pytest.approx(2 / 3)
    assert grade.reached == 2
    assert all(rung.reached for rung in grade.rungs)


def test_cumulative_is_the_default() -> None:
    assert Ladder("test").mode is CUMULATIVE


@pytest.mark.parametrize("mode", [2, "Cumulative", "", None])
def test_an_unknown_mode_is_refused(mode: Any) -> None:
    with pytest.raises(InvalidLadder, match="neither cumulative nor independent"):
        Ladder("test", mode)


@pytest.mark.parametrize(
    ("checks", "weights", "attained", "total", "score"),
    [
        ([YES, YES], [1, 3], 4, 4, 1),
        ([NO, YES], [3, 1], 0, 4, 0),
        ([YES, YES], [0, 1], 2, 2, 1),
        ([YES, NO], [-0.0, 1], 1, 2, 0.5),
        ([YES, YES], [-5, 1], 1, 1, 1),
        ([YES, YES], [-1, -2], 0, 0, 0),  # a perfect run of a ladder that is worth nothing
        ([NO, YES], [-1, 1], 0, 1, 0),  # worth nothing, and still it stops the ladder
        ([YES, YES, NO], [0.1, 0.2, 0.7], 0.30000000000000004, 1.0, 0.30000000000000004),
        ([], [], 0, 0, 0),
    ],
)
def test_weights(checks: list[Check], weights: list[float], attained: float, total: float, score: float) -> None:
    grade = ladder(*checks, weights=weights).grade(NOTHING)

    assert (grade.attained, grade.total, grade.score) == (attained, total, score)


def test_a_rung_shows_the_effective_weight() -> None:
    grade = ladder(NO, YES, YES, weights=[2, 0, -1]).grade(NOTHING)

    assert [rung.weight for rung in grade.rungs] == [2.0, 1.0, 0.0]


def test_all_rungs_of_a_ladder_worth_nothing_still_count_as_reached() -> None:
    grade = ladder(YES, YES, weights=[-1, -1]).grade(NOTHING)

    assert (grade.score, grade.reached, grade.passed) == (0.0, 2, True)


def test_weights_are_added_from_left_to_right() -> None:
    tenths = ladder(*[YES] * 10, weights=[0.1] * 10).grade(NOTHING)

    assert tenths.total == 0.9999999999999999  # sum() of Python 3.12 says 1.0


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), float("-inf"), 10**400, "1", None, True])
def test_a_weight_that_is_no_finite_number_is_refused(weight: Any) -> None:
    with pytest.raises(InvalidLadder, match=r"weight: .* is not a finite number"):
        Milestone("m", YES, weight)


def test_weights_that_add_up_to_infinity_are_refused() -> None:
    with pytest.raises(InvalidLadder, match="milestones: "):
        ladder(YES, YES, weights=[1e308, 1e308])


def test_an_empty_ladder_scores_nothing_and_has_not_passed() -> None:
    grade = Ladder("empty", INDEPENDENT, []).grade(NOTHING)

    assert (grade.rungs, grade.score, grade.total, grade.reached, grade.passed) == ((), 0, 0, 0, False)


@pytest.mark.parametrize("name", ["", "a\nb", "\x7f", "\ud800", "x" * 257, "ä" * 129, None, 7])
def test_a_name_that_cannot_be_recorded_is_refused(name: Any) -> None:
    with pytest.raises(InvalidLadder, match="name: "):
        Milestone(name, YES)
    with pytest.raises(InvalidLadder, match="name: "):
        Ladder(name)


def test_milestones_may_share_a_name() -> None:
    grade = Ladder("twice", CUMULATIVE, [Milestone("m", YES), Milestone("m", NO)]).grade(NOTHING)

    assert [rung.passed for rung in grade.rungs] == [True, False]


@pytest.mark.parametrize("milestones", [["m"], [YES], [None]])
def test_what_is_no_milestone_is_refused(milestones: Any) -> None:
    with pytest.raises(InvalidLadder, match=r"milestones\[0\]: "):
        Ladder("test", CUMULATIVE, milestones)


def test_what_cannot_be_called_is_no_check() -> None:
    with pytest.raises(InvalidLadder, match="check: str is not a check"):
        Milestone("m", "event_recorded")  # type: ignore[arg-type]


def test_a_ladder_cannot_be_changed_by_the_list_it_was_made_of() -> None:
    milestones = [Milestone("m", YES)]
    made = Ladder("test", CUMULATIVE, milestones)

    milestones.append(Milestone("late", NO))

    assert len(made.grade(NOTHING).rungs) == 1


def test_a_missing_check_fails_and_stops_a_cumulative_ladder() -> None:
    grade = ladder(None, YES).grade(NOTHING)

    assert grade.rungs[0] == Rung("m0", 1.0, False, True, "no check defined")
    assert not grade.rungs[1].reached


@pytest.mark.parametrize(
    ("required", "passes", "pass_at", "passed"),
    [
        ([True, True], [True, True], None, True),
        ([True, True], [True, False], None, False),
        ([True, False], [True, False], None, True),
        ([False, True], [False, True], None, True),
        ([False, False], [False, False], None, True),
        ([False, False], [True, False], 0.5, True),
        ([False, False], [True, False], 0.6, False),
        ([True, False], [False, True], 0.5, False),
    ],
)
def test_passed_needs_every_required_rung_and_the_score(
    required: list[bool], passes: list[bool], pass_at: float | None, passed: bool
) -> None:
    milestones = [
        Milestone(f"m{index}", says(won), required=needed)
        for index, (needed, won) in enumerate(zip(required, passes, strict=True))
    ]

    assert Ladder("test", INDEPENDENT, milestones, pass_at=pass_at).grade(NOTHING).passed is passed


def test_a_required_rung_that_was_not_reached_has_not_passed() -> None:
    milestones = [Milestone("optional", NO, required=False), Milestone("needed", YES)]

    assert not Ladder("test", CUMULATIVE, milestones).grade(NOTHING).passed


@pytest.mark.parametrize("pass_at", [-0.1, 1.1, float("nan"), float("inf"), True, "1"])
def test_pass_at_is_a_score(pass_at: Any) -> None:
    with pytest.raises(InvalidLadder, match="pass_at"):
        Ladder("test", CUMULATIVE, [], pass_at)


def test_citations_are_the_first_hundred_distinct_ascending() -> None:
    cited = [3, 1, 3, *range(300, 100, -1)]

    rung = ladder(says(False, "", *cited)).grade(NOTHING).rungs[0]

    assert rung.citations == (1, 3, *range(101, 199))
    assert rung.cited == 202


def test_the_outcome_is_equal_wherever_the_same_events_stand_at_the_same_seqs() -> None:
    def graded() -> Grade:
        return ladder(event_recorded("x.y")).grade(StreamEvidence(log_of(said("x.y")), RUN))

    one, two = graded(), graded()

    assert one.outcome == two.outcome
    assert one.evidence != two.evidence  # another id, so another digest


@pytest.mark.parametrize(
    "other",
    [
        ladder(YES, NO, mode=INDEPENDENT),
        ladder(YES, NO, weights=[1, 2]),
        ladder(YES, YES),
        ladder(YES, says(False, "", 1)),
        Ladder("other", CUMULATIVE, [Milestone("m0", YES), Milestone("m1", NO)]),
        Ladder("test", CUMULATIVE, [Milestone("m0", YES), Milestone("m1", NO, required=False)]),
    ],
)
def test_the_outcome_tells_grades_apart(other: Ladder) -> None:
    assert ladder(YES, NO).grade(NOTHING).outcome != other.grade(NOTHING).outcome


def test_the_outcome_leaves_details_and_evidence_out() -> None:
    one = ladder(says(True, "worded so")).grade(NOTHING)
    two = ladder(says(True, "or so")).grade(evidence(said("x.y")))

    assert one.outcome == two.outcome
