"""encode and its splices are RFC 8785 byte for byte, and decode loses nothing."""

import json
import struct
from collections import OrderedDict
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from spine import InvalidInput
from spine.canonical import MAX_DEPTH, MAX_INTEGER, SPEC, decode, encode, envelope, event_part, json_text

# Where spellings change: 1e-7, 1e-6, 1e-3, 1e15, 1e16, 2^53, 1e21, the ends.
EDGES = [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1e-7, 9.999999e-7, 1e-6, 1e-3, 0.1, 1e15, 1e16, 2.0**53, 1e20]
EDGES += [999999999999999934463.0, 1e21, 1e22, 1e23, 1.7976931348623157e308]
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.one_of(
    st.integers(-MAX_INTEGER, MAX_INTEGER),
    FLOATS,
    st.sampled_from([sign * edge for edge in EDGES for sign in (1.0, -1.0)]),
    st.integers(-400, 400).map(lambda exponent: float(f"1e{exponent % 308}")),
    st.integers(-(2**70), 2**70).map(float),
)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.sampled_from('a"\\/\x00\x08\x0b\x1f\x7f\x80\u2028\ue000\ufb33\uffff\U00010000😀é')),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=25,
)


@settings(max_examples=800, deadline=None)
@given(JSON)
def test_encode_is_rfc_8785(value: Any) -> None:
    assert encode(value) == rfc8785.dumps(value)


@settings(max_examples=800, deadline=None)
@given(JSON)
def test_what_is_decoded_encodes_to_the_same_bytes(value: Any) -> None:
    stored = encode(value)

    assert encode(decode(stored)) == stored
    assert encode(decode(stored.decode())) == stored
    assert decode(stored) == value


@settings(max_examples=300, deadline=None)
@given(FLOATS)
def test_a_float_comes_back_as_the_number_it_was(value: float) -> None:
    assert decode(encode([value])) == [value]


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_json_text_is_rfc_8785(text: str) -> None:
    assert json_text(text).encode() == rfc8785.dumps(text)


SAID = ("correlation_id", "origin", "principal", "span_id", "trace_id")


PLAIN = {
    "actor": st.sampled_from(["agent", "human", "system"]),
    "type": st.from_regex(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+){1,3}", fullmatch=True),
    "id": st.uuids().map(str),
    "causation_id": st.one_of(st.just(""), st.uuids().map(str)),
    "payload": st.binary(min_size=32, max_size=32).map(bytes.hex),
    "metadata": st.one_of(st.just(""), st.binary(min_size=32, max_size=32).map(bytes.hex)),
}


@settings(max_examples=300, deadline=None)
@given(
    st.fixed_dictionaries(PLAIN),
    st.lists(TEXTS, min_size=7, max_size=7),
    st.lists(st.integers(-MAX_INTEGER, MAX_INTEGER), min_size=4, max_size=4),
    st.binary(min_size=32, max_size=32),
)
def test_event_part_and_envelope_are_rfc_8785(
    plain: dict[str, str], texts: list[str], numbers: list[int], prev: bytes
) -> None:
    event: dict[str, Any] = plain | dict(zip(SAID, texts[:5], strict=True))
    event |= {"schema_version": numbers[0], "time": numbers[1]}

    part = event_part(**event)
    whole = envelope(part, log=texts[5], prev=prev, recorded_at=numbers[2], seq=numbers[3], stream=texts[6])

    assert part.encode() == rfc8785.dumps(event)
    assert whole == rfc8785.dumps(
        {
            "event": event,
            "log": texts[5],
            "prev": prev.hex(),
            "recorded_at": numbers[2],
            "seq": numbers[3],
            "spec": SPEC,
            "stream": texts[6],
        }
    )


APPENDIX_B = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "spelling"), APPENDIX_B.items())
def test_the_numbers_of_rfc_8785_appendix_b(bits: str, spelling: str) -> None:
    [number] = struct.unpack(">d", bytes.fromhex(bits))

    assert encode(number) == spelling.encode()
    assert encode({"n": [number]}) == f'{{"n":[{spelling}]}}'.encode()
    assert encode(decode(spelling)) == spelling.encode()


