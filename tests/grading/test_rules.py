"""score: the tables of the seed *judge*, case by case, and what google-re2 takes and Go does not."""

import pytest

from grading.budget import Budget, Work
from grading.errors import BrokenCode, CheckBroken
from grading.patterns import Pattern, weight
from grading.rules import OURS, InvalidChecks, Op, Ours, Result, Rule, score
from grading.rules.quoting import decoded, quoted

SAMPLE = "# Root Cause\n\nThe disk was full; gofmt was run.\n"


def why(op: str, arg: object, text: str = SAMPLE) -> str:
    """The reason of one rule, which `hard` and `soft` have to agree with."""
    result = score(text, [Rule(op, arg)])
    assert result.hard == result.soft == float(result.passed[0])
    return result.why[0]


def passes(op: str, arg: object, text: str = SAMPLE) -> bool:
    return score(text, [Rule(op, arg)]).passed[0]


@pytest.mark.parametrize(
    ("op", "arg", "passed", "reason"),
    [
        ("section_present", "root cause", True, 'section_present: found heading containing "root cause"'),
        ("section_present", "Fix", False, 'section_present: no heading contains "Fix"'),
        ("regex", "disk.*full", True, 'regex: matched "disk.*full"'),
        ("regex", "^disk", False, 'regex: no match for "^disk"'),
        ("regex", "(", False, 'regex: invalid pattern "(": missing ): ('),
        ("contains", "gofmt", True, "contains: pass gofmt"),
        ("contains", "GOFMT", False, "contains: fail GOFMT"),
        ("tool_called", "gofmt", True, "tool_called: pass gofmt"),
        ("tool_called", "govet", False, "tool_called: fail govet"),
        ("max_chars", "48", True, "max_chars: pass 48 (got 48)"),
        ("max_chars", "47", False, "max_chars: fail 47 (got 48)"),
        ("min_chars", "48", True, "min_chars: pass 48 (got 48)"),
        ("min_chars", "49", False, "min_chars: fail 49 (got 48)"),
        ("max_chars", "ten", False, 'length: invalid arg "ten"'),
        ("min_chars", "", False, 'length: invalid arg ""'),
        ("frobnicate", "x", False, 'unknown op "frobnicate"'),
        ("Contains", "disk", False, 'unknown op "Contains"'),
        (" contains", "disk", False, 'unknown op " contains"'),
        ("", "", False, 'unknown op ""'),
    ],
)
def test_an_op_answers_with_its_reason(op: str, arg: str, passed: bool, reason: str) -> None:
    assert passes(op, arg) is passed
    assert why(op, arg) == reason


def test_half_of_a_set_is_hard_0_and_soft_a_half() -> None:
    result = score(SAMPLE, [Rule("contains", "disk"), Rule("contains", "tape")])

    assert result == Result(0.0, 0.5, ("contains: pass disk", "contains: fail tape"), (True, False))


def test_every_rule_is_asked_in_order_and_one_that_stands_twice_counts_twice() -> None:
    rules = [Rule("nope"), Rule("regex", "("), Rule("contains", "disk"), Rule("contains", "disk")]

    assert score(SAMPLE, rules).passed == (False, False, True, True)
    assert score(SAMPLE, rules).soft == 0.5
    assert score(SAMPLE, rules[2:]).hard == 1.0


def test_no_rules_are_an_error_and_no_pass() -> None:
    with pytest.raises(InvalidChecks, match=r"^judge: no checks provided$"):
        score(SAMPLE, [])


def test_the_closed_set_is_the_seeds_and_ours_stands_apart() -> None:
    assert tuple(Op) == ("section_present", "regex", "contains", "max_chars", "min_chars", "tool_called")
    assert not set(Op) & set(Ours)
    assert set(OURS) == set(Ours)


