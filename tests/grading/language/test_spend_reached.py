"""reached: whether a check passed soon enough."""

import time

import pytest

from grading.budget import BUDGET, Budget
from grading.errors import CheckBroken
from spine import Event, NewEvent
from tests.grading.language.cases import AGENT, HUMAN, called, check, expected, judged, new, outcome, returned, run
from tests.grading.language.timed import again, at, charge, started, timed

EVENT = "{event: {type: x.a}}"
LAST = "{last: {of: {type: x.a}, is: {path: n, eq: 1}}}"


def reached(inner: str, measure: str) -> str:
    return f"reached: {{check: {inner}, {measure}}}"


@pytest.mark.parametrize("inner", [EVENT, LAST, "{all_of: [{absent: {type: x.b}}, {event: {type: x.a}}]}"])
@pytest.mark.parametrize(("events", "wanted"), [(1, ("fail", (1, 3))), (2, ("pass", (1, 3))), (9, ("pass", (1, 3)))])
def test_events_are_counted_from_the_start(inner: str, events: int, wanted: tuple[str, tuple[int, ...]]) -> None:
    recorded = run(started(), new("x.c"), new("x.a", n=1), new("x.b"))

    assert outcome(check(reached(inner, f"events: {events}")), recorded) == wanted


def test_what_was_reached_stays_reached() -> None:
    recorded = run(started(), new("x.a", n=1), new("x.a", n=2), new("x.b"))

    assert outcome(check(reached(LAST, "events: 5")), recorded) == ("pass", (1, 2))
    assert outcome(check(LAST[1:-1]), recorded) == ("fail", (3,))


def test_what_is_not_reached_yet_cites_the_start_and_what_was_too_far() -> None:
    text = check(reached(EVENT, "events: 1"))

    assert outcome(text, run()) == ("fail", ())
    assert outcome(text, run(started(), new("x.b"), new("x.b"))) == ("fail", (1,))  # it hears of no x.b
    assert outcome(text, run(started(), new("x.b"), new("x.a"))) == ("fail", (1, 3))
    assert judged(text, run(started(), new("x.b"), new("x.a"))).detail == (
        "not reached within 1 event, from the start at seq 1, over at seq 3"
    )


def test_the_run_starts_where_the_system_says() -> None:
    text = check(reached(EVENT, "seconds: 10"))
    queued = (0.0, expected(target="t"))

    assert outcome(text, timed(queued, (100, started()), (110, new("x.a")))) == ("pass", (2, 3))
    assert outcome(text, timed(queued, (100, started()), (111, new("x.a")))) == ("fail", (2, 3))
    assert outcome(text, timed(queued, (5, new("x.a")), (100, started()))) == ("pass", (1, 2))
    assert outcome(text, timed((0, new("m.x", AGENT)), queued, (10, new("x.a")))) == ("pass", (2, 3))


def test_seconds_go_by_the_clock_that_is_named() -> None:
    recorded = timed((0, at(0, started())), (10, at(99, new("x.a"))))
    forged = timed((0, at(0, started())), (99, at(10, new("x.a"))))

    assert outcome(check(reached(EVENT, "seconds: 10")), recorded)[0] == "pass"
    assert outcome(check(reached(EVENT, "seconds: 10, clock: time")), recorded)[0] == "fail"
    assert outcome(check(reached(EVENT, "seconds: 10")), forged)[0] == "fail"
    assert outcome(check(reached(EVENT, "seconds: 10, clock: time")), forged)[0] == "pass"
    assert "by the producers' clock" in judged(check(reached(EVENT, "seconds: 10, clock: time")), forged).detail


