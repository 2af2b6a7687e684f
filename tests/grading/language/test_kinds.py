"""Every kind of check: passed, failed, broken, and what it cites."""

from datetime import UTC, datetime, timedelta

import pytest

from grading.checks import Verdict
from grading.evidence import MapEvidence
from spine import Event, NewEvent
from tests.grading.language.cases import (
    AGENT,
    HUMAN,
    answered,
    called,
    check,
    expected,
    judged,
    new,
    outcome,
    report,
    returned,
    run,
)

EXITED = [
    new("command.exited", command=command, exit_code=code)
    for command, code in (("ls", 0), ("pytest", 1), ("pytest", 0))
]


def changed(path: str) -> NewEvent:
    return new("file.changed", path=path)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("event: {type: command.exited}", ("pass", (1,))),
        ("event: {type: [file.changed, command.exited]}", ("pass", (1,))),
        ("event: {type: command.exited, where: {path: exit_code, eq: 1}}", ("pass", (2,))),
        ("event: {type: command.exited, where: {path: command, eq: pytest}, pick: last}", ("pass", (3,))),
        ("event: {type: command.exited, latest_by: command, where: {path: exit_code, eq: 1}}", ("fail", ())),
        ("event: {type: file.changed}", ("fail", ())),
        (
            "event: {type: command.exited, where: {path: exit_code, contains: x}}",
            ("wrong_type", "seq 1: exit_code: an integer, not a string"),
        ),
        ("absent: {type: file.changed}", ("pass", ())),
        ("absent: {type: command.exited, where: {path: command, eq: pytest}}", ("fail", (2, 3))),
        ("count: {of: {type: command.exited}, at_least: 2}", ("pass", (1, 2))),
        ("count: {of: {type: command.exited}, at_least: 4}", ("fail", (1, 2, 3))),
        ("count: {of: {type: command.exited}, at_most: 3}", ("pass", (1, 2, 3))),
        ("count: {of: {type: command.exited}, at_most: 2}", ("fail", (1, 2, 3))),
        ("count: {of: {type: command.exited}, exactly: 3}", ("pass", (1, 2, 3))),
        ("count: {of: {type: command.exited}, exactly: 2}", ("fail", (1, 2, 3))),
        ("count: {of: {type: file.changed}, exactly: 0}", ("pass", ())),
        ("last: {of: {type: command.exited}, is: {path: exit_code, eq: 0}}", ("pass", (3,))),
        ("last: {of: {type: command.exited, pick: first}, is: {path: exit_code, eq: 1}}", ("fail", (1,))),
        ("last: {of: {type: file.changed}, is: {path: path, eq: x}}", ("fail", ())),
        (
            "last: {of: {type: command.exited}, is: {path: exit_code, contains: x}}",
            ("wrong_type", "seq 3: exit_code: an integer, not a string"),
        ),
        ("all_of: [{event: {type: command.exited}}, {absent: {type: file.changed}}]", ("pass", (1,))),
        ("all_of: [{event: {type: command.exited}}, {event: {type: file.changed}}]", ("fail", ())),
        ("any_of: [{event: {type: file.changed}}, {event: {type: command.exited}}]", ("pass", (1,))),
        ("any_of: [{event: {type: file.changed}}, {absent: {type: command.exited}}]", ("fail", (1, 2, 3))),
        ("none_of: [{event: {type: file.changed}}]", ("pass", ())),
        ("none_of: [{event: {type: file.changed}}, {event: {type: command.exited}}]", ("fail", (1,))),
        ("at_least: {n: 1, of: [{event: {type: file.changed}}, {event: {type: command.exited}}]}", ("pass", (1,))),
        ("at_least: {n: 2, of: [{event: {type: file.changed}}, {event: {type: command.exited}}]}", ("fail", (1,))),
    ],
)
def test_a_kind_of_check_on_three_commands(text: str, wanted: tuple[str, object]) -> None:
    assert outcome(check(text), run(*EXITED)) == wanted


def test_looking_for_something_stops_at_the_first() -> None:
    events = run(new("note.made", text="yes"), new("note.made", text=5))

    assert outcome(check("event: {type: note.made, where: {path: text, contains: yes}}"), events) == ("pass", (1,))
    assert outcome(
        check("count: {of: {type: note.made, where: {path: text, contains: yes}}, at_least: 1}"), events
    ) == (
        "pass",
        (1,),
    )
    assert outcome(check("event: {type: note.made, where: {path: text, contains: no}}"), events)[0] == "wrong_type"


