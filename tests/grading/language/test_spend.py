"""sum and budget: how much was used, and whether it was allowed."""

from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.evidence import MapEvidence
from grading.kinds.amounts import NOTHING, added, amount
from grading.paths import Path
from spine import Actor, Event, NewEvent
from tests.grading.language.cases import AGENT, HUMAN, SYSTEM, called, check, judged, new, outcome, returned, run
from tests.grading.language.timed import charge, exhausted, limit

TOKENS = "sum: {{of: {{type: budget.charged, where: {{path: resource, eq: tokens}}, take: amount}}, {}}}"


@pytest.mark.parametrize(
    ("bound", "result"),
    [
        ("at_most: 29", "fail"),
        ("at_most: 30", "pass"),
        ("at_least: 30", "pass"),
        ("at_least: 30.5", "fail"),
        ("exactly: 30", "pass"),
        ("exactly: 31", "fail"),
        ("exactly: 29.99", "fail"),
    ],
)
def test_a_sum_is_of_what_is_selected(bound: str, result: str) -> None:
    events = run(charge(10), charge(500, "usd"), charge(20))

    assert outcome(check(TOKENS.format(bound)), events) == (result, (1, 3))


def test_enough_is_enough_from_the_front() -> None:
    events = run(charge(10), charge(20), charge(20), erase=[3])

    assert outcome(check(TOKENS.format("at_least: 30")), events) == ("pass", (1, 2))
    assert outcome(check(TOKENS.format("at_least: 31")), events) == ("evidence_erased", "seq 3")


def test_too_much_is_too_much_whatever_cannot_be_read() -> None:
    events = run(charge(10), charge(20), charge(30), erase=[1])

    assert outcome(check(TOKENS.format("at_most: 49")), events) == ("fail", (2, 3))
    assert outcome(check(TOKENS.format("at_most: 50")), events) == ("evidence_erased", "seq 1")
    assert outcome(check(TOKENS.format("exactly: 60")), events) == ("evidence_erased", "seq 1")


def test_tenths_add_up() -> None:
    events = run(*[charge(0.1) for _ in range(10)])

    assert sum([0.1] * 10) != 1
    assert outcome(check(TOKENS.format("exactly: 1")), events)[0] == "pass"


def test_the_order_of_amounts_makes_no_difference() -> None:
    for amounts in permutations([1e308, 1, -1e308, 5e-324, 2**52]):
        events = run(*map(charge, amounts))

        assert outcome(check(TOKENS.format(f"at_most: {2**52 + 1}")), events)[0] == "fail"  # a trifle more
        assert outcome(check(TOKENS.format(f"at_most: {2**52 + 2}")), events)[0] == "pass"


NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(NUMBERS, max_size=12))
def test_amounts_are_added_exactly(numbers: list[float]) -> None:
    total = NOTHING
    for number in numbers:
        total = added(total, amount(number, Path()))

    assert Fraction(total) == sum((Fraction(repr(number)) for number in numbers), Fraction())


@pytest.mark.parametrize("found", ["10", None, True, [10], {}])
def test_what_is_no_number_is_a_wrong_type(found: Any) -> None:
    text = "sum: {of: {type: x.cost, take: usd}, at_most: 100}"

    assert outcome(check(text), run(new("x.cost", usd=1), new("x.cost", usd=found)))[0] == "wrong_type"
    assert outcome(check(text), run(new("x.cost", usd=101), new("x.cost", usd=found))) == ("fail", (1,))


def test_where_the_path_is_missing_there_is_no_amount() -> None:
    assert outcome(check("sum: {of: {type: x.cost, take: usd}, exactly: 3}"), run(new("x.cost", usd=3), new("x.cost")))[
        0
    ] == ("pass")


