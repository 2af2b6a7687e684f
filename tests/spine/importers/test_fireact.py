"""FireAct trajectories as runs."""

from pathlib import Path
from typing import Any

import pytest

from spine.importers import Recording, Refusal, recognised_by
from spine.importers.react_text import Action, Said, action_in, messages_of
from tests.spine.importers.builders import read, run_in, told
from tests.spine.importers.keyed_builders import Json, fireact_run, keyed_file

TEXT = (
    "Below is an instruction.\n\n### Instruction:\nWho?\n\n### Response:\n"
    "Thought: I search.\nAction: search[who]\nObservation: It was\nthe answer.\n"
    "Thought: I know.\nAction: finish[The Answer]\nObservation: Episode finished, reward = True\n"
)


def imported(path: Path, run: Json) -> Recording:
    return run_in(keyed_file(path, {"6238": run}))


def payloads(run: Recording, type: str) -> list[dict[str, Any]]:
    return [dict(event.payload) for event in run.events if event.type == type]


def test_a_run_is_told_in_order(tmp_path: Path) -> None:
    run = imported(tmp_path / "x", fireact_run("The Answer"))

    assert (run.stream, run.where) == ("run/fireact/p/6238", "line 2: run 6238")
    assert [(event.type, event.actor.value) for event in run.events] == [
        ("run.started", "system"),
        ("case.expected", "system"),
        ("question.posed", "system"),
        ("message.sent", "agent"),
        ("tool.called", "agent"),
        ("tool.returned", "system"),
        ("message.sent", "agent"),
        ("tool.called", "agent"),
        ("answer.given", "agent"),
        ("tool.returned", "system"),
        ("run.finished", "system"),
        *[("score.imported", "system")] * 3,
    ]
    assert payloads(run, "case.expected") == [{"target": "answer"}]
    assert payloads(run, "question.posed") == [{"key": "answer", "prompt": "Who?"}]
    assert payloads(run, "answer.given") == [{"key": "answer", "answer": "The Answer"}]
    assert [(score["scorer"], score["value"]) for score in payloads(run, "score.imported")] == [
        ("em", True),
        ("f1", 1.0),
        ("reward", True),
    ]


def test_the_verdict_stands_in_no_evidence(tmp_path: Path) -> None:
    one, other = (imported(tmp_path / "x", fireact_run("The Answer", em=em, f1=0.0)) for em in (True, False))

    for left, right in zip(one.events, other.events, strict=True):
        assert left.type == "score.imported" or left.payload == right.payload


def test_a_conversation_that_is_one_text_is_the_same_run(tmp_path: Path) -> None:
    chat = imported(tmp_path / "x", fireact_run("The Answer"))

    run = imported(tmp_path / "x", fireact_run("", traj=TEXT))

    assert [event.type for event in run.events] == [event.type for event in chat.events]
    assert payloads(run, "tool.returned")[0]["result"] == "It was\nthe answer."
    assert payloads(run, "question.posed") == payloads(chat, "question.posed")
    assert payloads(run, "answer.given") == payloads(chat, "answer.given")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("Who?\nThought: a\nAction: b[c]", [("user", "Who?"), ("assistant", "Thought: a\nAction: b[c]")]),
        ("Who?", [("user", "Who?")]),
        ("Who?\nThought:", [("user", "Who?"), ("assistant", "Thought:")]),
        ("### Instruction:\nWho?\nThought: x", [("user", "### Instruction:\nWho?"), ("assistant", "Thought: x")]),
    ],
)
def test_a_text_is_taken_apart(text: str, messages: list[tuple[str, str]]) -> None:
    assert messages_of(text) == [Said(*message) for message in messages]


@pytest.mark.parametrize(
    ("text", "action", "more"),
    [
        ("Thought: a\nAction: search[b c]", Action("search", "b c"), 0),
        ("Action: search[b]", Action("search", "b"), 0),
        ("Thought: a\nAction: Finish[b]\n", Action("Finish", "b"), 0),
        ("Thought: a\nAction: finish[]", Action("finish", ""), 0),
        ("Thought: a\nAction: search[b]\nAction: finish[c]", Action("search", "b"), 1),
        # What FireAct itself takes of these is odd, and it is what was searched for and scored.
        ("Thought: a\nAction: search[b] c", Action("search", "b] "), 0),
        ("Thought: a\nAction: finish[b [c] d]", Action("finish", "b"), 0),
        ("Thought: a\nAction: think", None, 0),
        ("Thought: a\nAction: [b]", None, 0),
        ("Thought: a", None, 0),
        ("", None, 0),
    ],
)
def test_the_action_is_the_one_that_was_executed(text: str, action: Action | None, more: int) -> None:
    assert action_in(text) == (action, more)


def test_what_belongs_to_no_call_is_narration(tmp_path: Path) -> None:
    said = [("user", "Who?"), ("assistant", "hm"), ("user", "Observation: none"), ("system", "go on"), ("user", "")]

    run = imported(
        tmp_path / "x", fireact_run("", traj=[{"role": role, "content": text} for role, text in said], prompt="Few.")
    )

    assert told(run) == [("message.sent", "hm"), ("message.sent", "Observation: none"), ("message.sent", "go on")]
    assert payloads(run, "run.finished")[0]["status"] == "failed"
    assert run.adapted == {"left_out_prompt": 1}


@pytest.mark.parametrize(
    ("gold", "target", "adapted"), [(True, "True", 1), (7, "7", 1), (["a", "b"], ["a", "b"], 0), ("a", "a", 0)]
)
def test_a_gold_answer_is_text(gold: Any, target: Any, adapted: int, tmp_path: Path) -> None:
    run = imported(tmp_path / "x", fireact_run("", gt=gold))

    assert payloads(run, "case.expected") == [{"target": target}]
    assert run.adapted.get("target_as_text", 0) == adapted


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ([], "the run is not an object"),
        (fireact_run("", gt=None), "gt is not text"),
        (fireact_run("", gt=[1]), "a text of gt is not text"),
        (fireact_run("", traj=None), "traj is not a list"),
        (fireact_run("", traj=[]), "traj is empty: it has no question"),
        (fireact_run("", traj=""), "traj has no question before its first thought"),
        (fireact_run("", traj=[1]), "traj[0] is not an object"),
        (fireact_run("", traj=[{"role": 1, "content": ""}]), "traj[0].role is not text"),
        (fireact_run("", traj=[{"role": "user"}]), "traj[0].content is not text"),
        (fireact_run("", em="yes"), "em is neither true, false nor a number"),
        ({"gt": "a", "pred": "a", "traj": "Who?"}, "it has none of em, f1, reward"),
    ],
)
def test_a_bad_run_is_refused_and_the_rest_is_read(bad: Any, reason: str, tmp_path: Path) -> None:
    path = keyed_file(tmp_path / "x", {"0": fireact_run("a"), "1": bad, "2": fireact_run("a")})

    first, refused, last = read(path)

    assert isinstance(first, Recording)
    assert isinstance(last, Recording)
    assert isinstance(refused, Refusal)
    assert refused.where.endswith(": run 1")
    assert refused.reason == reason


@pytest.mark.parametrize("text", ['{"0": {"gt": "a", "pred": "a"}}', '{"0": {"traj": [], "em": true, "reward": true}}'])
def test_other_files_are_not_recognised(text: str) -> None:
    assert recognised_by(text.encode()) is None