@pytest.mark.parametrize("inner", [EVENT, LAST])
def test_what_was_charged_by_then_counts(inner: str) -> None:
    events = [charge(10), charge(5, "usd"), charge(10), charge(1, scope="step"), new("x.a", n=1), charge(500)]
    text = "charged: {}, resource: tokens"

    assert outcome(check(reached(inner, text.format(21))), run(*events)) == ("pass", (5,))
    assert outcome(check(reached(inner, text.format(20.9))), run(*events)) == ("fail", (4,))
    assert outcome(check(reached(inner, text.format(20) + ", scope: run")), run(*events)) == ("pass", (5,))
    assert outcome(check(reached(inner, text.format(0) + ", scope: other")), run(*events)) == ("pass", (5,))


def test_what_is_given_back_opens_nothing_again() -> None:
    events = run(charge(10), charge(-9), new("x.a"))

    assert outcome(check(reached(EVENT, "charged: 5, resource: tokens")), events) == ("fail", (1,))


@pytest.mark.parametrize("inner", [EVENT, LAST])
def test_an_unreadable_charge_matters_only_to_what_passes_after_it(inner: str) -> None:
    text = check(reached(inner, "charged: 15, resource: tokens"))
    one = new("x.a", n=1)

    assert outcome(text, run(charge(1), one, charge(1), erase=[3])) == ("pass", (2,))
    assert outcome(text, run(charge(1), one, erase=[1])) == ("evidence_erased", "seq 1")
    assert outcome(text, run(charge(1), new("x.b"), erase=[1]))[0] == "fail"
    assert outcome(text, run(charge(1), charge(20), one, erase=[1])) == ("fail", (2,))


def test_a_check_that_broke_on_the_way_matters_only_where_it_never_passed() -> None:
    text = check(reached(LAST, "events: 3"))
    first, later, other = (new("x.a", n=n) for n in (1, 1, 2))

    assert outcome(text, run(started(), first, later, erase=[2])) == ("pass", (1, 3))
    assert outcome(text, run(started(), first, other, erase=[2])) == ("evidence_erased", "seq 2")


def test_a_reference_that_is_missing_breaks_it() -> None:
    inner = "{event: {type: x.a, where: {path: n, eq: {$expected: target}}}}"

    assert outcome(check(reached(inner, "events: 3")), run(started()))[0] == "expected_missing"
    assert outcome(check(reached(f"{{any_of: [{inner}, {LAST}]}}", "events: 3")), run(started()))[0] == (
        "expected_missing"
    )


def test_calls_are_reached_when_they_return() -> None:
    inner = "{event: {call: t, where: {path: result, eq: ok}}}"
    events = run(started(), called("1", "t"), new("x.b"), returned("1", "t"))

    assert outcome(check(reached(inner, "events: 2")), events) == ("fail", (1, 4))
    assert outcome(check(reached(inner, "events: 3")), events) == ("pass", (1, 2, 4))


def test_none_of_reached_says_that_it_came_late_or_not_at_all() -> None:
    text = check(f"none_of: [{{{reached(EVENT, 'seconds: 10')}}}]")

    assert outcome(text, timed((0, started()), (5, new("x.b"))))[0] == "pass"
    assert outcome(text, timed((0, started()), (11, new("x.a"))))[0] == "pass"
    assert outcome(text, timed((0, started()), (10, new("x.a"))))[0] == "fail"
    assert outcome(text, timed((0, started()), (10, new("x.a", AGENT))))[0] == "fail"


def test_in_none_of_no_time_of_the_agents_ends_the_window() -> None:
    text = check(f"none_of: [{{{reached(EVENT, 'seconds: 10, clock: time')}}}]")
    begin, a = (0.0, at(0, started())), (6.0, at(6, new("x.a")))

    assert outcome(text, timed(begin, a))[0] == "fail"
    assert outcome(text, timed(begin, (5, at(999, new("x.a", AGENT))), a))[0] == "fail"
    assert outcome(text, timed((0, at(-999, new("x.a", AGENT))), begin, a))[0] == "fail"
    assert outcome(text, timed(begin, (5, at(999, new("x.a", HUMAN))), a))[0] == "pass"