@pytest.mark.parametrize(
    ("text", "arg", "found"),
    [
        ("#hashtag key", "key", True),
        ("#!/bin/sh key", "key", True),
        ("####### key", "key", True),
        ("```\n# key in code\n```", "key", True),
        ("    # key", "key", True),
        ("\u00a0\u0085# key", "key", True),
        ("# key\r\n", "key", True),
        ("Key\n===", "key", False),
        ("> # key", "key", False),
        ("- # key", "key", False),
        ("key", "key", False),
        ("x\r# key", "key", False),
        ("x\v# key", "key", False),
        ("x\u0085# key", "key", False),
        ("x\u2028# key", "key", False),
        ("\x1c# key", "key", False),
        ("\x1f# key", "key", False),
        ("\ufeff# key", "key", False),
        ("\u200b# key", "key", False),
        ("# A", "# a", True),
        ("# A", "A ", False),
        ("# A  ", "A ", False),
        ("# A b", "A ", True),
        ("# straße", "STRASSE", False),
        ("# ß", "SS", False),
        ("# İstanbul", "istanbul", True),
        ("# ΟΔΟΣ", "οδος", False),
        ("# ΟΔΟΣ", "οδοσ", True),
        ("# 273 \u212a", "273 k", True),
        ("# any", "", True),
        ("none", "", False),
        ("", "", False),
    ],
)
def test_a_heading_is_a_line_that_begins_with_a_hash(text: str, arg: str, found: bool) -> None:
    assert passes("section_present", arg, text) is found


@pytest.mark.parametrize("op", ["contains", "tool_called"])
def test_contains_is_to_the_code_point(op: str) -> None:
    assert passes(op, "", "")
    assert not passes(op, "caf\u00e9", "cafe\u0301")
    assert passes(op, "gofmt", "I did not call gofmt")
    assert why(op, "") == f"{op}: pass "
    assert why(op, "disk\nfull") == f"{op}: fail disk\nfull"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a$", "a\n", False),
        ("^b", "a\nb", False),
        ("(?m)^b", "a\nb", True),
        ("a.b", "a\nb", False),
        ("(?s)a.b", "a\nb", True),
        (r"\d", "٣", False),
        (r"\w", "é", False),
        (r"\s", "\v", False),
        (r"\s", "\u00a0", False),
        (r"\bé", " é", False),
        ("(?i)s", "ſ", True),
        ("(?i)k", "\u212a", True),
        ("A", "a", False),
        ("", "", True),
        ("x{,2}", "x{,2}", True),
        ("x{,2}", "xx", False),
        ("a{", "a{", True),
        ("}", "}", True),
        (r"\Qa.b\E", "a.b", True),
        (r"\x{78}", "x", True),
        (r"a\z", "a", True),
        ("(?P<n>a)(?<m>b)", "ab", True),
        ("(?U)a+", "aa", True),
        (r"\pL", "é", True),
        ("[[:alpha:]]", "é", False),
        ("[[:alpha:]]", "e", True),
    ],
)
def test_a_regex_searches_as_in_go(pattern: str, text: str, found: bool) -> None:
    assert why("regex", pattern, text).startswith("regex: matched" if found else "regex: no match")


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?=a)", "(?!a)", "(?<=a)", "(?<!a)", r"(a)\1", r"a\Z", "(?x)a", "(?a)a", "(?#c)a", "x**", "x++", "x{1001}"),
        *(r"\h", r"\u0041", r"\C", r"a\C", r"[\C]", r"\\\C", r"\Qx\E\C", "(x{1000}){1000}", "(x{30}){40}", "\udcff"),
    ],
)
def test_a_pattern_that_go_refuses_fails(pattern: str) -> None:
    assert why("regex", pattern).startswith(f"regex: invalid pattern {quoted(pattern)}: ")
    assert not passes("not_regex", pattern)


@pytest.mark.parametrize(("pattern", "text"), [(r"\\C", r"\C"), (r"\Q\C\E", r"\C"), (r"\Q\C", r"\C")])
def test_a_c_behind_a_backslash_that_is_meant_is_no_any_byte(pattern: str, text: str) -> None:
    assert passes("regex", pattern, text)


@pytest.mark.parametrize(
    ("arg", "number"),
    [
        ("007", 7),
        ("+5", 5),
        ("-0", 0),
        ("-1", -1),
        ("9223372036854775807", 9223372036854775807),
        ("-9223372036854775808", -9223372036854775808),
        ("0" * 5000 + "7", 7),
    ],
)
def test_a_number_is_shown_plain(arg: str, number: int) -> None:
    assert why("min_chars", arg, "12345678").endswith(f" {number} (got 8)")


@pytest.mark.parametrize(
    "arg",
    [
        *("", " 5", "5 ", "1_000", "0x5", "5.0", "1e3", "٣", "９", "+", "-", "--5", "+-5", "5\n"),
        *("9223372036854775808", "-9223372036854775809", "1" * 5000),
    ],
)
@pytest.mark.parametrize("op", ["max_chars", "min_chars"])
def test_what_is_no_number_fails_both(op: str, arg: str) -> None:
    assert why(op, arg) == f"length: invalid arg {quoted(arg)}"


