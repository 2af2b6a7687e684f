"""Checks of time, order and spend as they stand in a document: what is refused, what is noted, what the schema says."""

import pytest

from grading.errors import InvalidLadder
from grading.reader.text import parse
from grading.spec import json_schema, read_ladder
from tests.grading.language.test_refusals import document
from tests.grading.language.test_spec import fits

REACHED = "reached: {check: {event: {type: x.a}}, "


@pytest.mark.parametrize(
    ("check", "path", "said"),
    [
        ("before: {first: {type: x.a}}", "before", "'then'"),
        ("before: {first: {type: x.a}, then: {type: x.b}, events: 1}", "before.events", "no key"),
        ("within: {first: {type: x.a}, then: {type: x.b}, seconds: 1, clock: wall}", "within.clock", "recorded_at"),
        ("within: {first: {type: x.a}, then: {type: x.b}, events: 1, clock: time}", "within.clock", "seconds"),
        ("gap: {of: {type: x.a}}", "gap", "events, seconds"),
        ("gap: {seconds: 1}", "gap", "'of'"),
        ("gap: {of: {type: x.a}, seconds: -1}", "gap.seconds", "least 0"),
        ("gap: {of: {type: x.a}, events: 1, clock: time}", "gap.clock", "seconds"),
        ("gap: {of: {type: x.a}, events: 1, edges: []}", "gap.edges", "empty"),
        ("gap: {of: {type: x.a}, events: 1, edges: [begin]}", "gap.edges[0].edges", "'begin'"),
        ("gap: {of: {type: x.a}, events: 1, edges: [end, end]}", "gap.edges[1]", "twice"),
        ("none_of: [{gap: {of: {type: x.a}, seconds: 1}}]", "none_of[0].gap", "waiting"),
        ("sum: {of: {type: x.a}, at_most: 1}", "sum.of", "take"),
        ("sum: {of: {type: x.a, take: [a, b]}, at_most: 1}", "sum.of", "take"),
        ("sum: {of: {expected: n}, at_most: 1}", "sum.of", "recorded"),
        ("sum: {of: {type: x.a, take: n}}", "sum", "at_least, at_most, exactly"),
        ("sum: {of: {type: x.a, take: n}, at_least: 0}", "sum.at_least", "every run"),
        ("sum: {of: {type: x.a, take: n}, at_most: '1'}", "sum.at_most", "a number"),
        ("budget: {scopes: run}", "budget.scopes", "'scope'"),
        ("budget: {scope: []}", "budget.scope", "empty"),
        ("budget: {unset: maybe}", "budget.unset", "allowed, refused"),
        ("budget: run", "budget", "an object"),
        (REACHED + "}", "reached", "events, seconds, charged"),
        (REACHED + "events: 1, seconds: 1}", "reached.seconds", "only one of"),
        (REACHED + "events: 0}", "reached.events", "least 1"),
        (REACHED + "tokens: 1}", "reached.tokens", "no key"),
        (REACHED + "charged: 1}", "reached", "'resource'"),
        (REACHED + "charged: -1, resource: usd}", "reached.charged", "least 0"),
        (REACHED + "charged: 1, resource: usd, clock: time}", "reached.clock", "seconds"),
        (REACHED + "seconds: 1, resource: usd}", "reached.resource", "charged"),
        ("reached: {events: 1}", "reached", "'check'"),
        ("reached: {check: {event: {tpe: x.a}}, events: 1}", "reached.check.event.tpe", "'type'"),
        ("reached: {check: {absent: {type: x.a}}, events: 1}", "reached.check", "before anything"),
        ("reached: {check: {any_of: [{budget: {}}]}, events: 1}", "reached.check", "before anything"),
        ("none_of: [{reached: {check: {event: {type: x.a}}, events: 1}}]", "none_of[0].reached.events", "stretch"),
    ],
)
def test_a_mistake_is_refused_where_it_stands(check: str, path: str, said: str) -> None:
    with pytest.raises(InvalidLadder) as raised:
        read_ladder(document(check), "demo.yaml")

    assert (raised.value.line, raised.value.path) == (8, f"milestones[0].check.{path}")
    assert said in raised.value.reason


