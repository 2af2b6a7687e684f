"""InterCode and FireAct results onto the log: gold answers that come later, files that grow, files that are wrong."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from grading import examples
from grading.errors import InvalidRecording
from grading.gradebook import Gradebook
from grading.graders import Grader, GraderRef
from grading.intake import ImportReport, import_paths
from grading.spec import read_ladder
from spine import Log, MemoryLog, SqlLog
from spine.events import Actor, NewEvent
from tests.grading.cli.command import run
from tests.spine.importers.keyed_builders import fireact_run, intercode_run, keyed_file, reference
from tests.spine.importers.test_robustness import mutated

STREAM = "run/intercode/p/ic_ctf.json/0"


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    return report.runs, report.new_runs, report.new_events, len(report.refused)


def results(folder: Path, *tasks: int) -> Path:
    return keyed_file(folder / "results.json", {str(task): intercode_run(task) for task in tasks})


def gold(folder: Path, **more: Any) -> Path:
    path = folder / "ic_ctf.json"
    reference(path, **more)
    return path


def types(log: Log, stream: str = STREAM) -> list[str]:
    return [event.type for event in log.read(stream)]


def test_a_gold_answer_that_is_there_stands_before_the_question(log: Log, tmp_path: Path) -> None:
    import_paths(log, [results(tmp_path, 0)], prefix="p", references=[gold(tmp_path)])

    assert types(log)[:3] == ["run.started", "case.expected", "question.posed"]


def test_a_gold_answer_that_comes_later_is_added_and_nothing_else(log: Log, tmp_path: Path) -> None:
    import_paths(log, [results(tmp_path, 0)], prefix="p")
    log.append(STREAM, [NewEvent("review.noted", {}, actor=Actor.HUMAN)])
    before = types(log)

    report = import_paths(log, [results(tmp_path, 0)], prefix="p", references=[gold(tmp_path)])

    assert counts(report) == (1, 0, 2, 0)
    assert types(log) == [*before, "case.expected"]
    position = log.position()
    for references in ([], [gold(tmp_path)]):
        again = import_paths(log, [results(tmp_path, 0)], prefix="p", references=references)
        assert counts(again) == (1, 0, 0, 0)
    assert log.position() == position


def test_another_gold_answer_is_refused_by_name(log: Log, tmp_path: Path) -> None:
    import_paths(log, [results(tmp_path, 0)], prefix="p", references=[gold(tmp_path)])
    position = log.position()

    report = import_paths(log, [results(tmp_path, 0)], prefix="p", references=[gold(tmp_path, gold="flag{B}")])

    assert f"line 2: run 0: {STREAM} is recorded with another payload at seq 2" in report.refused[0].reason
    assert types(log) == [event for event in types(log) if event != "import.recorded"]
    assert [event.type for event in log.read_all(after=position)] == ["import.recorded"]


def test_an_import_says_which_reference_it_had(log: Log, tmp_path: Path) -> None:
    path = results(tmp_path, 0)
    first, second = (import_paths(log, [path], references=given).files[0] for given in ([], [gold(tmp_path)]))

    said = [event.payload for event in log.read(f"import/{first.sha256}")]

    assert "references" not in said[0]
    assert said[1]["references"] == list(second.references)
    assert said[0]["adapted"] == {"without_reference": 1}


@pytest.mark.parametrize("text", [None, "{}", "[1]"])
def test_a_bad_reference_stops_the_import_before_anything_is_written(
    log: Log, text: str | None, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "gold").write_text(text)

    with pytest.raises(InvalidRecording, match="gold"):
        import_paths(log, [results(tmp_path, 0)], references=[tmp_path / "gold"])

    assert log.position() == 0


def test_a_file_that_grew_adds_its_new_runs_under_one_prefix(log: Log, tmp_path: Path) -> None:
    import_paths(log, [results(tmp_path, 0)], prefix="p")

    report = import_paths(log, [results(tmp_path, 0, 1)], prefix="p")

    assert (report.runs, report.new_runs, len(report.refused)) == (2, 1, 0)


def test_a_run_that_changed_is_refused_and_kept_as_it_was(log: Log, tmp_path: Path) -> None:
    path = keyed_file(tmp_path / "x", {"0": fireact_run("a")})
    import_paths(log, [path], prefix="p")
    before = types(log, "run/fireact/p/0")

    report = import_paths(log, [keyed_file(path, {"0": fireact_run("b")})], prefix="p")

    assert "is recorded with another payload at seq" in report.refused[0].reason
    assert types(log, "run/fireact/p/0") == before


def test_a_run_is_graded_once_its_gold_answer_is_there(sql_log: SqlLog, tmp_path: Path) -> None:
    book, ref = Gradebook(sql_log), GraderRef("intercode-ctf")
    book.add_grader(Grader.from_document(dict(read_ladder(examples.text(ref.name)).document)))

    for references in ([], [gold(tmp_path)]):
        book.import_paths([results(tmp_path, 0)], prefix="p", references=references)
        book.grade(ref, everything=True)

    (row,) = book.grades(grader=ref)
    assert (row.status, row.passed, row.score) == ("graded", True, 1.0)
    assert [row.status for row in book.grades(grader=ref, history=True)] == ["broken", "graded"]


@pytest.mark.parametrize("depth", [40, 200, 5_000, 100_000])
def test_deep_nesting_is_stored_or_refused_by_name(depth: int, tmp_path: Path) -> None:
    log = MemoryLog()
    path = keyed_file(tmp_path / "x", {"0": intercode_run(history={"observations": ["deep"]}), "1": intercode_run(1)})
    path.write_text(path.read_text().replace('"deep"', '{"a": ' * depth + "1" + "}" * depth, 1))

    report = import_paths(log, [path])

    assert (report.runs, len(report.refused)) == ((2, 0) if depth == 40 else (1, 1))
    assert all("line 2" in refused.reason for refused in report.refused)


@pytest.mark.parametrize("format", ["intercode", "fireact"])
def test_whatever_is_wrong_in_a_file_a_run_is_whole_or_refused(format: str, tmp_path: Path) -> None:
    log = MemoryLog()
    recorded = intercode_run() if format == "intercode" else fireact_run("a")
    path = tmp_path / "x"
    given = [gold(tmp_path)]

    for seed in range(200):
        file = mutated({"0": recorded, "1": recorded}, seed)
        report = import_paths(log, [keyed_file(path, file)], format=format, prefix=str(seed), references=given)

        parts = len(file) if isinstance(file, dict) else 1
        assert report.runs + len(report.refused) == max(parts, report.runs), seed
        assert all(f"{path}" == refused.path and refused.reason for refused in report.refused)
    for head in log.streams("run/"):
        found = types(log, head.stream)
        assert found[0] == "run.started"
        assert found[-1] == "score.imported"


@pytest.mark.parametrize("format", ["intercode", "fireact"])
def test_damaged_bytes_give_whole_runs_and_refusals(format: str, tmp_path: Path) -> None:
    recorded = intercode_run() if format == "intercode" else fireact_run("a")
    whole = json.dumps({"0": recorded, "1": recorded}).encode()
    path = tmp_path / "x"

    for seed in range(200):
        chance = random.Random(seed)
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(whole))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.choice([len(whole), chance.randrange(1, len(whole))])])

        report = import_paths(MemoryLog(), [path], format=format)

        assert report.runs or report.refused, seed


def test_the_command_takes_a_reference_and_says_what_went_without(tmp_path: Path) -> None:
    url, path = f"sqlite:///{tmp_path / 'log.db'}", str(results(tmp_path, 0))

    bare = run(url, "import", path)
    told = run(url, "import", path, "--reference", str(gold(tmp_path)))
    wrong = run(url, "import", path, "--reference", str(tmp_path / "results.json"))

    assert "1 run of InterCode read without a gold answer" in bare.stderr
    assert "--reference FILE" in bare.stderr
    assert (told.exit_code, told.stderr) == (0, "")
    assert "1 run, 0 of them new; 2 new events; 0 refused" in told.stdout
    assert wrong.exit_code == 2
    assert "is no file of gold answers: the reference is not a list" in wrong.stderr
