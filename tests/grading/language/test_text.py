"""Reading the text of a document: YAML by our own resolver, strict JSON, and what is refused."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.errors import InvalidLadder
from grading.reader.text import parse

TEXTS = [
    *(
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "Yes",
        "TRUE",
        "True",
        "NULL",
        "Null",
        "None",
        "NaN",
        "Infinity",
        ".inf",
        ".nan",
    ),
    *("012", "0o14", "0x1F", "0b1", "1_000", "+1", ".5", "5.", "1.e3", "1e", "00", "-.inf", "1,5", "=", "<<"),
    *("12:30", "2024-01-01"),
]


@pytest.mark.parametrize(
    ("plain", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-0", 0),
        ("-12", -12),
        ("9007199254740991", 2**53 - 1),
        ("1.5", 1.5),
        ("-0.5e-3", -0.0005),
        ("1e3", 1000.0),
        ("1E+2", 100.0),
        *((text, text) for text in TEXTS),
        ("'1'", "1"),
        ('"true"', "true"),
        ('"\\u00e9\\U0001F600"', "é😀"),
        ("a b  c", "a b  c"),
    ],
)
def test_a_scalar_means_what_the_language_says(plain: str, value: Any) -> None:
    found = parse(f"k: {plain}").value["k"]

    assert found == value
    assert type(found) is type(value)


def test_block_scalars_are_text() -> None:
    assert parse("k: |\n  1\nl: >\n  true\n").value == {"k": "1\n", "l": "true\n"}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\na: 2", 2, "twice"),
        ("a: 1\nb: &x 1", 2, "anchor"),
        ("a: *x", 1, "alias"),
        ("&x a: 1", 1, "anchor"),
        ("a: !!str 1", 1, "tag"),
        ("a: !x 1", 1, "tag"),
        ("a: ! x", 1, "tag"),
        ("a: !!python/object/apply:os.system [ls]", 1, "tag"),
        ("a: 1\n---\nb: 2", 2, "second document"),
        ("%YAML 1.1\n---\na: 1", 1, "directive"),
        ("a: 9007199254740992", 1, "2^53"),
        ("a: -9007199254740992", 1, "2^53"),
        ("a: " + "9" * 5000, 1, "2^53"),
        ("a: 1e999", 1, "too large"),
        ("1: a", 1, "quotes"),
        ("a:\n  ? [x]\n  : y", 2, "key"),
        ("~: a", 1, "quotes"),
        ("", 1, "empty"),
        ("# nothing\n", 1, "empty"),
        ("a: [1, 2\nb: 3", 2, "not YAML"),
        ("a:\n\tb: 1", 2, "not YAML"),
        ("a: b: c", 1, "not YAML"),
        ("a: 1\nb: \x07", 2, "U+0007"),
        ("\ufeffa: 1", 1, "byte order mark"),
        ("a: 1\nb: \0", 2, "NUL"),
        ('a: 1\nb: "\\0"', 2, "NUL"),
        ('a: "\\ud800"', 1, "surrogate"),
        ('a: "\\UFFFFFFFF"', None, "not YAML"),
        ("a:\n" + "- 1\n" * 10_001, 10_000, "10,000"),
        ("a: " + "[" * 70 + "]" * 70, 1, "63"),
        ('{"a": 1,\n"a": 2}', 2, "twice"),
        ('{"a": NaN}', 1, "not JSON"),
        ('{"a": Infinity}', 1, "not JSON"),
        ('{"a": 1e999}', 1, "too large"),
        ('{"a": 01}', 1, "not JSON"),
        ('{"a": 1,}', 1, "not JSON"),
        ("{'a': 1}", 1, "not JSON"),
        ("{a: 1}", 1, "not JSON"),
        ('{"a": 1}\n# comment', 2, "after the end"),
        ('{"a": "\\ud800"}', 1, "surrogate"),
        ('{"a": "\\u0000"}', 1, "NUL"),
        ('{"a": "\n"}', 1, "not JSON"),
        ('{"a": "x', 1, "not JSON"),
        ('{"a": 9007199254740992}', 1, "2^53"),
        ('{"a": ' + "9" * 5000 + "}", 1, "2^53"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", 1, "63"),
        ('{"a": [' + "1,\n" * 10_001 + "1]}", 9_999, "10,000"),
        (b"a: \xff", 1, "UTF-8"),
        (b"a: 1\nb: \xc3(", 2, "UTF-8"),
        (b"\xef\xbb\xbfa: 1", 1, "byte order mark"),
        (b"\xff\xfea\x00", 1, "UTF-8"),
    ],
)
def test_what_a_document_may_not_hold_is_refused_with_its_line(text: str | bytes, line: int | None, said: str) -> None:
    with pytest.raises(InvalidLadder, match=r".") as raised:
        parse(text, "ladder.yaml")

    assert said in str(raised.value)
    assert raised.value.source == "ladder.yaml"
    if line is not None:
        assert abs((raised.value.line or 0) - line) <= (2 if line > 1000 else 0)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8", exclude_characters="\0")), inner)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text("abc"), JSON), st.booleans(), st.sampled_from([None, 2]))
def test_json_is_read_as_json(value: dict[str, Any], ascii: bool, indent: int | None) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii, indent=indent)).value == value


@given(st.text("ab:-[]{}#&*!|>'\"%@`,? \n\\0x\ud800.e+"))
def test_whatever_is_read_the_answer_is_a_value_or_a_refusal(text: str) -> None:
    for document in (text, "{" + text):
        with suppress(InvalidLadder):
            parse(document)


def test_lines_are_known_for_every_node() -> None:
    yaml = parse("a:\n  b:\n    - x\n    - {c: y}\n")
    same = parse('{\n"a": {"b": [\n"x",\n{"c": "y"}]}}')

    assert yaml.value == same.value
    assert {steps: yaml.lines[steps] for steps in same.lines} == {
        (): 1,
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "b", 0): 3,
        ("a", "b", 1): 4,
        ("a", "b", 1, "c"): 4,
    }
    assert same.lines["a", "b", 1] == 4
