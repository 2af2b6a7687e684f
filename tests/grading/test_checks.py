"""The seed's three checks, with every edge that is pinned."""

import sys
from collections.abc import Callable
from hashlib import sha256

import pytest

from grading.checks import (
    Check,
    IncrementalCheck,
    Verdict,
    answer_equals,
    answer_matches,
    as_verdict,
    event_recorded,
    lower,
    trim,
)
from grading.errors import CheckBroken, InvalidLadder
from grading.evidence import StreamEvidence
from spine import Actor, PayloadErased
from tests.grading.builders import RUN, answered, evidence, fixed_log, said

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003"
WHITE_SPACE += "\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
LOWER_OF_EVERYTHING = "fb77bdf0bd4a6c1ec9be119d621902179bc5ccefa0e024ef996fcd705a17f530"


@pytest.mark.parametrize("space", WHITE_SPACE)
def test_trim_takes_unicode_white_space(space: str) -> None:
    assert trim(f"{space}{space}a{space}b{space}") == f"a{space}b"


@pytest.mark.parametrize("kept", "\x1c\x1d\x1e\x1f\ufeff\u200b\u180e\x00")
def test_trim_leaves_what_is_not_white_space(kept: str) -> None:
    assert trim(f"{kept}a{kept}") == f"{kept}a{kept}"


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("FLAG{X}", "flag{x}"),
        ("\u0130stanbul", "istanbul"),  # not i with a combining dot
        ("ΟΔΟΣ", "οδοσ"),  # a final sigma is like any other
        ("ΑΣ Σ", "ασ σ"),
        ("Straße", "straße"),  # not folded
        ("\u212a", "k"),  # KELVIN SIGN
        ("ǅ", "ǆ"),
        ("Ⴀ", "ⴀ"),
        ("\U00010400", "\U00010428"),
        ("\u1c89\ua7cb\U00010d50\U00016ea0", "\u1c89\ua7cb\U00010d50\U00016ea0"),  # capitals since Unicode 16 and 17
    ],
)
def test_lower_goes_code_point_by_code_point(text: str, lowered: str) -> None:
    assert lower(text) == lowered


def test_lower_is_the_same_under_every_python() -> None:
    everything = "\n".join(lower(chr(point)) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000)

    assert sha256(everything.encode()).hexdigest() == LOWER_OF_EVERYTHING


@pytest.mark.parametrize(
    ("answer", "want", "passed"),
    [
        ("FLAG{x}", "FLAG{x}", True),
        ("  flag{X}\u00a0\u0085", "FLAG{x}", True),
        ("flag{x}", "\tFLAG{X}\n", True),
        ("flag{y}", "FLAG{x}", False),
        ("a b", "ab", False),
        ("", "", True),
        (" \t", "", True),
        ("\x1fx", "x", False),
        ("\u0130", "i", True),
        ("ΑΣ", "ασ", True),
        ("ΑΣ", "ας", False),
        ("ß", "SS", False),
    ],
)
def test_answer_equals_trims_and_lower_cases_both_sides(answer: str, want: str, passed: bool) -> None:
    verdict = answer_equals("flag", want)(evidence(answers={"flag": answer}))

    assert verdict == Verdict(passed, "answer matches" if passed else "answer mismatch")


@pytest.mark.parametrize("check", [answer_equals("flag", ""), answer_matches("flag", lambda _: True)])
def test_a_missing_answer_fails(check: Check) -> None:
    assert check(evidence(answers={"other": "x"})) == Verdict(False, "no answer for flag")


@pytest.mark.parametrize(
    ("predicate", "passed"),
    [
        (lambda answer: answer == "  Raw ", True),
        (lambda answer: answer == "raw", False),
        (lambda answer: "truthy", True),
        (None, False),
    ],
)
def test_answer_matches_gives_the_raw_answer_and_without_predicate_rejects(
    predicate: Callable[[str], object] | None, passed: bool
) -> None:
    verdict = answer_matches("q", predicate)(evidence(answers={"q": "  Raw "}))

    assert verdict == Verdict(passed, "answer accepted" if passed else "answer rejected")


@pytest.mark.parametrize("check", [answer_equals("q", "a"), answer_matches("q"), answer_equals("q", "b")])
def test_a_check_of_an_answer_cites_where_it_was_given(check: Check) -> None:
    log = fixed_log()
    log.append(RUN, [answered("q", "old"), answered("q", "a")])

    verdict = as_verdict(check(StreamEvidence(log, RUN)))

    assert verdict.citations == (2,)


