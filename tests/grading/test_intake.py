"""Importing: every run once, whole, whatever else happens."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import grading.examples
from grading.evidence import StreamEvidence
from grading.intake import ImportedFile, ImportReport, import_paths
from grading.spec import read_ladder
from spine import Actor, Log, MemoryLog, NewEvent, open_log
from tests.conftest import OpenLog
from tests.grading.imports import folder, record
from tests.spine.importers.builders import eval_json, eval_log, eval_zip, real, sample, tau_file, tau_run

EXAMPLES = Path(grading.examples.__file__).parent


def content(log: Log) -> dict[str, list[tuple[Any, ...]]]:
    """Everything on the log that does not depend on when and where it was written."""
    return {
        head.stream: [(event.id, event.type, event.actor, dict(event.payload)) for event in log.read(head.stream)]
        for head in log.streams()
    }


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    return report.runs, report.new_runs, report.new_events, len(report.refused)


def test_a_folder_is_imported_and_what_is_no_recording_is_listed(log: Log, tmp_path: Path) -> None:
    report = import_paths(log, [folder(tmp_path / "f")])

    assert [file.name for file in report.files] == ["a.json", "b.eval"]
    assert [Path(skipped.path).name for skipped in report.unrecognised] == ["notes.txt"]
    assert counts(report) == (4, 4, log.position(), 0)
    assert [head.stream for head in log.streams("run/inspect/")] == ["run/inspect/E1/1/1", "run/inspect/E1/2/1"]


def test_the_second_time_adds_nothing(log: Log, tmp_path: Path) -> None:
    place = folder(tmp_path / "f")
    import_paths(log, [place])
    before = log.position()

    report = import_paths(log, [place, place / "a.json"])

    assert counts(report) == (4, 0, 0, 0)
    assert log.position() == before


def test_an_import_is_recorded_by_content_never_by_path(log: Log, tmp_path: Path) -> None:
    path = eval_json(tmp_path / "log.json", eval_log(sample(1, input=10**20, scores={"a": {"value": 10**20}})))

    (file,) = import_paths(log, [path]).files

    assert record(log) == {
        "name": "log.json",
        "sha256": file.sha256,
        "format": "inspect",
        "mapping": 1,
        "prefix": "",
        "runs": 1,
        "events": 7,
        "refused": [],
        "refusals": 0,
        "adapted": {"big_integer": 1},
    }
    assert [head.stream for head in log.streams("import/")] == [f"import/{file.sha256}"]
    assert not any(str(tmp_path) in str(event.payload) for event in log.read_all())


def test_the_same_file_under_another_name_adds_nothing(log: Log, tmp_path: Path) -> None:
    path = tau_file(tmp_path / "a.json", tau_run())
    import_paths(log, [path])
    before = log.position()

    report = import_paths(log, [path.rename(tmp_path / "b.json")])

    assert counts(report) == (1, 0, 0, 0)
    assert log.position() == before


def test_another_prefix_is_another_source(log: Log, tmp_path: Path) -> None:
    path = tau_file(tmp_path / "a.json", tau_run())

    for prefix in (None, "mine", "mine", None):
        import_paths(log, [path], prefix=prefix)

    assert len(list(log.streams("run/"))) == 2
    assert len(list(log.read_all(types=["import.recorded"]))) == 2


def test_a_prefix_makes_a_file_that_grew_the_same_source(log: Log, tmp_path: Path) -> None:
    import_paths(log, [tau_file(tmp_path / "a.json", tau_run(0))], prefix="mine")

    report = import_paths(log, [tau_file(tmp_path / "a.json", tau_run(0), tau_run(1))], prefix="mine")

    assert (report.runs, report.new_runs) == (2, 1)


def test_a_run_that_was_scored_later_gets_the_score_behind_its_grades(log: Log, tmp_path: Path) -> None:
    import_paths(log, [eval_json(tmp_path / "x", eval_log(sample(scores={})))])
    stream = "run/inspect/E1/1/1"
    log.append(stream, [NewEvent("review.noted", {}, actor=Actor.HUMAN)])

    report = import_paths(log, [eval_zip(tmp_path / "y", eval_log(sample()))])

    assert counts(report) == (1, 0, 2, 0)
    assert [event.type for event in log.read(stream)][-3:] == ["run.finished", "review.noted", "score.imported"]
    assert counts(import_paths(log, [tmp_path / "x", tmp_path / "y"])) == (2, 0, 0, 0)


def test_a_run_that_differs_is_refused_and_nothing_of_it_is_written(log: Log, tmp_path: Path) -> None:
    import_paths(log, [eval_json(tmp_path / "x", eval_log(sample(1)))])
    before = content(log)["run/inspect/E1/1/1"]

    report = import_paths(log, [eval_json(tmp_path / "y", eval_log(sample(1, target="5"), sample(2)))])

    (refused,) = report.refused
    assert refused.path.endswith("y")
    assert "sample 1, epoch 1: run/inspect/E1/1/1 is recorded with another payload at seq 2" in refused.reason
    assert content(log)["run/inspect/E1/1/1"] == before
    assert (report.runs, report.new_runs) == (1, 1)


def test_a_run_that_stands_twice_in_one_file_differently_is_refused(log: Log, tmp_path: Path) -> None:
    report = import_paths(log, [tau_file(tmp_path / "x", tau_run(0), tau_run(0), tau_run(0, reward=0.0))])

    assert counts(report)[:2] == (2, 1)
    assert "another payload" in report.refused[0].reason


def test_a_stream_that_somebody_else_began_is_refused(log: Log, tmp_path: Path) -> None:
    log.append("run/inspect/E1/1/1", [NewEvent("x.y", {}, actor=Actor.SYSTEM)])

    report = import_paths(log, [eval_json(tmp_path / "x", eval_log(sample(1)))])

    assert counts(report)[:2] == (0, 0)
    assert "is recorded already" in report.refused[0].reason


def test_an_erased_event_does_not_differ(log: Log, tmp_path: Path) -> None:
    path = eval_json(tmp_path / "x", eval_log(sample(1)))
    import_paths(log, [path])
    log.erase("run/inspect/E1/1/1", [3], reason="a name", actor=Actor.HUMAN, principal="ada")

    assert counts(import_paths(log, [path])) == (1, 0, 0, 0)


def test_what_was_refused_is_recorded_with_its_place(log: Log, tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(70):
        deep = [deep]
    bad = tau_run(1, traj=[{"role": "tool", "tool_call_id": "a", "name": "f", "content": deep}])

    report = import_paths(log, [tau_file(tmp_path / "x", tau_run(0), bad, {"task_id": 2, "trial": 0, "info": None})])

    deep_one, broken = record(log)["refused"]
    assert deep_one["where"] == "line 1: task 1, trial 0"
    assert "nested deeper than 64" in deep_one["reason"]
    assert broken == {"where": "line 1: task 2, trial 0", "reason": "info is not an object"}
    assert (report.runs, len(report.refused), record(log)["refusals"]) == (1, 2, 2)


def test_a_refusal_that_quotes_what_is_no_text_is_recorded(tmp_path: Path) -> None:
    log = MemoryLog()
    surrogate = sample("\ud800", messages=[1])

    import_paths(log, [eval_json(tmp_path / "x", eval_log(surrogate))])

    assert record(log)["refused"][0]["where"] == "line 1: sample \ufffd, epoch 1"


def test_a_run_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tau_file(tmp_path / "x", tau_run(0), tau_run(1))
    log = MemoryLog()
    append = log.append

    def fail_at_the_second(stream: str, *rest: Any) -> Any:
        if stream.endswith("/1/0"):
            raise KeyboardInterrupt
        return append(stream, *rest)

    monkeypatch.setattr(log, "append", fail_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        import_paths(log, [path])
    monkeypatch.undo()
    report = import_paths(log, [path])

    whole = MemoryLog()
    import_paths(whole, [path])
    assert content(log) == content(whole)
    assert (report.runs, report.new_runs) == (2, 1)


def test_a_file_that_changes_meanwhile_is_not_recorded_as_imported(tmp_path: Path) -> None:
    log = MemoryLog()
    path = tau_file(tmp_path / "x", tau_run(0))

    def grow(file: ImportedFile) -> None:
        with path.open("a") as opened:
            opened.write(" ")

    report = import_paths(log, [path], report=grow)

    assert "it changed while it was read" in report.refused[0].reason
    assert not list(log.streams("import/"))


def test_a_watcher_hears_of_every_run_and_of_the_end(tmp_path: Path) -> None:
    heard: list[tuple[str, int, bool]] = []

    import_paths(
        MemoryLog(), [folder(tmp_path / "f")], report=lambda file: heard.append((file.name, file.runs, file.finished))
    )

    assert heard == [
        ("a.json", 1, False),
        ("a.json", 2, False),
        ("a.json", 2, True),
        ("b.eval", 1, False),
        ("b.eval", 2, False),
        ("b.eval", 2, True),
    ]


IMPORT = """
import sys
from grading.intake import import_paths
from spine import open_log

