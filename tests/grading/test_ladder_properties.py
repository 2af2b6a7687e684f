"""What holds for every ladder."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from grading.checks import Verdict, event_recorded
from grading.evidence import Evidence, MapEvidence, StreamEvidence
from grading.ladders import Ladder, Milestone, Mode
from spine import Actor, NewEvent
from tests.grading.builders import RUN, evidence, log_of, said, says

NOTHING = evidence()


class Wish(NamedTuple):
    passes: bool
    weight: float


wishes = st.lists(
    st.builds(Wish, st.booleans(), st.sampled_from([0, 1, 3, -2, 0.1, 0.7, -0.0]) | st.floats(-1e6, 1e6)), max_size=12
)


def ladder(mode: Mode, wished: list[Wish]) -> Ladder:
    return Ladder("any", mode, [Milestone(f"m{n}", says(wish.passes), wish.weight) for n, wish in enumerate(wished)])


def leading(wished: list[Wish]) -> int:
    return next((index for index, wish in enumerate(wished) if not wish.passes), len(wished))


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_cumulative_scores_the_leading_run_of_passes(passes: list[bool]) -> None:
    wished = [Wish(won, 1) for won in passes]

    grade = ladder(Mode.CUMULATIVE, wished).grade(NOTHING)

    assert grade.reached == leading(wished)
    assert grade.score == leading(wished) / len(passes)
    assert [rung.reached for rung in grade.rungs] == [index <= leading(wished) for index in range(len(passes))]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_independent_scores_every_pass(passes: list[bool]) -> None:
    grade = ladder(Mode.INDEPENDENT, [Wish(won, 1) for won in passes]).grade(NOTHING)

    assert grade.reached == sum(passes)
    assert grade.score == sum(passes) / len(passes)
    assert all(rung.reached for rung in grade.rungs)


@given(st.sampled_from(Mode), wishes)
def test_a_score_is_a_share_of_all_the_weight(mode: Mode, wished: list[Wish]) -> None:
    grade = ladder(mode, wished).grade(NOTHING)

    assert 0 <= grade.score <= 1
    assert 0 <= grade.attained <= grade.total
    assert len(grade.rungs) == len(wished)
    assert all(rung.weight >= 0 for rung in grade.rungs)
    assert grade.passed == (bool(wished) and all(wish.passes for wish in wished))


@given(wishes)
def test_independent_never_credits_less_than_cumulative(wished: list[Wish]) -> None:
    cumulative = ladder(Mode.CUMULATIVE, wished).grade(NOTHING)
    independent = ladder(Mode.INDEPENDENT, wished).grade(NOTHING)

    assert independent.attained >= cumulative.attained
    assert independent.total == cumulative.total


@given(st.sampled_from(Mode), wishes)
def test_grading_twice_gives_the_same_grade(mode: Mode, wished: list[Wish]) -> None:
    graded = ladder(mode, wished)

    assert graded.grade(NOTHING) == graded.grade(NOTHING)
    assert graded.grade(NOTHING).outcome == graded.grade(NOTHING).outcome


happenings = st.lists(
    st.builds(
        lambda type, actor, n: said(type, actor, n=n),
        st.sampled_from(["x.y", "x.z", "stream.shown"]),
        st.just(Actor.SYSTEM),
        st.integers(0, 3),
    ),
    max_size=8,
)


@given(happenings, st.integers(0, 9))
def test_a_grade_at_a_seq_is_the_grade_of_a_run_that_ended_there(events: list[NewEvent], seq: int) -> None:
    climbed = Ladder(
        "any",
        Mode.INDEPENDENT,
        [
            Milestone("y", event_recorded("x.y", lambda payload: payload["n"] == 2)),
            Milestone("z", event_recorded("x.z")),
        ],
    )
    whole, cut = log_of(*events), log_of(*events[:seq])

    assert climbed.grade(StreamEvidence(whole, RUN, seq)) == climbed.grade(StreamEvidence(cut, RUN))


@given(happenings)
def test_supplied_and_streamed_evidence_give_the_same_outcome(events: list[NewEvent]) -> None:
    climbed = Ladder("any", Mode.INDEPENDENT, [Milestone("y", event_recorded("x.y")), Milestone("z", seen)])
    log = log_of(*events)

    supplied, streamed = (climbed.grade(found) for found in (MapEvidence(log.read(RUN)), StreamEvidence(log, RUN)))

    assert supplied.outcome == streamed.outcome
    assert supplied.rungs == streamed.rungs


def seen(evidence: Evidence) -> Verdict:
    events = evidence.events()
    return Verdict(len(events) > 2, f"{len(events)} events", tuple(event.seq for event in events))
