"""trajectory: every mode against a definition that tries everything, and what a failure names."""

import json
from collections.abc import Sequence
from itertools import permutations
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.errors import InvalidLadder
from grading.kinds.trajectory import Arguments, Match
from spine import NewEvent
from tests.grading.language.cases import AGENT, called, check, expected, judged, new, outcome, returned, run

CALLS: Final = st.lists(
    st.tuples(st.sampled_from("ab"), st.dictionaries(st.sampled_from("xy"), st.integers(0, 1), max_size=2)), max_size=5
)
DIFFERS: Final = "called at seq 2: differs in arguments.x"
Calls = Sequence[tuple[str, dict[str, Any]]]


def trajectory(calls: Any, how: str, **more: Any) -> str:
    return json.dumps({"trajectory": {"calls": calls, "as": how, **more}})


def wanted(calls: Calls) -> list[dict[str, Any]]:
    return [{"tool": tool, "arguments": arguments} for tool, arguments in calls]


def made(calls: Calls) -> list[NewEvent]:
    return [called(f"c{number}", tool, **arguments) for number, (tool, arguments) in enumerate(calls)]


def agree(got: tuple[str, dict[str, Any]], want: tuple[str, dict[str, Any]], arguments: Arguments) -> bool:
    if got[0] != want[0]:
        return False
    return {
        Arguments.EXACT: got[1] == want[1],
        Arguments.IGNORE: True,
        Arguments.SUBSET: got[1].items() <= want[1].items(),
        Arguments.SUPERSET: got[1].items() >= want[1].items(),
    }[arguments]


def all_paired(few: Calls, many: Calls, arguments: Arguments, *, few_are_wanted: bool) -> bool:
    """Whether each of the few has one of the many of its own: every way to pair them off is tried."""

    def fits(one: Any, other: Any) -> bool:
        return agree(other, one, arguments) if few_are_wanted else agree(one, other, arguments)

    return any(
        all(fits(one, other) for one, other in zip(few, chosen, strict=True)) for chosen in permutations(many, len(few))
    )


def definition(got: Calls, want: Calls, how: Match, arguments: Arguments) -> bool:
    match how:
        case Match.STRICT:
            return len(got) == len(want) and all(agree(g, w, arguments) for g, w in zip(got, want, strict=True))
        case Match.UNORDERED:
            return len(got) == len(want) and all_paired(got, want, arguments, few_are_wanted=False)
        case Match.SUBSET:
            return all_paired(got, want, arguments, few_are_wanted=False)
        case Match.SUPERSET:
            return all_paired(want, got, arguments, few_are_wanted=True)


@pytest.mark.parametrize("arguments", Arguments)
@pytest.mark.parametrize("how", Match)
def test_each_mode_is_what_it_says(how: Match, arguments: Arguments) -> None:
    @settings(max_examples=80, deadline=None)
    @given(CALLS, CALLS)
    def holds(got: Calls, want: Calls) -> None:
        verdict = judged(check(trajectory(wanted(want), str(how), arguments=str(arguments))), run(*made(got)))
        assert verdict.passed is definition(got, want, how, arguments)

    holds()


def test_calls_are_paired_off_so_that_as_many_agree_as_can() -> None:
    """The first call fits both wanted ones, the second only the first: taken greedily, one would be left over."""
    events = run(called("1", "a", x=1, y=1), called("2", "a", x=1))
    want = [{"tool": "a", "arguments": {"x": 1}}, {"tool": "a", "arguments": {"y": 1}}]

    assert outcome(check(trajectory(want, "superset", arguments="superset")), events) == ("pass", (1, 2))


@pytest.mark.parametrize(
    ("how", "want", "detail", "seqs"),
    [
        ("strict", [("a", {}), ("c", {})], "step 2: wanted calls.1, called at seq 2: another tool", (2,)),
        (
            "strict",
            [("a", {}), ("b", {"x": 2})],
            "step 2: wanted calls.1, called at seq 2: differs in arguments.x",
            (2,),
        ),
        ("strict", [("a", {})], "step 2: called at seq 2, where none is wanted", (2,)),
        ("strict", [("a", {}), ("b", {"x": 1}), ("a", {})], "step 3: wanted calls.2, no call after seq 2", (2,)),
        (
            "unordered",
            [("b", {"x": 2}), ("a", {})],
            f"call 2: wanted calls.0, {DIFFERS}",
            (2,),
        ),
        ("unordered", [("b", {"x": 1}), ("a", {}), ("d", {})], "step 3: wanted calls.2, not called", ()),
        ("subset", [("a", {})], "call 2: called at seq 2, where none is wanted", (2,)),
        ("superset", [("a", {}), ("d", {})], "step 2: wanted calls.1, not called", ()),
        ("superset", [("b", {"x": 2})], f"step 1: wanted calls.0, {DIFFERS}", (2,)),
        (
            "superset",
            [("a", {}), ("a", {})],
            "step 2: wanted calls.1, not called as often: of its tool there are 1",
            (1,),
        ),
    ],
)
def test_a_failure_names_the_first_step_that_does_not_agree(
    how: str, want: Calls, detail: str, seqs: tuple[int, ...]
) -> None:
    verdict = judged(check(trajectory(wanted(want), how)), run(*made([("a", {}), ("b", {"x": 1})])))

    assert (verdict.passed, verdict.detail, verdict.citations) == (False, detail, seqs)


