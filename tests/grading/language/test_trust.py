"""Whom semantics 1 believes by default: fixed, whatever becomes of the vocabulary."""

from hashlib import sha256

from grading.trust import NAMED_ONLY, TRUST_1, default_trust
from spine import Actor
from spine.canonical import encode
from spine.vocabulary import KNOWN, is_service


def test_the_table_of_semantics_1_never_changes() -> None:
    """A type that becomes known later is believed by a later semantics number only: a published ladder keeps its
    meaning."""
    table = {type: sorted(actors) for type, actors in TRUST_1.items()}

    assert sha256(encode(table)).hexdigest() == "dbe482cac3cacc7c463b2f6010d389282b10c248ba38d1e290f6f966ed3a234b"
    assert {"score.imported"} == NAMED_ONLY


def test_it_is_the_writers_of_the_types_known_then() -> None:
    assert {type: KNOWN[type].writers for type in TRUST_1} == dict(TRUST_1)
    assert not any(is_service(type) for type in TRUST_1)


def test_of_unknown_types_system_and_human_are_believed() -> None:
    assert default_trust("finding.reported") == {Actor.SYSTEM, Actor.HUMAN}
