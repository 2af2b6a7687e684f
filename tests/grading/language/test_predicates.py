from typing import Any

import pytest

from grading.budget import Work
from grading.errors import BrokenCode, CheckBroken
from grading.predicates import Mismatch
from tests.grading.language.cases import holds, predicate


@pytest.mark.parametrize(
    ("text", "value", "wanted"),
    [
        ("{path: a, eq: 1}", {"a": 1}, True),
        ("{path: a, eq: 1}", {"a": 1.0}, True),
        ("{path: a, eq: 1}", {"a": True}, False),
        ("{path: a, eq: true}", {"a": 1}, False),
        ("{path: a, eq: null}", {"a": None}, True),
        ("{path: a, eq: null}", {}, False),
        ("{path: a, eq: {x: 1, y: [2]}}", {"a": {"y": [2.0], "x": 1}}, True),
        ("{path: a, eq: x}", {"a": "X"}, False),
        ("{path: a, eq: x, clean: [lower]}", {"a": "X"}, True),
        ("{path: a, eq: X, clean: [lower]}", {"a": "x"}, True),
        ("{path: a, eq: 1}", {"a": "1"}, False),
        ("{path: a, in: [1, x]}", {"a": "x"}, True),
        ("{path: a, in: [1, x]}", {"a": 1.0}, True),
        ("{path: a, in: [1, x]}", {"a": [1]}, False),
        ("{path: a, in: []}", {"a": 1}, False),
        ("{path: a, in: [' X ', y], clean: [trim, lower]}", {"a": "x"}, True),
        ("{path: a, lt: 2}", {"a": 1.5}, True),
        ("{path: a, lt: 2}", {"a": 2}, False),
        ("{path: a, le: 2}", {"a": 2}, True),
        ("{path: a, gt: 2}", {"a": 3}, True),
        ("{path: a, ge: 2}", {"a": 2.0}, True),
        ("{path: a, ge: 2}", {}, False),
        ("{path: a, exists: true}", {"a": None}, True),
        ("{path: a, exists: true}", {}, False),
        ("{path: a, exists: false}", {}, True),
        ("{path: a.b, exists: false}", {"a": "text"}, True),
        ("{path: a, is: string}", {"a": ""}, True),
        ("{path: a, is: string}", {}, False),
        ("{path: a, is: number}", {"a": 1}, True),
        ("{path: a, is: number}", {"a": True}, False),
        ("{path: a, is: integer}", {"a": 2.0}, True),
        ("{path: a, is: integer}", {"a": 2.5}, False),
        ("{path: a, is: 'null'}", {"a": None}, True),
        ("{path: a, is: array}", {"a": []}, True),
        ("{path: a, is: object}", {"a": {}}, True),
        ("{path: a, is: boolean}", {"a": False}, True),
        ("{path: a, matches: '^x.*z$'}", {"a": "xyz"}, True),
        ("{path: a, matches: y}", {"a": "xyz"}, True),
        ("{path: a, matches: 'Y'}", {"a": "xyz"}, False),
        ("{path: a, matches: '\\S'}", {"a": "X"}, True),
        ("{path: a, matches: '^[x]$', clean: [lower]}", {"a": "X"}, True),
        ("{path: a, contains: ''}", {"a": ""}, True),
        ("{path: a, contains: bc}", {"a": "abcd"}, True),
        ("{path: a, contains: 'é'}", {"a": "caf\u00e9"}, True),
        ("{path: a, starts: ab}", {"a": "abc"}, True),
        ("{path: a, starts: bc}", {"a": "abc"}, False),
        ("{path: a, under: /workspace}", {"a": "/workspace/x"}, True),
        ("{path: a, under: /workspace}", {"a": "/workspace"}, True),
        ("{path: a, under: /workspace/}", {"a": "//workspace/./a//b"}, True),
        ("{path: a, under: /workspace}", {"a": "/workspace2"}, False),
        ("{path: a, under: /workspace}", {"a": "/workspace/../etc"}, False),
        ("{path: a, under: /workspace}", {"a": "/etc/../workspace/x"}, True),
        ("{path: a, under: /}", {"a": "/../etc"}, True),
        ("{path: a, any_item: {path: x, eq: 1}}", {"a": [{"x": 2}, {"x": 1}]}, True),
        ("{path: a, any_item: {path: ., eq: 1}}", {"a": [2, 1]}, True),
        ("{path: a, any_item: {path: ., eq: 1}}", {"a": []}, False),
        ("{path: a, every_item: {path: ., gt: 0}}", {"a": [2, 1]}, True),
        ("{path: a, every_item: {path: ., gt: 0}}", {"a": []}, True),
        ("{path: a, every_item: {path: ., gt: 0}}", {}, False),
        ("{all: [{path: a, eq: 1}, {path: b, eq: 2}]}", {"a": 1, "b": 2}, True),
        ("{any: [{path: a, eq: 1}, {path: b, eq: 2}]}", {"b": 2}, True),
        ("{not: {path: a, eq: 1}}", {}, True),
    ],
)
def test_a_predicate_says_whether_it_holds(text: str, value: Any, wanted: bool) -> None:
    assert holds(text, value) is wanted


