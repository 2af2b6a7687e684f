"""Recordings that nobody here wrote: the shipped ladders agree with the verdict that stands in them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grading import examples
from grading.evidence import StreamEvidence
from grading.ladders import Grade
from grading.spec import read_ladder
from spine import Log, MemoryLog
from spine.importers import Recording, recognised_by
from tests.recordings import DATA, MATCH_PAIR, needs_recordings

SCORER = MATCH_PAIR

pytestmark = needs_recordings


def graded(name: str, path: Path) -> Iterator[tuple[Grade, Log, str]]:
    ladder = read_ladder(examples.text(name)).ladder
    importer = recognised_by(path.read_bytes()[:65536])
    assert importer is not None
    for read in importer.read(path, "test"):
        assert isinstance(read, Recording)
        log = MemoryLog()
        log.append(read.stream, read.events)
        yield ladder.grade(StreamEvidence(log, read.stream)), log, read.stream


def agreement(name: str, path: Path, verdict: Callable[[Any], bool]) -> tuple[int, int]:
    """How many of the grades say what the recorded score says, and how many there are."""
    agree = runs = 0
    for grade, log, stream in graded(name, path):
        score = next(log.read(stream, types=["score.imported"])).payload["value"]
        agree += grade.passed is verdict(score)
        runs += 1
    return agree, runs


def test_taubench_airline_agrees_with_the_reward() -> None:
    path = DATA / "taubench/historical_trajectories/gpt-4o-airline.json"

    assert agreement("taubench-airline", path, lambda reward: reward == 1) == (100, 100)


def test_ctf_agrees_with_the_scorer() -> None:
    path = DATA / "inspect/docent/docent/docent/samples/log.eval"

    assert agreement("ctf", path, lambda value: value == "C") == (15, 15)


def test_inspect_match_agrees_with_the_scorer_and_grades_the_unscored_log_alike() -> None:
    unscored, scored = sorted(SCORER.glob("*.eval"))

    assert agreement("inspect-match", scored, lambda value: value == "C") == (10, 10)
    assert sum(grade.passed for grade, _, _ in graded("inspect-match", unscored)) == 8
