"""before, gap and the clocks: how events stand to one another."""

from collections.abc import Sequence

import pytest

from grading.errors import CheckBroken
from spine import Event, NewEvent
from tests.grading.language.cases import AGENT, HUMAN, SYSTEM, called, check, judged, new, outcome, returned
from tests.grading.language.cases import run as recorded
from tests.grading.language.timed import again, at, started, timed

A, B = new("x.a"), new("x.b")


def run(*events: NewEvent, erase: Sequence[int] = ()) -> list[Event]:
    return recorded(*map(again, events), erase=erase)


BEFORE = "before: {first: {type: x.a}, then: {type: x.b}}"


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        ([], ("pass", ())),
        ([A], ("pass", (1,))),
        ([B], ("fail", (1,))),
        ([A, B, B], ("pass", (1,))),
        ([B, A, B], ("fail", (1,))),
        ([B, B, A], ("fail", (1, 2))),
    ],
)
def test_before_wants_a_first_before_every_then(events: list[NewEvent], wanted: tuple[str, tuple[int, ...]]) -> None:
    assert outcome(check(BEFORE), run(*events)) == wanted


def test_before_is_not_satisfied_by_the_event_itself() -> None:
    assert outcome(check("before: {first: {type: x.a}, then: {type: x.a}}"), run(A, A)) == ("fail", (1,))


def test_a_guard_that_the_agent_wrote_guards_nothing() -> None:
    events = run(new("x.a", AGENT), B)

    assert outcome(check(BEFORE), events) == ("fail", (2,))
    assert outcome(check(BEFORE.replace("x.a}", "x.a, trust: [agent]}")), events) == ("pass", (1,))


def test_what_has_to_be_guarded_is_everyones() -> None:
    assert outcome(check(BEFORE), run(new("x.b", AGENT), A)) == ("fail", (1,))


def test_nothing_newer_hides_what_was_not_guarded() -> None:
    text = "before: {first: {type: x.a}, then: {type: x.b, latest_by: k}}"
    events = [new("x.b", k=1), A, new("x.b", AGENT, k=1)]

    assert outcome(check(text), run(*events)) == ("fail", (1,))


def test_a_call_is_guarded_where_it_was_made() -> None:
    text = "before: {first: {type: approval.decided}, then: {call: buy, where: {path: returned, eq: true}}}"
    approved = new("approval.decided", HUMAN, effect_id="e", decision="approved")

    assert outcome(check(text), run(called("1", "buy"), approved, returned("1", "buy"))) == ("fail", (1, 3))
    assert outcome(check(text), run(approved, called("1", "buy"), returned("1", "buy"))) == ("pass", (1,))


@pytest.mark.parametrize(
    ("events", "erase", "wanted"),
    [
        ([A, new("x.b", n=1)], [2], ("pass", (1,))),  # guarded, whatever it was
        ([new("x.b", n=1), A], [1], ("evidence_erased", "seq 1")),
        ([new("x.b", n=1), new("x.b", n=1), A], [1], ("fail", (2,))),
    ],
)
def test_before_breaks_only_where_it_matters(
    events: list[NewEvent], erase: list[int], wanted: tuple[str, tuple[int, ...] | str]
) -> None:
    text = "before: {first: {type: x.a}, then: {type: x.b, where: {path: n, eq: 1}}}"

    assert outcome(check(text), run(*events, erase=erase)) == wanted


def test_before_breaks_where_the_guard_cannot_be_read() -> None:
    text = "before: {first: {type: x.a, where: {path: n, eq: 1}}, then: {type: x.b}}"

    assert outcome(check(text), run(new("x.a", n=1), B, erase=[1])) == ("evidence_erased", "seq 1")
    assert outcome(check(text), run(B, new("x.a", n=1), B, erase=[2])) == ("fail", (1,))
    assert outcome(check(text), run(new("x.a", n=1), new("x.a", n=1), B, erase=[1])) == ("pass", (2,))


def test_none_of_before_looks_for_what_was_not_guarded() -> None:
    text = "none_of: [{" + BEFORE + "}]"

    assert outcome(check(text), run(B, A))[0] == "pass"
    assert outcome(check(text), run(new("x.b", AGENT), A))[0] == "fail"
    assert outcome(check(text), run(new("x.a", AGENT), B))[0] == "fail"