@pytest.mark.parametrize(
    "text",
    [
        "absent: {type: note.made, where: {path: text, contains: bad}}",
        "count: {of: {type: note.made, where: {path: text, contains: bad}}, at_most: 0}",
        "none_of: [{event: {type: note.made, where: {path: text, contains: bad}, pick: last}}]",
    ],
)
def test_a_violation_decides_whatever_else_cannot_be_read(text: str) -> None:
    unreadable, violation = new("note.made", text=5), new("note.made", text="bad")

    assert outcome(check(text), run(unreadable, violation)) == ("fail", (2,))
    assert outcome(check(text), run(unreadable)) == ("wrong_type", "seq 1: text: an integer, not a string")


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        ([changed("/a"), EXITED[2]], ("pass", (1, 2))),
        ([EXITED[2], changed("/a")], ("fail", (2,))),
        ([changed("/a"), EXITED[2], changed("/b")], ("fail", (3,))),
        ([changed("/a"), changed("/b"), EXITED[1], EXITED[2]], ("pass", (2, 4))),
        ([EXITED[2]], ("fail", ())),
    ],
)
def test_a_sequence_is_one_after_the_other(events: list[NewEvent], wanted: tuple[str, object]) -> None:
    text = "sequence: [{type: file.changed, pick: last}, {type: command.exited, where: {path: exit_code, eq: 0}}]"

    assert outcome(check(text), run(*events)) == wanted


def test_a_sequence_takes_the_earliest_that_leaves_room() -> None:
    events = run(*(new(f"x.{letter}") for letter in "abacb"))

    assert outcome(check("sequence: [{type: x.a}, {type: x.b}, {type: x.b}]"), events) == ("pass", (1, 2, 5))
    assert outcome(check("sequence: [{type: x.c}, {type: x.a}]"), events) == ("fail", (4,))


@pytest.mark.parametrize(("events", "result"), [(1, "fail"), (2, "pass"), (3, "pass")])
def test_within_counts_events_of_evidence(events: int, result: str) -> None:
    foreign = new("score.imported", scorer="s", value=1)
    recorded = run(new("x.a"), foreign, new("x.other"), new("x.b"))

    wanted = (result, (1, 4) if result == "pass" else ())
    assert (
        outcome(check(f"within: {{first: {{type: x.a}}, then: {{type: x.b}}, events: {events}}}"), recorded) == wanted
    )


def test_within_takes_the_nearest_first() -> None:
    events = run(new("x.a"), new("x.other"), new("x.a"), new("x.b"))

    assert outcome(check("within: {first: {type: x.a}, then: {type: x.b}, events: 1}"), events) == ("pass", (3, 4))


def test_within_seconds_goes_by_the_time_of_the_events() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    events = run(
        NewEvent("x.a", {}, actor=HUMAN, time=begin + timedelta(seconds=100)),
        NewEvent("x.a", {}, actor=HUMAN, time=begin),
        NewEvent("x.b", {}, actor=HUMAN, time=begin + timedelta(seconds=10)),
    )

    assert outcome(check("within: {first: {type: x.a}, then: {type: x.b}, seconds: 10}"), events) == ("pass", (2, 3))
    assert outcome(check("within: {first: {type: x.a}, then: {type: x.b}, seconds: 9.5}"), events) == ("fail", ())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("answer: {key: k, eq: ' yes '}", ("pass", (2,))),
        ("answer: {key: k, eq: 'yes', clean: []}", ("fail", (2,))),
        ("answer: {key: k, in: [YES]}", ("pass", (2,))),
        ("answer: {key: k, in: [yes]}", ("fail", (2,))),
        ("answer: {key: k, matches: '^Y'}", ("pass", (2,))),
        ("answer: {key: k, exists: true}", ("pass", (2,))),
        ("answer: {key: k, exists: false}", ("fail", (2,))),
        ("answer: {key: other, exists: false}", ("pass", ())),
        ("answer: {key: other, eq: yes}", ("fail", ())),
    ],
)
def test_the_last_answer_counts(text: str, wanted: tuple[str, object]) -> None:
    assert outcome(check(text), run(answered("no"), answered("YES"), answered("no", "another"))) == wanted


