import pytest

from grading.budget import Budget
from spine import NewEvent
from tests.grading.language.cases import check, expected, judged, new, outcome, run

NOTES = [new("note.made", text="x" * 100) for _ in range(20)]
CHECKS = [
    "absent: {type: note.made, where: {path: text, contains: y}}",
    "count: {of: {type: note.made, where: {path: text, matches: x}}, at_least: 20}",
    "compare: {want: {expected: texts}, got: {type: note.made, take: text}, as: every}",
    "compare: {want: {expected: texts}, got: {type: note.made, take: text}, as: said}",
    "event: {type: note.made, latest_by: text, where: {path: text, eq: y}}",
]


@pytest.mark.parametrize("text", CHECKS)
@pytest.mark.parametrize("budget", [Budget(steps=10**6, bytes=1500), Budget(steps=0, bytes=10**6)])
def test_a_check_that_does_too_much_is_broken_from_there_on(text: str, budget: Budget) -> None:
    events = run(expected(texts=["y" * 10]), *NOTES)
    if budget.steps == 0 and "where" not in text:
        return

    under_way = check(text, budget=budget).start({"texts": ["y" * 10]})
    codes = []
    for event in events:
        under_way.step(event)
        codes.append(outcome(check(text, budget=budget), events[: event.seq]))

    assert outcome(check(text), events)[0] in ("pass", "fail")
    assert codes[0][0] in ("pass", "fail")
    assert codes[-1][0] == "budget_exceeded"
    first = next(index for index, code in enumerate(codes) if code[0] == "budget_exceeded")
    assert all(code == codes[first] for code in codes[first:])


def test_asking_for_verdicts_uses_nothing_up() -> None:
    text = "last: {of: {type: note.made}, is: {path: text, contains: y}}"
    budget = Budget(steps=10, bytes=100)
    under_way = check(text, budget=budget).start(None)

    for event in run(*NOTES):
        under_way.step(event)
        assert not under_way.result().passed

    assert outcome(check(text, budget=Budget(steps=10, bytes=99)), run(*NOTES)) == (
        "budget_exceeded",
        "the verdict itself",
    )


def test_events_of_no_concern_cost_nothing() -> None:
    others: list[NewEvent] = [new("other.thing", text="x" * 1000) for _ in range(100)]

    assert judged(check(CHECKS[0], budget=Budget(steps=1, bytes=200)), run(*others, NOTES[0])).passed