def test_an_agent_takes_nothing_away() -> None:
    text = "sum: {{of: {{type: x.cost, take: usd{}}}, at_most: 100}}"
    cost, refund = new("x.cost", usd=150), [new("x.cost", actor, usd=-100) for actor in (SYSTEM, HUMAN, AGENT)]

    assert [outcome(check(text.format("")), run(cost, less))[0] for less in refund] == ["pass", "pass", "fail"]
    everyone = ", trust: [agent, human, system]"
    assert [outcome(check(text.format(everyone)), run(cost, less))[0] for less in refund] == ["pass", "pass", "fail"]
    assert outcome(check(text.format("")), run(new("x.cost", AGENT, usd=150), refund[2]))[0] == "fail"


def test_amounts_of_calls_are_the_agents() -> None:
    text = "sum: {of: {call: pay, where: {path: returned, eq: true}, take: arguments.usd}, at_most: 100}"
    paid = [called("1", "pay", usd=150), returned("1", "pay")]
    back = [called("2", "pay", usd=-100), returned("2", "pay")]

    assert outcome(check(text), run(*paid)) == ("fail", (1, 2))
    assert outcome(check(text), run(*back, *paid))[0] == "fail"


BUDGET = "budget: {}"


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        ([], ("pass", ())),
        ([charge(5)], ("pass", (1,))),
        ([limit(10), charge(4), charge(6)], ("pass", (1, 3))),
        ([limit(10), charge(4), charge(7)], ("fail", (1, 3))),
        ([limit(10), charge(4), charge(7), charge(1)], ("fail", (1, 3, 4))),
        ([charge(11), limit(10)], ("pass", (1, 2))),  # when it was charged, nothing was set
        ([charge(11), limit(10), charge(1)], ("fail", (2, 3))),
        ([limit(10), charge(11), limit(20)], ("fail", (1, 2))),  # raised too late
        ([limit(10), charge(8), limit(20), charge(8)], ("pass", (3, 4))),
        ([limit(10), charge(8), charge(-5), charge(6)], ("pass", (1, 4))),
        ([limit(10), charge(8, "usd"), charge(8)], ("pass", (1, 2, 3))),
        ([limit(10), charge(8, scope="a"), charge(8)], ("pass", (1, 2, 3))),
        ([limit(0), charge(0)], ("pass", (1, 2))),
        ([limit(0), charge(1)], ("fail", (1, 2))),
        ([limit(0.3), charge(0.1), charge(0.1), charge(0.1)], ("pass", (1, 4))),
        ([exhausted(), charge(1)], ("fail", (1, 2))),
        ([limit(10), charge(1), exhausted(), charge(1)], ("fail", (3, 4))),
        ([limit(10), charge(1), exhausted(), charge(0), limit(10), charge(1)], ("pass", (5, 6))),
        ([exhausted("usd"), charge(1)], ("pass", (2,))),
    ],
)
def test_every_charge_has_to_be_within_what_is_set_for_it(
    events: list[NewEvent], wanted: tuple[str, tuple[int, ...]]
) -> None:
    assert outcome(check(BUDGET), run(*events)) == wanted


def test_a_charge_to_what_has_no_limit_can_be_refused() -> None:
    events = run(limit(10), charge(1), charge(1, "usd"), charge(0, "eur"))

    assert outcome(check("budget: {unset: refused}"), events) == ("fail", (3,))
    assert outcome(check("budget: {unset: refused, resource: tokens}"), events) == ("pass", (1, 2))
    assert outcome(check("budget: {unset: allowed}"), events)[0] == "pass"


def test_only_the_scopes_and_resources_that_are_named_are_looked_at() -> None:
    events = run(limit(1), charge(5), limit(1, "usd", "step"), charge(5, "usd", "step"))

    assert outcome(check("budget: {resource: [usd, eur]}"), events) == ("fail", (3, 4))
    assert outcome(check("budget: {scope: run}"), events) == ("fail", (1, 2))
    assert outcome(check("budget: {scope: run, resource: usd}"), events) == ("pass", ())