class TestCalls:
    CALLS = (called("a", "book", seat=1), called("b", "look"), returned("a", "book"), returned("b", "look", 7))

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("event: {call: book}", ("pass", (1, 3))),
            ("event: {call: [cancel, look]}", ("pass", (2, 4))),
            ('count: {of: {call: "*"}, exactly: 2}', ("pass", (1, 2, 3, 4))),
            ("event: {call: cancel}", ("fail", ())),
            ("event: {call: book, where: {path: arguments.seat, eq: 1}}", ("pass", (1, 3))),
            ("event: {call: look, where: {path: result, eq: 7}}", ("pass", (2, 4))),
            ("event: {call: look, where: {path: returned, eq: false}}", ("fail", ())),
            ("sequence: [{call: book}, {call: look}]", ("pass", (1, 2, 3, 4))),
            ('last: {of: {call: "*"}, is: {path: tool, eq: look}}', ("pass", (2, 4))),
        ],
    )
    def test_a_call_is_cited_with_its_return(self, text: str, wanted: tuple[str, object]) -> None:
        assert outcome(check(text), run(*self.CALLS)) == wanted

    def test_one_that_did_not_return_has_no_result(self) -> None:
        events = run(called("a", "book"))

        assert outcome(check("event: {call: book, where: {path: returned, eq: false}}"), events) == ("pass", (1,))
        assert outcome(check("event: {call: book, where: {path: result, exists: true}}"), events) == ("fail", ())

    def test_only_a_return_after_it_and_of_its_id_counts(self) -> None:
        events = run(returned("a", "book"), called("a", "book"), returned("b", "book"))

        assert outcome(check("event: {call: book, where: {path: returned, eq: true}}"), events) == ("fail", ())

    def test_the_last_submission_counts_and_not_the_last_return(self) -> None:
        events = run(
            called("a", "submit", answer="x"),
            called("b", "submit", answer="y"),
            returned("b", "submit"),
            returned("a", "submit"),
        )

        assert outcome(check("last: {of: {call: submit}, is: {path: arguments.answer, eq: y}}"), events) == (
            "pass",
            (2, 3),
        )

    def test_latest_by_something_of_the_result(self) -> None:
        events = run(
            called("a", "make"), called("b", "make"), returned("b", "make", {"id": 1}), returned("a", "make", {"id": 1})
        )

        assert outcome(check("count: {of: {call: make, latest_by: result.id}, exactly: 1}"), events) == ("pass", (2, 3))
        assert outcome(check("count: {of: {call: make, latest_by: result.id}, exactly: 2}"), events[:3]) == (
            "pass",
            (1, 2, 3),
        )