with open_log(sys.argv[1]) as log:
    report = import_paths(log, sys.argv[2:])
print(report.runs, report.new_runs, report.new_events, len(report.refused))
"""


def test_four_processes_import_the_same_folder_at_once(database_url: str, tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.mkdir()
    for number in range(4):
        grown = [sample(n, scores={}) if number < 2 else sample(n) for n in range(8)]
        eval_zip(place / f"{number}.eval", eval_log(*grown))
        tau_file(place / f"{number}.json", *(tau_run(number, trial) for trial in range(5)))
    with open_log(database_url):
        pass

    workers = [
        subprocess.Popen([sys.executable, "-c", IMPORT, database_url, place], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [[int(number) for number in worker.communicate()[0].split()] for worker in workers]

    alone = MemoryLog()
    import_paths(alone, [place])
    with open_log(database_url) as log:
        assert content(log) == content(alone)
        assert sum(new for _, _, new, _ in said) == log.position()
    assert [(runs, refused) for runs, _, _, refused in said] == [(52, 0)] * 4
    assert sum(begun for _, begun, _, _ in said) == 28


def test_everything_real_twice(open_a_log: OpenLog) -> None:
    places = [real("taubench"), real("inspect")]
    log = open_a_log()

    first = import_paths(log, places)
    before = log.position()
    second = import_paths(log, places)

    assert counts(first) == (164, 161, before, 1)
    assert counts(second) == (164, 0, 0, 1)
    assert log.position() == before
    assert [(Path(bad.path).name, bad.reason) for bad in first.refused] == [
        ("log_invalid.txt", "line 2: the file ends too early")
    ]
    streams = [head.stream for head in log.streams("run/")]
    assert len([stream for stream in streams if stream.startswith("run/tau-bench/")]) == 101
    assert len(streams) == 161
    assert "run/inspect/BpiPFmbVcMCRUAXv8ovCTx-9eTnG3tV8jGRYoTPMH54Ee/1/1" in streams


def test_two_logs_hold_the_same_events_after_the_same_import(tmp_path: Path) -> None:
    first, second = MemoryLog(), MemoryLog()
    place = folder(tmp_path / "f")

    for log in (first, second):
        import_paths(log, [place])

    assert json.dumps(content(first), default=str) == json.dumps(content(second), default=str)


@pytest.mark.parametrize(
    ("ladder", "place", "runs", "good"),
    [
        ("taubench-airline", ("taubench", "historical_trajectories"), 100, 1),
        ("ctf", ("inspect", "docent", "docent", "docent", "samples", "log.eval"), 15, "C"),
        ("inspect-match", ("inspect", "inspect_ai", "tests", "scorer", "logs"), 10, "C"),
    ],
)
def test_imported_runs_grade_as_they_were_scored(ladder: str, place: tuple[str, ...], runs: int, good: object) -> None:
    log = MemoryLog()
    import_paths(log, [real(*place)])
    graded = read_ladder((EXAMPLES / f"{ladder}.yaml").read_text()).ladder
    agreed = 0

    for head in log.streams("run/"):
        for score in log.read(head.stream, types=["score.imported"]):
            agreed += graded.grade(StreamEvidence(log, head.stream)).passed == (score.payload["value"] == good)

    assert agreed == runs
