"""The log of golden/envelope-vectors.json: every key of the envelope, with and without a value.

`python -m tests.spine.vectors` writes the file anew; it may only ever grow, since stored logs depend on it.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain, count
from pathlib import Path
from typing import Any
from uuid import UUID

from spine import Actor, Event, Log, MemoryLog, NewEvent
from spine.canonical import SPEC, ZERO_LEAF, around, node_hash
from spine.chain import envelope_of as envelope_of_row
from spine.events import EventRow

FILE = Path(__file__).parent / "golden" / "envelope-vectors.json"
NAME = "gradespine/6f1c0d7e-3b52-4a43-9c55-0d3f6f1b2a10"
ODD = 'ünï "2"\\ 😀 ﬀ\u2028'
ERASED_SEQ = 3
IDS = [UUID(f"01900000-0000-7000-8000-{number:012x}") for number in range(6)]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

EVENTS = [
    (
        "run/demo/1",
        NewEvent(
            "tool.called",
            {"call_id": "c1", "tool": "bash", "arguments": {"timeout": 1.0, "cmd": "ls -la"}},
            actor=Actor.AGENT,
            id=IDS[0],
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="00f067aa0ba902b7",
        ),
    ),
    (
        "run/demo/1",
        NewEvent(
            "tool.returned",
            {
                "call_id": "c1",
                "tool": "bash",
                "result": 'a\x00b\x1b[31mred\x1b[0m\b\f\r\n\t\u2028\x7f"\\/ é 😀 ﬀ',
                "nums": [
                    0,
                    -0.0,
                    1e21,
                    1e-7,
                    1e-6,
                    0.1 + 0.2,
                    2**53 - 1,
                    1 - 2**53,
                    1e16,
                    1e20,
                    5e-324,
                    1.7976931348623157e308,
                ],
                "more": [4.5, 2e-3, 333333333.33333329, 1e23, -1.5, True, False, None, [], {}],
                "ﬀ": 3,
                "דּ": 2,
                "😀": 1,
                "": "empty",
            },
            actor=Actor.SYSTEM,
            id=IDS[1],
            time=EPOCH + timedelta(microseconds=1_795_987_842_999_999),
            principal="runtime@host",
            metadata={"client": "x/1.0", "retries": 0, "😀": [1e16]},
            correlation_id="case-7",
            causation_id=IDS[0],
            trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
            span_id="00f067aa0ba902b7",
            origin="eu-1",
        ),
    ),
    (
        f"run/{ODD}",
        NewEvent(
            "answer.given",
            {"key": "flag", "answer": "FLAG{x}"},
            actor=Actor.AGENT,
            id=IDS[0],
            time=EPOCH - timedelta(microseconds=1),
            principal=ODD,
            correlation_id=ODD,
            trace_id=ODD,
            span_id=ODD,
            origin=ODD,
        ),
    ),
    (
        "run/demo/1",
        NewEvent(
            "finding.reported",
            {"secret": "of a customer"},
            actor=Actor.HUMAN,
            id=IDS[2],
            time=EPOCH,
            principal="ada",
            metadata={"from": "a form"},
        ),
    ),
    (f"run/{ODD}", NewEvent("a.b", {}, actor=Actor.HUMAN, id=IDS[3], schema_version=2**31 - 1, causation_id=IDS[5])),
    (
        f"run/{ODD}",
        NewEvent("a0.b_1.2", {"": ""}, actor=Actor.SYSTEM, id=IDS[4], time=EPOCH - timedelta(microseconds=2**53 - 1)),
    ),
]


def injected() -> dict[str, Any]:
    """What makes a log the same in every run. The clock goes back once; recorded_at may not."""
    first = [1_795_987_843_000_104, 1_795_987_843_000_205, 1_795_987_842_000_000]
    times = chain(first, count(1_795_987_844_000_000))
    return {"name": NAME, "clock": lambda: next(times), "salt": salts()}


def salts() -> Callable[[], bytes]:
    drawn = iter(range(256))
    return lambda: bytes((32 * number + byte) % 256 for number in [next(drawn)] for byte in range(32))


def write(log: Log) -> None:
    """Append the events, two of them in one append, and erase one."""
    log.append("run/demo/1", [event for _, event in EVENTS[:2]])
    for stream, event in EVENTS[2:]:
        log.append(stream, [event])
    log.erase("run/demo/1", [ERASED_SEQ], reason="asked for", actor=Actor.HUMAN, principal="ada")


def document(log: Log) -> dict[str, Any]:
    """The vectors of a log that `write` wrote; without the event that records the erasure, whose id is random."""
    events = list(log.read_all(until=len(EVENTS)))
    leaves: dict[str, bytes] = {}
    records = []
    for event in events:
        records.append(record(event, leaves.get(event.stream, ZERO_LEAF)))
        leaves[event.stream] = event.row.leaf
    roots = [root([event.row.leaf for event in events[:size]]).hex() for size in range(1, len(events) + 1)]
    return {"spec": SPEC, "log": log.name, "events": records, "roots": [EMPTY_ROOT, *roots]}


EMPTY_ROOT = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def envelope_of(row: EventRow, *, log: str, prev: bytes) -> bytes:
    """The envelope of a stored event, as its leaf was made of."""
    return envelope_of_row(row, around(log, row.stream), prev)


def record(event: Event, prev: bytes) -> dict[str, Any]:
    row = event.row
    text = envelope_of(row, log=NAME, prev=prev).decode()
    return {
        "position": row.position,
        "stream": row.stream,
        "seq": row.seq,
        "prev": prev.hex(),
        "recorded_at": row.recorded_at,
        "event": json.loads(text)["event"],
        "salt": None if row.salt is None else row.salt.hex(),
        "payload": row.payload,
        "metadata": row.metadata,
        "erased": event.erased,
        "envelope": text,
        "leaf": row.leaf.hex(),
    }


def root(leaves: list[bytes]) -> bytes:
    """RFC 6962 §2.1, with the log's own node hash."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(root(leaves[:split]), root(leaves[split:]))


if __name__ == "__main__":
    made = MemoryLog(**injected())
    write(made)
    FILE.write_text(json.dumps(document(made), indent=1) + "\n")
