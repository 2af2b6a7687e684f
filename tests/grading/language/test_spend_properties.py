"""What holds for checks of time, order and spend, whatever the events are."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grading.checks import Reducer, Verdict
from grading.errors import CheckBroken
from spine import Actor, Event, NewEvent
from tests.grading.language.cases import AGENT, HUMAN, SYSTEM, called, check, new, returned
from tests.grading.language.test_properties import LIMIT, PRESENCE, SELECTORS
from tests.grading.language.timed import BEGIN, again, at, charge, exhausted, limit, started, timed

REFERENCE = {"numbers": [1, 2]}
CLOCK = st.sampled_from(["", ", clock: time", ", clock: recorded_at"])
SECONDS = st.builds("seconds: {}{}".format, st.integers(0, 6), CLOCK)
CHARGED = st.builds("charged: {}, resource: tokens{}".format, st.integers(0, 6), st.sampled_from(["", ", scope: run"]))
EVENTS = st.builds("events: {}".format, st.integers(1, 6))
# Whether a call returned, and by which of them, can change: so it can be lost again.
INNER = (
    PRESENCE
    | st.builds("all_of: [{{{}}}, {{{}}}]".format, PRESENCE, LIMIT)
    | st.just("any_of: [{event: {type: x.a, where: {path: n, gt: 1}}}, {event: {type: x.b}}]")
)
GUARD = st.builds("before: {{first: {}, then: {}}}".format, SELECTORS, SELECTORS)
SUM = st.builds(
    lambda of, bound, n: f"sum: {{of: {of[:-1]}, take: n}}, {bound}: {n}}}",
    SELECTORS,
    st.sampled_from(["at_most", "exactly", "at_least"]),
    st.sampled_from([1, 2, 2.5, 4]),
)
BUDGETS = st.sampled_from(["budget: {}", "budget: {unset: refused}", "budget: {resource: tokens, scope: [run]}"])
EDGES = st.sampled_from(["", ", edges: [start]", ", edges: [end]", ", edges: [start, end]"])
GAP = st.builds("gap: {{of: {}, {}{}}}".format, SELECTORS, EVENTS | SECONDS, EDGES)
REACHED = st.builds("reached: {{check: {{{}}}, {}}}".format, INNER, EVENTS | SECONDS | CHARGED)
IN_NONE_OF = st.builds(
    "none_of: [{{{}}}]".format,
    GUARD
    | SUM
    | BUDGETS
    | st.builds(
        "reached: {{check: {{{}}}, {}}}".format, PRESENCE.filter(lambda text: "events:" not in text), SECONDS | CHARGED
    ),
)
NEW = GUARD | SUM | BUDGETS | GAP | REACHED | IN_NONE_OF

NUMBERS = st.sampled_from([0, 1, 2, 2.0, -1, "text"])
KEYS = st.sampled_from(["", "p", "q"])


def made(type: str, actor: Actor, n: Any, k: str) -> NewEvent:
    return new(type, actor, **({"n": n} if n is not None else {}), **({"k": k} if k else {}))


KNOWN = st.one_of(
    st.builds(made, st.sampled_from(["x.a", "x.b"]), st.sampled_from([SYSTEM, HUMAN]), st.none() | NUMBERS, KEYS),
    st.builds(called, st.sampled_from("abc"), st.sampled_from("tu")),
    st.builds(returned, st.sampled_from("abc"), st.just("t"), NUMBERS),
    st.builds(charge, st.sampled_from([1, 2, 0.5, -1]), st.sampled_from(["tokens", "usd"]), st.just("run")),
    st.builds(limit, st.integers(0, 4), st.sampled_from(["tokens", "usd"]), st.just("run")),
    st.builds(exhausted, st.just("tokens"), st.just("run")),
    st.builds(started),
)
SPOOFED = st.one_of(
    st.builds(made, st.sampled_from(["x.a", "x.b"]), st.just(AGENT), NUMBERS | st.none(), KEYS),
    st.builds(made, st.just("x.c"), st.just(AGENT), st.just(1), st.just("p")),
)
STEPS = st.sampled_from([0, 0, 1, 2, 5])
TIMED = st.tuples(STEPS, st.integers(-5, 20), KNOWN)


def recorded(events: Sequence[tuple[float, float, NewEvent]], erase: Sequence[int] = ()) -> list[Event]:
    """Events by how long after the one before they were recorded, and by their producer's time."""
    now, found = 0.0, list[tuple[float, NewEvent]]()
    for step, said, event in events:
        now += step
        found.append((now, at(said, event)))
    return timed(*found, erase=erase)


def asked(reducer: Reducer) -> Verdict | tuple[str, str]:
    try:
        return reducer.result()
    except CheckBroken as broken:
        return broken.code.value, broken.where


def after(text: str, events: Sequence[Event]) -> Verdict | tuple[str, str]:
    reducer = check(text).start(REFERENCE)
    for event in events:
        reducer.step(Event(event.row))
    return asked(reducer)


def word(answer: Verdict | tuple[str, str]) -> str:
    return answer[0] if isinstance(answer, tuple) else "pass" if answer.passed else "fail"


