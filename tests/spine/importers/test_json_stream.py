"""Reading JSON piece by piece."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spine.importers import json_stream
from spine.importers.json_stream import JsonStream, Piece
from spine.importers.json_values import Unreadable

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def stream(text: str | bytes, limit: int = 10_000) -> JsonStream:
    return JsonStream(io.BytesIO(text.encode() if isinstance(text, str) else text), limit)


def skip_through(reader: JsonStream) -> None:
    for _ in reader.members():
        reader.skip()


def items(text: str | bytes, limit: int = 10_000) -> list[Piece]:
    return list(stream(text, limit).items())


@given(values=st.lists(VALUES), chunk=st.integers(1, 9), escaped=st.booleans(), indent=st.none() | st.just(1))
def test_the_pieces_of_a_list_are_its_values(values: list[Any], chunk: int, escaped: bool, indent: int | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        text = json.dumps(values, ensure_ascii=escaped, indent=indent)

        found = [json.loads(piece.data or b"") for piece in items(text)]

    assert found == values


@pytest.mark.parametrize("chunk", range(1, 12))
def test_a_value_may_be_cut_anywhere_by_the_buffer(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = r'[{"a\"}": "\\", "b": [1, "]\\\""]}, "x\\", 17, null, {"τ": "😀"}]'
    monkeypatch.setattr(json_stream, "CHUNK", chunk)

    found = [json.loads(piece.data or b"") for piece in items(text)]

    assert found == json.loads(text)


def test_a_piece_knows_its_line() -> None:
    assert [piece.line for piece in items('[\n{"a":\n1},\n\n2, 3]')] == [2, 5, 5]


def test_a_piece_over_the_limit_is_passed_over_and_the_next_one_is_there() -> None:
    found = items(json.dumps(["x" * 50, [1], {"y": ["]" * 60]}, 2]), limit=10)

    assert [piece.data for piece in found] == [None, b"[1]", None, b"2"]


def test_a_piece_over_the_limit_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", 100)
    reader = stream(json.dumps([["x" * 10_000]] * 2), limit=50)

    for _ in reader.items():
        assert len(reader._buffer) < 400


def test_nan_is_no_obstacle() -> None:
    assert [piece.data for piece in items("[NaN, {}, -Infinity]")] == [b"NaN", b"{}", b"-Infinity"]


def test_a_byte_order_mark_is_passed_over() -> None:
    assert [piece.data for piece in items(b"\xef\xbb\xbf[1]")] == [b"1"]


def test_members_are_taken_or_skipped() -> None:
    reader = stream('{"a": {"b": [1]}, "c": "}", "d": [1, 2]}')
    found: dict[str, Any] = {}

    for key in reader.members():
        if key == "d":
            found[key] = reader.value().data
        else:
            reader.skip()
    reader.end()

    assert found == {"d": b"[1, 2]"}


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("", "line 1", "the file ends too early"),
        ("[", "line 1", "the file ends too early"),
        ("[1,\n\n", "line 3", "the file ends too early"),
        ('[1,\n{"a": [', "line 2", "the file ends inside the value that begins here"),
        ('["abc', "line 1", "the file ends inside the value that begins here"),
        ('["abc\\', "line 1", "the file ends inside the value that begins here"),
        ("[1 2]", "line 1", "not JSON: ']' is expected, not '2'"),
        ("[1,]", "line 1", "not JSON: a value is expected"),
        ("{}", "line 1", "not JSON: '[' is expected, not '{'"),
    ],
)
def test_what_is_no_list_is_refused_with_its_line(text: str, where: str, reason: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        items(text)

    assert (refusal.value.where, refusal.value.reason) == (where, reason)


@pytest.mark.parametrize("text", ["{1: 2}", '{"a" 1}', '{"a": 1, }', '{"a": 1 "b": 2}'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        skip_through(stream(text))


def test_what_follows_the_end_is_refused() -> None:
    reader = stream("[1] x")
    list(reader.items())

    with pytest.raises(Unreadable, match="follows"):
        reader.end()
