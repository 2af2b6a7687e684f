"""Which events may be erased, and the `event.erased` that says so."""

from collections.abc import Sequence

from spine.canonical import MAX_INTEGER, encode
from spine.errors import InvalidInput
from spine.events import Actor, EventRow, NewEvent
from spine.identifiers import MAX_IDENTIFIER, check_identifier, check_stream
from spine.identity import derived_id
from spine.vocabulary import ERASED, check_writer, is_service


def check_erasure(stream: str, seqs: Sequence[int], *, reason: str, actor: Actor, principal: str) -> None:
    """Raises InvalidInput or WriterNotAllowed unless somebody named, who may, gives a reason for erasing something."""
    check_stream(stream)
    if not seqs:
        raise InvalidInput("seqs", "there is nothing to erase")
    for index, seq in enumerate(seqs):
        if type(seq) is not int or not 1 <= seq <= MAX_INTEGER:
            raise InvalidInput(f"seqs[{index}]", f"{seq!r} is not a seq")
    if not reason.strip():
        raise InvalidInput("reason", "an erasure needs a reason")
    encode(reason, "reason")
    check_identifier(principal, "principal", MAX_IDENTIFIER)
    if not principal:
        raise InvalidInput("principal", "an erasure needs to say who authorised it")
    check_writer(ERASED, actor, "actor")


def erasures(rows: Sequence[EventRow], *, reason: str, actor: Actor, principal: str) -> list[NewEvent]:
    """The events that record the erasure of these rows. Raises InvalidInput for an event of the service itself."""
    for row in rows:
        if is_service(row.type):
            raise InvalidInput("seqs", f"seq {row.seq} is {row.type}, an event of the service, which cannot be erased")
    return [
        NewEvent(
            ERASED,
            {
                "position": row.position,
                "seq": row.seq,
                "payload_digest": row.payload_digest.hex(),
                "reason": reason,
                "by": principal,
            },
            actor=actor,
            id=derived_id({"erased": row.seq, "stream": row.stream, "type": ERASED}),
            principal=principal,
        )
        for row in rows
    ]
