"""A document in plain words, and the event types it reads."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from grading import examples
from grading.kinds.combination import DocumentReducer
from grading.kinds.reading import types_read
from grading.reader.checks import CHECK_KEYS
from grading.reader.text import parse
from grading.spec import event_types, explain_document, read_ladder
from grading.wording.phrases import Phrases
from grading.wording.sentences import Clauses
from tests.grading.language.cases import check

PAGE: Final = (Path(__file__).parents[3] / "grading" / "LANGUAGE.md").read_text(encoding="utf-8")
CHECKS: Final = [
    text
    for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    if isinstance(parse(text).value, dict) and next(iter(parse(text).value)) in CHECK_KEYS
]
DEFINED: Final[dict[str, Any]] = {"paid": {"path": "status", "eq": "paid"}}


def clause(text: str) -> str:
    return Clauses(Phrases(DEFINED)).check(parse(text).value)


def test_every_kind_of_check_is_shown_in_the_reference() -> None:
    assert {next(iter(parse(text).value)) for text in CHECKS} >= set(CHECK_KEYS) - {"use"}


@pytest.mark.parametrize("text", [text for text in CHECKS if "use:" not in text])
def test_every_check_of_the_reference_has_words_and_event_types(text: str) -> None:
    of_document = check(text)
    running = of_document.start({"actions": [], "outputs": [], "tests": [], "target": "x"})

    assert isinstance(running, DocumentReducer)
    assert running._types <= types_read(of_document.node)
    assert clause(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("event: {call: [a, b]}", "there is a call of a or b"),
        ("absent: {type: x.y, where: {use: paid}}", "there is no x.y event that is “paid”"),
        (
            "compare: {want: {expected: tests}, got: {type: test.reported, take: name}, as: every}",
            "each of the expected tests is found among the name of test.reported events, as often as it is wanted",
        ),
        (
            "compare: {want: {expected: actions, take: [tool, error]}, got: {call: a, take: [tool, error]}, as: only}",
            "among calls of a there is nothing but the expected actions, compared by tool and error",
        ),
        ("count: {of: {call: '*'}, at_most: 3}", "there are at most 3 calls of any tool"),
        ("sequence: [{call: a}, {call: b, pick: last}]", "in this order there is a call of a, then the last call of b"),
        ("within: {first: {call: a}, then: {call: b}, events: 3}", "a call of b follows a call of a within 3 events"),
        (
            "within: {first: {call: a}, then: {call: b}, seconds: 3}",
            "a call of b follows a call of a within 3 seconds by the producers' clock",
        ),
        ("answer: {key: k, eq: yes}", 'the answer to "k" is "yes" (trimmed and in lower case)'),
        ("answer: {key: k, exists: true}", 'the answer to "k" exists'),
        (
            "last: {of: {type: run.finished}, is: {any: [{path: a, gt: 1}, {not: {path: b, is: 'null'}}]}}",
            "of the last run.finished event it holds that a is above 1 or not (b is null)",
        ),
        (
            "none_of: [{event: {call: a}}, {all_of: [{event: {call: b}}, {event: {call: c}}]}]",
            "none of these holds: (there is a call of a), (there is a call of b; and there is a call of c)",
        ),
        ("repeated: {of: {call: '*'}, at_most: 3}", "of calls of any tool no more than 3 in a row have the same tool"),
    ],
)
def test_a_clause_says_what_is_asked(text: str, said: str) -> None:
    assert clause(text).startswith(said)


def test_a_paragraph_says_when_a_run_passes_and_what_its_names_mean() -> None:
    text = """
gradespine: 1
ladder: pay
version: "2"
mode: cumulative
pass_at: 0.5
define:
  paid: {all: [{use: big}, {path: status, eq: paid}]}
  big: {path: amount, ge: 100}
milestones:
  - {name: asked, required: false, check: {event: {call: ask}}}
  - {name: paid, weight: 3, check: {event: {type: bill.paid, where: {use: paid}}}}
"""

    assert explain_document(read_ladder(text).document) == (
        "pay, version 2, has 2 milestones, climbed in order: behind the first that fails none counts. A run passes when"
        " it passes paid, and its score is at least 0.5; its score is the weight of what it passes, of 4."
        " asked (weight 1, not required): there is a call of ask."
        " paid (weight 3): there is a bill.paid event that is “paid”."
        ' “paid” means that it is “big” and status is "paid". “big” means that amount is at least 100.'
    )


def test_the_examples_read_what_they_name() -> None:
    read = {name: read_ladder(examples.text(name)) for name in examples.names()}
    types = {name: event_types(found.ladder, found.document) for name, found in read.items()}

    assert types["safe-change"] == ["case.expected", "command.exited", "file.changed", "test.reported"]
    assert types["taubench-airline"] == ["case.expected", "message.sent", "tool.called", "tool.returned"]
    assert all(explain_document(found.document) for found in read.values())