@given(NEW, st.lists(TIMED, max_size=12), st.sets(st.integers(1, 12), max_size=2))
def test_a_verdict_at_a_prefix_is_the_verdict_on_the_prefix(
    text: str, events: list[tuple[float, float, NewEvent]], erase: set[int]
) -> None:
    run = recorded(events, erase=[seq for seq in erase if seq <= len(events)])
    under_way = check(text).start(REFERENCE)

    for end in range(len(run) + 1):
        if end:
            under_way.step(run[end - 1])
        assert asked(under_way) == after(text, run[:end])


@given(
    NEW,
    st.lists(TIMED, max_size=8),
    st.lists(st.tuples(st.integers(0, 50), st.integers(-50, 50), SPOOFED), max_size=4),
)
def test_what_an_agent_adds_never_makes_a_failed_check_pass(
    text: str, events: list[tuple[float, float, NewEvent]], spoofed: list[tuple[int, int, NewEvent]]
) -> None:
    mixed = list(events)
    for place, said, event in spoofed:
        mixed.insert(place % (len(mixed) + 1), (0, said, event))
    begin = (0.0, 0.0, started())  # with the log's first event the run has begun

    before, later = word(after(text, recorded([begin, *events]))), word(after(text, recorded([begin, *mixed])))

    assert before == "pass" or later != "pass"


@given(NEW, st.lists(TIMED, max_size=8), st.lists(st.tuples(st.integers(0, 50), SPOOFED), max_size=3))
def test_before_a_run_has_begun_an_agent_makes_nothing_pass_by_the_logs_clock(
    text: str, events: list[tuple[float, float, NewEvent]], spoofed: list[tuple[int, NewEvent]]
) -> None:
    if "clock: time" in text or "within" in text:
        return
    mixed = list(events)
    for place, event in spoofed:
        mixed.insert(place % (len(mixed) + 1), (0, 0, event))

    assert word(after(text, recorded(events))) == "pass" or word(after(text, recorded(mixed))) != "pass"


CALLS = st.builds(called, st.sampled_from("abcd"), st.sampled_from("tu"))
OF_CALLS = st.sampled_from(["{call: '*'}", "{call: t, where: {path: returned, eq: true}}", "{call: [t, u]}"])
LIMITS_OF_CALLS = st.one_of(
    st.builds("before: {{first: {{type: x.a}}, then: {}}}".format, OF_CALLS),
    st.builds(lambda of: f"sum: {{of: {of[:-1]}, take: result}}, at_most: 1}}", OF_CALLS),
    st.builds(
        "none_of: [{{reached: {{check: {{event: {}}}, {}}}}}]".format,
        OF_CALLS,
        st.sampled_from(["seconds: 3", "seconds: 3, clock: time", "charged: 2, resource: tokens"]),
    ),
)


@given(
    LIMITS_OF_CALLS,
    st.lists(TIMED, max_size=8),
    st.lists(st.tuples(st.integers(0, 50), st.integers(-50, 50), CALLS), max_size=3),
)
def test_no_call_that_an_agent_adds_hides_another(
    text: str, events: list[tuple[float, float, NewEvent]], spoofed: list[tuple[int, int, NewEvent]]
) -> None:
    mixed = list(events)
    for place, said, event in spoofed:
        mixed.insert(place % (len(mixed) + 1), (0, said, event))
    begin = (0.0, 0.0, started())

    before, later = word(after(text, recorded([begin, *events]))), word(after(text, recorded([begin, *mixed])))

    assert before != "fail" or later != "pass"


@given(INNER, EVENTS | SECONDS, st.lists(TIMED, max_size=10))
def test_reached_is_passed_at_some_prefix_in_the_window(
    inner: str, measure: str, events: list[tuple[float, float, NewEvent]]
) -> None:
    """By asking the check anew of every prefix up to the first event that is too far and of a type that it hears of."""
    run = recorded([(0, 0, started()), *events])
    heard = check(inner).start(REFERENCE)._types | {"run.started"}  # type: ignore[attr-defined]
    reach = float(measure.split()[1].rstrip(","))

    def point(event: Event) -> float:
        if "events" in measure:
            return event.seq
        return ((event.time if "clock: time" in measure else event.recorded_at) - BEGIN) / timedelta(seconds=1)

    inside = next((i for i, e in enumerate(run) if e.type in heard and point(e) - point(run[0]) > reach), len(run))
    words = [word(after(inner, run[:end])) for end in range(inside + 1)]
    wanted = "pass" if "pass" in words else "fail" if set(words) == {"fail"} else "broken"

    found = word(after(f"reached: {{check: {{{inner}}}, {measure}}}", run))
    assert wanted == (found if found in ("pass", "fail") else "broken")


@given(SELECTORS.filter(lambda of: "call" not in of), st.integers(1, 4), st.lists(TIMED, max_size=10))
def test_a_sum_does_not_depend_on_the_order_of_events(
    of: str, at_most: int, events: list[tuple[float, float, NewEvent]]
) -> None:
    if "pick" in of or "latest_by" in of:
        return
    text = f"sum: {{of: {of[:-1]}, take: n}}, at_most: {at_most}}}"
    backwards = [(step, said, again(event)) for step, said, event in reversed(events)]

    found, turned = word(after(text, recorded(events))), word(after(text, recorded(backwards)))
    assert found == turned


def test_the_times_of_a_run_are_those_that_were_meant() -> None:
    events = recorded([(0, 3, new("x.a")), (5, 1, replace(new("x.b")))])

    assert [(event.recorded_at - BEGIN).seconds for event in events] == [0, 5]
    assert [(event.time - BEGIN).seconds for event in events] == [3, 1]
