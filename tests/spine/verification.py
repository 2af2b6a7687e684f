"""The independent verifier, held to any Log of ours."""

from typing import Any

from spine import Event, Log
from tests.spine import verifier


def findings_in(log: Log) -> list[str]:
    """What the verifier finds wrong with the log as it is read."""
    return verifier.check(log.name or "", map(_record, log.read_all()))


def _record(event: Event) -> dict[str, Any]:
    row = event.row
    said = {
        "actor": str(event.actor),
        "causation_id": str(event.causation_id or ""),
        "correlation_id": event.correlation_id,
        "id": str(event.id),
        "metadata": (row.metadata_digest or b"").hex(),
        "origin": event.origin,
        "payload": row.payload_digest.hex(),
        "principal": event.principal,
        "schema_version": event.schema_version,
        "span_id": event.span_id,
        "time": row.time,
        "trace_id": event.trace_id,
        "type": event.type,
    }
    return {
        "position": event.position,
        "stream": event.stream,
        "seq": event.seq,
        "recorded_at": row.recorded_at,
        "event": said,
        "salt": None if row.salt is None else row.salt.hex(),
        "payload": row.payload,
        "metadata": row.metadata,
        "leaf": event.digest,
    }
