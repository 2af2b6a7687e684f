"""Checks a log without a line of the code that wrote it: FORMATS §1 from the standard library alone.

    python verifier.py envelope-vectors.json
    python verifier.py runs.db

Prints what is wrong, one finding a line, and exits with 1 if there is any.
"""

import hashlib
import json
import sqlite3
import sys
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

SPEC = "gradespine/event/1"
ZERO = "0" * 64
EVENT_KEYS = {
    "actor",
    "causation_id",
    "correlation_id",
    "id",
    "metadata",
    "origin",
    "payload",
    "principal",
    "schema_version",
    "span_id",
    "time",
    "trace_id",
    "type",
}

Record = dict[str, Any]
"""position, stream, seq, recorded_at, event (the envelope's object), payload, metadata, and in hex salt and leaf."""


def envelope(record: Record, log: str, prev: str) -> str:
    """RFC 8785 of an object of ASCII keys, text and integers, which the standard library can do."""
    whole = {
        "event": record["event"],
        "log": log,
        "prev": prev,
        "recorded_at": record["recorded_at"],
        "seq": record["seq"],
        "spec": SPEC,
        "stream": record["stream"],
    }
    return json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def leaf(text: str) -> str:
    return hashlib.sha256(b"\x00" + text.encode()).hexdigest()


def root(leaves: Sequence[str]) -> str:
    """The tree head of RFC 6962 §2.1 over these leaves."""
    if not leaves:
        return hashlib.sha256(b"").hexdigest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    left, right = root(leaves[:split]), root(leaves[split:])
    return hashlib.sha256(b"\x01" + bytes.fromhex(left) + bytes.fromhex(right)).hexdigest()


def salted(prefix: bytes, salt: str, text: str) -> str:
    return hashlib.sha256(prefix + bytes.fromhex(salt) + text.encode()).hexdigest()


def check(log: str, records: Iterable[Record]) -> list[str]:
    """What is wrong with these events, in the order of the log."""
    findings: list[str] = []
    ends: dict[str, tuple[int, str]] = {}
    ids: set[tuple[str, str]] = set()
    last_recorded = None
    for expected, record in enumerate(records, start=1):
        at = f"position {record['position']}"
        seq, prev = ends.get(record["stream"], (0, ZERO))
        if record["position"] != expected:
            findings.append(f"{at}: expected position {expected}")
        if record["seq"] != seq + 1:
            findings.append(f"{at}: seq {record['seq']} follows {seq}")
        if last_recorded is not None and record["recorded_at"] < last_recorded:
            findings.append(f"{at}: recorded before the one in front of it")
        if set(record["event"]) != EVENT_KEYS:
            findings.append(f"{at}: the keys of event are not those of {SPEC}")
        if (record["stream"], record["event"]["id"]) in ids:
            findings.append(f"{at}: its id stands twice on its stream")
        if leaf(envelope(record, log, prev)) != record["leaf"]:
            findings.append(f"{at}: the leaf is not the hash of the envelope")
        findings += [f"{at}: {finding}" for finding in check_body(record)]
        ends[record["stream"]] = record["seq"], record["leaf"]
        ids.add((record["stream"], record["event"]["id"]))
        last_recorded = record["recorded_at"]
    return findings


def check_body(record: Record) -> list[str]:
    salt, payload, metadata = record["salt"], record["payload"], record["metadata"]
    event = record["event"]
    if payload is None:
        return [] if salt is None and metadata is None else ["half erased"]
    if salt is None or len(salt) != 64:
        return ["its salt is not 32 bytes"]
    findings = []
    if salted(b"\x02", salt, payload) != event["payload"]:
        findings.append("the payload digest does not fit")
    if (metadata is None) != (event["metadata"] == ""):
        findings.append("metadata and its digest do not go together")
    elif metadata is not None and salted(b"\x03", salt, metadata) != event["metadata"]:
        findings.append("the metadata digest does not fit")
    return findings


def check_vectors(document: dict[str, Any]) -> list[str]:
    """The same for the published vectors, which also spell out what follows from the rest."""
    findings = check(document["log"], document["events"])
    if document["spec"] != SPEC:
        findings.append(f"spec is not {SPEC}")
    leaves: dict[str, str] = {}
    for record in document["events"]:
        at = f"position {record['position']}"
        prev = leaves.get(record["stream"], ZERO)
        if record["prev"] != prev:
            findings.append(f"{at}: prev is not the leaf of the stream's previous event")
        if record["envelope"] != envelope(record, document["log"], prev):
            findings.append(f"{at}: the envelope is spelt otherwise")
        if record["erased"] is not (record["payload"] is None):
            findings.append(f"{at}: erased does not fit")
        leaves[record["stream"]] = record["leaf"]
    in_order = [record["leaf"] for record in document["events"]]
    if document["roots"] != [root(in_order[:size]) for size in range(len(in_order) + 1)]:
        findings.append("a root is not that of the tree")
    return findings


def check_sqlite(path: str) -> list[str]:
    """The same for a log's file."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        names = connection.execute("SELECT name, spec FROM log").fetchall()
        rows = connection.execute(
            "SELECT e.*, s.name AS stream FROM events e LEFT JOIN streams s USING (stream_id) ORDER BY position"
        ).fetchall()
    finally:
        connection.close()
    if not rows:
        return []
    if len(names) != 1:
        return [f"{len(names)} logs in one database"]
    findings = [] if names[0]["spec"] == SPEC else [f"spec is not {SPEC}"]
    return findings + check(names[0]["name"], map(record_of, rows))


def record_of(row: sqlite3.Row) -> Record:
    event = {
        name: row[name]
        for name in (
            "actor",
            "correlation_id",
            "origin",
            "principal",
            "schema_version",
            "span_id",
            "time",
            "trace_id",
            "type",
        )
    }
    event["id"] = str(uuid.UUID(bytes=row["id"]))
    event["causation_id"] = "" if row["causation_id"] is None else str(uuid.UUID(bytes=row["causation_id"]))
    event["payload"] = row["payload_digest"].hex()
    event["metadata"] = "" if row["metadata_digest"] is None else row["metadata_digest"].hex()
    record = {name: row[name] for name in ("position", "stream", "seq", "recorded_at", "payload", "metadata")}
    salt = None if row["salt"] is None else row["salt"].hex()
    return record | {"event": event, "salt": salt, "leaf": row["leaf"].hex()}


def main(path: str) -> int:
    with open(path, "rb") as file:
        is_sqlite = file.read(16) == b"SQLite format 3\x00"
    if is_sqlite:
        findings = check_sqlite(path)
    else:
        with open(path, encoding="utf-8") as text:
            findings = check_vectors(json.load(text))
    print("\n".join(findings) or "nothing wrong")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
