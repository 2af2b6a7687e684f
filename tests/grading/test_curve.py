"""The curve of a run says of every prefix what grading that prefix anew says."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading import climb, standings
from grading.budget import Budget
from grading.checks import Check, Reducer, Verdict, event_recorded
from grading.climb import curve
from grading.curve import Curve, Point, Standing
from grading.entries import Outcome
from grading.errors import BrokenCode, CheckBroken, MilestoneBroken
from grading.evidence import Evidence, MapEvidence, StreamEvidence
from grading.kinds.combination import DocumentReducer
from grading.ladders import Ladder, Milestone, Mode
from grading.outcomes import Cause
from grading.selectors import Selection
from grading.standings import CurveRefused
from spine import Event, MemoryLog, NewEvent
from tests.grading.language.cases import AGENT, HUMAN, RUN, called, check, expected, new, returned
from tests.grading.language.test_properties import CHECKS, KNOWN, SELECTORS, SPOOFED

PASSED, FAILED, BROKEN, NOT_REACHED = Standing.PASSED, Standing.FAILED, Standing.BROKEN, Standing.NOT_REACHED


def log_of(events: Sequence[NewEvent], erase: Sequence[int] = ()) -> MemoryLog:
    log = MemoryLog()
    if events:
        log.append(RUN, events)
    if erase:
        log.erase(RUN, erase, reason="test", actor=HUMAN, principal="p")
    return log


def drawn(ladder: Ladder, *events: NewEvent, erase: Sequence[int] = ()) -> Curve:
    return curve(ladder, StreamEvidence(log_of(events, erase), RUN))


def ladder(*checks: Check | None, mode: Mode = Mode.INDEPENDENT, pass_at: float | None = None) -> Ladder:
    milestones = [Milestone(f"m{at}", check, weight=at + 0.1, required=at != 1) for at, check in enumerate(checks)]
    return Ladder("test", mode, milestones, pass_at)


def anew(ladder: Ladder, evidence: Evidence) -> tuple[object, ...]:
    """What grading says: of a broken grade why, of others everything that a curve has."""
    try:
        grade = ladder.grade(evidence)
    except MilestoneBroken as broken:
        return broken.milestone, Cause(broken.code, broken.where)
    standings = [PASSED if rung.passed else FAILED if rung.reached else NOT_REACHED for rung in grade.rungs]
    return grade.score, grade.attained, grade.passed, tuple(standings)


def said(point: Point) -> tuple[object, ...]:
    if point.cause is not None:
        return point.milestone, point.cause
    return point.score, point.attained, point.passed, point.standings


def assert_true(ladder: Ladder, log: MemoryLog) -> None:
    found = curve(ladder, StreamEvidence(log, RUN))
    assert [event.seq for event in found.events] == list(range(1, len(found.events) + 1))
    for point in found.every():
        assert said(point) == anew(ladder, StreamEvidence(log, RUN, until=point.place)), point.place


REFERENCES = st.builds(lambda numbers: expected(numbers=numbers), st.lists(st.sampled_from([1, 2, "text"]), max_size=3))
EVENTS = st.lists(KNOWN | SPOOFED | REFERENCES, max_size=12)
GROWING = st.sampled_from(
    [
        "{call: '*', where: {path: returned, eq: true}}",
        "{call: '*', where: {all: [{path: tool, eq: t}, {path: returned, eq: true}, {path: result, gt: 0}]}}",
        "{call: t, where: {all: [{path: returned, eq: true}, {path: result, is: number}, {path: result, gt: 1}]}}",
        "{call: [t, u]}",
        "{call: t, pick: first}",
        "{type: [x.a, x.b], where: {path: n, gt: 0}}",
        "{type: tool.returned, where: {path: result, gt: 0}}",
        "{type: x.a, pick: first, where: {path: n, is: number}}",
    ]
)
GROWN = st.one_of(
    st.builds("event: {}".format, GROWING),
    st.builds("absent: {}".format, GROWING),
    st.builds(
        "count: {{of: {}, {}: {}}}".format,
        GROWING,
        st.sampled_from(["at_least", "at_most", "exactly"]),
        st.integers(1, 3),
    ),
    st.builds("sequence: [{}, {}]".format, GROWING, GROWING),
    st.builds("within: {{first: {}, then: {}, events: {}}}".format, GROWING, GROWING, st.integers(1, 3)),
    st.builds(
        lambda got, take, how: f"compare: {{want: {{expected: numbers}}, got: {got[:-1]}, take: {take}}}, as: {how}}}",
        GROWING,
        st.sampled_from(["n", "result", "tool", "call_id"]),
        st.sampled_from(["every", "only", "same"]),
    ),
    st.builds(
        lambda type, take: f"compare: {{want: {{expected: numbers}}, got: {{type: {type}, take: {take}}}, as: said}}",
        st.sampled_from(["x.a", "answer.given"]),
        st.sampled_from(["n", "answer"]),
    ),
)
NEGATED = st.builds("none_of: [{{{}}}]".format, GROWN)


@given(
    st.lists(CHECKS, min_size=1, max_size=3),
    st.sampled_from(Mode),
    st.none() | st.sampled_from([0.5, 1]),
    EVENTS,
    st.sets(st.integers(1, 12), max_size=2),
)
def test_the_curve_is_grading_every_prefix_anew(
    texts: list[str], mode: Mode, pass_at: float | None, events: list[NewEvent], erase: set[int]
) -> None:
    log = log_of(events, [seq for seq in erase if seq <= len(events)])

    assert_true(ladder(*map(check, texts), mode=mode, pass_at=pass_at), log)


OTHER_KINDS = st.sampled_from(
    [
        "before: {first: {type: x.a}, then: {call: t}}",
        "gap: {of: {type: x.a}, events: 2, edges: [start, end]}",
        "sum: {of: {type: x.a, where: {path: n, is: number}, take: n}, at_most: 3}",
        "sum: {of: {type: x.a, where: {path: n, is: number}, take: n}, at_least: 2}",
        "budget: {resource: tokens, unset: refused}",
        "reached: {check: {event: {type: x.b, where: {path: n, is: number}}}, events: 3}",
        "reached: {check: {last: {of: {type: x.b}, is: {path: n, eq: 1}}}, charged: 5, resource: tokens}",
        "judge: {key: k, rules: [{equals: '1'}]}",
        "trajectory: {calls: [{tool: t}, {tool: u}], as: superset}",
        "trajectory: {calls: [{tool: t}], as: subset}",
        "repeated: {of: {call: '*'}, at_most: 1}",
        "confirmed: {calls: {call: t}, by: {type: x.a, where: {path: n, is: number}}}",
    ]
)
SPENT = st.one_of(
    st.builds(lambda n: new("budget.set", scope="s", resource="tokens", limit=n), st.integers(0, 5)),
    st.builds(lambda n: new("budget.charged", scope="s", resource="tokens", amount=n), st.integers(0, 4)),
)


@given(OTHER_KINDS, CHECKS, st.sampled_from(["all_of", "any_of"]), st.lists(KNOWN | SPENT, max_size=14))
def test_every_kind_is_followed_from_one_event_to_the_next(
    text: str, other: str, junction: str, events: list[NewEvent]
) -> None:
    joined = check(f"{junction}: [{{{other}}}, {{{text}}}]")

    assert_true(ladder(check(text), joined), log_of([expected(numbers=[1, 2]), *events]))


CALLS = st.lists(
    st.one_of(
        st.builds(called, st.sampled_from("abcdef"), st.sampled_from("tu")),
        st.builds(returned, st.sampled_from("abcdef"), st.sampled_from("tu"), st.sampled_from([0, 1, 2, 1, 2, "text"])),
        KNOWN,
        SPOOFED,
    ),
    max_size=24,
)


@given(GROWN | NEGATED, st.lists(st.integers(1, 2), max_size=3), CALLS, st.sampled_from([0, 0, 0, 5]))
def test_of_what_grows_the_curve_is_what_grading_says(
    text: str, want: list[int], events: list[NewEvent], erase: int
) -> None:
    log = log_of([expected(numbers=want), *events], [erase] if 0 < erase <= len(events) else [])

    assert_true(ladder(check(text)), log)


@given(SELECTORS, st.integers(1, 60), EVENTS)
def test_a_budget_that_is_used_up_is_so_from_the_same_event_on(
    selector: str, steps: int, events: list[NewEvent]
) -> None:
    tight = check(
        f"all_of: [{{event: {selector}}}, {{last: {{of: {selector}, is: {{path: n, gt: 0}}}}}},"
        f" {{absent: {selector}}}]",
        budget=Budget(steps, 10_000),
    )

    assert_true(ladder(tight, check(f"none_of: [{{event: {selector}}}]", budget=Budget(steps, 50))), log_of(events))


def test_python_checks_are_asked_at_every_prefix_that_the_ladder_comes_to() -> None:
    asked: list[int] = []

    def answer(evidence: Evidence) -> Verdict:
        asked.append(len(evidence.events()))
        return Verdict(evidence.answer("k") == "2" and evidence.answered_at("k") == 5, "")

    events = [new("x.a"), new("x.b"), *(new("answer.given", AGENT, key="k", answer=n) for n in "012"), new("x.a")]
    cumulative = ladder(event_recorded("x.b"), answer, mode=Mode.CUMULATIVE)
    log = log_of(events)

    found = curve(cumulative, StreamEvidence(log, RUN))

    assert asked == [2, 3, 4, 5, 6]
    assert [(change.place, change.standing) for change in found.rungs[1].changes] == [
        (0, NOT_REACHED),
        (2, FAILED),
        (5, PASSED),
    ]
    assert_true(cumulative, log)
    assert_true(ladder(answer, event_recorded("x.b"), None), log)


def test_supplied_evidence_has_a_curve_too() -> None:
    recorded = list(log_of([new("x.a"), new("x.b")]).read(RUN))

    def supplied(evidence: Evidence) -> Verdict:
        return Verdict(evidence.answer("k") == "v" and len(evidence.events()) == 2, "")

    found = curve(ladder(supplied, check("answer: {key: k, eq: v}")), MapEvidence(recorded, {"k": "v"}))

    assert [point.standings for point in found.every()] == [(FAILED, PASSED), (FAILED, PASSED), (PASSED, PASSED)]


class Odd:
    """A reducer of a kind that nobody knows: its answer changes by every event, and it spoils what it is given."""

    def start(self, expected: Mapping[str, Any] | None, answers: Mapping[str, str] | None = None) -> "Odd":
        fresh = Odd()
        fresh.seen = 0
        return fresh

    seen = 0

    def step(self, event: Event) -> None:
        self.seen += 1
        event.payload.clear()  # type: ignore[attr-defined]
        if self.seen == 5:
            raise KeyError("five")

    def result(self) -> Verdict:
        if self.seen == 3:
            raise CheckBroken(BrokenCode.WRONG_TYPE, "seq 3")
        return Verdict(self.seen % 2 == 1, "")

    def __call__(self, evidence: Evidence) -> Verdict:
        raise AssertionError("a reducer is fed")


def test_any_reducer_is_asked_after_each_event() -> None:
    odd = ladder(Odd(), check("event: {type: x.a, where: {path: n, eq: 4}}"))
    log = log_of([new("x.a", n=n) for n in range(1, 7)])

    found = curve(odd, StreamEvidence(log, RUN))

    assert [change.standing for change in found.rungs[0].changes] == [FAILED, PASSED, FAILED, BROKEN, FAILED, BROKEN]
    assert [str(change.cause.code) for change in found.rungs[0].changes if change.cause] == [
        "wrong_type",
        "check_raised",
    ]
    assert found.rungs[1].earned == [4]
    assert_true(odd, log)


def test_a_rung_is_earned_lost_and_earned_again() -> None:
    green = "absent: {type: test.reported, latest_by: name, where: {path: status, eq: failed}}"
    both = f"all_of: [{{event: {{type: test.reported}}}}, {{{green}}}]"
    statuses = ["passed", "failed", "passed"]

    found = drawn(ladder(check(both)), *(new("test.reported", name="t", status=status) for status in statuses))

    assert (found.rungs[0].earned, found.rungs[0].lost) == ([1, 3], [2])
    assert (found.first_passed, found.passed_since) == (1, 3)
    assert found.best == found.at(1)
    assert [point.score for point in found.every()] == [0, 1, 0, 1]


def test_the_first_event_that_violates_a_limit_is_named_also_where_the_ladder_did_not_come_to_it() -> None:
    calm = check("absent: {type: x.b}")

    found = drawn(ladder(check("event: {type: x.c}"), calm, mode=Mode.CUMULATIVE), new("x.a"), new("x.b"), new("x.b"))

    assert found.rungs[1].now.standing is NOT_REACHED
    assert (found.rungs[1].limit, found.rungs[1].violated) == (True, 2)
    assert not found.rungs[0].limit


def test_before_the_reference_comes_a_prefix_is_broken_and_not_zero() -> None:
    wanted = check("event: {type: x.a, where: {path: n, in: {$expected: numbers}}}")

    found = drawn(ladder(wanted), new("x.a", n=1), expected(numbers=[2]), new("x.a", n=3), expected(numbers=[3]))

    assert [(point.score, point.passed) for point in found.every()] == [
        *[(None, None)] * 2,
        *[(0.0, False)] * 2,
        (1.0, True),
    ]
    assert found.at(1).cause == Cause(BrokenCode.EXPECTED_MISSING, "case.expected has no numbers")
    assert [change.standing for change in found.rungs[0].changes] == [BROKEN, FAILED, PASSED]


def test_an_empty_run_and_an_empty_ladder_have_a_curve_of_one_point() -> None:
    (point,) = drawn(ladder()).points

    assert (point.score, point.passed) == (0.0, False)


def many(count: int) -> list[NewEvent]:
    return [new("x.a", n=n, k=str(n)) for n in range(count)]


def paired(count: int) -> list[NewEvent]:
    """Values that are wanted, and got right behind."""
    return [new("x.b" if n % 2 else "x.a", n=n // 2, k=str(n % 7), text=f"{n // 2}!") for n in range(count)]


def in_turn(count: int) -> list[NewEvent]:
    """Calls that return before the next is made."""
    pairs = ((called(f"c{n}", "tu"[n % 2], n=n), returned(f"c{n}", "tu"[n % 2], n)) for n in range(count // 2))
    return [event for pair in pairs for event in pair]


def all_open(count: int) -> list[NewEvent]:
    """Calls that are all made before the first returns."""
    turns = in_turn(count)
    return [*turns[::2], *turns[1::2]]


CHEAP = [
    (many, "absent: {type: x.a}"),
    (many, "absent: {type: x.a, latest_by: n}"),
    (many, "absent: {type: x.a, latest_by: k, where: {path: n, ge: 0}}"),
    (many, "count: {of: {type: x.a}, exactly: 300}"),
    (many, "count: {of: {type: x.a}, at_least: 300}"),
    (many, "sequence: [{type: x.a}, {type: x.b}]"),
    (many, "sequence: [{type: x.a, pick: last}, {type: x.a}]"),
    (many, "within: {first: {type: x.a}, then: {type: x.b}, events: 1}"),
    (many, "compare: {want: {expected: numbers}, got: {type: x.a, take: n}, as: every}"),
    (many, "none_of: [{sequence: [{type: x.a}, {type: x.b}]}]"),
    (many, "repeated: {of: {type: x.a, take: n}, at_most: 2}"),
    (many, "repeated: {of: {type: x.a, take: n}, at_most: 2, window: 50}"),
    (many, "gap: {of: {type: x.a}, seconds: 60, edges: [start, end]}"),
    (many, "sum: {of: {type: x.a, take: n}, at_most: 1000000000}"),
    (many, "sum: {of: {type: x.a, take: n}, at_least: 1000000000}"),
    (many, "before: {first: {type: x.b}, then: {type: x.a}}"),
    (many, "judge: {of: {type: x.a}, path: k, rules: [{contains: '7'}]}"),
    (many, "reached: {check: {last: {of: {type: x.a}, is: {path: n, lt: 0}}}, events: 100000}"),
    (many, "reached: {check: {count: {of: {type: x.a}, at_least: 100000}}, events: 100000}"),
    (paired, "confirmed: {calls: {type: x.b}, by: {type: x.a}}"),
    (paired, "compare: {want: {type: x.a, take: n}, got: {type: x.b, take: n}, as: same}"),
    (paired, "compare: {want: {type: x.a, take: n}, got: {type: x.b, take: n}, as: every}"),
    (paired, "within: {first: {type: x.a, where: {path: n, lt: 1}}, then: {type: x.b}, events: 1}"),
    (in_turn, "trajectory: {calls: [{tool: t}, {tool: u}], as: strict}"),
    (in_turn, "trajectory: {calls: [{tool: t}, {tool: u}], as: unordered}"),
    (in_turn, "trajectory: {calls: [{tool: t}, {tool: u, arguments: {n: -1}}], as: superset}"),
    (in_turn, "absent: {call: '*', latest_by: result, where: {path: returned, eq: true}}"),
    (in_turn, "sum: {of: {call: '*', take: result}, at_least: 1000000000}"),
    (all_open, "repeated: {of: {call: '*', take: result}, at_most: 2}"),
    (all_open, "compare: {want: {expected: numbers}, got: {call: '*', take: result}, as: only}"),
    (all_open, "absent: {call: '*', where: {path: result, lt: 0}}"),
]


@pytest.mark.parametrize(("events", "text"), CHEAP)
def test_a_curve_costs_as_much_as_there_are_events_and_not_their_square(
    events: Callable[[int], list[NewEvent]], text: str
) -> None:
    """Counted: the outcomes that a selection lists, and all that is looked at to say how a check stands."""

    def looked_at(count: int) -> int:
        sizes: list[int] = []
        outcomes = Selection.outcomes

        def counted(selection: Selection) -> list[Outcome]:
            found = outcomes(selection)
            sizes.append(len(found))
            return found

        with patch.object(Selection, "outcomes", counted), patch.object(standings, "_UnderWay", Seen) as seen:
            drawn(ladder(check(text)), expected(numbers=[0, 1]), *events(count))
        return sum(sizes) + sum(each.looked_at for each in seen.all_of_them())

    assert looked_at(800) <= looked_at(200) * 6 + 50


class Seen(standings._UnderWay):
    """One that is remembered."""

    _all: ClassVar[list["Seen"]] = []

    def __init__(self, reducer: Reducer) -> None:
        super().__init__(reducer)
        self._all.append(self)

    @classmethod
    def all_of_them(cls) -> list["Seen"]:
        found = list(cls._all)
        cls._all.clear()
        return found


def test_a_curve_makes_no_verdict_of_a_check_of_a_document() -> None:
    whole = "all_of: [{count: {of: {type: x.a}, at_least: 2}}, {none_of: [{event: {type: x.c}}]}]"

    with patch.object(DocumentReducer, "result", side_effect=AssertionError("asked for a verdict")):
        found = drawn(ladder(check(whole)), *paired(9))

    assert found.rungs[0].earned == [3]


def test_a_curve_that_would_take_too_long_is_refused_with_the_reason() -> None:
    def python(evidence: Evidence) -> Verdict:
        return Verdict(True, "")

    with patch.object(climb, "MAX_LOOKED_AT", 30), pytest.raises(CurveRefused, match="m0 is a function in Python"):
        drawn(ladder(python), *many(9))
    with patch.object(climb, "MAX_LOOKED_AT", 5), pytest.raises(CurveRefused, match=r"3 different case\.expected"):
        drawn(ladder(None), *(expected(numbers=[n]) for n in range(3)))
    last_first = [*(called(f"c{n}", "t") for n in range(9)), *(returned(f"c{n}", "t") for n in reversed(range(9)))]
    anew = ladder(check("repeated: {of: {call: t, take: result}, at_most: 99}"))
    refused = pytest.raises(CurveRefused, match=r"the milestone m0: .* at event 13 of 18 .* 32 entries.* select fewer")
    with patch.object(standings, "MAX_LOOKED_AT", 30), refused:
        drawn(anew, *last_first)
