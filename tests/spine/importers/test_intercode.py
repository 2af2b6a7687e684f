"""InterCode results as runs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from spine.importers import Recording, Refusal, read_reference, recognised_by
from spine.importers.json_values import Unreadable
from tests.spine.importers.builders import read, run_in, told
from tests.spine.importers.keyed_builders import Json, intercode_run, keyed_file, only, read_with, reference


def imported(path: Path, run: Json) -> Recording:
    return run_in(keyed_file(path, {"0": run}))


def one(run: Recording, type: str) -> dict[str, Any]:
    (found,) = (event.payload for event in run.events if event.type == type)
    return dict(found)


def test_a_run_is_told_in_order(tmp_path: Path) -> None:
    path = keyed_file(tmp_path / "x", {"1": intercode_run(1)})

    run = only(read_with(path, [reference(tmp_path / "ic_ctf.json")]))

    assert (run.stream, run.where) == ("run/intercode/p/ic_ctf.json/1", "line 2: run 1")
    assert [(event.type, event.actor.value) for event in run.events] == [
        ("run.started", "system"),
        ("case.expected", "system"),
        ("question.posed", "system"),
        *[("tool.called", "agent"), ("tool.returned", "system")] * 2,
        ("tool.called", "agent"),
        ("answer.given", "agent"),
        ("tool.returned", "system"),
        ("run.finished", "system"),
        ("score.imported", "system"),
    ]
    assert one(run, "case.expected") == {"target": "flag{A}"}
    assert one(run, "answer.given") == {"key": "answer", "answer": "flag{A}"}
    assert one(run, "run.finished") == {"status": "completed", "reason": None}
    assert one(run, "score.imported") == {"scorer": "max_reward", "value": 1, "rewards": [0, 0, 1]}
    assert [event.payload["call_id"] for event in run.events if event.type == "tool.called"] == ["c1", "c2", "c3"]
    assert {event.time for event in run.events} == {None}
    assert {event.principal for event in run.events} == {""}


def test_without_its_reference_a_run_is_the_same_but_for_what_is_expected(tmp_path: Path) -> None:
    path = keyed_file(tmp_path / "x", {"1": intercode_run(1)})
    known = only(read_with(path, [reference(tmp_path / "ic_ctf.json")]))

    bare = only(read_with(path, []))

    assert bare.adapted == {"without_reference": 1}
    assert (bare.reference, len(known.reference)) == ("", 64)
    rest = [event for event in known.events if event.type != "case.expected"]
    assert [(event.id, event.payload) for event in bare.events] == [(event.id, event.payload) for event in rest]


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("ic_ctf.json", {"query": "Another server: find it."}, True),
        ("other.json", {}, True),
        ("other.json", {"query": "Find the flag 1."}, False),
        ("other.json", {"query": "List all files."}, False),
        ("ic_ctf.json", {"task_id": 2}, False),
        ("ic_ctf.json", {"task_id": -1}, False),
        ("ic_ctf.json", {"task_id": True}, False),
        ("ic_ctf.json", {"task_id": "1"}, False),
    ],
)
def test_a_gold_answer_is_that_of_the_dataset_or_of_the_same_question(
    name: str, change: Json, expected: bool, tmp_path: Path
) -> None:
    path = keyed_file(tmp_path / "x", {"1": intercode_run(1, **change)})

    run = only(read_with(path, [reference(tmp_path / name)]))

    assert ("case.expected" in [event.type for event in run.events]) is expected


def test_a_question_reworded_by_a_word_or_two_is_the_same(tmp_path: Path) -> None:
    asked = "You have access to the file 'unpackme.flag.py' that contains the hidden flag"
    tasks = [{"query": asked.replace("have", "have 'read'"), "gold": "flag{B}"}]
    (tmp_path / "y").write_text(json.dumps(tasks))
    path = keyed_file(tmp_path / "x", {"0": intercode_run(0, query=asked)})

    run = only(read_with(path, [read_reference(tmp_path / "y")]))

    assert one(run, "case.expected") == {"target": "flag{B}"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "the reference is not a list"),
        ("[1]", "task 0 is not an object"),
        ('[{"query": "?"}]', "task 0 has no text `query`, or no `gold`"),
        ('[{"query": 1, "gold": "x"}]', "task 0 has no text `query`, or no `gold`"),
        ("[" * 100_000, "nested too deep"),
        ("query,gold\n", "not JSON"),
        ("", "not JSON"),
    ],
)
def test_a_bad_reference_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "y").write_text(text)

    with pytest.raises(Unreadable, match=reason):
        read_reference(tmp_path / "y")


@pytest.mark.parametrize(
    ("environment", "tool", "arguments"),
    [
        ("ic_bash", "bash", {"command": "ls"}),
        ("ic_python", "python", {"code": "ls"}),
        ("ic_sql", "sql", {"query": "ls"}),
        ("ic_swe", "ic_swe", {"action": "ls"}),
    ],
)
def test_an_action_is_a_call_of_the_tool_of_its_environment(
    environment: str, tool: str, arguments: Json, tmp_path: Path
) -> None:
    run = imported(tmp_path / "x", intercode_run(environment=environment, history={"actions": ["ls"]}))

    call = next(event.payload for event in run.events if event.type == "tool.called")
    assert (call["tool"], call["arguments"]) == (tool, arguments)


@pytest.mark.parametrize(
    ("action", "tool", "answers"),
    [
        ("submit flag{A}", "submit", ["flag{A}"]),
        (" submit  flag{A}\n", "submit", ["flag{A}"]),
        ("submit flag{A} flag{B}", "submit", ["flag{A}"]),
        ("submit", "submit", []),
        ("submitted flag{A}", "bash", []),
        ("echo submit flag{A}", "bash", []),
        ("", "bash", []),
    ],
)
def test_an_answer_is_the_first_word_that_is_submitted(
    action: str, tool: str, answers: Sequence[str], tmp_path: Path
) -> None:
    run = imported(tmp_path / "x", intercode_run(history={"actions": [action], "observations": ["done"]}))

    assert told(run) == [("tool.called", tool), ("tool.returned", "done")]
    assert [event.payload["answer"] for event in run.events if event.type == "answer.given"] == answers


@pytest.mark.parametrize(
    ("actions", "observations", "rewards", "transcript"),
    [
        (["a", "b"], ["1"], [0, 0, 0.5], [("tool.called", "bash"), ("tool.returned", "1"), ("tool.called", "bash")]),
        (["a"], ["1", "2"], [], [("tool.called", "bash"), ("tool.returned", "1"), ("tool.returned", "2")]),
        ([], [], [-1, 7], []),
        ([["a", True]], [None], [None], [("tool.called", "bash"), ("tool.returned", None)]),
    ],
)
def test_turns_of_unequal_length_survive(
    actions: list[Any], observations: list[Any], rewards: list[Any], transcript: list[Any], tmp_path: Path
) -> None:
    history = {"actions": actions, "observations": observations, "rewards": rewards}

    run = imported(tmp_path / "x", intercode_run(history=history))

    assert told(run) == transcript
    assert one(run, "score.imported")["rewards"] == rewards


def test_a_turn_the_model_gave_no_action_for_is_no_call(tmp_path: Path) -> None:
    history = {"actions": ["ls", "blocked"], "observations": ["a"], "rewards": [0, 0]}

    run = imported(tmp_path / "x", intercode_run(history=history))

    assert told(run) == [("tool.called", "bash"), ("tool.returned", "a")]
    assert run.adapted == {"without_reference": 1, "left_out_blocked": 1}
    assert one(run, "run.finished")["status"] == "failed"


def test_a_run_that_used_up_its_turns_says_so(tmp_path: Path) -> None:
    summary = {"max_reward": -1, "turns_taken": 10, "turns_max": 10}

    run = imported(tmp_path / "x", intercode_run(summary=summary))

    assert one(run, "run.finished") == {"status": "budget_exhausted", "reason": "turn limit"}


def test_thoughts_and_steps_are_said_before_their_action(tmp_path: Path) -> None:
    history = {"actions": ["ls"], "observations": ["a"], "thoughts": ["hm", "over"], "steps": ["look"]}

    run = imported(tmp_path / "x", intercode_run(history=history))

    called = [("tool.called", "bash"), ("tool.returned", "a")]
    assert told(run) == [("message.sent", "look"), ("message.sent", "hm"), *called, ("message.sent", "over")]


def test_runs_under_logs_behind_a_meta_are_read(tmp_path: Path) -> None:
    logs = {"3": intercode_run(3), "4": intercode_run(4)}

    found = read(keyed_file(tmp_path / "x", {"meta": {"env": "bash", "query": "?"}, "logs": logs}))

    streams = [run.stream for run in found if isinstance(run, Recording)]
    assert streams == ["run/intercode/p/ic_ctf.json/3", "run/intercode/p/ic_ctf.json/4"]


@pytest.mark.parametrize(
    ("dataset", "name"), [("C:\\data\\a b.json", "a%20b.json"), ("x/", "x"), ("/", "ic_ctf"), ("é", "%C3%A9")]
)
def test_a_stream_holds_the_name_of_the_dataset_never_a_path(dataset: str, name: str, tmp_path: Path) -> None:
    assert imported(tmp_path / "x", intercode_run(dataset=dataset)).stream == f"run/intercode/p/{name}/0"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ([], "the run is not an object"),
        (intercode_run(environment=None), "environment is not text"),
        (intercode_run(dataset=7), "dataset is not text"),
        (intercode_run(query=None), "query is not text"),
        (intercode_run(turn_history=[]), "turn_history is not an object"),
        (intercode_run(history={"actions": "ls"}), "turn_history.actions is not a list"),
        (intercode_run(history={"actions": [1]}), "turn_history.actions[0] is not text"),
        (intercode_run(history={"actions": [[]]}), "turn_history.actions[0] is not text"),
        (intercode_run(history={"observations": None}), "turn_history.observations is not a list"),
        (intercode_run(history={"rewards": 1}), "turn_history.rewards is not a list"),
        (intercode_run(summary=None), "summary is not an object"),
        (intercode_run(summary={"max_reward": True}), "summary.max_reward is not a number"),
        (intercode_run(summary={"max_reward": 10**30}), "summary.max_reward is not a number"),
    ],
)
def test_a_bad_run_is_refused_and_the_rest_is_read(bad: Any, reason: str, tmp_path: Path) -> None:
    path = keyed_file(tmp_path / "x", {"0": intercode_run(0), "1": bad, "2": intercode_run(2)})

    first, refused, last = read(path)

    assert isinstance(first, Recording)
    assert isinstance(last, Recording)
    assert isinstance(refused, Refusal)
    assert refused.where.endswith(": run 1")
    assert refused.reason == reason


def test_a_key_that_stands_twice_refuses_the_second_run(tmp_path: Path) -> None:
    path = tmp_path / "x"
    run = json.dumps(intercode_run())
    path.write_text(f'{{"0": {run},\n"0": {run},\n"a b": {run}}}')

    _, second, third = read(path)

    assert second == Refusal("line 2", "the key '0' stands twice in the file: only its first run is read")
    assert isinstance(third, Refusal)
    assert "nothing else names the run" in third.reason


def test_a_cut_off_file_gives_the_runs_before_the_cut(tmp_path: Path) -> None:
    path = keyed_file(tmp_path / "x", {"0": intercode_run(0), "1": intercode_run(1)})
    path.write_text(path.read_text()[:-40])

    first, refused = read(path)

    assert isinstance(first, Recording)
    assert isinstance(refused, Refusal)
    assert refused.reason == "the file ends inside the value that begins here"


@pytest.mark.parametrize(
    "text",
    [
        '{"0": {"task_id": 1, "query": "?"}}',
        '{"0": [{"task_id": 1, "query": "?", "turn_history": {}}]}',
        '[{"0": {"task_id": 1, "query": "?", "turn_history": {}}}]',
        '{"logs": {}}',
        '{"logs": 1}',
        '{"0": 1, "1": {"task_id": 1, "query": "?", "turn_history": {}}}',
    ],
)
def test_other_files_are_not_recognised(text: str) -> None:
    assert recognised_by(text.encode()) is None
