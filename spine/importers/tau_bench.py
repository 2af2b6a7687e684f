"""τ-bench results: a JSON list of runs (or one run), each with its task, its reward and an OpenAI chat."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from spine.events import Actor
from spine.importers.json_stream import JsonStream, Piece
from spine.importers.json_values import Unreadable, adapted, parse, parse_lenient
from spine.importers.recording import MAX_RUN, CallRef, Recording, Refusal, RunEvents, readable, source_of, stream_name
from spine.importers.sniffing import keys_of_first_object

_MARKS: Final = frozenset({"traj", "info", "reward"})


class TauBench:
    """Importer of τ-bench results. A file names no run, so `prefix` does: `run/tau-bench/<prefix>/<task>/<trial>`.

    It names no agent, model or domain either, and has no times.
    """

    format: Final = "tau-bench"
    mapping: Final = 1

    def recognises(self, head: bytes) -> bool:
        """A list of objects, or one, with `task_id` and one of `reward`, `info`, `traj`."""
        keys = keys_of_first_object(head)
        return "task_id" in keys and len(_MARKS & set(keys)) >= 2

    def read(self, path: Path, prefix: str) -> Iterator[Recording | Refusal]:
        """Its runs in order of the file; a bad one is refused by line."""
        with path.open("rb") as file:
            try:
                for piece in _pieces(JsonStream(file, MAX_RUN)):
                    yield _run(piece, prefix)
            except Unreadable as problem:
                yield Refusal(problem.where, problem.reason)


def _pieces(stream: JsonStream) -> Iterator[Piece]:
    if stream.peek() == "[":
        yield from stream.items()
    else:
        yield stream.value()
    stream.end()


def _run(piece: Piece, prefix: str) -> Recording | Refusal:
    where = f"line {piece.line}"
    if piece.data is None:
        return Refusal(where, f"a run of more than {MAX_RUN:,} bytes")
    try:
        record = _object(parse(piece.data), "the run")
        task, trial = _number(record, "task_id"), _number(record, "trial")
        where = f"{where}: task {task}, trial {trial}"
        return _events(record, prefix, task, trial).recording(where)
    except Unreadable as problem:
        return Refusal(where, problem.reason)
    except RecursionError:
        return Refusal(where, "nested too deep")


def _events(record: Mapping[str, Any], prefix: str, task: str, trial: str) -> RunEvents:
    info = _object(record.get("info"), "info")
    run = RunEvents(stream_name(TauBench.format, prefix, task, trial), TauBench.mapping)
    started = {"agent": "", "model": "", "task": TauBench.format, "case": task, "source": source_of(run.stream)}
    run.add("run.started", started, Actor.SYSTEM)
    if info.get("task") is not None:
        run.add("case.expected", _expected(_object(info["task"], "info.task"), run), Actor.SYSTEM)
    _add_messages(run, _list(record.get("traj"), "traj"))
    run.add("run.finished", _finish(info), Actor.SYSTEM)
    reward = record.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        raise Unreadable("reward is not a number")
    run.add("score.imported", {"scorer": "reward", "value": reward}, Actor.SYSTEM)
    return run


def _expected(task: Mapping[str, Any], run: RunEvents) -> dict[str, Any]:
    actions = [_object(action, "an action") for action in _list(task.get("actions"), "info.task.actions")]
    return {
        "actions": [
            {"tool": action.get("name"), "arguments": action.get("kwargs", action.get("arguments"))}
            for action in actions
        ],
        "outputs": [_as_text(output, run) for output in _list(task.get("outputs") or [], "info.task.outputs")],
    }


def _as_text(output: Any, run: RunEvents) -> str:
    """An output that is looked for in what the agent says: text; a number is looked for as it is written."""
    if isinstance(output, str):
        return output
    run.tally["output_as_text"] += 1
    return json.dumps(output)


def _add_messages(run: RunEvents, messages: list[Any]) -> None:
    # Ids repeat inside a run, so an answer belongs to the earliest call of its id that has none yet.
    waiting: list[CallRef] = []
    for number, found in enumerate(messages):
        message = _object(found, f"traj[{number}]")
        role = message.get("role")
        if not isinstance(role, str):
            raise Unreadable(f"traj[{number}] has no role")
        if role == "tool":
            _add_answer(run, message, waiting)
            continue
        run.message(role, _text(message.get("content"), f"traj[{number}].content"))
        calls = _list(message.get("tool_calls") or [], f"traj[{number}].tool_calls")
        waiting.extend(_add_call(run, _object(call, "a call")) for call in calls)


def _add_call(run: RunEvents, call: Mapping[str, Any]) -> CallRef:
    function = _object(call.get("function"), "the function of a call")
    name = function.get("name")
    if not isinstance(name, str):
        raise Unreadable("a call without the name of its tool")
    return run.call(name, _arguments(function.get("arguments"), run), call.get("id"))


def _arguments(given: Any, run: RunEvents) -> Any:
    """What the tool was called with. The chat has it as JSON text; what is no JSON object stays the text it is."""
    if not isinstance(given, str):
        return given
    try:
        found = adapted(parse_lenient(given, run.tally), run.tally)
    except Unreadable:
        found = None
    if isinstance(found, dict):
        return found
    run.tally["arguments_as_text"] += 1
    return given


def _add_answer(run: RunEvents, message: Mapping[str, Any], waiting: list[CallRef]) -> None:
    source_id = message.get("tool_call_id")
    found = next((call for call in waiting if call.source_id == source_id), None)
    if found is None:
        found = run.orphan(source_id, _text(message.get("name"), "the name of a tool"))
    else:
        waiting.remove(found)
    run.returned(found, message.get("content"))


def _finish(info: Mapping[str, Any]) -> dict[str, Any]:
    error = info.get("error")
    if error is not None:
        return {"status": "failed", "reason": error if isinstance(error, str) else "an error"}
    if info.get("reward_info") is None:
        # The environment rewards a conversation when it is done; without that it was cut off.
        return {"status": "budget_exhausted", "reason": "step limit: the conversation was not done"}
    return {"status": "completed", "reason": None}


def _text(content: Any, where: str) -> str:
    if content is None:
        return ""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise Unreadable(f"{where} is not text")
    return content


def _number(record: Mapping[str, Any], key: str) -> str:
    found = record.get(key)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if isinstance(found, str) and re.fullmatch(r"\S{1,100}", found):
        return readable(found)
    raise Unreadable(f"{key} is missing, and nothing else names the run")


def _object(found: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise Unreadable(f"{what} is not an object")
    return found


def _list(found: Any, what: str) -> list[Any]:
    if not isinstance(found, list):
        raise Unreadable(f"{what} is not a list")
    return found
