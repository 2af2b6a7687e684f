"""Foreign JSON as values that can be stored."""

from typing import Any

import pytest

from spine.canonical import encode
from spine.importers.json_values import Tally, Unreadable, adapted, parse, parse_lenient


@pytest.mark.parametrize(
    ("text", "stored", "counted"),
    [
        ("9007199254740991", 9007199254740991, {}),
        ("-9007199254740991", -9007199254740991, {}),
        ("9007199254740992", "9007199254740992", {"big_integer": 1}),
        ("-9007199254740992", "-9007199254740992", {"big_integer": 1}),
        ("[1795987843000000000]", ["1795987843000000000"], {"big_integer": 1}),
        ("1" * 5000, "1" * 5000, {"big_integer": 1}),
        ("NaN", "NaN", {"not_a_number": 1}),
        ("[Infinity, -Infinity, 1e999]", ["Infinity", "-Infinity", "Infinity"], {"not_a_number": 3}),
        (r'"a\ud800b"', "a\ufffdb", {"lone_surrogate": 1}),
        (r'{"\udfff": "\ud83d\ude00"}', {"\ufffd": "\U0001f600"}, {"lone_surrogate": 1}),
        (r'"\u0000\u001b[31m\r"', "\x00\x1b[31m\r", {}),
        ("[1e16, 0.1, -0.0, true, null]", [1e16, 0.1, -0.0, True, None], {}),
    ],
)
def test_what_cannot_be_stored_is_adapted_and_counted(text: str, stored: Any, counted: dict[str, int]) -> None:
    tally = Tally()

    found = adapted(parse(text.encode()), tally)

    assert (found, dict(tally)) == (stored, counted)
    encode(found)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' stands twice in one object"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b'"\xed\xa0\x80"', "not UTF-8"),  # a surrogate, encoded as if it were a character
        (b"{'a': 1}", "not JSON"),
        (b"[1,\n2", "at line 2"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deep"),
    ],
)
def test_what_is_ambiguous_or_no_json_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        parse(data)


def test_keys_that_become_one_are_refused() -> None:
    with pytest.raises(Unreadable, match="two keys are equal"):
        adapted(parse(rb'{"\ud800": 1, "\ud801": 2}'), Tally())


def test_of_a_key_that_a_model_wrote_twice_the_last_counts() -> None:
    tally = Tally()

    assert parse_lenient('{"a": 1, "a": 2}', tally) == {"a": 2}
    assert tally == {"duplicate_key": 1}
