"""Which events may be erased, and the `event.erased` that says so."""

from collections.abc import Sequence

from spine.errors import InvalidInput
from spine.events import Actor, EventRow, NewEvent
from spine.vocabulary import check_writer, is_service

ERASED = "event.erased"


def check_erasure(seqs: Sequence[int], *, reason: str, actor: Actor, principal: str) -> None:
    """Raises InvalidInput or WriterNotAllowed unless somebody named, who may, gives a reason for erasing something."""
    if not seqs:
        raise InvalidInput("seqs", "there is nothing to erase")
    if not reason.strip():
        raise InvalidInput("reason", "an erasure needs a reason")
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
            principal=principal,
        )
        for row in rows
    ]