class TestCompare:
    REFERENCE = expected(
        actions=[
            {"tool": "book", "arguments": {"flights": [{"n": "A", "price": 1}]}},
            {"tool": "pay", "arguments": {}},
        ],
        outputs=["1,628", "Blue"],
        tests=["t1", "t2"],
    )
    BOOKED = (called("a", "book", flights=[{"n": "A", "price": 2.0}]), returned("a", "book"))
    PAID = (called("b", "pay"), returned("b", "pay"))
    ACTIONS = (
        "compare: {want: {expected: actions, take: [tool, arguments]}, got: {call: '*', take: [tool, arguments]},"
        " keep: {arguments.flights: [n]}, as: %s}"
    )

    @pytest.mark.parametrize(
        ("how", "events", "wanted"),
        [
            ("every", [*BOOKED, *PAID], ("pass", (2, 3, 4, 5))),
            ("every", [*BOOKED], ("fail", ())),
            ("every", [*BOOKED, called("x", "steal")], ("fail", (4,))),
            ("every", [*BOOKED, called("x", "steal"), *PAID], ("pass", (2, 3, 5, 6))),
            ("only", [*BOOKED], ("pass", (2, 3))),
            ("only", [], ("pass", ())),
            ("only", [*BOOKED, called("x", "steal"), *PAID], ("fail", (4,))),
            ("only", [*PAID, called("c", "pay")], ("fail", (4,))),
            ("same", [*PAID, *BOOKED], ("pass", (2, 3, 4, 5))),
            ("same", [*PAID], ("fail", ())),
            ("same", [*PAID, *BOOKED, called("x", "steal")], ("fail", (6,))),
        ],
    )
    def test_what_was_done_agrees_with_the_reference(
        self, how: str, events: list[NewEvent], wanted: tuple[str, object]
    ) -> None:
        assert outcome(check(self.ACTIONS % how), run(self.REFERENCE, *events)) == wanted

    @pytest.mark.parametrize(
        ("said", "wanted"),
        [
            (["It costs 1628.", "It is BLUE, and blue"], ("pass", (2, 3))),
            (["blue 1,628 "], ("pass", (2,))),
            (["blue"], ("fail", ())),
        ],
    )
    def test_every_wanted_text_is_said(self, said: list[str], wanted: tuple[str, object]) -> None:
        text = (
            "compare: {want: {expected: outputs}, got: {type: message.sent, take: content}, as: said,"
            " clean: [lower, {drop: ','}]}"
        )
        messages = [new("message.sent", AGENT, role="assistant", content=content) for content in said]

        assert outcome(check(text), run(self.REFERENCE, *messages)) == wanted

    def test_the_newest_report_of_a_test_counts(self) -> None:
        text = (
            "compare: {want: {expected: tests}, as: every,"
            " got: {type: test.reported, latest_by: name, where: {path: status, eq: passed}, take: name}}"
        )
        reports = [report("t1", "failed"), report("t2", "passed"), report("t1", "passed")]

        assert outcome(check(text), run(self.REFERENCE, *reports)) == ("pass", (3, 4))
        assert outcome(check(text), run(self.REFERENCE, *reports, report("t2", "failed")))[0] == "fail"

    def test_both_sides_can_be_events(self) -> None:
        text = "compare: {want: {type: x.planned, take: step}, got: {type: x.done, take: step}, as: %s}"
        events = run(new("x.planned", step=1), new("x.done", step=1.0), new("x.planned", step=2), new("x.done"))

        assert outcome(check(text % "every"), events) == ("fail", (3,))
        assert outcome(check(text % "only"), events) == ("pass", (2,))

    def test_one_value_is_a_list_of_one(self) -> None:
        text = "compare: {want: {expected: target}, got: {type: answer.given, pick: last, take: answer}, as: only}"

        for target in ("b", ["a", "b"]):
            assert outcome(check(text), run(expected(target=target), answered("b"))) == ("pass", (2,))
            assert outcome(check(text), run(expected(target=target), answered("c"))) == ("fail", (2,))

    def test_taken_paths_keep_their_places(self) -> None:
        text = "compare: {want: {expected: pairs, take: [a, b]}, got: {type: x.did, take: [p, q]}, as: every}"

        assert outcome(check(text), run(expected(pairs=[{"a": 1, "b": 2}]), new("x.did", p=1, q=2)))[0] == "pass"
        assert outcome(check(text), run(expected(pairs=[{"a": 1}]), new("x.did", q=1)))[0] == "fail"

    @pytest.mark.parametrize("how", ["every", "said"])
    def test_an_empty_want_does_not_open_got(self, how: str) -> None:
        text = f"compare: {{want: {{expected: outputs}}, got: {{type: message.sent, take: content}}, as: {how}}}"
        message = new("message.sent", AGENT, role="assistant", content="x")

        assert outcome(check(text), run(expected(outputs=[]), message, erase=[2])) == ("pass", ())
        assert outcome(check(text), run(expected(outputs=["x"]), message, erase=[2])) == ("evidence_erased", "seq 2")

    def test_what_is_said_has_to_be_text(self) -> None:
        text = "compare: {want: {expected: outputs}, got: {type: message.sent, take: content}, as: said}"
        events = run(expected(outputs=["x"]), new("message.sent", AGENT, role="assistant", content=["x"]))

        assert outcome(check(text), events) == ("wrong_type", "seq 2: content: an array, not a string")

    def test_a_wrong_type_in_the_reference_is_named(self) -> None:
        text = "compare: {want: {expected: tests, where: {path: ., contains: x}}, got: {type: x.a}, as: every}"

        assert outcome(check(text), run(expected(other=1, tests=["x"])))[0] == "fail"
        assert outcome(check(text.replace("tests", "numbers")), run(expected(numbers=["x", 1]))) == (
            "wrong_type",
            "case.expected numbers.1: an integer, not a string",
        )


@pytest.mark.parametrize(
    "text",
    [
        "event: {type: x.a, where: {path: p, eq: {$expected: target}}}",
        "absent: {type: x.a, where: {path: p, eq: {$expected: target}}}",
        "compare: {want: {expected: target}, got: {type: x.a}, as: only}",
        "answer: {key: k, eq: {$expected: target}}",
        "last: {of: {type: x.a}, is: {path: p, eq: {$expected: target}}}",
        "none_of: [{event: {type: x.a, where: {path: p, eq: {$expected: target}}}}]",
    ],
)
def test_a_check_that_names_the_reference_needs_it(text: str) -> None:
    by_human = [new("x.a", p=1)]

    for events in (by_human, [expected(outputs=[])], [expected(target=None)]):
        assert outcome(check(text), run(*events)) == ("expected_missing", "case.expected has no target")
    assert outcome(check(text), run(expected(target="t"), erase=[1])) == ("evidence_erased", "seq 1")