def test_the_keys_of_rfc_8785_are_sorted_by_utf_16_units() -> None:
    """Its section 3.2.3."""
    unsorted = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }

    assert list(json.loads(encode(unsorted)).values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_the_whole_example_of_rfc_8785() -> None:
    """Its section 3.2.2."""
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }

    assert (
        encode(value)
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


class Colour(StrEnum):
    RED = "red"

    def __str__(self) -> str:
        return "not its value"


class Level(IntEnum):
    HIGH = 3


class Ratio(float):
    def __repr__(self) -> str:
        return "not its value"


class Point(NamedTuple):
    x: int
    y: float


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Colour.RED, b'"red"'),
        ({Colour.RED: Colour.RED}, b'{"red":"red"}'),
        (Level.HIGH, b"3"),
        (Ratio(0.5), b"0.5"),
        (Ratio(2), b"2"),
        (OrderedDict(b=1, a=2), b'{"a":2,"b":1}'),
        (MappingProxyType({"b": [1], "a": ()}), b'{"a":[],"b":[1]}'),
        (Point(1, 2.0), b"[1,2]"),
        ({"t": (1, (2,))}, b'{"t":[1,[2]]}'),
    ],
)
def test_a_subclass_counts_as_its_base(value: Any, expected: bytes) -> None:
    assert encode(value) == expected


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), "value"),
        ([float("inf")], "value[0]"),
        ({"a": [1, {"b": -float("inf")}]}, "value.a[1].b"),
        ({"a": MAX_INTEGER + 1}, "value.a"),
        ({"a": -MAX_INTEGER - 1}, "value.a"),
        ({"a": Level.__new__, "b": 1}, "value.a"),
        ({"a": "x\ud800"}, "value.a"),
        ({"a": "\ud83d\ude00"}, "value.a"),
        ({"\ud83d\ude00": 1}, "value.'\\ud83d\\ude00'"),
        ({"a": {None: 1}}, "value.a"),
        ({"a": {1}}, "value.a"),
        ({"a": b""}, "value.a"),
        ({"a": 1j}, "value.a"),
    ],
)
def test_what_is_not_json_is_refused_where_it_stands(value: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        encode(value)

    assert refused.value.field == path


@pytest.mark.parametrize("kind", ["lists", "objects", "odd objects"])
def test_nesting_ends_at_64_levels(kind: str) -> None:
    def nested(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value] if kind == "lists" else {"é" if kind == "odd objects" else "a": value}
        return value

    assert decode(encode(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(InvalidInput, match="64 levels"):
        encode(nested(MAX_DEPTH + 1))


def test_a_value_inside_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(InvalidInput, match="64 levels"):
        encode(value)


def test_stored_digits_beyond_the_bound_are_read_as_the_float_they_were() -> None:
    assert decode('{"big":10000000000000000,"small":-10000000000000000,"id":9007199254740991}') == {
        "big": 1e16,
        "small": -1e16,
        "id": MAX_INTEGER,
    }
    assert type(decode("10000000000000000")) is float
    assert type(decode("9007199254740991")) is int
    assert decode('"10000000000000000"') == "10000000000000000"


DIGITS = st.text(st.sampled_from('0123456789.,:[- e"'), max_size=40)
LONG_NUMBERS = st.one_of(
    st.integers(-(10**22), 10**22).map(float),
    st.integers(MAX_INTEGER - 2, MAX_INTEGER + 2).map(
        lambda number: number if number <= MAX_INTEGER else float(number)
    ),
    st.sampled_from([1e15, 1e16, -1e16, 9007199254740992.0, 0.30000000000000004, 1.2345678901234567e30]),
)


@settings(max_examples=250, deadline=None)
@given(st.recursive(st.one_of(LONG_NUMBERS, DIGITS), lambda inner: st.dictionaries(DIGITS, inner, max_size=6)))
def test_decode_takes_no_large_number_for_an_integer_wherever_its_digits_stand(value: Any) -> None:
    stored = encode(value)

    slow = json.loads(
        stored, parse_int=lambda digits: int(digits) if abs(int(digits)) <= MAX_INTEGER else float(digits)
    )
    assert decode(stored) == slow
    assert repr(decode(stored)) == repr(slow)
    assert encode(decode(stored)) == stored


@pytest.mark.parametrize("space", ["", " ", "\n", "\t", "\r\n"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_decode_sees_a_large_number_behind_any_space(space: str, sign: str) -> None:
    for start in range(20):
        text = f'["{"x" * start}",{space}{sign}9007199254740993]'

        assert repr(decode(text)[1]) == f"{sign}9007199254740992.0"
