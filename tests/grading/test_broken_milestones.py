"""What ends a grading without a grade: which errors do, what they are called, and which never surface."""

import statistics

import pytest

from grading.checks import Check, Verdict, answer_equals, event_recorded
from grading.errors import BrokenCode, CheckBroken, MilestoneBroken
from grading.evidence import Evidence, StreamEvidence
from grading.ladders import Mode
from spine import Actor, LogUnavailable, PayloadErased
from tests.grading.builders import RUN, answered, breaks, evidence, fixed_log, ladder, said, says

YES, NO = says(True), says(False)
INDEPENDENT = Mode.INDEPENDENT
NOTHING = evidence()


def test_an_error_of_a_check_aborts_the_grading_and_says_where() -> None:
    cause = CheckBroken(BrokenCode.WRONG_TYPE, "seq 4: payload.n is text")

    with pytest.raises(MilestoneBroken) as caught:
        ladder(YES, breaks(cause)).grade(NOTHING)

    error = caught.value
    assert (error.milestone, error.index, error.code, error.where) == ("m1", 1, cause.code, cause.where)
    assert error.__cause__ is cause


def test_an_unforeseen_error_is_named_by_kind_and_line_never_by_its_message() -> None:
    with pytest.raises(MilestoneBroken) as caught:
        ladder(lambda evidence: (float("a secret") > 0, "")).grade(NOTHING)

    assert caught.value.code is BrokenCode.CHECK_RAISED
    assert caught.value.where.startswith(f"ValueError at {__name__}:")
    assert "secret" not in str(caught.value)


def test_the_line_named_is_the_checks_own_not_that_of_a_library_it_calls() -> None:
    with pytest.raises(MilestoneBroken) as caught:
        ladder(lambda evidence: (statistics.mean([]) > 0, "")).grade(NOTHING)

    assert caught.value.where.startswith(f"StatisticsError at {__name__}:")


def test_an_error_of_a_matcher_breaks_its_milestone() -> None:
    with pytest.raises(MilestoneBroken, match=r"'m0' \(index 0\): check_raised: KeyError at"):
        ladder(event_recorded("x.y", lambda payload: payload["n"])).grade(evidence(said("x.y")))


def test_no_verdict_is_an_error() -> None:
    with pytest.raises(MilestoneBroken, match="it returned NoneType, not a verdict"):
        ladder(lambda evidence: None).grade(NOTHING)  # type: ignore[arg-type,return-value]


def test_opening_erased_evidence_breaks_the_milestone_that_does() -> None:
    log = fixed_log()
    log.append(RUN, [said("x.y", n=1), answered("q", "a")])
    log.erase(RUN, [1, 2], reason="privacy", actor=Actor.HUMAN, principal="dpo")
    found = StreamEvidence(log, RUN)

    assert ladder(event_recorded("x.y")).grade(found).passed
    for check, seq in ((event_recorded("x.y", lambda payload: payload["n"] == 1), 1), (answer_equals("q", "a"), 2)):
        with pytest.raises(MilestoneBroken) as caught:
            ladder(check).grade(found)
        assert (caught.value.code, caught.value.where) == (BrokenCode.EVIDENCE_ERASED, f"seq {seq}")


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), SystemExit(1), MemoryError(), TimeoutError(), ConnectionResetError(), LogUnavailable("gone")],
)
def test_what_says_nothing_of_the_evidence_is_no_grade_at_all(error: BaseException) -> None:
    with pytest.raises(type(error)):
        ladder(breaks(error)).grade(NOTHING)


def wrapping(cause: Exception) -> Check:
    """A check that catches an error and raises one of its own."""

    def check(evidence: Evidence) -> Verdict:
        try:
            raise cause
        except Exception:
            raise ValueError("no luck") from None

    return check


def test_an_error_counts_as_what_it_was_raised_from() -> None:
    with pytest.raises(MilestoneBroken, match="evidence_erased: seq 3"):
        ladder(wrapping(PayloadErased(RUN, 3))).grade(NOTHING)
    with pytest.raises(ValueError, match="no luck"):
        ladder(wrapping(TimeoutError())).grade(NOTHING)


@pytest.mark.parametrize("late", [breaks(ValueError()), event_recorded("x.y", lambda payload: payload["n"])])
def test_errors_behind_the_stop_never_surface(late: Check) -> None:
    found = evidence(said("x.y"))

    grade = ladder(NO, late).grade(found)

    assert not grade.rungs[1].reached
    with pytest.raises(MilestoneBroken):
        ladder(NO, late, mode=INDEPENDENT).grade(found)
    with pytest.raises(MilestoneBroken):
        ladder(YES, late).grade(found)


def test_the_first_milestone_that_breaks_is_the_one_reported() -> None:
    early, late = (event_recorded("x.y", lambda payload: payload["n"]) for _ in range(2))

    with pytest.raises(MilestoneBroken) as caught:
        ladder(YES, late, early, mode=INDEPENDENT).grade(evidence(said("x.y")))

    assert caught.value.index == 1