@pytest.mark.parametrize(
    ("text", "value", "path"),
    [
        ("{path: a, lt: 2}", {"a": "1"}, "a"),
        ("{path: a, lt: 2}", {"a": True}, "a"),
        ("{path: a, ge: 2}", {"a": None}, "a"),
        ("{path: a, matches: x}", {"a": 1}, "a"),
        ("{path: a.b, contains: x}", {"a": {"b": ["x"]}}, "a.b"),
        ("{path: a, starts: x}", {"a": None}, "a"),
        ("{path: a, under: /workspace}", {"a": "relative/x"}, "a"),
        ("{path: a, under: /workspace}", {"a": ""}, "a"),
        ("{path: a, under: /workspace}", {"a": 5}, "a"),
        ("{path: a, any_item: {path: x, eq: 1}}", {"a": {"x": 1}}, "a"),
        ("{path: a, any_item: {path: x, contains: y}}", {"a": [{"x": "z"}, {"x": 1}]}, "a.1.x"),
        ("{not: {path: a, contains: x}}", {"a": 1}, "a"),
    ],
)
def test_a_wrong_type_is_an_error_that_names_its_path(text: str, value: Any, path: str) -> None:
    with pytest.raises(Mismatch) as raised:
        holds(text, value)

    assert str(raised.value.path) == path


def test_all_and_any_stop_when_decided() -> None:
    guarded = "{all: [{path: a, is: string}, {path: a, contains: x}]}"
    known = "{any: [{path: a, is: number}, {path: a, contains: x}]}"

    assert not holds(guarded, {"a": 1})
    assert holds(known, {"a": 1})
    with pytest.raises(Mismatch):
        holds("{any: [{path: a, contains: x}, {path: a, is: number}]}", {"a": 1})


@pytest.mark.parametrize(
    ("clean", "left", "right", "equal"),
    [
        ("[trim]", "\u00a0x\u0085", "x", True),
        ("[trim]", "\x1cx", "x", False),
        ("[lower]", "ΑΣ", "ασ", True),
        ("[lower]", "ß", "SS", False),
        ("[last_word]", "the answer is 42 ", "42", True),
        ("[last_word]", "a\u3000b", "b", True),
        ("[last_word]", "  ", "", True),
        ('[{drop: ","}]', "1,628", "1628", True),
        ('[{drop: ",."}, lower]', "A.B,C", "abc", True),
        ("[]", "x ", "x", False),
    ],
)
def test_both_sides_are_cleaned(clean: str, left: str, right: str, equal: bool) -> None:
    text = f"{{path: a, eq: {{$expected: t}}, clean: {clean}}}"

    assert holds(text, {"a": left}, {"t": right}) is equal
    assert holds(text, {"a": right}, {"t": left}) is equal


def test_an_operand_can_come_from_the_reference() -> None:
    text = "{path: a, contains: {$expected: deep.1}}"

    assert holds(text, {"a": "xyz"}, {"deep": ["?", "y"]})
    assert not holds(text, {"a": "xyz"}, {"deep": ["?", "q"]})


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        (None, BrokenCode.EXPECTED_MISSING),
        ({}, BrokenCode.EXPECTED_MISSING),
        ({"t": None}, BrokenCode.EXPECTED_MISSING),
        ({"t": ["x"]}, BrokenCode.WRONG_TYPE),
        ({"t": 1}, BrokenCode.WRONG_TYPE),
    ],
)
def test_a_reference_that_cannot_be_used_breaks_the_check(reference: Any, code: BrokenCode) -> None:
    with pytest.raises(CheckBroken) as raised:
        predicate("{path: a, contains: {$expected: t}}", reference)

    assert raised.value.code is code
    assert "t" in raised.value.where


def test_a_pattern_that_would_backtrack_for_ever_does_not() -> None:
    assert not holds("{path: a, matches: '^(a+)+$'}", {"a": "a" * 100_000 + "b"})


def test_nothing_is_asked_twice_of_a_shared_value() -> None:
    value = {"a": [1, {"b": "x"}]}
    asked = predicate("{path: a.1.b, eq: x}")

    assert asked(value, Work())
    assert asked(value, Work())
    assert value == {"a": [1, {"b": "x"}]}
