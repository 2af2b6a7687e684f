"""Whose events a check sees: the table of `grading.kinds.base`, kind by kind."""

import pytest

from spine import Actor, NewEvent
from tests.grading.language.cases import AGENT, HUMAN, SYSTEM, check, expected, new, outcome, run


def note(actor: Actor, **payload: object) -> NewEvent:
    return new("note.made", actor, **payload)


PRESENCE = [
    "event: {type: note.made}",
    "event: {type: note.made, pick: last}",
    "count: {of: {type: note.made}, at_least: 1}",
    "sequence: [{type: note.made}]",
    "within: {first: {type: run.started}, then: {type: note.made}, events: 9}",
    "last: {of: {type: note.made}, is: {path: text, eq: x}}",
    "compare: {want: {expected: wanted}, got: {type: note.made, take: text}, as: every}",
    "compare: {want: {expected: wanted}, got: {type: note.made, take: text}, as: said}",
    "none_of: [{absent: {type: note.made}}]",
    "none_of: [{count: {of: {type: note.made}, at_most: 0}}]",
    "none_of: [{none_of: [{event: {type: note.made}}]}]",
    "none_of: [{compare: {want: {expected: none}, got: {type: note.made}, as: only}}]",
    "at_least: {n: 1, of: [{event: {type: note.made}}]}",
]
LIMIT = [
    "absent: {type: note.made}",
    "absent: {type: note.made, pick: last}",
    "count: {of: {type: note.made}, at_most: 0}",
    "count: {of: {type: note.made}, exactly: 0}",
    "compare: {want: {expected: none}, got: {type: note.made, take: text}, as: only}",
    "compare: {want: {expected: none}, got: {type: note.made, take: text}, as: same}",
    *(f"none_of: [{{{text}}}]" for text in PRESENCE[:8]),
    "none_of: [{none_of: [{absent: {type: note.made}}]}]",
]
BEGIN = (expected(wanted=["x"], none=[]), new("run.started", agent="a", model="m", task="t", case="c"))


@pytest.mark.parametrize("text", PRESENCE)
def test_what_has_to_be_there_has_to_come_from_who_is_believed(text: str) -> None:
    for actor, passes in ((AGENT, False), (HUMAN, True), (SYSTEM, True)):
        assert outcome(check(text), run(*BEGIN, note(actor, text="x")))[0] == ("pass" if passes else "fail")


@pytest.mark.parametrize("text", LIMIT)
def test_what_may_not_be_there_may_come_from_nobody(text: str) -> None:
    assert outcome(check(text), run(*BEGIN))[0] == "pass"
    for actor in Actor:
        assert outcome(check(text), run(*BEGIN, note(actor, text="x")))[0] == "fail"


@pytest.mark.parametrize(
    "text", ["event: {type: note.made, trust: [agent]}", "absent: {type: note.made, trust: [human]}"]
)
def test_a_selector_that_says_whom_it_trusts_sees_only_those(text: str) -> None:
    assert outcome(check(text), run(note(AGENT)))[0] == "pass"


def test_exactly_needs_believed_events_and_tolerates_no_others() -> None:
    text = "count: {of: {type: note.made}, exactly: 1}"

    assert outcome(check(text), run(note(AGENT)))[0] == "fail"
    assert outcome(check(text), run(note(SYSTEM))) == ("pass", (1,))
    assert outcome(check(text), run(note(SYSTEM), note(AGENT)))[0] == "fail"


@pytest.mark.parametrize(
    "how", ["latest_by: name, where: {path: status, eq: bad}", "pick: last, where: {path: status, eq: bad}"]
)
def test_an_agent_cannot_supersede_a_violation(how: str) -> None:
    violation, cover = note(SYSTEM, name="n", status="bad"), note(AGENT, name="n", status="good")

    assert outcome(check(f"absent: {{type: note.made, {how}}}"), run(violation, cover)) == ("fail", (1,))
    assert outcome(check(f"none_of: [{{event: {{type: note.made, {how}}}}}]"), run(violation, cover)) == ("fail", (1,))


def test_an_agent_cannot_pass_with_a_later_report_of_its_own() -> None:
    text = "event: {type: note.made, latest_by: name, where: {path: status, eq: good}}"

    assert (
        outcome(check(text), run(note(SYSTEM, name="n", status="bad"), note(AGENT, name="n", status="good")))[0]
        == "fail"
    )
    assert (
        outcome(check(text), run(note(SYSTEM, name="n", status="good"), note(AGENT, name="n", status="bad")))[0]
        == "pass"
    )


def test_a_reference_of_events_is_believed_only_from_who_may_be() -> None:
    text = "compare: {want: {type: allowed.path, take: path}, got: {type: file.changed, take: path}, as: only}"
    changed = new("file.changed", path="/etc")

    assert outcome(check(text), run(new("allowed.path", AGENT, path="/etc"), changed)) == ("fail", (2,))
    assert outcome(check(text), run(new("allowed.path", SYSTEM, path="/etc"), changed)) == ("pass", (2,))


def test_the_return_of_a_call_is_by_the_system_whoever_is_trusted() -> None:
    text = "event: {type: tool.returned, trust: [agent]}"

    assert outcome(check(text), run(new("tool.returned", call_id="a", tool="t")))[0] == "fail"


def test_an_imported_score_is_seen_only_where_its_type_is_named() -> None:
    score = new("score.imported", scorer="s", value=1)

    assert outcome(check("event: {type: score.imported, where: {path: value, eq: 1}}"), run(score)) == ("pass", (1,))
    assert outcome(
        check("within: {first: {type: x.a}, then: {type: x.b}, events: 1}"), run(new("x.a"), score, new("x.b"))
    ) == (
        "pass",
        (1, 3),
    )
