"""What a check is given to look at, and what a grade cites as its evidence."""

from hashlib import sha256

import pytest

from grading.evidence import Evidence, MapEvidence, StreamEvidence, StreamReference
from spine import Actor, PayloadErased
from spine.canonical import encode
from tests.grading.builders import RUN, answered, evidence, fixed_log, log_of, recorded, said

ZEROS = "0" * 64
WORK = said("tool.returned", call_id="c1", tool="bash", result="ok")
WORK_AGAIN = said("command.exited", command="make", exit_code=0)
SCORE = said("score.imported", scorer="theirs", value=1)


def types(evidence: Evidence, *also: str) -> list[str]:
    return [event.type for event in evidence.events(also=also)]


def test_stream_evidence_ends_at_the_last_event_that_counts() -> None:
    log = log_of(WORK, answered("q", "a"), said("stream.hidden", reason="mistake"))

    found = StreamEvidence(log, RUN)

    leaf = next(log.read(RUN, after=1)).digest
    assert types(found) == ["tool.returned", "answer.given"]
    assert found.reference == StreamReference(RUN, 2, leaf)
    assert found.reference.to_json() == {"stream": RUN, "through_seq": 2, "digest": leaf}


def test_many_service_events_behind_it_do_not_hide_the_evidence() -> None:
    log = log_of(WORK)
    log.append(RUN, [said("stream.shown") for _ in range(1000)])

    assert StreamEvidence(log, RUN).reference.through_seq == 1


@pytest.mark.parametrize("until", [None, 0, 1])
def test_no_evidence_is_seq_0_and_zeros(until: int | None) -> None:
    log = log_of(said("stream.shown"), WORK) if until is not None else fixed_log()

    found = StreamEvidence(log, RUN, until)

    assert found.reference == StreamReference(RUN, 0, ZEROS)
    assert list(found.events()) == []
    assert found.answer("q") is None
    assert found.expected() is None


def test_evidence_can_be_taken_at_any_seq() -> None:
    log = log_of(WORK, answered("q", "first"), answered("q", "second"))

    assert StreamEvidence(log, RUN, 2).answer("q") == "first"
    assert StreamEvidence(log, RUN, 2).reference.through_seq == 2
    assert StreamEvidence(log, RUN, 99).reference.through_seq == 3


def test_what_is_appended_later_does_not_change_the_evidence() -> None:
    log = log_of(WORK, answered("q", "then"))
    found = StreamEvidence(log, RUN)

    log.append(RUN, [answered("q", "later"), WORK_AGAIN])

    assert found.answer("q") == "then"
    assert len(found.events()) == 2


def test_the_last_answer_wins_and_says_where_it_was_given() -> None:
    log = log_of(answered("q", "first"), answered("other", "x"), answered("q", "second"))

    found = StreamEvidence(log, RUN)

    assert (found.answer("q"), found.answered_at("q")) == ("second", 3)
    assert (found.answer("other"), found.answered_at("other")) == ("x", 2)
    assert (found.answer("none"), found.answered_at("none")) == (None, None)


def test_the_last_expectation_counts() -> None:
    log = log_of(said("case.expected", target="old"), said("case.expected", target="new"))

    assert StreamEvidence(log, RUN).expected() == {"target": "new"}
    assert MapEvidence(log.read(RUN)).expected() == {"target": "new"}


def test_an_erased_answer_is_an_error_only_where_it_may_have_been_the_one() -> None:
    log = log_of(answered("early", "x"), answered("secret", "y"), answered("late", "z"))
    log.erase(RUN, [2], reason="privacy", actor=Actor.HUMAN, principal="dpo")

    found = StreamEvidence(log, RUN)

    assert found.answer("late") == "z"
    for key in ("secret", "early", "none"):
        with pytest.raises(PayloadErased):
            found.answer(key)


def test_an_erased_expectation_is_an_error_only_when_it_is_opened() -> None:
    log = log_of(said("case.expected", target="x"))
    log.erase(RUN, [1], reason="privacy", actor=Actor.HUMAN, principal="dpo")

    expected = StreamEvidence(log, RUN).expected()

    assert expected is not None
    with pytest.raises(PayloadErased):
        expected["target"]


def test_a_foreign_score_is_seen_only_by_who_names_it() -> None:
    log = log_of(WORK, SCORE)

    for found in (StreamEvidence(log, RUN), MapEvidence(log.read(RUN))):
        assert types(found) == ["tool.returned"]
        assert types(found, "score.imported") == ["tool.returned", "score.imported"]


def test_a_foreign_score_counts_in_what_the_grade_cites() -> None:
    log = log_of(WORK, SCORE)

    assert StreamEvidence(log, RUN).reference.through_seq == 2
    assert MapEvidence(log.read(RUN)).reference != MapEvidence(log.read(RUN, until=1)).reference


def test_supplied_evidence_is_bound_by_its_answers_and_leaves() -> None:
    events = recorded(WORK, answered("q", "a"))

    found = MapEvidence(events, {"flag": "x"})

    text = encode({"answers": {"flag": "x"}, "events": [event.digest for event in events]})
    assert found.reference.to_json() == {"kind": "supplied", "digest": sha256(text).hexdigest()}


def test_supplied_answers_are_the_only_answers_and_cite_nothing() -> None:
    found = evidence(answered("q", "recorded"), answers={"flag": "x"})

    assert (found.answer("flag"), found.answered_at("flag")) == ("x", None)
    assert found.answer("q") is None


def test_service_events_are_no_evidence_even_if_supplied() -> None:
    events = recorded(WORK, said("stream.shown"))

    assert types(MapEvidence(events)) == ["tool.returned"]
    assert MapEvidence(events).reference == MapEvidence(events[:1]).reference


def test_what_the_caller_does_afterwards_does_not_reach_supplied_evidence() -> None:
    events, answers = recorded(said("file.changed", path="a")), {"flag": "x"}
    found = MapEvidence(events, answers)

    events[0].payload["path"] = "b"  # type: ignore[index]
    events.clear()
    answers["flag"] = "y"

    assert found.events()[0].payload == {"path": "a"}
    assert found.answer("flag") == "x"


def test_every_look_at_the_events_gives_payloads_of_its_own() -> None:
    log = log_of(said("observed.thing", x={"y": [1]}), said("case.expected", target="t"))

    for found in (StreamEvidence(log, RUN), MapEvidence(log.read(RUN))):
        for event in found.events():
            event.payload.clear()  # type: ignore[attr-defined]
        found.events()[0].payload["x"]["y"].append(2)
        found.expected().clear()  # type: ignore[union-attr]

        assert found.events()[0].payload == {"x": {"y": [1]}}
        assert found.expected() == {"target": "t"}
        assert next(log.read(RUN)).payload == {"x": {"y": [1]}}


def test_the_events_are_a_sequence() -> None:
    events = StreamEvidence(log_of(WORK, answered("q", "a"), WORK_AGAIN), RUN).events()

    assert len(events) == 3
    assert [event.seq for event in events] == [1, 2, 3]
    assert (events[0].seq, events[-1].seq) == (1, 3)
    assert [event.seq for event in events[1:]] == [2, 3]
    assert [event.seq for event in reversed(events)] == [3, 2, 1]
    for index in (3, -4):
        with pytest.raises(IndexError):
            events[index]


def test_a_stream_too_large_to_keep_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grading.evidence._KEPT_BYTES", 10)
    found = StreamEvidence(log_of(WORK, WORK_AGAIN), RUN)

    assert types(found) == types(found) == ["tool.returned", "command.exited"]
