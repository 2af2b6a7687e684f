"""Whether the events of a grade are what the service could have written, decided for millions of grades.

A grade in the plain shape that `record` writes is decided here, from its payloads alone. Whatever is in another is left
to `grading.grades`, whose answer is the same, only later.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, TypeAlias

import orjson

from grading.grades import is_broken_of, is_whole
from spine import Log
from spine.briefs import Brief
from spine.canonical import MAX_INTEGER

Payload: TypeAlias = Mapping[str, Any]

_MODES: Final = frozenset({"cumulative", "independent"})
_VARIANT: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}

_TEXT: Final = r'"[^"\\\x00-\x1f]*(?:\\(?:["\\bfnrt]|u00(?:0[1-9a-f]|1[0-9a-f]))[^"\\\x00-\x1f]*)*"'
_WHOLE: Final = "(?:0|[1-9][0-9]{0,14})"
_TRUTH: Final = "(?:true|false)"
_RUNG: Final = re.compile(
    rf'{{("citations":\[(?:{_WHOLE}(?:,{_WHOLE})*)?\],"cited":{_WHOLE},)"detail":{_TEXT},"grade_id":"([0-9a-f-]{{36}})",'
    rf'"index":({_WHOLE}),"ladder":{_TEXT},("name":{_TEXT},"passed":{_TRUTH},"reached":{_TRUTH},"required":{_TRUTH},'
    rf'"weight":[-+.0-9eE]+}})(?:,|\Z)'
)
"""The text of a `grade.milestone` as `record` writes it: around its detail, id, index and ladder stands, in order, what
its grade's outcome is made of."""

_MOST_SEEN: Final = 10_000
_weights_seen: Final[dict[str, float]] = {}


class _NotPlainError(Exception):
    """The grade is not in the shape that is decided here."""


_UNDECIDED: Final = (KeyError, TypeError, AttributeError, orjson.JSONDecodeError, _NotPlainError)


def plain_summary(summary: Brief) -> Payload | None:
    """What this `grade.summary` says, if its id is that of what it says on its stream. None where it has to be decided
    by `whole_grade`."""
    try:
        said: Payload = _decoded(summary)
        return said if _id_of(_summary_meaning(summary, said)) == said["grade_id"] else None
    except _UNDECIDED:
        return None


def plain_weights(said: Payload, payloads: str) -> set[float] | None:
    """The weights of a grade's rungs, if `payloads` (joined by commas) are those of its rungs, all of them and in
    order, and its outcome is theirs. None where it has to be decided by `whole_grade`; so it is where a text holds a
    NUL."""
    try:
        return _weights(said, payloads)
    except _UNDECIDED:
        return None


def whole_grade(log: Log, summary: Brief) -> tuple[Payload, list[Payload]] | None:
    """What this `grade.summary` and its rungs say, if the service could have written the grade to its stream."""
    [closing] = log.read(summary.stream, after=summary.seq - 1, until=summary.seq)
    first = max(summary.seq - closing.payload["rungs"], 1)
    rungs = list(log.read(summary.stream, after=first - 1, until=summary.seq - 1))
    if not is_whole(summary.stream, closing, rungs):
        return None
    return closing.payload, [event.payload for event in rungs]


def broken_grade(log: Log, broken: Brief) -> Payload | None:
    """What this `grade.broken` says, if the service could have written it to its stream. None if not."""
    try:
        return _plain_broken(broken)
    except _UNDECIDED:
        [event] = log.read(broken.stream, after=broken.seq - 1, until=broken.seq)
        return event.payload if is_broken_of(broken.stream, event) else None


def _weights(said: Payload, payloads: str) -> set[float]:
    grade_id, at, weights, decided = said["grade_id"], 0, set(), []
    for index in range(said["rungs"]):
        rung = _RUNG.match(payloads, at)
        if rung is None:
            raise _NotPlainError
        beginning, of, number, ending = rung.groups()
        if of != grade_id or number != str(index):
            raise _NotPlainError
        weight = _weights_seen.get(ending)
        weights.add(_weight(ending) if weight is None else weight)
        decided.append(f"{{{beginning}{ending}")
        at = rung.end()
    if at != len(payloads) or _outcome(said, decided) != said["outcome"]:
        raise _NotPlainError
    return weights


