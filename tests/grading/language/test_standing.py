"""How a check stands, asked after any events, is what its verdict says: it raises the same, and uses up as much."""

from collections.abc import Callable
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from grading.budget import Budget, OutOfBudget, Work
from grading.checks import Verdict
from grading.errors import CheckBroken, InvalidLadder
from grading.kinds.combination import DocumentReducer
from grading.kinds.standing import Metered
from spine import NewEvent
from tests.grading.language.cases import called, check, new, returned, run
from tests.grading.language.test_properties import CHECKS, SELECTORS
from tests.grading.language.test_properties import KNOWN as PLAIN
from tests.grading.language.test_spend_properties import KNOWN, NEW, SPOOFED

REFERENCE = {"numbers": [1, 2, 1], "calls": [{"tool": "t"}, {"tool": "u", "arguments": {"x": 1}}], "texts": ["a", "b"]}

TAKES = st.sampled_from(["n", "k", "result", "tool", "[n, k]"])
TAKEN = st.builds(lambda of, take: f"{of[:-1]}, take: {take}}}", SELECTORS, TAKES)
WANTED = st.lists(
    st.sampled_from(["{tool: t}", "{tool: u}", "{tool: t, arguments: {x: 0}}", "{tool: t, arguments: {x: 1}}"]),
    max_size=4,
)
CALLS_OF = st.sampled_from(["", ", of: {call: t}", ", of: {call: '*', where: {path: returned, eq: true}}"])
OTHERS = st.one_of(
    st.builds("repeated: {{of: {}, at_most: {}}}".format, TAKEN | st.just("{call: '*'}"), st.integers(1, 2)),
    st.builds("repeated: {{of: {}, at_most: 1, window: {}}}".format, TAKEN, st.integers(2, 4)),
    st.builds("confirmed: {{calls: {}, by: {}}}".format, st.sampled_from(["{call: t}", "{call: '*'}"]), SELECTORS),
    st.builds(
        lambda wanted, how, arguments: (
            f"trajectory: {{calls: [{', '.join(wanted)}], as: {how}, arguments: {arguments}}}"
        ),
        WANTED,
        st.sampled_from(["strict", "unordered", "subset", "superset"]),
        st.sampled_from(["exact", "superset", "subset", "ignore"]),
    ),
    st.builds(
        "compare: {{want: {}, got: {}, as: {}}}".format, TAKEN, TAKEN, st.sampled_from(["every", "only", "same"])
    ),
    st.builds(
        "compare: {{want: {}, got: {{type: {}, take: {}}}, as: said}}".format,
        st.sampled_from(
            ["{expected: texts}", "{type: x.b, take: k}", "{call: '*', take: tool}", "{expected: nothing}"]
        ),
        st.sampled_from(["x.a", "answer.given", "[x.a, x.b]"]),
        st.sampled_from(["k", "answer", "text"]),
    ),
    st.builds(
        "compare: {{want: {}, got: {{expected: numbers}}, as: {}}}".format, TAKEN, st.sampled_from(["every", "same"])
    ),
    st.just("compare: {want: {type: x.b, take: k}, got: {expected: texts}, as: said}"),
    st.just("judge: {key: k, rules: [{contains: '1'}, {max_chars: 3}]}"),
    st.just("judge: {of: {type: x.a}, path: k, rules: [{equals: p}]}"),
    st.just("last: {of: {call: '*'}, is: {path: result, gt: 0}}"),
    st.just("answer: {key: k, exists: false}"),
)
JOINED = st.builds(
    "{}: [{{{}}}, {{{}}}]".format, st.sampled_from(["all_of", "any_of", "none_of"]), CHECKS | NEW, OTHERS
)
REACHED = st.builds("reached: {{check: {{{}}}, events: {}}}".format, OTHERS | CHECKS, st.integers(2, 30))
ANY = OTHERS | NEW | CHECKS | JOINED | REACHED

CALLED = st.builds(
    lambda id, tool, x: called(id, tool, x=x), st.sampled_from("abcdef"), st.sampled_from("tu"), st.integers(0, 1)
)
RETURNED = st.builds(returned, st.sampled_from("abcdef"), st.sampled_from("tu"), st.sampled_from([0, 1, 2, "text"]))
TEXTS = st.builds(
    lambda type, k, n: new(type, k=k, n=n),
    st.sampled_from(["x.a", "x.b"]),
    st.sampled_from(["a", "b", "ab", "ä"]),
    st.integers(0, 2),
)
EVENTS = st.lists(CALLED | RETURNED | TEXTS | PLAIN | KNOWN | SPOOFED, max_size=24)


def begun(text: str, budget: Budget) -> DocumentReducer | None:
    """The check under way; None where the language has no such check."""
    try:
        reducer = check(text, budget=budget).start(REFERENCE)
    except InvalidLadder:
        return None
    assert isinstance(reducer, DocumentReducer)
    return reducer


def answer(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except CheckBroken as broken:
        return broken.code, broken.where


def cost(ask: Callable[[Work], object]) -> object:
    """What asking uses up."""
    metered = Metered(Work())
    with suppress(CheckBroken, OutOfBudget):
        ask(metered)
    return metered.steps, metered.bytes


def compared(reducer: DocumentReducer) -> None:
    """Asks how it stands and for the verdict: the answers agree, and so does what they cost."""
    stands = answer(reducer.stands)
    verdict = answer(reducer.result)
    assert stands == (verdict.passed if isinstance(verdict, Verdict) else verdict)
    if reducer._root is not None and not reducer._spent:
        assert cost(reducer._root.stands) == cost(reducer._root.result)


@settings(max_examples=400)
@given(ANY, EVENTS, st.sets(st.integers(1, 24), max_size=2), st.sets(st.integers(0, 24)), st.integers(1, 400))
def test_how_a_check_stands_is_what_its_verdict_says(
    text: str, events: list[NewEvent], erase: set[int], silent: set[int], steps: int
) -> None:
    recorded = run(*events, erase=[seq for seq in erase if seq <= len(events)])
    for budget in (Budget(5_000_000, 5_000_000), Budget(steps, 5 * steps)):
        under_way = begun(text, budget)
        if under_way is None:
            return
        for place in range(len(recorded) + 1):
            if place:
                under_way.step(recorded[place - 1])
            if place not in silent:
                compared(under_way)