@pytest.mark.parametrize(("seconds", "result"), [(9.5, "fail"), (10, "pass")])
def test_a_gap_is_between_one_and_the_next(seconds: float, result: str) -> None:
    events = timed((0, started()), (5, A), (15, A), (100, B))

    wanted = (result, (2, 3))
    assert outcome(check(f"gap: {{of: {{type: x.a}}, seconds: {seconds}}}"), events) == wanted


def test_a_gap_may_lie_at_the_edges_too() -> None:
    events = timed((0, B), (50, started()), (60, A), (65, A), (100, B))
    gap = "gap: {{of: {{type: x.a}}, seconds: {}, edges: [{}]}}"

    assert outcome(check(gap.format(9, "start")), events) == ("fail", (2, 3))
    assert outcome(check(gap.format(10, "start")), events) == ("pass", (3, 4))
    assert outcome(check(gap.format(34, "end")), events) == ("fail", (4, 5))
    assert outcome(check(gap.format(35, "start, end")), events) == ("pass", (3, 4))


def test_a_gap_counts_everyones_events_and_believes_only_some() -> None:
    gap = "gap: {of: {type: x.a}, events: 2}"

    assert outcome(check(gap), run(A, B, A)) == ("pass", (1, 3))
    assert outcome(check(gap), run(A, B, new("x.a", AGENT), A)) == ("fail", (1, 4))
    assert outcome(check(gap), run(A, new("score.imported", scorer="s", value=1), B, A)) == ("pass", (1, 4))


def test_nothing_at_all_is_a_gap() -> None:
    assert outcome(check("gap: {of: {type: x.a}, events: 9}"), run(B)) == ("fail", ())


def test_by_the_producers_clock_the_next_is_the_next_by_that_clock() -> None:
    events = timed((0, at(0, A)), (1, at(20, A)), (2, at(10, A)))

    verdict = judged(check("gap: {of: {type: x.a}, seconds: 10, clock: time}"), events)
    assert verdict.passed
    assert "by the producers' clock" in verdict.detail


def test_an_agent_does_not_move_the_end_by_a_time_of_its_own() -> None:
    text = "gap: {of: {type: x.a}, seconds: 10, clock: time, edges: [end]}"
    events = [(0.0, at(0, A)), (60.0, at(60, B))]

    assert outcome(check(text), timed(*events)) == ("fail", (1, 2))
    assert outcome(check(text), timed(*events, (61, at(5, new("x.c", AGENT))))) == ("fail", (1, 2))


def test_what_cannot_be_read_may_have_closed_a_gap_and_opens_none() -> None:
    text = "gap: {{of: {{type: x.a, where: {{path: n, eq: 1}}}}, events: {}}}"
    one = new("x.a", n=1)

    assert outcome(check(text.format(1)), run(one, one, one, erase=[2])) == ("evidence_erased", "seq 2")
    assert outcome(check(text.format(2)), run(one, one, one, erase=[2])) == ("pass", (1, 3))


def test_within_goes_by_the_clock_it_names() -> None:
    text = "within: {{first: {{type: x.a}}, then: {{type: x.b}}, seconds: 10{}}}"
    events = timed((0, at(0, A)), (10, at(999, B)))

    assert outcome(check(text.format("")), events) == ("fail", ())
    assert outcome(check(text.format(", clock: time")), events) == ("fail", ())
    assert outcome(check(text.format(", clock: recorded_at")), events) == ("pass", (1, 2))
    assert "by the producers' clock" in judged(check(text.format("")), events).detail
    assert "clock" not in judged(check(text.format(", clock: recorded_at")), events).detail


def test_a_verdict_in_seconds_is_the_same_wherever_the_run_stands() -> None:
    text = "gap: {of: {type: x.a}, seconds: 0.000001}"

    assert outcome(check(text), timed((0, A), (0.000001, A)))[0] == "pass"
    assert outcome(check(text), timed((0, A), (0.000002, A)))[0] == "fail"


def test_a_reference_that_is_missing_is_said_when_the_check_is_asked() -> None:
    text = "before: {first: {type: x.a, where: {path: n, eq: {$expected: target}}}, then: {type: x.b}}"
    under_way = check(text).start(None)

    under_way.step(run(B)[0])
    with pytest.raises(CheckBroken, match="expected_missing"):
        under_way.result()


def test_trust_narrows_what_is_guarded() -> None:
    text = "before: {first: {type: x.a}, then: {type: x.b, trust: [system]}}"

    assert outcome(check(text), run(new("x.b", AGENT), A)) == ("pass", (2,))
    assert outcome(check(text), run(new("x.b", SYSTEM), A)) == ("fail", (1,))