def test_a_check_may_be_reached_before_anything_that_it_hears_of() -> None:
    inner = "{compare: {want: {expected: outputs}, got: {type: x.a, take: n}, as: only}}"
    events = run(expected(outputs=["x"]), started(), new("x.a", n=1))

    assert outcome(check(inner[1:-1]), events)[0] == "fail"
    assert outcome(check(reached(inner, "events: 3")), events)[0] == "pass"


def test_what_comes_to_be_unreadable_does_not_undo_it() -> None:
    call = "{event: {call: t, where: {path: result, gt: 0}}}"
    calls = [called("1", "t"), called("2", "t"), returned("2", "t", 5), returned("1", "t", "text")]
    either = "{any_of: [{event: {type: x.a, where: {path: n, gt: 1}}}, {event: {type: x.b}}]}"
    both = [new("x.b"), new("x.a", n="text")]

    for inner, events in ((call, calls), (either, both)):
        assert outcome(check(inner[1:-1]), run(started(), *events))[0] == "wrong_type"
        assert outcome(check(reached(inner, "events: 9")), run(started(), *events))[0] == "pass"


def test_in_supplied_evidence_a_charge_of_the_agents_counts_only_against_it() -> None:
    events = run(started(), charge(9), new("x.a"))
    events[1] = Event(events[1].row._replace(actor="agent"))
    text = reached(EVENT, "charged: 5, resource: tokens")

    assert outcome(check(text), events)[0] == "fail"
    assert outcome(check(f"none_of: [{{{text}}}]"), events)[0] == "fail"


def many(count: int) -> list[Event]:
    return run(started(), *[again(new("x.a", n=0, k=number)) for number in range(count)])


@pytest.mark.parametrize(
    "inner",
    [
        "{event: {type: x.a, where: {path: n, eq: 1}}}",
        "{sequence: [{type: x.a}, {type: x.b}]}",
        "{compare: {want: {expected: outputs}, got: {type: x.a, take: n}, as: every}}",
        "{last: {of: {type: x.a}, is: {path: n, eq: 1}}}",
        "{count: {of: {type: x.a, where: {path: n, eq: 1}, pick: last}, at_least: 1}}",
    ],
)
def test_a_long_run_is_no_more_than_its_events(inner: str) -> None:
    events = [*run(expected(outputs=["x"])), *many(5000)]
    begun = time.perf_counter()

    assert outcome(check(reached(inner, "events: 9999")), events)[0] == "fail"
    assert time.perf_counter() - begun < 5


def test_a_check_that_remembers_much_is_broken_by_asking_again_and_again() -> None:
    inner = "{count: {of: {type: x.a, latest_by: k, where: {path: n, eq: 1}}, at_least: 3}}"

    assert outcome(check(reached(inner, "events: 9999")), many(5000))[0] == "budget_exceeded"
    assert outcome(check(reached(inner, "events: 500")), many(5000))[0] == "fail"


def test_asking_a_check_that_looks_at_much_is_bounded() -> None:
    inner = "{compare: {want: {expected: outputs}, got: {type: x.a, latest_by: k, take: n}, as: every}}"
    events = [*run(expected(outputs=["x"])), *many(500)]
    text = reached(inner, "events: 9999")

    assert outcome(check(text), events)[0] == "fail"
    assert outcome(check(text, budget=Budget(5_000, BUDGET.bytes)), events)[0] == "budget_exceeded"
    assert outcome(check(text, budget=Budget(100_000, BUDGET.bytes)), events)[0] == "fail"


def test_after_the_window_nothing_is_looked_at() -> None:
    wrong: list[NewEvent] = [new("x.a", n="text") for _ in range(3)]
    inner = "{event: {type: x.a, where: {path: n, gt: 1}}}"

    assert outcome(check(reached(inner, "events: 1")), run(started(), new("x.b"), *wrong)) == ("fail", (1, 3))
    with pytest.raises(CheckBroken, match="wrong_type"):
        judged(check(reached(inner, "events: 2")), run(started(), new("x.b"), *wrong))
