"""The importers on recordings that nobody here wrote."""

import re
import string
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spine.importers import Recording, Refusal
from tests.spine.importers.builders import read, real, told


def recordings(path: Path) -> list[Recording]:
    found = read(path)
    assert not [item for item in found if isinstance(item, Refusal)]
    return [item for item in found if isinstance(item, Recording)]


def payloads(run: Recording, type: str) -> list[dict[str, Any]]:
    return [dict(event.payload) for event in run.events if event.type == type]


def test_tau_bench_airline() -> None:
    runs = recordings(real("taubench", "historical_trajectories", "gpt-4o-airline.json"))

    assert len({run.stream for run in runs}) == 100
    assert Counter(event.type for run in runs for event in run.events) == {
        "run.started": 100,
        "case.expected": 100,
        "message.sent": 1556,
        "tool.called": 572,
        "tool.returned": 572,
        "run.finished": 100,
        "score.imported": 100,
    }
    assert Counter(payloads(run, "score.imported")[0]["value"] for run in runs) == {0.0: 57, 1.0: 43}
    cut = [run.stream for run in runs if payloads(run, "run.finished")[0]["status"] == "budget_exhausted"]
    assert sorted(cut) == ["run/tau-bench/p/2/1", "run/tau-bench/p/33/0"]


def test_docent_ctf() -> None:
    runs = recordings(real("inspect", "docent", "docent", "docent", "samples", "log.eval"))

    assert len(runs) == 15
    assert Counter(payloads(run, "score.imported")[0]["value"] for run in runs) == {"C": 9, "I": 6}
    for run in runs:
        called, returned = payloads(run, "tool.called"), payloads(run, "tool.returned")
        assert [call["call_id"] for call in called] == [f"c{number}" for number in range(1, len(called) + 1)]
        assert [call["call_id"] for call in returned] == [call["call_id"] for call in called]
        (expected,) = payloads(run, "case.expected")
        submitted = [call["arguments"]["answer"] for call in called if call["tool"] == "submit"]
        found = bool(submitted) and expected["target"].lower() in submitted[-1].lower()
        assert found == (payloads(run, "score.imported")[0]["value"] == "C"), run.stream


def test_the_match_pair() -> None:
    folder = real("inspect", "inspect_ai", "tests", "scorer", "logs")
    unscored, scored = (recordings(path) for path in sorted(folder.glob("*.eval")))

    def case(run: Recording) -> str:
        return str(payloads(run, "run.started")[0]["case"])

    # Two evaluations of the same ten cases; only the second was scored.
    assert sorted(map(case, unscored)) == sorted(map(case, scored))
    assert not [run for run in unscored if payloads(run, "score.imported")]
    for run in scored:
        (answer,), (expected,) = payloads(run, "answer.given"), payloads(run, "case.expected")
        matches = answer["answer"].split()[-1].strip(".").lower() == expected["target"].strip().lower()
        assert matches == (payloads(run, "score.imported")[0]["value"] == "C")


@pytest.mark.parametrize(
    ("name", "runs", "adapted"),
    [
        ("log_formats.json", 1, {}),
        ("log_images_tc.json", 1, {"left_out_image": 1}),
        ("log_length_stop_reason.txt", 1, {}),
        ("log_message_deduplication.eval", 1, {"left_out_sandbox": 5}),
        ("log_streaming.eval", 4, {}),
        ("log_tool_call_error.json", 1, {"answer_without_call": 11}),
        ("log_valid.txt", 0, {}),
        ("log_version_3.txt", 0, {}),
        ("log_with_nan.txt", 0, {}),
    ],
)
def test_the_odd_logs_of_inspect(name: str, runs: int, adapted: dict[str, int]) -> None:
    found = recordings(real("inspect", "inspect_ai", "tests", "log", "test_eval_log", name))

    assert len(found) == runs
    assert sum((Counter(run.adapted) for run in found), Counter()) == adapted


def test_an_invalid_log_is_refused_with_its_line() -> None:
    path = real("inspect", "inspect_ai", "tests", "log", "test_eval_log", "log_invalid.txt")

    assert read(path) == [Refusal("line 2", "the file ends too early")]


def test_the_same_run_in_both_forms_is_the_same_events() -> None:
    folder = real("inspect", "inspect_ai", "tests", "log", "test_eval_log")

    (archived,), (plain,) = (recordings(folder / f"log_formats.{form}") for form in ("eval", "json"))

    assert archived.events == plain.events


def test_a_model_that_grades_is_not_the_agent() -> None:
    folder = real("inspect", "inspect_ai", "tests", "analysis", "test_logs")
    (path,) = folder.glob("*security-guide.json")

    for run in recordings(path):
        assert [event.actor for event in run.events if event.type == "message.sent"] == ["human", "human", "agent"]
        assert not any("expert answer" in text for _, text in told(run))


def test_intercode() -> None:
    files = sorted(real("intercode", "data", "results").rglob("*.json"))
    runs = [run for path in files for run in recordings(path)]

    assert len(runs) == 533
    for run in runs:
        called, returned = payloads(run, "tool.called"), payloads(run, "tool.returned")
        assert [call["call_id"] for call in called] == [call["call_id"] for call in returned]
        (score,) = payloads(run, "score.imported")
        assert len(score["rewards"]) == len(called)
        assert score["value"] == max(score["rewards"])
    # NUL stands in them as it was.
    assert any("\x00" in returned["result"] for run in runs for returned in payloads(run, "tool.returned"))


def test_fireact() -> None:
    (path,) = real("fireact", "trajs").glob("*.json")
    runs = recordings(path)

    assert len(runs) == 465
    assert Counter(payloads(run, "score.imported")[0]["value"] for run in runs) == {False: 265, True: 200}
    tools = Counter(call["tool"] for run in runs for call in payloads(run, "tool.called"))
    assert set(tools) == {"search", "finish", "click"}
    assert tools["finish"] == len(runs)
    for run in runs:
        (answer,), (score, *_) = payloads(run, "answer.given"), payloads(run, "score.imported")
        assert normal(answer["answer"]) == score["prediction"], run.stream


def normal(text: str) -> str:
    """What FireAct, like SQuAD, makes of an answer before it compares."""
    bare = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())
