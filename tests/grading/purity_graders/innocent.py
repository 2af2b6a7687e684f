"""The innocent twin of every trap, and what graders use without harm."""

import copy
import functools
import hashlib
import heapq
import json
import logging
import math
import os
import random
import re
import statistics
import time
import uuid
import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from grading.checks import Check, Reducer, Verdict, answer_matches, event_recorded, run_over
from grading.evidence import Evidence
from grading.ladders import Ladder, Milestone, Mode
from spine import Event

LIMIT = 3
WEIGHTS = {"high": 3, "low": 1}
ZONE = timezone(timedelta(hours=2))
HERE = os.path.dirname(os.path.abspath(__file__))
logger = logging.getLogger(__name__)


def clock_of_the_event(evidence: Evidence) -> tuple[bool, str]:
    times = [event.time for event in evidence.events()]
    return bool(times) and times[-1] - times[0] < timedelta(hours=1) and isinstance(times[0], datetime), ""


def clock_recorded(evidence: Evidence) -> tuple[bool, str]:
    return all(event.recorded_at.year == 2026 for event in evidence.events()), ""


def clock_formats(evidence: Evidence) -> tuple[bool, str]:
    given = time.gmtime(1_767_225_600)
    return time.strftime("%Y", given) == "2026" and time.strptime("2026", "%Y").tm_year == 2026, time.asctime(given)


def zone_parsed(evidence: Evidence) -> tuple[bool, str]:
    parsed = datetime.fromisoformat("2026-01-02T03:04:05+02:00")
    return parsed.astimezone(UTC).hour == 1 and parsed.timestamp() > 0, str(parsed.astimezone(ZONE))


def zone_strptime(evidence: Evidence) -> tuple[bool, str]:
    found = datetime.strptime("02 Jan 2026 10:11", "%d %b %Y %H:%M").replace(tzinfo=UTC)
    return found.date() == date(2026, 1, 2), found.strftime("%A")


def zone_fromtimestamp(evidence: Evidence) -> tuple[bool, str]:
    return datetime.fromtimestamp(1_767_225_600, tz=UTC).hour == 0, ""


def zone_naive_difference(evidence: Evidence) -> tuple[bool, str]:
    return datetime(2026, 1, 2) - datetime(2026, 1, 1) == timedelta(days=1), ""


def matched_datetime(evidence: Evidence) -> tuple[bool, str]:
    match datetime(2026, 1, 2, tzinfo=UTC):
        case datetime(year=2026) as found:
            return type(found) is datetime, repr(found)
        case _:
            return False, ""


def chance_seeded(evidence: Evidence) -> tuple[bool, str]:
    return random.Random(7).random() < 0.5, ""


def chance_uuid5(evidence: Evidence) -> tuple[bool, str]:
    return True, str(uuid.uuid5(uuid.NAMESPACE_URL, "x")) + str(uuid.UUID(int=7))


def hash_of_bytes(evidence: Evidence) -> tuple[bool, str]:
    return True, hashlib.sha256(b"x").hexdigest()


def hash_of_a_number(evidence: Evidence) -> tuple[bool, str]:
    return hash(7) == 7 and hash((1, 2)) == hash((1, 2)), ""


def hash_shadowed(evidence: Evidence) -> tuple[bool, str]:
    hash, id, open, input = "a", "b", "c", "d"
    return True, hash + id + open + input


def order_sorted(evidence: Evidence) -> tuple[bool, str]:
    return True, ", ".join(sorted({event.type for event in evidence.events()}))


def order_of_numbers(evidence: Evidence) -> tuple[bool, str]:
    return sum({1, 2, 3}) == 6 and max({4, 5}) == 5 and {"a", "b"} == {"b", "a"}, ""


def order_of_a_dict(evidence: Evidence) -> tuple[bool, str]:
    return True, ", ".join(dict.fromkeys(event.type for event in evidence.events()))


def address_as_identity(evidence: Evidence) -> tuple[bool, str]:
    seen: set[int] = set()
    nodes = [[1], [2], [3]]
    for node in [*nodes, *nodes]:
        seen.add(id(node))
    return len(seen) == 3, ""


def address_in_a_copy(evidence: Evidence) -> tuple[bool, str]:
    return copy.deepcopy([[1], [2]]) == [[1], [2]], ""


@functools.lru_cache(maxsize=64)
def squared(number: int) -> int:
    return number * number


def state_cached(evidence: Evidence) -> tuple[bool, str]:
    return squared(len(evidence.events())) >= 0, ""


