"""τ-bench results as runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from spine.events import Actor
from spine.importers import Recording, Refusal, recognised_by
from spine.importers.recording import RunEvents
from tests.spine.importers.builders import chat_call, read, run_in, tau_file, tau_run, told


def events_of(run: Recording) -> list[tuple[str, Actor, Any]]:
    return [(event.type, event.actor, dict(event.payload)) for event in run.events]


def test_a_run_is_told_in_order(tmp_path: Path) -> None:
    run = run_in(tau_file(tmp_path / "x", tau_run(7, 1)))

    assert run.stream == "run/tau-bench/p/7/1"
    assert run.where == "line 1: task 7, trial 1"
    source = {"format": "tau-bench", "id": "p/7/1"}
    assert events_of(run) == [
        ("run.started", "system", {"agent": "", "model": "", "task": "tau-bench", "case": "7", "source": source}),
        (
            "case.expected",
            "system",
            {"actions": [{"tool": "cancel", "arguments": {"id": "R1"}}], "outputs": ["100"]},
        ),
        ("message.sent", "human", {"role": "system", "content": "Policy"}),
        ("message.sent", "human", {"role": "user", "content": "Cancel R1, please."}),
        (
            "tool.called",
            "agent",
            {"call_id": "c1", "tool": "cancel", "arguments": {"id": "R1"}, "source_call_id": "a"},
        ),
        (
            "tool.returned",
            "system",
            {"call_id": "c1", "tool": "cancel", "result": "done", "error": None, "source_call_id": "a"},
        ),
        ("message.sent", "agent", {"role": "assistant", "content": "You get 100 back."}),
        ("run.finished", "system", {"status": "completed", "reason": None}),
        ("score.imported", "system", {"scorer": "reward", "value": 1.0}),
    ]
    assert {event.time for event in run.events} == {None}


def test_ids_come_from_mapping_stream_and_ordinal(tmp_path: Path) -> None:
    first, again = (run_in(tau_file(tmp_path / name, tau_run())) for name in "xy")

    assert [event.id for event in first.events] == [event.id for event in again.events]
    # UUIDv8 over {"mapping":1,"ordinal":1,"stream":"run/tau-bench/p/0/0"}: stored logs depend on it.
    assert str(first.events[0].id) == "b130954d-6847-83ed-a2a0-3af344d6e9bd"


def test_call_ids_are_minted_since_those_of_the_source_repeat(tmp_path: Path) -> None:
    calls = [chat_call("a", "f", "{}"), chat_call("a", "g", "{}")]
    answers = [{"role": "tool", "tool_call_id": "a", "name": "?", "content": text} for text in ("one", "two")]
    traj = [{"role": "assistant", "content": "", "tool_calls": calls}, *answers]

    run = run_in(tau_file(tmp_path / "x", tau_run(traj=traj)))

    found = [(event.payload["call_id"], event.payload["tool"]) for event in run.events if event.type[:4] == "tool"]
    assert found == [("c1", "f"), ("c2", "g"), ("c1", "f"), ("c2", "g")]


@pytest.mark.parametrize(
    ("written", "stored", "adapted"),
    [
        ('{"n": 12345678901234567890}', {"n": "12345678901234567890"}, {"big_integer": 1}),
        ('{"a": 1, "a": 2}', {"a": 2}, {"duplicate_key": 1}),
        ("{broken", "{broken", {"arguments_as_text": 1}),
        ("[1]", "[1]", {"arguments_as_text": 1}),
        ({"already": "parsed"}, {"already": "parsed"}, {}),
    ],
)
def test_arguments_are_parsed_where_they_are_an_object(
    written: Any, stored: Any, adapted: dict[str, int], tmp_path: Path
) -> None:
    traj = [{"role": "assistant", "content": None, "tool_calls": [chat_call("a", "f", written)]}]

    run = run_in(tau_file(tmp_path / "x", tau_run(traj=traj)))

    assert [event.payload["arguments"] for event in run.events if event.type == "tool.called"] == [stored]
    assert run.adapted == adapted


def test_a_message_without_text_makes_no_event(tmp_path: Path) -> None:
    traj = [{"role": role, "content": content} for role in ("user", "assistant") for content in (None, "", "said")]

    assert told(run_in(tau_file(tmp_path / "x", tau_run(traj=traj)))) == [("message.sent", "said")] * 2


def test_an_answer_without_a_call_is_kept_and_counted(tmp_path: Path) -> None:
    traj = [{"role": "tool", "tool_call_id": "gone", "name": "f", "content": "ok"}]

    run = run_in(tau_file(tmp_path / "x", tau_run(traj=traj)))

    assert told(run) == [("tool.returned", "ok")]
    assert run.adapted == {"answer_without_call": 1}


def test_a_run_without_reward_info_hit_its_limit_and_keeps_its_reward(tmp_path: Path) -> None:
    info = tau_run()["info"] | {"reward_info": None}

    run = run_in(tau_file(tmp_path / "x", tau_run(info=info, reward=0.0)))

    assert run.events[-2].payload["status"] == "budget_exhausted"
    assert run.events[-1].payload == {"scorer": "reward", "value": 0.0}


def test_a_run_that_raised_has_no_case_and_failed(tmp_path: Path) -> None:
    run = run_in(tau_file(tmp_path / "x", tau_run(info={"error": "boom", "traceback": "…"}, traj=[], reward=0.0)))

    assert [event.type for event in run.events] == ["run.started", "run.finished", "score.imported"]
    assert run.events[1].payload == {"status": "failed", "reason": "boom"}


def test_a_single_run_is_recognised_without_a_list(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(json.dumps(tau_run()))

    assert run_in(path).stream == "run/tau-bench/p/0/0"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "[1]", '[{"task_id": 1}]', '{"a": {"task_id": 1, "traj": [], "reward": 0}}', "\x00\x01", "text"],
)
def test_other_files_are_not_recognised(text: str) -> None:
    assert recognised_by(text.encode()) is None


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (tau_run(task_id="a b"), "task_id is missing"),
        (tau_run(trial=None), "trial is missing"),
        (tau_run(reward="high"), "reward is not a number"),
        (tau_run(reward=True), "reward is not a number"),
        (tau_run(traj=[{"content": "x"}]), "traj[0] has no role"),
        (tau_run(traj=[{"role": "user", "content": 7}]), "traj[0].content is not text"),
        (tau_run(traj=None), "traj is not a list"),
        ([], "the run is not an object"),
    ],
)
def test_a_bad_run_is_refused_and_the_rest_is_read(bad: Any, reason: str, tmp_path: Path) -> None:
    first, refused, last = read(tau_file(tmp_path / "x", tau_run(0), bad, tau_run(2)))

    assert isinstance(first, Recording)
    assert isinstance(last, Recording)
    assert isinstance(refused, Refusal)
    assert refused.where.startswith("line 1")
    assert reason in refused.reason


def test_a_cut_off_file_gives_the_runs_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "x"
    text = json.dumps([tau_run(0), tau_run(1)], indent=1)
    path.write_text(text[: len(text) - 40])

    first, refused = read(path)

    assert isinstance(first, Recording)
    assert refused == Refusal("line 64", "the file ends inside the value that begins here")


def test_a_key_that_stands_twice_refuses_its_run_only(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(f'[{json.dumps(tau_run(0))[:-1]}, "reward": 0.0}},\n{json.dumps(tau_run(1))}]')

    refused, run = read(path)

    assert refused == Refusal("line 1", "the key 'reward' stands twice in one object")
    assert isinstance(run, Recording)


def test_bytes_that_are_no_utf_8_refuse_their_run_only(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(json.dumps([tau_run(0), tau_run(1)]).encode().replace(b"Policy", b"\xff", 1))

    refused, run = read(path)

    assert isinstance(refused, Refusal)
    assert "not UTF-8" in refused.reason
    assert isinstance(run, Recording)


def test_a_run_larger_than_allowed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spine.importers.tau_bench.MAX_RUN", 5_000)

    refused, run = read(tau_file(tmp_path / "x", tau_run(traj=[{"role": "user", "content": "x" * 9_000}]), tau_run(1)))

    assert refused == Refusal("line 1", "a run of more than 5,000 bytes")
    assert isinstance(run, Recording)


def test_names_are_percent_encoded(tmp_path: Path) -> None:
    found = read(tau_file(tmp_path / "x", tau_run(task_id="é/%")), prefix="a/b")

    assert [run.stream for run in found if isinstance(run, Recording)] == ["run/tau-bench/a%2Fb/%C3%A9%2F%25/0"]


def test_ids_are_made_without_gaps() -> None:
    run = RunEvents("run/x/1", 1)
    run.message("user", "")
    run.message("user", "a")
    run.message("user", "b")

    assert len({event.id for event in run.recording("here").events}) == 2