def test_details_name_no_values() -> None:
    secret = "s3cr3t"
    events = run(expected(outputs=[secret]), new("x.a", p=secret), called("a", secret), answered(secret))
    texts = [
        "event: {type: x.a, where: {path: p, is: string}}",
        "absent: {type: x.a}",
        "compare: {want: {expected: outputs}, got: {type: x.a, take: q}, as: every}",
        "compare: {want: {expected: outputs}, got: {call: '*', take: call_id}, as: same}",
        "answer: {key: k, eq: other}",
    ]

    assert all(secret not in judged(check(text), events).detail for text in texts)


@pytest.mark.parametrize(
    ("text", "erase", "wanted"),
    [
        ("event: {type: test.reported}", [1], ("pass", (1,))),
        ("count: {of: {type: test.reported}, exactly: 2}", [1, 2], ("pass", (1, 2))),
        ("event: {type: test.reported, where: {path: status, eq: failed}}", [2], ("pass", (1,))),
        ("event: {type: test.reported, where: {path: status, eq: failed}}", [1], ("evidence_erased", "seq 1")),
        ("absent: {type: test.reported, where: {path: status, eq: failed}}", [2], ("fail", (1,))),
        ("absent: {type: test.reported, where: {path: status, eq: failed}}", [1], ("evidence_erased", "seq 1")),
        ("last: {of: {type: test.reported}, is: {path: status, eq: passed}}", [1], ("pass", (2,))),
        (
            "last: {of: {type: test.reported, where: {path: name, eq: t}}, is: {path: status, eq: passed}}",
            [1],
            ("pass", (2,)),
        ),
        ("last: {of: {type: test.reported}, is: {path: status, eq: passed}}", [2], ("evidence_erased", "seq 2")),
        ("event: {type: test.reported, latest_by: name}", [1], ("evidence_erased", "seq 1")),
        ("answer: {key: k, eq: a}", [3], ("pass", (4,))),
        ("answer: {key: k, eq: a}", [4], ("evidence_erased", "seq 4")),
        ("event: {call: bash}", [6], ("pass", (5,))),
        ("event: {call: bash, where: {path: arguments.x, eq: 1}}", [6], ("pass", (5,))),
        ("event: {call: bash, where: {path: returned, eq: true}}", [6], ("evidence_erased", "seq 6")),
        ("event: {call: '*'}", [5], ("pass", (5,))),
        ("event: {call: bash}", [5], ("evidence_erased", "seq 5")),
        (
            "sequence: [{type: answer.given}, {type: tool.returned, where: {path: tool, eq: bash}}]",
            [1, 2],
            ("pass", (3, 6)),
        ),
    ],
)
def test_an_erased_payload_matters_only_when_it_has_to_be_opened(
    text: str, erase: list[int], wanted: tuple[str, object]
) -> None:
    events = [
        report("t", "failed"),
        report("t", "passed"),
        answered("b"),
        answered("a"),
        called("c", "bash", x=1),
        returned("c", "bash"),
    ]

    assert outcome(check(text), run(*events, erase=erase)) == wanted


def test_supplied_events_may_share_a_seq() -> None:
    one, other = run(new("x.a", n=1)), run(new("x.a", n=2))
    events = [*one, *other]

    assert outcome(check("absent: {type: x.a, where: {path: n, eq: 1}}"), events) == ("fail", (1,))
    assert outcome(check("sequence: [{type: x.a, where: {path: n, eq: 1}}, {type: x.a}]"), events) == ("pass", (1,))
    assert judged(check("count: {of: {type: x.a}, exactly: 2}"), events).passed


def test_asking_for_the_verdict_changes_nothing() -> None:
    events: list[Event] = run(*EXITED, answered("x"))
    under_way = check("all_of: [{answer: {key: k, eq: x}}, {absent: {type: file.changed}}]").start(None)

    asked = []
    for event in events:
        under_way.step(event)
        asked.append((under_way.result(), under_way.result()))

    assert all(first == second for first, second in asked)
    assert [first.passed for first, _ in asked] == [False, False, False, True]


@pytest.mark.parametrize(
    ("answers", "passed", "detail"),
    [
        ({"flag": " FLAG{x} "}, True, "the supplied answer for flag fits"),
        ({"flag": "no"}, False, "the supplied answer for flag does not fit"),
        ({}, False, "no answer for flag"),
    ],
)
def test_supplied_answers_hold_instead_of_recorded_ones(answers: dict[str, str], passed: bool, detail: str) -> None:
    recorded = run(answered("flag{x}", key="flag"))

    verdict = check("answer: {key: flag, eq: 'flag{X}'}")(MapEvidence(recorded, answers))

    assert verdict == Verdict(passed, detail)