def _weight(ending: str) -> float:
    """The weight in the end of what of a rung its grade's outcome is made of, if that is plain. Kept: most ends are
    those of the grade before."""
    rung = orjson.loads(f"{{{ending}")
    weight = _number(rung["weight"])
    if orjson.dumps(rung)[1:].decode() != ending:
        raise _NotPlainError
    if len(_weights_seen) < _MOST_SEEN and len(ending) < 1000:
        _weights_seen[ending] = weight
    return weight


def _plain_broken(broken: Brief) -> Payload:
    said: Payload = _decoded(broken)
    if len(said) != 7:
        raise _NotPlainError
    meaning = {
        "broken": {
            "code": _text(said["code"]),
            "evidence": _evidence(said["evidence"], broken),
            "grader": _grader(said["grader"]),
            "ladder": _text(said["ladder"]),
            "milestone": _text(said["milestone"]),
            "where": _text(said["where"]),
        },
        "stream": broken.stream,
    }
    if _id_of(meaning) != said["grade_id"]:
        raise _NotPlainError
    return said


def _summary_meaning(summary: Brief, said: Payload) -> Payload:
    if len(said) != 12 or said["mode"] not in _MODES:
        raise _NotPlainError
    return {
        "stream": summary.stream,
        "summary": {
            "attained": _number(said["attained"]),
            "evidence": _evidence(said["evidence"], summary),
            "grader": _grader(said["grader"]),
            "ladder": _text(said["ladder"]),
            "mode": said["mode"],
            "outcome": _text(said["outcome"]),
            "passed": _truth(said["passed"]),
            "reached": _count(said["reached"]),
            "rungs": _count(said["rungs"]),
            "score": _number(said["score"]),
            "total": _number(said["total"]),
        },
    }


def _evidence(evidence: Any, closing: Brief) -> Payload:
    """Evidence that is supplied, or stands on the grade's stream before the grade."""
    digest = _text(evidence["digest"])
    if len(evidence) == 2 and evidence["kind"] == "supplied":
        return {"digest": digest, "kind": "supplied"}
    through = _count(evidence["through_seq"])
    if len(evidence) != 3 or evidence["stream"] != closing.stream or through >= closing.seq:
        raise _NotPlainError
    return {"digest": digest, "stream": closing.stream, "through_seq": through}


def _grader(grader: Any) -> Payload | None:
    if grader is None:
        return None
    if len(grader) != 4:
        raise _NotPlainError
    return {
        "definition": _text(grader["definition"]),
        "name": _text(grader["name"]),
        "semantics": _count(grader["semantics"]),
        "version": _text(grader["version"]),
    }


def _outcome(said: Payload, decided: Sequence[str]) -> str:
    """The outcome of a grade, as `grading.ladders` derives it."""
    head = orjson.dumps(
        {"attained": said["attained"], "ladder": said["ladder"], "mode": said["mode"], "passed": said["passed"]}
    ).decode()
    tail = orjson.dumps({"score": said["score"], "total": said["total"]}).decode()
    return sha256(f'{head[:-1]},"rungs":[{",".join(decided)}],{tail[1:]}'.encode()).hexdigest()


def _id_of(meaning: Payload) -> str:
    """The id of a grade of this meaning, as `grading.grades` derives it: a UUIDv8 whose last two bytes are free."""
    digits = sha256(orjson.dumps(meaning)).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:28]}0000"


# What follows lets through only what orjson writes as RFC 8785 does; objects are built with their keys in order.


def _decoded(brief: Brief) -> Any:
    """The payload. Digits that `decode` would read as a float are left whole here: `_number` refuses them."""
    return orjson.loads(brief.text)  # type: ignore[arg-type]


def _number(value: Any) -> int | float:
    if type(value) is int:
        if -MAX_INTEGER <= value <= MAX_INTEGER:
            return value
    elif type(value) is float and 1e-3 <= abs(value) < 1e15 and not value.is_integer():
        return value
    raise _NotPlainError


def _count(value: Any) -> int:
    if type(value) is int and 0 <= value <= MAX_INTEGER:
        return value
    raise _NotPlainError


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    raise _NotPlainError


def _truth(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise _NotPlainError
