import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.paths import MISSING, Path, parse_path


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a", ("a",)),
        ("a.b.0.-1", ("a", "b", 0, -1)),
        ('a."quoted.key".b', ("a", "quoted.key", "b")),
        ('"with \\" quote"', ('with " quote',)),
        ('"0"', ("0",)),
        ("007", ("007",)),
        ("-", ("-",)),
        ("a-b.c_d.é", ("a-b", "c_d", "é")),
        (".", ()),
    ],
)
def test_a_path_has_steps_and_is_written_as_it_was(text: str, steps: tuple[str | int, ...]) -> None:
    assert parse_path(text) == Path(steps)
    assert str(parse_path(text)) == text


@pytest.mark.parametrize("text", ["", "a.", ".a", "a..b", "a b", 'a"b"', '"open', "a.b ", '"\\x"'])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"path|step"):
        parse_path(text)


@given(st.lists(st.text() | st.integers(-(10**9), 10**9)))
def test_every_path_can_be_written_and_read(steps: list[str | int]) -> None:
    assert parse_path(str(Path(tuple(steps)))) == Path(tuple(steps))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b", 1),
        ("a.x", MISSING),
        ("list.0", "first"),
        ("list.-1", "last"),
        ("list.2", MISSING),
        ("list.-3", MISSING),
        ("list.a", MISSING),
        ("a.b.c", MISSING),
        ("text.0", MISSING),
        ("none", None),
        ("none.x", MISSING),
        ("0", "key"),
        ('"0"', "key"),
        ('list."0"', MISSING),
    ],
)
def test_a_path_leads_to_what_stands_there(path: str, found: object) -> None:
    value = {"a": {"b": 1}, "list": ["first", "last"], "text": "abc", "none": None, "0": "key"}

    assert parse_path(path).find(value) == found
    assert parse_path(".").find(value) is value
