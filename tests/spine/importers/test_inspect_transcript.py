"""What was said and done in a sample of an Inspect log."""

from pathlib import Path
from typing import Any

import pytest

from spine.importers import Refusal
from tests.spine.importers.builders import (
    call,
    eval_json,
    eval_log,
    message,
    model_event,
    read,
    run_in,
    sample,
    told,
    tool_event,
)

SAID, CALLED, RETURNED = "message.sent", "tool.called", "tool.returned"


def transcript(tmp_path: Path, **changes: Any) -> list[tuple[str, Any]]:
    return told(run_in(eval_json(tmp_path / "x", eval_log(sample(**changes)))))


@pytest.mark.parametrize("protocol", ["attachment://", "tc://"])
def test_attachments_are_put_back(protocol: str, tmp_path: Path) -> None:
    question = message("q", "user", [{"type": "text", "text": f"{protocol}q"}])
    attachments = {"q": "long question", "r": "long result", "a": "long answer"}

    run = run_in(
        eval_json(
            tmp_path / "x",
            eval_log(
                sample(
                    messages=[],
                    events=[
                        model_event("", [question], 1, calls=[call("1", "bash", cmd=f"{protocol}q")]),
                        tool_event("1", "bash", {"cmd": f"{protocol}q"}, f"{protocol}r", 2, None),
                    ],
                    output={"completion": f"{protocol}a"},
                    attachments=attachments,
                )
            ),
        )
    )

    assert told(run) == [(SAID, "long question"), (CALLED, "bash"), (RETURNED, "long result")]
    assert [event.payload["arguments"] for event in run.events if event.type == CALLED] == [{"cmd": "long question"}]
    assert [event.payload["answer"] for event in run.events if event.type == "answer.given"] == ["long answer"]
    assert not run.adapted


def test_a_reference_to_nothing_stays_and_is_counted(tmp_path: Path) -> None:
    run = run_in(eval_json(tmp_path / "x", eval_log(sample(messages=[message("q", "user", "attachment://gone")]))))

    assert told(run) == [(SAID, "attachment://gone")]
    assert run.adapted["attachment_missing"] >= 1


@pytest.mark.parametrize("ids", [True, False])
def test_what_is_told_three_times_is_said_once(ids: bool, tmp_path: Path) -> None:
    def known(id: str, *rest: Any, **more: Any) -> dict[str, Any]:
        return message(id if ids else None, *rest, **more)

    calls = [call("1", "bash", cmd="ls")]
    question, again = known("q", "user", "go"), known("q2", "user", "go")
    first = known("said 1", "assistant", "I look", tool_calls=calls)
    result = known("r", "tool", "files", tool_call_id="1", function="bash")
    second, third = known("said 3", "assistant", "done"), known("said 4", "assistant", "done")
    events = [
        model_event("I look", [question], 1, calls=calls),
        tool_event("1", "bash", {"cmd": "ls"}, "files", 2, None),
        model_event("done", [question, first, result], 3),
        model_event("done", [question, first, result, second, again], 4),
    ]
    if not ids:
        for event in events:
            if event["event"] == "model":
                del event["output"]["choices"][0]["message"]["id"]

    found = transcript(tmp_path, events=events, messages=[question, first, result, second, again, third])

    assert found == [
        (SAID, "go"),
        (SAID, "I look"),
        (CALLED, "bash"),
        (RETURNED, "files"),
        (SAID, "done"),
        (SAID, "go"),
        (SAID, "done"),
    ]


def test_events_keep_what_the_messages_lost(tmp_path: Path) -> None:
    events = [model_event("one", [message("q", "user", "go")], 1), model_event("two", [message("s", "user", "sum")], 2)]

    found = transcript(
        tmp_path, events=events, messages=[message("s", "user", "sum"), message("said 2", "assistant", "two")]
    )

    assert [text for _, text in found] == ["go", "one", "sum", "two"]


def test_pools_of_messages_are_looked_up(tmp_path: Path) -> None:
    pool = [message("q", "user", "go"), message("said 1", "assistant", "one"), message("q2", "user", "on")]
    events = [model_event("one", [], 1, input_refs=[[0, 1]]), model_event("two", [], 2, input_refs=[[0, 2], [2, 3]])]
    expected = [(SAID, text) for text in ("go", "one", "on", "two")]

    assert transcript(tmp_path, events=events, messages=[], message_pool=pool) == expected
    assert transcript(tmp_path, events=events, messages=[], events_data={"messages": pool, "calls": []}) == expected


def test_a_pool_that_is_too_small_is_refused(tmp_path: Path) -> None:
    events = [model_event("one", [], 1, input_refs=[[0, 2]])]

    (refused,) = read(eval_json(tmp_path / "x", eval_log(sample(events=events, message_pool=[]))))

    assert isinstance(refused, Refusal)
    assert "refers to the messages" in refused.reason


