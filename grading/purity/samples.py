"""Samples: the evidence a grader is tried on. A few streams of the log, two that ship, and one of the grader's own
words, so that a check of a type that nobody recorded yet is not tried on nothing."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, Final

from grading.trust import NAMED_ONLY
from spine import Log
from spine.canonical import encode
from spine.events import EventRow
from spine.vocabulary import KNOWN, counts_as_evidence

MAX_STREAMS: Final = 3
MAX_EVENTS: Final = 300
"""Of a stream, its first so many events are a sample."""

_LOOKED_AT: Final = 100  # streams of a log among which samples are chosen
_MAX_TYPES: Final = 40
_MAX_KEYS: Final = 16
_TYPE: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
_KEY: Final = re.compile(r"[A-Za-z_][\w-]{0,40}")
_DAY: Final = 1_767_225_600_000_000  # 2026-01-01, in microseconds


@dataclass(frozen=True, slots=True)
class Sample:
    """Events of one stream as they are stored, in order of seq. With `answers`, supplied evidence."""

    name: str
    rows: Sequence[EventRow]
    answers: Mapping[str, str] | None = None


def of_streams(log: Log, streams: Iterable[str]) -> list[Sample]:
    """These streams, as far as a sample goes."""
    return [Sample(stream, _rows(log, stream)) for stream in streams]


def of_log(log: Log, prefix: str = "run/", hidden: Collection[str] = ()) -> list[Sample]:
    """The first, the middle and the last of the first hundred streams of a prefix that are not hidden: always the same
    of the same log."""
    heads = islice((head.stream for head in log.streams(prefix)), _LOOKED_AT)
    found = [stream for stream in heads if stream not in hidden]
    chosen = dict.fromkeys(found[at] for at in (0, len(found) // 2, -1)) if found else {}
    return of_streams(log, list(chosen)[:MAX_STREAMS])


def _rows(log: Log, stream: str) -> list[EventRow]:
    events = (event for event in log.read(stream) if counts_as_evidence(event.type) or event.type in NAMED_ONLY)
    return [event.row for event in islice(events, MAX_EVENTS)]


def shipped() -> list[Sample]:
    """A run with no events, and one with something of everything, also as supplied evidence."""
    rows = _made("run/sample/everything", _EVERYTHING)
    return [
        Sample("a run without events", ()),
        Sample("a run with something of everything", rows),
        Sample("the same, supplied with answers", rows, {"flag": "FLAG{x}", "root_cause": "a leak", "answer": "42"}),
    ]


def of_words(bodies: Sequence[Sequence[str]]) -> list[Sample]:
    """A run with events of every type that a grader names. Their payloads have its other words as keys: those of the
    function that names the type, then those of the others."""
    everywhere = [word for words in bodies for word in words]
    events = []
    for words in bodies:
        keys = [word for word in dict.fromkeys([*words, *everywhere]) if _KEY.fullmatch(word)][:_MAX_KEYS]
        for type in dict.fromkeys(word for word in words if _TYPE.fullmatch(word) and word not in KNOWN):
            events += [(type, actor, _payload(keys, turn)) for turn, actor in enumerate(("system", "agent", "human"))]
    made = _made("run/sample/words", events[: 3 * _MAX_TYPES])
    return [Sample("a run of the grader's own words", made)] if made else []


def _payload(keys: Sequence[str], turn: int) -> dict[str, Any]:
    values = ["2026-01-02T03:04:05", 7 * turn + 1, True, ["b", "a", "c"], *keys]
    return {key: values[(at + turn) % len(values)] for at, key in enumerate(keys)}


def _made(stream: str, events: Iterable[tuple[str, str, Mapping[str, Any]]]) -> list[EventRow]:
    return [_row(stream, seq, *event) for seq, event in enumerate(events, 1)]


def _row(stream: str, seq: int, type: str, actor: str, payload: Mapping[str, Any]) -> EventRow:
    """A row as a log would hold it, but for its digests, which nothing here verifies."""
    text = encode(payload).decode()
    digest = sha256(f"{stream} {seq} {text}".encode()).digest()
    when = _DAY + seq * 61_000_000
    return EventRow(
        position=seq,
        stream=stream,
        seq=seq,
        id=digest[:16],
        type=type,
        schema_version=1,
        actor=actor,
        principal="",
        time=when,
        recorded_at=when,
        correlation_id="",
        causation_id=None,
        trace_id="",
        span_id="",
        origin="sample",
        payload_digest=digest,
        metadata_digest=None,
        salt=digest,
        payload=text,
        metadata=None,
        leaf=digest,
    )


def _call(id: str, tool: str, result: object, **arguments: object) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        ("tool.called", "agent", {"call_id": id, "tool": tool, "arguments": arguments}),
        ("tool.returned", "system", {"call_id": id, "tool": tool, "result": result}),
    ]


_STARTED: Final = {"agent": "sample", "model": "m", "task": "t", "case": "c", "started": "2026-01-01T00:00:00Z"}
_DECIDED: Final = {"effect_id": "e1", "decision": "approved", "at": "2026-01-01T12:30:00+02:00"}
_EVERYTHING: Final[list[tuple[str, str, dict[str, Any]]]] = [
    ("run.started", "system", _STARTED),
    ("case.expected", "system", {"tests": ["test_a", "test_b", "test_c"], "answer": "42", "outputs": ["four", "two"]}),
    ("question.posed", "system", {"key": "answer", "prompt": "How many?"}),
    ("message.sent", "human", {"role": "user", "content": "Please find out how many, by 2026-01-03T10:00:00."}),
    *_call("c1", "bash", "total 2\na.py\nb.py", command="ls"),
    ("command.exited", "system", {"command": "ls", "exit_code": 0}),
    *_call("c2", "search", ["b", "a", "c"], query="how many", tags=["x", "z", "y"], limit=3),
    *_call("c3", "bash", "2 passed, 1 failed", command="pytest"),
    ("command.exited", "system", {"command": "pytest", "exit_code": 1}),
    ("test.reported", "system", {"name": "test_a", "status": "passed"}),
    ("test.reported", "system", {"name": "test_b", "status": "failed"}),
    ("file.changed", "system", {"path": "src/a.py", "change": "modified"}),
    ("approval.requested", "agent", {"effect_id": "e1", "amount": 12.5}),
    ("approval.decided", "human", _DECIDED),
    *_call("c4", "refund", "done", order="o-17", amount=12.5, at=1_767_225_600),
    ("budget.set", "system", {"scope": "run", "resource": "tokens", "limit": 1000}),
    ("budget.charged", "system", {"scope": "run", "resource": "tokens", "amount": 812}),
    ("test.reported", "system", {"name": "test_b", "status": "passed"}),
    ("finding.reported", "system", {"path": "/admin", "severity": "high"}),
    ("message.sent", "agent", {"role": "assistant", "content": "All tests PASSED. The answer is 42."}),
    ("answer.given", "agent", {"key": "answer", "answer": " 42 "}),
    ("answer.given", "agent", {"key": "flag", "answer": "FLAG{x}"}),
    ("answer.given", "agent", {"key": "root_cause", "answer": "a leak"}),
    ("run.finished", "system", {"status": "completed", "reason": "answered"}),
]