def test_a_negative_length() -> None:
    assert not passes("max_chars", "-1", "")
    assert passes("min_chars", "-1", "")


@pytest.mark.parametrize(
    ("text", "count"),
    [("a\n", 2), ("\r\n", 2), ("e\u0301", 2), ("👨‍👩‍👧", 5), ("", 0), (decoded(b"\xff\xe2\x82a"), 4), ("\ud800x", 2)],
)
def test_characters_are_code_points(text: str, count: int) -> None:
    assert why("max_chars", "100", text) == f"max_chars: pass 100 (got {count})"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('a"b\\', r'"a\"b\\"'),
        ("\t\n\r\a\b\f\v", r'"\t\n\r\a\b\f\v"'),
        ("\x00\x7f\x1b", r'"\x00\x7f\x1b"'),
        ("\u200b\u00a0\u2028", r'"\u200b\u00a0\u2028"'),
        ("\U000e0001", r'"\U000e0001"'),
        ("é 漢 😀", '"é 漢 😀"'),
        (b"\xff".decode(errors="surrogateescape"), r'"\xff"'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_a_reason_quotes_as_go_does(text: str, shown: str) -> None:
    assert quoted(text) == shown


@pytest.mark.parametrize(
    ("op", "arg", "text", "passed"),
    [
        ("equals", "a", "a", True),
        ("equals", "a", "a\n", False),
        ("equals", "", "", True),
        ("starts_with", "ab", "abc", True),
        ("starts_with", "b", "abc", False),
        ("not_equals", "a", "b", True),
        ("not_starts_with", "a", "abc", False),
        ("not_contains", "z", "abc", True),
        ("not_contains", "b", "abc", False),
        ("not_regex", "^b", "abc", True),
        ("not_regex", "^a", "abc", False),
        ("not_section_present", "x", "# y", True),
        ("not_tool_called", "gofmt", "gofmt", False),
    ],
)
def test_ours_answer(op: str, arg: str, text: str, passed: bool) -> None:
    assert passes(op, arg, text) is passed
    assert why(op, arg, text).startswith(f"{op}: ")


@pytest.mark.parametrize(
    ("op", "arg"),
    [
        ("not_max_chars", "5"),
        ("not_min_chars", "5"),
        ("not_nope", "x"),
        ("not_", "x"),
        ("not_not_contains", "x"),
        ("not_regex", "("),
        ("contains", 5),
        ("not_contains", None),
        ("max_chars", 5),
        ("json_valid", "x"),
        ("not_json_valid", "x"),
        ("not_json_schema", "{"),
        ("not_json_schema", 5),
        ("not_json_schema", {"type": "strin"}),
        ("not_json_schema", {"const": 2**60}),
        ("not_json_schema", {"const": "\ud800"}),
        ("not_json_schema", {"const": {1}}),
        ("json_schema", "\ud800"),
        ("called_tool", "bash"),
        ("not_called_tool", "bash"),
    ],
)
def test_a_malformed_rule_fails_also_where_it_forbids(op: str, arg: object) -> None:
    assert not passes(op, arg, "some text")


def test_a_call_cannot_be_seen_in_a_text() -> None:
    assert "only the judge of a ladder" in why("called_tool", "bash")


def test_a_lone_surrogate_is_u_fffd() -> None:
    assert passes("regex", "^\ufffd$", "\ud800")
    assert passes("contains", "\ufffd", "\udcff")


def test_work_is_bounded_and_counted_not_timed() -> None:
    rules = [Rule("contains", "x")] * 3

    assert score("abcde", rules, budget=Budget(3, 15)).soft == 0
    with pytest.raises(CheckBroken, match="check 3 of 3") as raised:
        score("abcde", rules, budget=Budget(3, 14))
    assert raised.value.code is BrokenCode.BUDGET_EXCEEDED
    with pytest.raises(CheckBroken):
        score("", rules, budget=Budget(2, 100))


def test_a_pattern_costs_by_what_its_repetitions_become() -> None:
    assert weight("abc") == 3
    assert weight("(ab){10}") > weight("(ab){3}") >= 6
    assert weight("((a{10}){10}){10}") >= 1000
    assert Pattern(r"(?:a|b|ab|ba){1,900}x?a.{90}d", Work()).weight > 5000
    heavy = [Rule("regex", r"(?:a|b|ab|ba){1,900}x?a.{90}d")]

    with pytest.raises(CheckBroken):
        score("ab" * 500_000, heavy)
    assert score("ab" * 500_000, [Rule("regex", r"\bgit push\b")]).soft == 0
