"""A file of checks: read as the seed's command reads it."""

from typing import Any

import pytest

from grading.rules import InvalidChecks, Rule, read_rules
from grading.rules.checks_file import MAX_FILE


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ('[{"op": "contains", "arg": "x"}]', [Rule("contains", "x")]),
        ('[{"OP": "contains", "Arg": "x"}]', [Rule("contains", "x")]),
        ('[{"op": "contains", "arg": "x", "note": [1, {"a": NULL}]}]'.replace("NULL", "null"), [Rule("contains", "x")]),
        ('[{"op": "contains"}, {"op": "contains", "arg": null}]', [Rule("contains", "")] * 2),
        ("[null]", [Rule("", "")]),
        ("[{}]", [Rule("", "")]),
        ('[{"op": "a", "op": "b", "arg": "1", "ARG": "2"}]', [Rule("b", "2")]),
        ('[{"op": "a", "op": null}]', [Rule("a", "")]),
        (' [\n{"op":"a","arg":"\\ud83d\\ude00"}] \n', [Rule("a", "😀")]),
        ('[{"op": "a", "arg": "\\ud800"}]', [Rule("a", "\ufffd")]),
        ('[{"op": "json_schema", "arg": {"a": 1, "a": 2.5, "b": [1.0]}}]', [Rule("json_schema", {"a": 2.5, "b": [1]})]),
        ('[{"op": "not_json_schema", "arg": false}]', [Rule("not_json_schema", False)]),
    ],
)
def test_the_checks_of_a_file(text: str, rules: list[Rule]) -> None:
    assert read_rules(text.encode()) == rules


def test_every_byte_that_is_no_utf_8_is_u_fffd() -> None:
    assert read_rules(b'[{"op": "a", "arg": "\xff\xe2\x82"}]') == [Rule("a", "\ufffd\ufffd\ufffd")]


@pytest.mark.parametrize("text", ["[]", "null", " [ ] "])
def test_an_empty_set_is_an_error(text: str) -> None:
    with pytest.raises(InvalidChecks, match=r"c\.json: judge: no checks provided"):
        read_rules(text.encode(), "c.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "c.json:1: not JSON"),
        ("\ufeff[]", "c.json:1: not JSON"),
        ('{"op": "a"}', "one JSON array"),
        ("{}", "one JSON array"),
        ('"x"', "one JSON array"),
        ('[{"op": "a"}] x', "c.json:1: not JSON"),
        ('[{"op": "a"},\n]', "c.json:2: not JSON"),
        ("[NaN]", "NaN"),
        ('[{"op": "max_chars", "arg": 100}]', 'c.json: [0].arg: the arg is text; put it in quotes: "100"'),
        ('[null, {"op": "a", "arg": true}]', "c.json: [1].arg: the arg is text"),
        ('[{"op": "regex", "arg": {}}]', "[0].arg: the arg is text"),
        ('[{"op": 5}]', "[0].op: the op is text"),
        ('["contains"]', "[0]: a check is an object"),
        ("[[]]", "[0]: a check is an object"),
        ("[" * 100_000, "not JSON: nested too deeply"),
        ('[{"op": "json_schema", "arg": ' + "[" * 70 + "]" * 70 + "}]", "[0].arg: nested deeper than 64"),
        ('[{"op": "json_schema", "arg": 1e999}]', "[0].arg: a number too large"),
        ("[" + "null," * 10_000 + "null]", "more than 10,000 checks"),
    ],
)
def test_what_holds_no_checks_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InvalidChecks) as raised:
        read_rules(text.encode(), "c.json")

    assert said in str(raised.value)


def test_a_file_is_bounded() -> None:
    with pytest.raises(InvalidChecks, match="at most 4 MiB"):
        read_rules(b" " * (MAX_FILE + 1))


@pytest.mark.parametrize("arg", ["1" * 5000, {"a": 1}])
def test_a_key_that_is_not_known_may_hold_anything(arg: Any) -> None:
    text = '[{"op": "a", "more": %s}]' % ("1" * 5000 if isinstance(arg, str) else '{"a": 1}')

    assert read_rules(text.encode()) == [Rule("a", "")]