def test_event_recorded_without_a_matcher_accepts_any_event_of_the_type() -> None:
    found = evidence(said("x.y", Actor.AGENT), said("finding.reported", Actor.AGENT), said("finding.reported"))

    assert event_recorded("finding.reported")(found) == Verdict(True, "recorded finding.reported", (2,))


@pytest.mark.parametrize("type", ["finding", "finding.reported.twice", "Finding.reported", "finding.report"])
def test_event_recorded_compares_types_exactly(type: str) -> None:
    found = evidence(said("finding.reported"))

    assert event_recorded(type)(found) == Verdict(False, f"no recorded {type}")


def test_event_recorded_cites_the_first_event_that_matches() -> None:
    found = evidence(said("x.y", n=1), said("x.y", n=2), said("x.y", n=2))

    assert event_recorded("x.y", lambda payload: payload["n"] == 2)(found).citations == (2,)
    assert event_recorded("x.y", lambda payload: payload["n"] == 3)(found) == Verdict(False, "no recorded x.y")


def test_event_recorded_asks_nothing_after_the_first_match() -> None:
    found = evidence(said("x.y", n=1), said("x.y"))

    assert event_recorded("x.y", lambda payload: payload["n"] == 1)(found).passed


def test_a_matcher_may_be_given_an_empty_payload() -> None:
    assert event_recorded("x.y", lambda payload: payload == {})(evidence(said("x.y"))).passed


def test_event_recorded_can_be_narrowed_to_trusted_actors() -> None:
    found = evidence(said("x.y", Actor.AGENT), said("x.y", Actor.SYSTEM))

    assert event_recorded("x.y", trust=[Actor.SYSTEM])(found).citations == (2,)
    assert event_recorded("x.y", trust=["agent", "human"])(found).citations == (1,)
    assert not event_recorded("x.y", trust={Actor.HUMAN})(found).passed


def test_an_untrusted_payload_is_never_opened() -> None:
    found = evidence(said("x.y", Actor.AGENT))

    assert not event_recorded("x.y", lambda payload: payload["missing"], trust=[Actor.SYSTEM])(found).passed


@pytest.mark.parametrize("trust", [["robot"], [], "everyone"])
def test_trust_names_actors(trust: list[str]) -> None:
    with pytest.raises(InvalidLadder, match="trust"):
        event_recorded("x.y", trust=trust)


def test_event_recorded_sees_a_foreign_score_when_it_names_it() -> None:
    found = evidence(said("score.imported", scorer="theirs", value=0.5))

    assert event_recorded("score.imported", lambda payload: payload["value"] == 0.5)(found).citations == (1,)


def test_event_recorded_never_sees_service_events() -> None:
    assert not event_recorded("stream.shown")(evidence(said("stream.shown"))).passed


def test_an_erased_payload_is_an_error_only_if_the_matcher_opens_it() -> None:
    log = fixed_log()
    log.append(RUN, [said("x.y", secret=1)])
    log.erase(RUN, [1], reason="privacy", actor=Actor.HUMAN, principal="dpo")
    found = StreamEvidence(log, RUN)

    assert event_recorded("x.y")(found).passed
    assert event_recorded("x.y", lambda payload: True)(found).passed
    with pytest.raises(PayloadErased):
        event_recorded("x.y", lambda payload: payload["secret"])(found)


def test_event_recorded_can_be_asked_at_any_prefix() -> None:
    check = event_recorded("x.y")
    assert isinstance(check, IncrementalCheck)
    reducer = check.start(None)

    before = reducer.result()
    for event in evidence(said("a.b"), said("x.y")).events():
        reducer.step(event)

    assert not before.passed
    assert reducer.result() == reducer.result() == Verdict(True, "recorded x.y", (2,))


def test_the_plain_form_of_a_verdict_is_accepted() -> None:
    assert as_verdict((True, "fine")) == Verdict(True, "fine")


@pytest.mark.parametrize(
    "answer",
    [None, True, "passed", (True,), (True, None), Verdict(True, "", (0,)), (True, "", (1,))],
)
def test_what_is_no_verdict_is_broken(answer: object) -> None:
    with pytest.raises(CheckBroken, match="check_raised"):
        as_verdict(answer)


@pytest.mark.parametrize(
    ("detail", "kept"), [("x" * 1000, "x" * 1000), ("x" * 1001, "x" * 999 + "…"), ("a\ud800b", "a\ufffdb")]
)
def test_a_detail_is_kept_so_that_it_can_be_recorded(detail: str, kept: str) -> None:
    assert as_verdict((False, detail)).detail == kept