def test_what_the_reference_wants_is_named_by_its_place_there() -> None:
    actions = [{"tool": "a", "arguments": {"x": 1}}, {"tool": "b", "arguments": None}]
    events = run(expected(actions=actions), called("1", "a", x=1), called("2", "c"))

    verdict = judged(check(trajectory({"expected": "actions"}, "strict")), events)

    assert verdict.detail == "step 2: wanted case.expected actions.1, called at seq 3: another tool"


def test_a_tool_can_have_its_own_way_with_arguments() -> None:
    events = run(called("1", "a", x=5), called("2", "b", x=5))
    want = wanted([("a", {"x": 1}), ("b", {"x": 5})])

    assert not judged(check(trajectory(want, "strict")), events).passed
    assert judged(check(trajectory(want, "strict", tools={"a": "ignore"})), events).passed


def test_without_arguments_any_will_do() -> None:
    assert judged(check(trajectory([{"tool": "a"}], "strict")), run(called("1", "a", x=5))).passed


def test_arguments_that_are_no_object_are_compared_as_one() -> None:
    event = new("tool.called", AGENT, call_id="1", tool="a", arguments=["x"])
    actions = [{"tool": "a", "arguments": ["x"]}]

    assert judged(check(trajectory({"expected": "actions"}, "strict")), run(expected(actions=actions), event)).passed


def test_no_call_at_all_can_be_asked_for() -> None:
    assert judged(check(trajectory([], "subset")), run()).passed
    assert not judged(check(trajectory([], "subset")), run(called("1", "a"))).passed


def test_only_the_calls_of_the_selector_count() -> None:
    text = trajectory([{"tool": "b"}], "strict", of={"call": "*", "where": {"path": "returned", "eq": True}})

    assert judged(check(text), run(called("1", "a"), called("2", "b"), returned("2", "b"))).passed


def test_an_erased_call_breaks_what_it_could_decide_and_no_more() -> None:
    events = run(called("1", "a"), called("2", "b"), called("3", "c"), erase=[2])

    assert outcome(check(trajectory([{"tool": "b"}], "superset")), events) == ("evidence_erased", "seq 2")
    assert outcome(check(trajectory([{"tool": "a"}], "superset")), events) == ("pass", (1,))
    assert outcome(check(trajectory([{"tool": "a"}, {"tool": "b"}], "subset")), events) == ("fail", (3,))
    assert outcome(check(trajectory([{"tool": "b"}], "strict")), events) == ("fail", (1,))


def test_a_missing_reference_is_said_so() -> None:
    text = trajectory({"expected": "steps"}, "strict")

    assert outcome(check(text), run(called("1", "a")))[0] == "expected_missing"
    assert outcome(check(text), run(expected(steps="a")))[0] == "wrong_type"
    missing = ("wrong_type", "case.expected steps.0: tool: it is missing")
    assert outcome(check(text), run(expected(steps=[{"arguments": {}}]))) == missing


def test_pairing_many_calls_off_is_bounded_work() -> None:
    """Every call fits every wanted one but the last, which none fits: each is looked at again and again."""
    events = run(*(called(f"c{number}", "a", x=0) for number in range(600)))
    want = [{"tool": "a"}] * 599 + [{"tool": "a", "arguments": {"x": 1}}]

    assert outcome(check(trajectory(want, "superset")), events)[0] in ("fail", "budget_exceeded")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trajectory: {calls: [{tool: a}], as: sorted}", "as cannot be 'sorted'"),
        ("trajectory: {calls: [{tool: a}], as: strict, arguments: same}", "arguments cannot be 'same'"),
        ("trajectory: {calls: [{name: a}], as: strict}", "a wanted call has no key 'name'"),
        ("trajectory: {calls: [{tool: '*'}], as: strict}", "a wanted call names its tool"),
        ("trajectory: {calls: [{tool: a, arguments: [1]}], as: strict}", "arguments are an object"),
        ("trajectory: {calls: [{tool: a}], as: strict, of: {type: tool.called}}", "of is a selector of calls"),
        ("trajectory: {calls: [{tool: a}], as: strict, tools: {a: some}}", "a cannot be 'some'"),
        ("trajectory: {calls: {expects: a}, as: strict}", "calls of case.expected has no key 'expects'"),
        ("trajectory: {as: strict}", "trajectory needs the key 'calls'"),
    ],
)
def test_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(InvalidLadder, match=said.replace("*", r"\*").replace("[", r"\[")):
        check(text)
