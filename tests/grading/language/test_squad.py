"""The cleaner `squad`: SQuAD's `normalize_answer`, and the same on every Python."""

import re
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.budget import Work
from grading.cleaning import Cleaner, cleaned
from tests.grading.language.cases import predicate


def squad(text: str) -> str:
    return str(cleaned(text, (Cleaner.SQUAD,), Work()))


def normalize_answer(text: str) -> str:
    """SQuAD's evaluate-v1.1.py: lower, remove punctuation, remove articles, fix white space."""
    bare = "".join(character for character in text.lower() if character not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Beatles!", "beatles"),
        ("a.k.a. U.S.A", "aka usa"),
        ("an answer, a theory; the end", "answer theory end"),
        ("A-Ha", "aha"),
        ("a", ""),
        ("The the a", ""),
        ("theatre and banana", "theatre and banana"),
        ("“the” — a’b", "“ ” — ’b"),
        ("éa the\u00a0b", "éa b"),
        ("a\u0300 la", "\u0300 la"),
        ("a_b the_", "ab"),
        ("1a the2", "1a the2"),
        ("x\x1cy\u2003z\x85", "x y z"),
        ("", ""),
        ("`~$^+=<>|", ""),
        ("\x00 the \x00", "\x00 \x00"),
    ],
)
def test_a_text_is_made_normal(text: str, normal: str) -> None:
    assert squad(text) == normal
    assert normalize_answer(text) == normal


OLD = st.characters(exclude_categories=["Cn", "Cs"], exclude_characters="\u0130\u03a3").filter(
    lambda character: unicodedata.ucd_3_2_0.category(character) != "Cn"
)
TEXTS = st.lists(st.sampled_from(["a", "an", "the", "The", " ", ".", "-"]) | OLD, max_size=12).map("".join)


@given(TEXTS)
def test_it_is_squads_own_rule(text: str) -> None:
    lowered = text.lower()  # of some, the lower case is no character of Unicode 3.2
    if all(unicodedata.ucd_3_2_0.category(character) != "Cn" for character in lowered):
        assert squad(text) == normalize_answer(text)


@given(TEXTS)
def test_what_is_normal_stays(text: str) -> None:
    once = squad(text)

    # Taking articles out may bring no new one together: they leave a space behind.
    assert squad(once) == once


def test_it_cleans_both_sides_of_a_document() -> None:
    asked = predicate("{path: a, eq: Beatles, clean: [squad]}")

    assert asked({"a": "the BEATLES."}, Work())
    assert not asked({"a": "the Beat les"}, Work())


def test_a_long_text_costs_what_it_is_long() -> None:
    assert squad("a " * 100_000) == ""
    assert squad("(" * 200_000 + "x") == "x"
    assert squad("\u2003" * 200_000 + "x") == "x"
