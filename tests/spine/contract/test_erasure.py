"""Erasing payloads: what goes, what stays, and what is said about it."""

import dataclasses

import pytest

from spine import Actor, InvalidInput, Log, NewEvent, PayloadErased, WriterNotAllowed
from tests.spine.builders import fill, found


def erase(log: Log, *seqs: int) -> None:
    log.erase("run/a", list(seqs), reason="asked for by the customer", actor=Actor.HUMAN, principal="ada")


def test_payload_metadata_and_salt_go_and_the_rest_stays(log: Log) -> None:
    log.append("run/a", [dataclasses.replace(found(secret="x"), metadata={"m": 1}), found(n=2)])
    before = list(log.read("run/a"))

    erase(log, 1)

    first, second, said = log.read("run/a")
    assert first.erased
    assert first.row == before[0].row._replace(payload=None, metadata=None, salt=None)
    assert second == before[1]
    assert (said.type, said.actor, said.principal) == ("event.erased", Actor.HUMAN, "ada")
    assert said.payload == {
        "position": 1,
        "seq": 1,
        "payload_digest": first.row.payload_digest.hex(),
        "reason": "asked for by the customer",
        "by": "ada",
    }


def test_an_erased_payload_can_be_shown_but_not_looked_into(log: Log) -> None:
    fill(log, "run/a", 1)
    erase(log, 1)
    event = next(log.read("run/a"))

    assert repr(event.payload) == "<erased>"
    assert not event.payload
    with pytest.raises(PayloadErased, match="run/a: the payload of seq 1 was erased"):
        event.payload["n"]
    with pytest.raises(PayloadErased):
        event.payload.get("n")
    with pytest.raises(PayloadErased):
        dict(event.payload)


def test_erasing_twice_says_it_once(log: Log) -> None:
    fill(log, "run/a", 2)
    erase(log, 1)

    answer = log.erase("run/a", [1], reason="again", actor=Actor.HUMAN, principal="ada")

    assert not answer.new
    assert log.position() == 3


def test_a_repeat_of_an_erased_event_is_answered(log: Log) -> None:
    said = dataclasses.replace(found(secret="x"), metadata={"m": 1})
    log.append("run/a", [said])
    erase(log, 1)

    assert not log.append("run/a", [said]).new


def test_what_cannot_be_erased(log: Log) -> None:
    fill(log, "run/a", 1)
    erase(log, 1)

    with pytest.raises(InvalidInput, match="event of the service"):
        erase(log, 2)
    with pytest.raises(InvalidInput, match="no seq 9"):
        erase(log, 9)
    with pytest.raises(InvalidInput, match="nothing to erase"):
        erase(log)
    with pytest.raises(InvalidInput, match="reason"):
        log.erase("run/a", [1], reason=" ", actor=Actor.HUMAN, principal="ada")
    with pytest.raises(InvalidInput, match="authorised"):
        log.erase("run/a", [1], reason="x", actor=Actor.HUMAN, principal="")
    with pytest.raises(WriterNotAllowed):
        log.erase("run/a", [1], reason="x", actor=Actor.AGENT, principal="a")
    assert log.position() == 2


def test_a_refused_erasure_erases_nothing(log: Log) -> None:
    fill(log, "run/a", 2)

    with pytest.raises(InvalidInput):
        log.erase("run/a", [1, 2], reason="x", actor=Actor.HUMAN, principal="a" * 257)

    assert not any(event.erased for event in log.read("run/a"))


def test_the_chain_goes_on_behind_an_erased_event(log: Log) -> None:
    fill(log, "run/a", 1)
    erase(log, 1)
    log.append("run/a", [NewEvent("finding.reported", {}, actor=Actor.AGENT)])

    assert [event.seq for event in log.read("run/a")] == [1, 2, 3]


def test_what_was_erased_is_not_copied_as_if_it_had_been_empty(log: Log) -> None:
    log.append("run/a", [dataclasses.replace(found(), metadata={"m": 1})])
    erase(log, 1)
    erased = next(log.read("run/a"))

    for copied in (
        dataclasses.replace(found(), payload=erased.payload),
        dataclasses.replace(found(), metadata=erased.metadata),
    ):
        with pytest.raises(PayloadErased):
            log.append("run/b", [copied])


@pytest.mark.parametrize("seq", ["1", 1.0, True, None, 0, -1, 2**70])
def test_only_a_seq_is_erased(log: Log, seq: object) -> None:
    fill(log, "run/a", 1)

    with pytest.raises(InvalidInput, match="seqs"):
        erase(log, seq)  # type: ignore[arg-type]

    assert log.position() == 1
