"""The curve of one long run: how a ladder stands after each of its events."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from grading.climb import curve
from grading.evidence import StreamEvidence
from grading.graders import Grader
from scripts.benchmarks.append import payload
from scripts.benchmarks.report import Row
from spine import Actor, NewEvent, open_log

_EVENTS: Final = 10_000
_MOST: Final = 1000
_AIM: Final = 500
_RUN: Final = "run/bench/long"

_RESULTS: Final = {"call": "*", "take": "result"}
_CHECKS: Final[dict[str, dict[str, Any]]] = {
    "event": {"event": {"type": "tool.returned", "where": {"path": "result", "contains": "line 9999"}}},
    "repeated": {"repeated": {"of": _RESULTS, "at_most": 2}},
    "trajectory": {"trajectory": {"calls": [{"tool": "bash"}, {"tool": "submit"}], "as": "superset"}},
    "compare": {"compare": {"want": {"type": "tool.called", "take": "tool"}, "got": _RESULTS, "as": "every"}},
}


def measure(folder: Path, postgres: str | None, rounds: int) -> Iterator[Row]:
    """A curve for a check of each of these kinds, over a run of 10,000 events that is read from SQLite."""
    with open_log(f"sqlite:///{folder / 'log.db'}") as log:
        log.append(_RUN, _run())
        for kind, check in _CHECKS.items():
            ladder = _grader(kind, check).ladder
            taken = []
            for _ in range(rounds + 1):
                start = time.perf_counter()
                curve(ladder, StreamEvidence(log, _RUN))
                taken.append((time.perf_counter() - start) * 1000)
            work = f"curve of {_EVENTS:,} events, {kind}"
            yield Row(work, None, None, round(statistics.median(taken[1:]), 1), "ms", _MOST, _AIM)


def _run() -> list[NewEvent]:
    events: list[NewEvent] = []
    for number in range(_EVENTS // 2):
        call = {"call_id": f"c{number}", "tool": "bash", "arguments": {"cmd": f"make step-{number}"}}
        events.append(NewEvent("tool.called", call, actor=Actor.AGENT))
        events.append(NewEvent("tool.returned", payload(number) | {"call_id": f"c{number}"}, actor=Actor.SYSTEM))
    return events


def _grader(kind: str, check: dict[str, Any]) -> Grader:
    return Grader.from_document(
        {
            "gradespine": 1,
            "ladder": f"curve-{kind}",
            "version": "1",
            "mode": "independent",
            "milestones": [{"name": kind, "check": check}],
        }
    )
