"""What a check claims to ask for; that it keeps its claim; and that no agent can pass a check of what others record."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.checks import Verdict, event_recorded
from grading.errors import MilestoneBroken
from grading.evidence import Evidence
from grading.graders import Grader
from grading.ladders import Grade
from grading.mishaps import MAX_MISHAPS, mishaps
from grading.planting import PlantedEvidence
from grading.polarity import Change, Polarity, claim_of
from spine import Actor, NewEvent
from spine.events import EventRow
from spine.vocabulary import KNOWN
from tests.grading.builders import recorded, said, says

Document = dict[str, Any]

TEST: Document = {"type": "test.reported", "where": {"path": "status", "eq": "passed"}}
EXITED: Document = {"type": "command.exited", "where": {"path": "exit_code", "eq": 0}}
EXPECTED: Document = {"expected": "tests"}


def grader(*checks: Document, trust: list[str] | None = None) -> Grader:
    milestones = [{"name": f"m{index}", "check": check} for index, check in enumerate(checks)]
    rest = {} if trust is None else {"trust": trust}
    return Grader.from_document(
        {"gradespine": 1, "ladder": "any", "version": "1", "mode": "independent", **rest, "milestones": milestones}
    )


def polarity(check: Document) -> tuple[str, bool]:
    claim = claim_of(grader(check).ladder.milestones[0].check)
    return claim.polarity.value, claim.counts


@pytest.mark.parametrize(
    ("check", "asks"),
    [
        ({"event": TEST}, "presence"),
        ({"event": {**TEST, "latest_by": "name"}}, "order"),
        ({"event": {**TEST, "pick": "last"}}, "order"),
        ({"absent": TEST}, "forbids"),
        ({"absent": {**TEST, "latest_by": "name"}}, "both"),
        ({"count": {"of": TEST, "at_least": 1}}, "presence"),
        ({"count": {"of": TEST, "at_least": 2}}, "presence, counts"),
        ({"count": {"of": TEST, "at_most": 2}}, "forbids, counts"),
        ({"count": {"of": TEST, "exactly": 2}}, "both, counts"),
        ({"sequence": [TEST, EXITED]}, "order"),
        ({"within": {"first": TEST, "then": EXITED, "events": 3}}, "order"),
        ({"before": {"first": TEST, "then": EXITED}}, "order"),
        ({"last": {"of": EXITED, "is": {"path": "command", "eq": "a"}}}, "order"),
        ({"answer": {"key": "a", "eq": "b"}}, "order"),
        ({"answer": {"key": "a", "exists": False}}, "forbids"),
        ({"compare": {"want": EXPECTED, "got": {**TEST, "take": "name"}, "as": "every"}}, "presence, counts"),
        ({"compare": {"want": EXPECTED, "got": {**TEST, "take": "name"}, "as": "said"}}, "presence"),
        ({"compare": {"want": EXPECTED, "got": {**TEST, "take": "name"}, "as": "only"}}, "forbids"),
        ({"compare": {"want": EXPECTED, "got": {**TEST, "take": "name"}, "as": "same"}}, "both"),
        ({"compare": {"want": {**EXITED, "take": "command"}, "got": {**TEST, "take": "name"}, "as": "every"}}, "both"),
        ({"all_of": [{"event": TEST}, {"event": EXITED}]}, "presence"),
        ({"any_of": [{"event": TEST}, {"count": {"of": EXITED, "at_least": 2}}]}, "presence, counts"),
        ({"all_of": [{"event": TEST}, {"absent": EXITED}]}, "both"),
        ({"all_of": [{"event": TEST}, {"sequence": [TEST, EXITED]}]}, "order"),
        ({"none_of": [{"event": TEST}]}, "forbids"),
        ({"none_of": [{"absent": TEST}]}, "presence"),
        ({"none_of": [{"count": {"of": TEST, "at_most": 1}}]}, "presence, counts"),
        ({"at_least": {"n": 1, "of": [{"event": TEST}, {"event": EXITED}]}}, "presence"),
        ({"reached": {"check": {"event": TEST}, "events": 5}}, "order"),
    ],
)
def test_what_a_document_asks_for_follows_from_its_kind(check: Document, asks: str) -> None:
    found, counts = polarity(check)

    assert (f"{found}, counts" if counts else found) == asks


def test_a_check_in_python_says_it_itself() -> None:
    def flagged(evidence: Evidence) -> Verdict:
        return Verdict(True, "")

    def odd(evidence: Evidence) -> Verdict:
        return Verdict(True, "")

    flagged.polarity = "presence"  # type: ignore[attr-defined]
    odd.polarity = "sideways"  # type: ignore[attr-defined]

    assert claim_of(flagged).polarity is Polarity.PRESENCE
    assert claim_of(event_recorded("x.y")).withstands == frozenset(Change)
    for silent in (says(True), odd, None):
        assert claim_of(silent).polarity is Polarity.UNKNOWN
        assert not claim_of(silent).withstands


NAMES = st.sampled_from(["a", "b"])
STATUS = st.sampled_from(["passed", "failed"])
SYSTEM_EVENTS = st.one_of(
    st.builds(lambda name, status: said("test.reported", name=name, status=status), NAMES, STATUS),
    st.builds(
        lambda name, code: said("command.exited", command=name, exit_code=code, output=None),
        NAMES,
        st.sampled_from([0, 1]),
    ),
    st.builds(lambda path: said("file.changed", path=f"/{path}"), NAMES),
    st.builds(lambda name: said("tool.returned", call_id=name, tool="t", result=name, error=None), NAMES),
    st.builds(
        lambda name, done: said("approval.decided", Actor.HUMAN, effect_id=name, decision=done),
        NAMES,
        st.sampled_from(["approved", "rejected"]),
    ),
    st.builds(lambda name: said("x.y", name=name), NAMES),
)
AGENT_EVENTS = st.one_of(
    st.builds(lambda name: said("message.sent", Actor.AGENT, role="assistant", content=name), NAMES),
    st.builds(lambda name: said("tool.called", Actor.AGENT, call_id=name, tool="t", arguments={"name": name}), NAMES),
    st.builds(lambda name: said("answer.given", Actor.AGENT, key=name, answer=name), NAMES),
    st.builds(lambda name: said("approval.requested", Actor.AGENT, effect_id=name), NAMES),
    st.builds(lambda name: said("effect.intended", Actor.AGENT, effect_id=name, name=name, mutating=True), NAMES),
    st.builds(lambda name, status: said("x.y", Actor.AGENT, name=name, status=status), NAMES, STATUS),
    st.builds(lambda name: said("x.z", Actor.AGENT, name=name, exit_code=0, decision="approved"), NAMES),
)


def selector(type: str, path: str, values: list[Any]) -> st.SearchStrategy[Document]:
    where = st.builds(lambda value: {"where": {"path": path, "eq": value}}, st.sampled_from(values))
    either = st.one_of(st.just({}), where)
    latest = st.sampled_from([{}, {}, {"latest_by": path}])
    pick = st.sampled_from([{}, {}, {"pick": "first"}, {"pick": "last"}])
    return st.builds(
        lambda *parts: {key: v for part in parts for key, v in part.items()},
        st.just({"type": type}),
        either,
        latest,
        pick,
    )


RECORDED = st.one_of(
    selector("test.reported", "name", ["a", "b"]),
    selector("test.reported", "status", ["passed", "failed"]),
    selector("command.exited", "exit_code", [0, 1]),
    selector("file.changed", "path", ["/a", "/b"]),
    selector("approval.decided", "decision", ["approved", "rejected"]),
    selector("x.y", "name", ["a", "b"]),
)
PLAIN = RECORDED.map(lambda of: {key: value for key, value in of.items() if key in ("type", "where")})
BOUNDS = st.sampled_from([{"at_least": 1}, {"at_least": 2}, {"at_most": 1}, {"exactly": 1}])
TAKEN = {"test.reported": "name", "command.exited": "command", "file.changed": "path", "approval.decided": "effect_id"}


def taking(of: Document) -> Document:
    return {**of, "take": TAKEN.get(of["type"], "name")}


WITHIN = st.sampled_from([{"events": 1}, {"events": 3}, {"seconds": 2}, {"seconds": 2, "clock": "recorded_at"}])
LEAVES = st.one_of(
    st.builds(lambda one, two, far: {"within": {"first": one, "then": two, **far}}, RECORDED, RECORDED, WITHIN),
    st.builds(lambda of: {"event": of}, RECORDED),
    st.builds(lambda of: {"absent": of}, RECORDED),
    st.builds(lambda of, bound: {"count": {"of": of, **bound}}, PLAIN, BOUNDS),
    st.builds(lambda one, two: {"sequence": [one, two]}, RECORDED, RECORDED),
    st.builds(lambda one, two: {"before": {"first": one, "then": two}}, RECORDED, RECORDED),
    st.builds(lambda of, path: {"last": {"of": of, "is": {"path": path, "exists": True}}}, PLAIN, st.just("name")),
    st.builds(
        lambda of, how: {"compare": {"want": EXPECTED, "got": taking(of), "as": how}},
        PLAIN,
        st.sampled_from(["every", "only", "same", "said"]),
    ),
)


def combined(inner: st.SearchStrategy[Document]) -> st.SearchStrategy[Document]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.builds(lambda word, of: {word: of}, st.sampled_from(["all_of", "any_of", "none_of"]), several)


CHECKS = st.recursive(LEAVES, combined, max_leaves=4)
RUN_START = [said("case.expected", tests=["a", "b"])]


def passed(graded: Grader, rows: tuple[EventRow, ...]) -> bool | None:
    try:
        grade: Grade = graded.grade(PlantedEvidence(rows))
    except MilestoneBroken:
        return None
    return grade.rungs[0].passed


def rows_of(events: list[NewEvent]) -> tuple[EventRow, ...]:
    return tuple(event.row for event in recorded(*RUN_START, *events))


def test_the_agents_events_are_those_it_may_write() -> None:
    assert {kind.type for kind in KNOWN.values() if Actor.AGENT in kind.writers} == {
        *("message.sent", "tool.called", "answer.given", "approval.requested", "effect.intended"),
    }


@settings(max_examples=200, deadline=None)
@given(
    CHECKS,
    st.sampled_from([None, ["system", "human"]]),
    st.lists(SYSTEM_EVENTS, max_size=6),
    st.lists(st.tuples(st.integers(0, 6), AGENT_EVENTS), min_size=1, max_size=5),
)
def test_what_an_agent_may_write_never_passes_a_check_of_what_others_record(
    check: Document, trust: list[str] | None, events: list[NewEvent], added: list[tuple[int, NewEvent]]
) -> None:
    graded = grader(check, trust=trust)
    more = list(events)
    for place, event in added:
        more.insert(min(place, len(more)), event)

    if passed(graded, rows_of(events)) is False:
        assert passed(graded, rows_of(more)) is not True


MIXED = st.one_of(SYSTEM_EVENTS, AGENT_EVENTS)
CALLS = st.sampled_from(
    [
        {"call": "t"},
        {"call": "t", "where": {"path": "returned", "eq": True}},
        {"call": "t", "where": {"path": "returned", "eq": False}},
        {"call": "t", "where": {"path": "error", "exists": False}},
        {"call": "t", "where": {"path": "arguments.name", "eq": "a"}},
    ]
)
ASKING = st.recursive(
    st.one_of(
        st.builds(lambda of: {"event": of}, st.one_of(PLAIN, CALLS)),
        st.builds(lambda of: {"count": {"of": of, "at_least": 2}}, st.one_of(PLAIN, CALLS)),
        st.builds(lambda of: {"none_of": [{"absent": of}]}, st.one_of(PLAIN, CALLS)),
        st.builds(
            lambda of, how: {"compare": {"want": EXPECTED, "got": taking(of), "as": how}},
            PLAIN,
            st.sampled_from(["every", "said"]),
        ),
    ),
    lambda inner: st.builds(
        lambda word, of: {word: of}, st.sampled_from(["all_of", "any_of"]), st.lists(inner, min_size=1, max_size=2)
    ),
    max_leaves=3,
)


@settings(max_examples=80, deadline=None)
@given(ASKING, st.lists(MIXED, max_size=6))
def test_a_check_that_only_asks_for_something_withstands_what_it_claims_to(
    check: Document, events: list[NewEvent]
) -> None:
    graded, rows = grader(check), rows_of(events)
    withstands = claim_of(graded.ladder.milestones[0].check).withstands

    assert {Change.DROPPED, Change.REORDERED} <= withstands
    if passed(graded, rows) is False:
        for mishap in mishaps(rows):
            if mishap.change in withstands:
                assert passed(graded, mishap.rows) is not True, mishap.change


@given(st.lists(MIXED, min_size=1, max_size=8))
def test_the_mishaps_of_a_run_are_always_the_same(events: list[NewEvent]) -> None:
    rows = rows_of(events)

    found = list(mishaps(rows))

    assert found == list(mishaps(rows))
    assert len(found) <= MAX_MISHAPS
    assert {mishap.change for mishap in found} >= {Change.DROPPED, Change.REORDERED}
    for mishap in found:
        assert [row.seq for row in mishap.rows] == list(range(1, len(mishap.rows) + 1))
        assert [row.type for row in mishap.rows].count("case.expected") == 1


def test_a_newer_report_that_is_dropped_is_why_the_newest_is_not_asked_about() -> None:
    rows = rows_of([said("test.reported", name="a", status=status) for status in ("passed", "failed")])
    newest = grader({"event": {"type": "test.reported", "latest_by": "name", "where": TEST["where"]}})

    raised = {mishap.change for mishap in mishaps(rows) if passed(newest, mishap.rows)}

    assert passed(newest, rows) is False
    assert raised == set(Change)
