"""Recorded runs that nobody here wrote, imported, graded, and compared with the ground truth in their files."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from grading import examples
from grading.gradebook import Gradebook
from grading.graders import Grader, GraderRef
from grading.intake import import_paths
from grading.rows import GradeRow
from grading.spec import read_ladder
from spine import MemoryLog, SqlLog, open_log
from tests.recordings import (
    DATA,
    DOCENT,
    FIREACT,
    INTERCODE,
    INTERCODE_CODE,
    INTERCODE_FLAGS,
    MATCH_PAIR,
    TAU_BENCH,
    needs_recordings,
)

pytestmark = needs_recordings


@pytest.fixture
def book(sql_log: SqlLog) -> Gradebook:
    return Gradebook(sql_log)


def document(name: str) -> dict[str, Any]:
    return copy.deepcopy(dict(read_ladder(examples.text(name)).document))


def graded(book: Gradebook, name: str, recordings: Path, *references: Path) -> list[GradeRow]:
    report = book.import_paths([recordings], references=references)
    assert report.refused == []
    book.add_grader(Grader.from_document(document(name)))
    book.grade(GraderRef(name), everything=True)
    return list(book.grades(grader=GraderRef(name)))


def foreign_scores(book: Gradebook, stream: str) -> list[Any]:
    return [event.payload["value"] for event in book.log.read(stream, types=["score.imported"])]


def test_tau_bench_airline_agrees_with_the_recorded_reward(book: Gradebook) -> None:
    rows = graded(book, "taubench-airline", TAU_BENCH)

    agreeing = [row for row in rows if foreign_scores(book, row.stream) == [float(bool(row.passed))]]

    assert len(rows) == 100
    assert [row.status for row in rows] == ["graded"] * 100
    assert len(agreeing) == 100


def test_the_docent_runs_agree_with_includes(book: Gradebook) -> None:
    rows = graded(book, "ctf", DOCENT)

    assert len(rows) == 15
    assert [row.passed for row in rows] == [foreign_scores(book, row.stream) == ["C"] for row in rows]
    assert sum(bool(row.passed) for row in rows) == 9


def test_the_match_pair_agrees_scored_or_not(book: Gradebook) -> None:
    rows = graded(book, "inspect-match", MATCH_PAIR)
    verdicts = {row.stream: row.passed for row in rows}
    scored = {stream: score for stream in verdicts if (score := foreign_scores(book, stream))}
    samples: dict[str, list[bool | None]] = {}
    for stream, passed in verdicts.items():
        samples.setdefault(stream.rsplit("/", 2)[1], []).append(passed)

    assert len(rows) == 20
    assert len(scored) == 10
    assert all(verdicts[stream] == (score == ["C"]) for stream, score in scored.items())
    assert all(len(set(pair)) == 1 and len(pair) == 2 for pair in samples.values())


def test_the_flags_of_intercode_agree_with_the_reward(book: Gradebook) -> None:
    rows = graded(book, "intercode-ctf", INTERCODE / "ctf", INTERCODE_FLAGS)

    assert len(rows) == 97
    assert [row.passed for row in rows] == [foreign_scores(book, row.stream) == [1] for row in rows]
    assert sum(bool(row.passed) for row in rows) == 40


def test_the_answers_of_fireact_agree_with_exact_match(book: Gradebook) -> None:
    rows = graded(book, "fireact-hotpotqa", FIREACT)

    assert len(rows) == 465
    assert [row.passed for row in rows] == [foreign_scores(book, row.stream)[0] for row in rows]
    assert sum(bool(row.passed) for row in rows) == 200


def test_all_of_intercode_and_fireact_is_imported_once() -> None:
    log = MemoryLog()
    first, second = (
        import_paths(log, [INTERCODE, FIREACT], references=[INTERCODE_FLAGS, INTERCODE_CODE]) for _ in range(2)
    )

    assert (first.refused, first.runs, first.new_runs) == ([], 998, 998)
    assert (second.refused, second.runs, second.new_events) == ([], 998, 0)
    # The dataset of the bash tasks is not among the recordings.
    bare = {head.stream for head in log.streams("run/")} - {
        event.stream for event in log.read_all(types=["case.expected"])
    }
    assert len(bare) == 200
    assert all("/nl2bash_fs_" in stream for stream in bare)


def test_everything_twice_adds_nothing_the_second_time(book: Gradebook) -> None:
    first = book.import_paths([DATA / "taubench", DATA / "inspect"])
    position = book.log.position()
    second = book.import_paths([DATA / "taubench", DATA / "inspect"])

    runs = [head.stream for head in book.streams("run/")]
    assert [Path(refused.path).name for refused in first.refused] == ["log_invalid.txt"]
    assert len(runs) == first.new_runs
    assert first.runs - first.new_runs == 3
    assert (second.runs, second.new_runs, second.new_events) == (first.runs, 0, 0)
    assert book.log.position() == position


def test_a_newer_version_regrades_all_of_tau_bench(book: Gradebook) -> None:
    before = {row.stream: row for row in graded(book, "taubench-airline", TAU_BENCH)}
    newer = document("taubench-airline") | {"version": "2"}
    newer["milestones"] = [rung for rung in newer["milestones"] if rung["name"] != "no_extra_writes"]
    book.add_grader(Grader.from_document(newer))
    start = book.log.position()
    boards: list[set[str | None]] = []

    def watch(done: int, total: int) -> None:
        if done % 20 == 0:
            boards.append({row.version for row in book.grades()})

    report = book.regrade(GraderRef("taubench-airline"), progress=watch)

    assert boards == [{"1"}] * 5
    assert report.activated
    after = {row.stream: row for row in book.grades()}
    assert {row.version for row in after.values()} == {"2"}
    changed = {stream for stream in before if before[stream].passed != after[stream].passed}
    assert {move.stream for move in report.moved if move.verdict_changed} == changed
    history = list(book.grades(history=True))
    assert sorted((row.version, row.current) for row in history) == [("1", False)] * 100 + [("2", True)] * 100
    assert {event.type.split(".")[0] for event in book.log.read_all(after=start)} == {"grade", "grader", "regrade"}
    book.rebuild()
    assert list(book.grades(history=True)) == history


def test_the_outcomes_are_the_same_on_both_databases(tmp_path: Path, migrated_postgres_url: str) -> None:
    outcomes: list[Sequence[tuple[str, str | None]]] = []
    for url in (f"sqlite:///{tmp_path / 'log.db'}", migrated_postgres_url):
        with open_log(url) as log:
            rows = graded(Gradebook(log), "taubench-airline", TAU_BENCH)
            outcomes.append([(row.stream, row.outcome_digest) for row in rows])

    assert outcomes[0] == outcomes[1]
    assert len({outcome for _, outcome in outcomes[0]}) > 50