@pytest.mark.parametrize("style", ["span", "step"])
def test_the_model_of_a_scorer_is_not_the_agent(style: str, tmp_path: Path) -> None:
    grading = model_event("GRADE: C", [message("g", "user", "Is it right?")], 2)
    styles: dict[str, list[dict[str, Any]]] = {
        "span": [
            {"event": "span_begin", "id": "s", "type": "scorers", "name": "scorers"},
            {"event": "span_begin", "id": "s1", "parent_id": "s", "type": "scorer", "name": "match"},
            grading | {"span_id": "s1"},
            {"event": "span_end", "id": "s1"},
        ],
        "step": [
            {"event": "step", "action": "begin", "type": "scorer", "name": "match"},
            {"event": "step", "action": "begin", "type": None, "name": "inner"},
            {"event": "step", "action": "end", "type": None, "name": "inner"},
            grading,
            {"event": "step", "action": "end", "type": "scorer", "name": "match"},
        ],
    }
    events = [model_event("4", [message("q", "user", "2+2?")], 1), *styles[style], model_event("5", [], 3)]

    assert transcript(tmp_path, events=events, messages=[]) == [(SAID, "2+2?"), (SAID, "4"), (SAID, "5")]


def test_what_a_tool_does_inside_comes_before_its_result(tmp_path: Path) -> None:
    events = [
        model_event("", [], 1, calls=[call("1", "helper"), call("2", "bash")]),
        tool_event("1", "helper", {}, "helped", 2, 6),
        tool_event("2", "bash", {}, "quick", 2, 3),
        model_event("inside", [message("h", "user", "help")], 4),
        model_event("after", [message("r", "tool", "helped", tool_call_id="1")], 7),
    ]

    assert transcript(tmp_path, events=events, messages=[]) == [
        (CALLED, "helper"),
        (CALLED, "bash"),
        (RETURNED, "quick"),
        (SAID, "help"),
        (SAID, "inside"),
        (RETURNED, "helped"),
        (SAID, "after"),
    ]


def test_tools_of_2024_hold_what_happened_inside(tmp_path: Path) -> None:
    tool = tool_event("1", "helper", {}, "helped", 2, None) | {"events": [model_event("inside", [], 1)]}

    found = transcript(tmp_path, events=[model_event("", [], 1, calls=[call("1", "helper")]), tool], messages=[])

    assert found == [(CALLED, "helper"), (SAID, "inside"), (RETURNED, "helped")]


def test_a_tool_that_no_model_called_is_a_call_too(tmp_path: Path) -> None:
    found = transcript(tmp_path, events=[tool_event("1", "bash", {}, "ok", 1, None)], messages=[])

    assert found == [(CALLED, "bash"), (RETURNED, "ok")]


def test_a_call_that_never_came_back_stays_open(tmp_path: Path) -> None:
    pending = tool_event("1", "bash", {}, "", 2, None) | {"pending": True}

    found = transcript(tmp_path, events=[model_event("", [], 1, calls=[call("1", "bash")]), pending], messages=[])

    assert found == [(CALLED, "bash")]


def test_calls_in_an_example_were_not_made(tmp_path: Path) -> None:
    example = [
        message("x", "assistant", "like so", tool_calls=[call("0", "bash")]),
        message("y", "tool", "ok", tool_call_id="0"),
    ]

    found = transcript(
        tmp_path, events=[model_event("4", example, 1)], messages=[*example, message("said 1", "assistant", "4")]
    )

    assert found == [(SAID, "like so"), (SAID, "4")]


def test_a_reworded_message_without_id_is_known_by_its_calls(tmp_path: Path) -> None:
    event = model_event("I submit", [], 1, calls=[call("1", "submit")])
    del event["output"]["choices"][0]["message"]["id"]
    reworded = message(None, "assistant", "flag", tool_calls=[call("1", "submit")])

    assert transcript(tmp_path, events=[event], messages=[reworded]) == [(SAID, "I submit"), (CALLED, "submit")]


def test_messages_alone_tell_calls_and_results(tmp_path: Path) -> None:
    messages = [
        message(None, "assistant", "", tool_calls=[call("1", "bash")]),
        message(
            None,
            "tool",
            [{"type": "text", "text": "ok"}],
            tool_call_id="1",
            error={"type": "timeout", "message": "late"},
        ),
        message(None, "tool", "stray", tool_call_id="9", function="python"),
    ]

    run = run_in(eval_json(tmp_path / "x", eval_log(sample(messages=messages))))

    assert told(run) == [(CALLED, "bash"), (RETURNED, "ok"), (RETURNED, "stray")]
    errors = [event.payload["error"] for event in run.events if event.type == RETURNED]
    assert errors == [{"type": "timeout", "message": "late"}, None]
    assert run.adapted == {"answer_without_call": 1}


def test_messages_alone_may_repeat_the_ids_of_calls(tmp_path: Path) -> None:
    messages = [
        message(None, "assistant", "one", tool_calls=[call("1", "bash")]),
        message(None, "tool", "a", tool_call_id="1"),
        message(None, "assistant", "two", tool_calls=[call("1", "bash")]),
        message(None, "tool", "b", tool_call_id="1"),
    ]

    found = transcript(tmp_path, messages=messages)

    assert [what for _, what in found] == ["one", "bash", "a", "two", "bash", "b"]


def test_parts_that_are_no_text_are_left_out_and_counted(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image", "image": "data:…"}, {"type": "text", "text": "b"}]

    run = run_in(eval_json(tmp_path / "x", eval_log(sample(messages=[message("q", "user", parts)]))))

    assert told(run) == [(SAID, "a\nb")]
    assert run.adapted == {"left_out_image": 1}
