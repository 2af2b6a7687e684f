"""What holds for every check, whatever the events are."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grading.checks import Reducer
from grading.errors import CheckBroken
from spine import Actor, Event, NewEvent
from tests.grading.language.cases import AGENT, HUMAN, SYSTEM, check, expected, new, outcome, run

SELECTORS = st.sampled_from(
    [
        "{type: x.a}",
        "{type: [x.a, x.b]}",
        "{type: x.b, where: {path: n, gt: 1}}",
        "{type: x.a, where: {path: n, in: {$expected: numbers}}}",
        "{type: x.a, pick: first}",
        "{type: [x.a, x.b], where: {path: n, ge: 1}, pick: last}",
        "{type: x.a, latest_by: k}",
        "{type: [x.a, x.b], latest_by: k, where: {path: n, gt: 0}, pick: first}",
        "{type: x.a, latest_by: k, where: {path: n, eq: 2}, pick: last}",
        "{call: '*'}",
        "{call: [t, u], where: {path: returned, eq: true}}",
        "{call: t, where: {path: returned, eq: false}, pick: first}",
        "{call: '*', where: {path: result, gt: 0}, pick: last}",
        "{call: '*', latest_by: tool}",
        "{call: '*', latest_by: result, where: {path: returned, eq: true}}",
    ]
)
TAKEN = st.sampled_from(["", ", take: n", ", take: [n, k]"])


def taking(selector: str, take: str) -> str:
    return selector[:-1] + take + "}"


PRESENCE = st.one_of(
    st.builds("event: {}".format, SELECTORS),
    st.builds("count: {{of: {}, at_least: {}}}".format, SELECTORS, st.integers(1, 3)),
    st.builds("sequence: [{}, {}]".format, SELECTORS, SELECTORS),
    st.builds("within: {{first: {}, then: {}, events: {}}}".format, SELECTORS, SELECTORS, st.integers(1, 3)),
    st.builds("within: {{first: {}, then: {}, seconds: 1}}".format, SELECTORS, SELECTORS),
    st.builds("last: {{of: {}, is: {{path: n, gt: 0}}}}".format, SELECTORS),
    st.just("answer: {key: k, in: ['1', '2']}"),
    st.builds(
        lambda got, as_: f"compare: {{want: {{expected: numbers}}, got: {taking(got, ', take: n')}, as: {as_}}}",
        SELECTORS,
        st.just("every"),
    ),
)
LIMIT = st.one_of(
    st.builds("absent: {}".format, SELECTORS),
    st.builds("count: {{of: {}, at_most: {}}}".format, SELECTORS, st.integers(0, 2)),
    st.builds("count: {{of: {}, exactly: {}}}".format, SELECTORS, st.integers(0, 2)),
    st.builds(
        lambda got, as_: f"compare: {{want: {{expected: numbers}}, got: {taking(got, ', take: n')}, as: {as_}}}",
        SELECTORS,
        st.sampled_from(["only", "same"]),
    ),
    st.builds(
        lambda want, got, take: f"compare: {{want: {taking(want, take)}, got: {taking(got, take)}, as: only}}",
        SELECTORS,
        SELECTORS,
        TAKEN,
    ),
    st.builds("none_of: [{{{}}}]".format, PRESENCE.filter(lambda text: "events:" not in text)),
)
CHECKS = st.one_of(
    PRESENCE,
    LIMIT,
    st.builds("all_of: [{{{}}}, {{{}}}]".format, PRESENCE, LIMIT),
    st.builds("any_of: [{{{}}}, {{{}}}]".format, LIMIT, PRESENCE),
    st.builds("at_least: {{n: 2, of: [{{{}}}, {{{}}}, {{{}}}]}}".format, LIMIT, PRESENCE, PRESENCE),
)

NUMBERS = st.sampled_from([0, 1, 2, 2.0, "text"])
KNOWN = st.one_of(
    st.builds(
        lambda type, actor, n, k: new(type, actor, **({"n": n} if n is not None else {}), **({"k": k} if k else {})),
        st.sampled_from(["x.a", "x.b", "x.c"]),
        st.sampled_from([SYSTEM, HUMAN]),
        st.none() | NUMBERS,
        st.sampled_from(["", "p", "q"]),
    ),
    st.builds(
        lambda i, tool: new("tool.called", AGENT, call_id=i, tool=tool), st.sampled_from("abc"), st.sampled_from("tu")
    ),
    st.builds(lambda i, n: new("tool.returned", call_id=i, tool="t", result=n), st.sampled_from("abc"), NUMBERS),
    st.builds(lambda k, n: new("answer.given", AGENT, key=k, answer=n), st.sampled_from("kj"), st.sampled_from("123")),
)
SPOOFED = st.builds(
    lambda type, n, k: new(type, AGENT, n=n, **({"k": k} if k else {})),
    st.sampled_from(["x.a", "x.b"]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["", "p", "q"]),
)


def asked(reducer: Reducer) -> object:
    try:
        return reducer.result()
    except CheckBroken as broken:
        return broken.code, broken.where


@given(CHECKS, st.lists(KNOWN | SPOOFED, max_size=12), st.sets(st.integers(1, 12), max_size=2))
def test_a_verdict_at_a_prefix_is_the_verdict_on_the_prefix(text: str, events: list[NewEvent], erase: set[int]) -> None:
    recorded = run(*events, erase=[seq for seq in erase if seq <= len(events)])
    reference = {"numbers": [1, 2]}
    under_way = check(text).start(reference)

    for end in range(len(recorded) + 1):
        if end:
            under_way.step(recorded[end - 1])
        fresh = check(text).start(reference)
        for event in recorded[:end]:
            fresh.step(Event(event.row))
        assert asked(under_way) == asked(fresh)


def interleaved(events: Sequence[NewEvent], spoofed: Sequence[NewEvent], places: Sequence[int]) -> list[NewEvent]:
    mixed = list(events)
    for event, place in zip(spoofed, places, strict=False):
        mixed.insert(place % (len(mixed) + 1), event)
    return mixed


PLACES = st.lists(st.integers(0, 50), min_size=4, max_size=4)


@given(PRESENCE, st.lists(KNOWN, max_size=8), st.lists(SPOOFED, max_size=4), PLACES)
def test_untrusted_events_never_satisfy_a_check(
    text: str, events: list[NewEvent], spoofed: list[NewEvent], places: list[int]
) -> None:
    begin = expected(numbers=[1, 2])
    before = outcome(check(text), run(begin, *events))[0]
    after = outcome(check(text), run(begin, *interleaved(events, spoofed, places)))[0]

    assert before == "pass" or after != "pass"
    assert "events:" in text or before == after


@given(LIMIT, st.lists(KNOWN, max_size=8), st.lists(SPOOFED, max_size=4), PLACES)
def test_untrusted_events_never_hide_a_violation(
    text: str, events: list[NewEvent], spoofed: list[NewEvent], places: list[int]
) -> None:
    begin = expected(numbers=[1, 2])
    before = outcome(check(text), run(begin, *events))[0]
    after = outcome(check(text), run(begin, *interleaved(events, spoofed, places)))[0]

    assert before == "pass" or after != "pass"
    assert before != "fail" or after == "fail"


WHERES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "": lambda value: True,
    ", where: {path: n, gt: 0}": lambda value: value.get("n", 0) > 0,
    ", where: {path: result, eq: 1}": lambda value: value.get("result") == 1,
    ", where: {path: returned, eq: false}": lambda value: value.get("returned") is False,
}


def honest(events: Sequence[NewEvent]) -> list[NewEvent]:
    """The same with every call under an id of its own, and returns only of calls that wait for one."""
    kept: list[NewEvent] = []
    waiting: list[Mapping[str, Any]] = []
    for number, event in enumerate(events):
        payload = dict(event.payload)
        if event.type == "tool.called":
            payload["call_id"] = f"c{number}"
            waiting.append(payload)
        elif event.type == "tool.returned":
            if not waiting or event.actor is not Actor.SYSTEM:
                continue
            call = waiting.pop(0)
            payload |= {"call_id": call["call_id"], "tool": call["tool"]}
        kept.append(NewEvent(event.type, payload, actor=event.actor))
    return kept


def things(events: Sequence[Event], calls: bool) -> list[tuple[tuple[int, ...], dict[str, Any]]]:
    """What can be selected, by looking at everything at once: seqs and value."""
    if not calls:
        return [((event.seq,), dict(event.payload)) for event in events if event.type in ("x.a", "x.b")]
    found: list[tuple[tuple[int, ...], dict[str, Any]]] = []
    answered: set[int] = set()
    for call in (event for event in events if event.type == "tool.called"):
        value = {**call.payload, "returned": False}
        seqs: tuple[int, ...] = (call.seq,)
        for event in events[call.seq :]:
            same = event.type == "tool.returned" and event.payload["call_id"] == call.payload["call_id"]
            if same and event.seq not in answered:
                answered.add(event.seq)
                seqs, value = (call.seq, event.seq), {**value, "returned": True, "result": event.payload["result"]}
                break
        found.append((seqs, value))
    return found


@given(
    st.booleans(),
    st.sampled_from([None, "k", "tool", "result", "call_id"]),
    st.sampled_from(list(WHERES)),
    st.sampled_from([None, "first", "last"]),
    st.lists(KNOWN.filter(lambda event: "text" not in event.payload.values()), max_size=14),
)
def test_a_selection_is_what_its_parts_select_one_after_the_other(
    calls: bool, key: str | None, where: str, pick: str | None, events: list[NewEvent]
) -> None:
    recorded = run(*honest(events))
    chosen = things(recorded, calls)
    if key is not None:
        newest = {str(value.get(key, seqs)): seqs for seqs, value in chosen}
        chosen = [thing for thing in chosen if newest[str(thing[1].get(key, thing[0]))] == thing[0]]
    chosen = [thing for thing in chosen if WHERES[where](thing[1])]
    chosen = {"first": chosen[:1], "last": chosen[-1:], None: chosen}[pick]
    seqs = sorted({seq for thing in chosen for seq in thing[0]})

    selector = ("{call: '*'" if calls else "{type: [x.a, x.b]") + ", trust: [agent, human, system]" + where
    selector += (f", latest_by: {key}" if key else "") + (f", pick: {pick}" if pick else "") + "}"

    assert outcome(check(f"count: {{of: {selector}, exactly: {len(chosen)}}}"), recorded) == ("pass", tuple(seqs))
    first = tuple(sorted(chosen[0][0])) if chosen else ()
    assert outcome(check(f"event: {selector}"), recorded) == ("pass" if chosen else "fail", first)
    last = tuple(sorted(chosen[-1][0])) if chosen else ()
    assert outcome(check(f"last: {{of: {selector}, is: {{path: ., is: object}}}}"), recorded) == (
        "pass" if chosen else "fail",
        last,
    )