@pytest.mark.parametrize(
    ("events", "erase", "wanted"),
    [
        ([limit(10), charge(5)], [2], ("evidence_erased", "seq 2")),
        ([limit(10), charge(5), charge(11)], [2], ("fail", (1, 3))),
        ([limit(10), charge(11), charge(1)], [3], ("fail", (1, 2))),
        ([limit(10), limit(99), charge(11)], [2], ("evidence_erased", "seq 2")),  # perhaps it was allowed
        ([limit(10), charge(11), limit(99)], [3], ("fail", (1, 2))),
        ([limit(10), charge(1), exhausted()], [3], ("evidence_erased", "seq 3")),
    ],
)
def test_a_charge_too_much_decides_whatever_else_cannot_be_read(
    events: list[NewEvent], erase: list[int], wanted: tuple[str, tuple[int, ...] | str]
) -> None:
    assert outcome(check(BUDGET), run(*events, erase=erase)) == wanted


def supplied(event: NewEvent, actor: Actor, seq: int) -> Event:
    """An event as a log would not take it: by an actor who may not write it."""
    row = run(event)[0].row
    return Event(row._replace(actor=actor.value, seq=seq))


def test_in_supplied_evidence_an_agent_can_neither_raise_a_limit_nor_give_back() -> None:
    events = [
        supplied(limit(10), SYSTEM, 1),
        supplied(limit(1000), AGENT, 2),
        supplied(charge(-100), AGENT, 3),
        supplied(charge(11), SYSTEM, 4),
    ]

    assert outcome(check(BUDGET), events) == ("fail", (1, 4))
    assert not check(BUDGET)(MapEvidence(events)).passed


def test_in_supplied_evidence_a_charge_of_the_agents_counts_against_it() -> None:
    events = [supplied(limit(10), SYSTEM, 1), supplied(charge(11), AGENT, 2)]

    assert outcome(check(BUDGET), events) == ("fail", (1, 2))
    assert outcome(check("none_of: [{budget: {}}]"), events)[0] == "fail"  # nobody who is believed overspent


def test_none_of_budget_looks_for_a_charge_too_much() -> None:
    assert outcome(check("none_of: [{budget: {}}]"), run(limit(1), charge(2)))[0] == "pass"
    assert outcome(check("none_of: [{budget: {}}]"), run(limit(2), charge(2)))[0] == "fail"


@pytest.mark.parametrize("text", [BUDGET, TOKENS.format("at_most: 1"), TOKENS.format("exactly: 1")])
def test_a_detail_holds_no_amount_of_an_event(text: str) -> None:
    verdict = judged(check(text), run(limit(123), charge(456789)))

    assert not verdict.passed
    assert "456789" not in verdict.detail
    assert "123" not in verdict.detail


AMOUNTS = st.sampled_from([0, 1, 2.5, 0.1, 7, -1])
SPEND = st.one_of(
    st.builds(charge, AMOUNTS, st.sampled_from(["tokens", "usd"]), st.sampled_from(["run", "step"])),
    st.builds(limit, AMOUNTS, st.sampled_from(["tokens", "usd"]), st.sampled_from(["run", "step"])),
    st.builds(exhausted, st.sampled_from(["tokens", "usd"]), st.sampled_from(["run", "step"])),
)


@given(st.lists(SPEND, max_size=14), st.booleans())
def test_a_budget_is_kept_as_each_of_its_accounts_is(events: list[NewEvent], refused: bool) -> None:
    """By looking back from every charge at all that was before it."""

    def too_much(at: int) -> bool:
        one = events[at].payload
        before = [(e.type, e.payload) for e in events[: at + 1]]
        mine = [(t, p) for t, p in before if (p["scope"], p["resource"]) == (one["scope"], one["resource"])]
        spent = sum(Fraction(str(p["amount"])) for t, p in mine if t == "budget.charged")
        said = [(t, p) for t, p in mine if t != "budget.charged"]
        if one["amount"] <= 0:
            return False
        if said and said[-1][0] == "budget.exhausted":
            return True
        limits = [Fraction(str(p["limit"])) for t, p in said if t == "budget.set"]
        return spent > limits[-1] if limits else refused

    bad = any(too_much(at) for at, event in enumerate(events) if event.type == "budget.charged")
    text = "budget: {unset: refused}" if refused else BUDGET
    assert outcome(check(text), run(*events))[0] == ("fail" if bad else "pass")