def state_of_its_own(evidence: Evidence) -> tuple[bool, str]:
    calls = [1]
    calls.append(2)
    counts: dict[str, int] = defaultdict(int)
    for event in evidence.events():
        counts[event.type] += 1
    return len(calls) == 2, json.dumps(counts, sort_keys=True)


def changes_a_copy(evidence: Evidence) -> tuple[bool, str]:
    for event in evidence.events():
        if event.type == "tool.called":
            arguments = copy.deepcopy(event.payload["arguments"])
            arguments["seen"] = True
            heap = list(event.payload["arguments"])
            heapq.heapify(heap)
            merged = {**event.payload, "more": 1} | dict(event.payload)
            merged.pop("more")
    return True, ""


def reads_payloads(evidence: Evidence) -> tuple[bool, str]:
    texts = [json.dumps(event.payload, sort_keys=True) for event in evidence.events() if not event.erased]
    return any(re.search(r"test_\w+", text) for text in texts), hashlib.md5("".join(texts).encode()).hexdigest()


def computes(evidence: Evidence) -> tuple[bool, str]:
    with localcontext() as context:
        context.prec = 10
        third = Decimal(1) / Decimal(3)
    values = [math.sqrt(2), float(third), statistics.mean([1, 2, 3]), statistics.median([3, 1]), float(Fraction(1, 3))]
    return math.isclose(math.fsum(values), sum(values)), f"{values[0]:.3f}"


def counted(evidence: Evidence) -> tuple[bool, str]:
    found = Counter(event.type for event in evidence.events())
    return sum(WEIGHTS.values()) > LIMIT, str(found.most_common(1))


def files_named_only(evidence: Evidence) -> tuple[bool, str]:
    return PurePosixPath("/src/a.py").suffix == ".py", os.path.join("a", "b")


def imports_late(evidence: Evidence) -> tuple[bool, str]:
    import colorsys
    import difflib
    import textwrap

    return bool(colorsys.rgb_to_hsv(1, 0, 0)) and textwrap.dedent(" x") == "x", str(difflib.get_close_matches("a", "a"))


def tells_people(evidence: Evidence) -> tuple[bool, str]:
    logger.warning("graded %s", "x")
    print("graded")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("this is seen by people only", stacklevel=1)
    return True, ""


def raises(evidence: Evidence) -> tuple[bool, str]:
    return bool(json.loads("{")), ""


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Pair(NamedTuple):
    name: str
    number: int


@dataclass(frozen=True)
class AtLeast:
    number: int
    levels: list[Level] = field(default_factory=lambda: list(Level))

    def __call__(self, evidence: Evidence) -> Verdict:
        pairs = [Pair(event.type, event.seq) for event in evidence.events()]
        cited = tuple(pair.number for pair in pairs[: self.number])
        return Verdict(len(pairs) >= self.number, f"{len(self.levels)} levels", cited)


class Counting:
    """An incremental check: a fresh reducer a run."""

    shares_events = True

    def start(self, expected: Mapping[str, Any] | None, answers: Mapping[str, str] | None = None) -> Reducer:
        return _Count()

    def __call__(self, evidence: Evidence) -> Verdict:
        return run_over(self, evidence)


class _Count:
    def __init__(self) -> None:
        self.seqs: list[int] = []

    def step(self, event: Event) -> None:
        if event.type == "test.reported" and event.payload["status"] == "passed":
            self.seqs.append(event.seq)

    def result(self) -> Verdict:
        return Verdict(len(self.seqs) >= 2, f"{len(self.seqs)} passed", tuple(self.seqs))


def said(key: str) -> Check:
    return answer_matches(key, lambda answer: answer.strip().isdigit())


def _main() -> None:
    """What a person calls from a shell, and no check does."""
    with open(__file__) as file:
        print(time.time(), os.environ.get("HOME"), file.read())


CHECKS: dict[str, Check] = {
    name: check
    for name, check in list(globals().items())
    if getattr(check, "__module__", "") == __name__
    and getattr(check, "__code__", None) is not None
    and check.__code__.co_varnames[:1] == ("evidence",)
}
ladder = Ladder(
    "innocent",
    Mode.INDEPENDENT,
    [
        *(Milestone(name, check) for name, check in CHECKS.items()),
        Milestone("at_least", AtLeast(2)),
        Milestone("counting", Counting()),
        Milestone("said", said("answer")),
        Milestone("matcher", event_recorded("tool.called", lambda payload: payload["arguments"].get("limit") == 3)),
        Milestone("lambda", lambda evidence: (bool(evidence.expected()), "")),
        Milestone("without"),
    ],
    version="1",
)

if __name__ == "__main__":
    _main()