RIGHT = [
    "within: {first: {type: x.a}, then: {type: x.b}, seconds: 1, clock: recorded_at}",
    "before: {first: {type: x.a}, then: {call: [a, b]}}",
    "gap: {of: {type: x.a}, seconds: 0.5, clock: time, edges: [start, end]}",
    "gap: {of: {type: x.a}, events: 3}",
    "sum: {of: {call: pay, take: arguments.usd}, exactly: 0}",
    "sum: {of: {type: x.a, take: n}, at_most: -1.5}",
    "budget: {}",
    "budget: {scope: run, resource: [tokens, usd], unset: refused}",
    REACHED + "events: 1}",
    REACHED + "seconds: 0, clock: time}",
    REACHED + "charged: 0.5, resource: usd, scope: run}",
    "reached: {check: {reached: {check: {event: {type: x.a}}, events: 9}}, seconds: 1}",
    "none_of: [{none_of: [{gap: {of: {type: x.a}, seconds: 1}}]}]",
]


@pytest.mark.parametrize("check", RIGHT)
def test_what_is_right_is_read_and_fits_the_schema(check: str) -> None:
    assert fits(read_ladder(document(check)).document, json_schema(), json_schema())


@pytest.mark.parametrize(
    "check",
    [
        "within: {first: {type: x.a}, then: {type: x.b}, events: 1, clock: time}",
        "gap: {of: {type: x.a}, seconds: 1, clock: wall}",
        "sum: {of: {type: x.a, take: [n]}, at_most: 1}",
        "budget: {unset: no}",
        REACHED + "charged: 1}",
        REACHED + "events: 1, resource: usd}",
    ],
)
def test_the_schema_refuses_what_the_reader_does(check: str) -> None:
    assert not fits(parse(document(check)).value, json_schema(), json_schema())


def notes(check: str) -> list[str]:
    return [note for note in read_ladder(document(check), "l.yaml").notes if "known type" not in note]


@pytest.mark.parametrize(
    ("check", "place"),
    [
        ("within: {first: {type: x.a}, then: {type: x.b}, seconds: 1}", "within"),
        ("within: {first: {type: x.a}, then: {type: x.b}, seconds: 1, clock: time}", "within"),
        ("all_of: [{gap: {of: {type: x.a}, seconds: 1, clock: time}}]", "all_of[0].gap"),
        (REACHED + "seconds: 1, clock: time}", "reached"),
    ],
)
def test_seconds_by_the_producers_clock_are_noted(check: str, place: str) -> None:
    (note,) = notes(check)

    assert note.startswith(f"l.yaml:8: milestones[0].check.{place}.seconds: by the producers' clock")


@pytest.mark.parametrize(
    "check",
    [
        "within: {first: {type: x.a}, then: {type: x.b}, seconds: 1, clock: recorded_at}",
        "gap: {of: {type: x.a}, seconds: 1}",
        REACHED + "seconds: 1}",
    ],
)
def test_seconds_by_the_clock_of_the_log_are_noted(check: str) -> None:
    (note,) = notes(check)

    assert "an imported recording has one recorded_at for all its events" in note


@pytest.mark.parametrize("check", ["before: {first: {type: x.a}, then: {type: x.b}}", REACHED + "events: 1}"])
def test_without_seconds_there_is_nothing_to_note(check: str) -> None:
    assert notes(check) == []


def test_what_is_guarded_is_noted_as_everyones() -> None:
    first, then = read_ladder(document("before: {first: {type: x.a}, then: {type: x.b}}")).notes

    assert "believed from system and human only" in first
    assert "believed" not in then
